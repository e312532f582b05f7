//! When a run will end, as far as the rounds seen so far tell.
//!
//! What is certain is an upper bound: the rounds that are left at the pace of the latest ones. Before the horizon is
//! known it is the budget, or the fewest rounds that are judged where they take longer. What is likely comes from the interval of every comparison that is not final: the units at
//! which it would be decided if the estimate and the noise stay as they are ([`planner::outlook`]). It is advice and
//! decides nothing. A comparison that has not been looked at, or needs more than the budget holds, leaves the bound only.

use std::collections::BTreeMap;

use weigh_stats::planner;

use super::super::units;
use crate::analysis::{Comparison, Rounds, judge, median};
use crate::model::{Replication, Run};

/// Units whose pace counts: recent ones, because rounds get shorter when variants drop out.
const RECENT: usize = 5;
/// A likely end this close to the bound says nothing more than the bound.
const NOTHING_NEW: f64 = 0.9;

/// When it will end, seconds since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ahead {
    /// If estimates and noise stay as they are.
    pub likely_s: Option<f64>,
    /// At the latest, once a round is complete.
    pub latest_s: Option<f64>,
}

impl Ahead {
    /// `about 1m10s left, at most 4m26s`, `at most 4m26s left`; before the first round `4m26s of the budget left`.
    pub fn text(&self, elapsed_s: f64, budget_s: f64) -> String {
        let Some(latest_s) = self.latest_s else {
            let left_s = budget_s - elapsed_s;
            return match left_s >= 1.0 {
                true => format!("{} of the budget left", units::elapsed(left_s)),
                false => "the first round takes longer than the budget".into(),
            };
        };
        let most_s = latest_s - elapsed_s;
        if most_s < 1.0 {
            return "nearly done".into();
        }
        let most = units::elapsed(most_s.max(1.0).round());
        match self.likely_s.map(|end_s| (end_s - elapsed_s).max(1.0)) {
            Some(likely_s) if likely_s < NOTHING_NEW * most_s => {
                format!("about {} left, at most {most}", roughly(likely_s))
            }
            _ => format!("at most {most} left"),
        }
    }
}

/// A foreseen time, no more exact than it is known.
fn roughly(seconds: f64) -> String {
    let step_s = match seconds {
        few if few < 10.0 => 1.0,
        few if few < 30.0 => 5.0,
        few if few < 300.0 => 10.0,
        _ => 60.0,
    };
    let rounded = (seconds / step_s).round().max(1.0) * step_s;
    if rounded < 60.0 { units::planned(rounded) } else { units::elapsed(rounded) }
}

/// What the rounds so far say.
pub(super) fn look(run: &Run, rounds: &Rounds<'_>, comparisons: &[Comparison]) -> Ahead {
    let Some(pace_s) = round_pace_s(run, rounds) else { return Ahead::default() };
    let (horizon, per_unit) =
        run.horizon.map_or((None, 1), |(_, units, per_unit)| (Some(units), per_unit.max(1)));
    let sequence = run.current_sequence().map_or(0, |record| record.sequence);
    let complete = run.rounds.iter().filter(|(of, _, _)| *of == sequence).count();
    let done = u32::try_from(complete).unwrap_or(u32::MAX).saturating_sub(rounds.set_aside);
    let now_s = run.trials.iter().map(|trial| trial.started_s + trial.whole.seconds).fold(0.0, f64::max);
    let after = |units: u32| now_s + pace_s * f64::from((units * per_unit).saturating_sub(done));
    let Some(horizon) = horizon else {
        let fewest_s = after(judge::first_look(rounds.replication));
        return Ahead { likely_s: None, latest_s: Some(fewest_s.max(run.header.plan.judge.budget_s)) };
    };
    Ahead { likely_s: units_likely(run, rounds, comparisons).map(after), latest_s: Some(after(horizon)) }
}

/// Units at whose look the last comparison is likely to be final. `None` where that cannot be told or is beyond the
/// horizon.
fn units_likely(run: &Run, rounds: &Rounds<'_>, comparisons: &[Comparison]) -> Option<u32> {
    if comparisons.is_empty() {
        return None;
    }
    let rule = judge::stats_rule(&run.header.plan.judge);
    #[expect(clippy::cast_precision_loss, reason = "at most 64 variants and ten metrics")]
    let alpha = run.header.plan.judge.alpha / comparisons.len() as f64;
    let boundary = judge::boundary(rounds, alpha)?;
    let open = comparisons.iter().filter(|comparison| !comparison.is_final);
    open.map(|comparison| {
        let now = boundary.latest(comparison.units)?;
        let needed = planner::outlook(&comparison.interval?, &rule, now, &boundary).units_needed?;
        let looks = boundary.looks().iter().map(|look| look.units);
        looks.into_iter().find(|units| *units >= needed && *units > comparison.units)
    })
    .try_fold(rounds.units(), |most, units| Some(most.max(units?)))
}

/// Wall-clock time of a round from the start of one unit to the start of the next: pauses, drains and restarts
/// included.
fn round_pace_s(run: &Run, rounds: &Rounds<'_>) -> Option<f64> {
    let sequence = run.current_sequence().map_or(0, |record| record.sequence);
    let by_epoch = rounds.replication == Replication::Epoch;
    let mut starts: BTreeMap<u32, (f64, u32, u32)> = BTreeMap::new();
    for trial in run.trials.iter().filter(|trial| trial.sequence == sequence) {
        let unit = if by_epoch { trial.epoch } else { trial.round };
        let seen = starts.entry(unit).or_insert((trial.started_s, trial.round, trial.round));
        seen.0 = seen.0.min(trial.started_s);
        seen.2 = seen.2.max(trial.round);
    }
    let starts: Vec<(f64, u32, u32)> = starts.into_values().collect();
    let paces = starts.windows(2).rev().take(RECENT).map(|pair| {
        let (start, first, last) = pair[0];
        (pair[1].0 - start) / f64::from(last - first + 1)
    });
    median(paces.filter(|pace| *pace > 0.0).collect()).or(rounds.round_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_likely_end_is_told_only_where_it_says_more_than_the_bound() {
        let text = |likely_s, latest_s| Ahead { likely_s, latest_s }.text(34.0, 300.0);
        assert_eq!(text(None, None), "4m26s of the budget left", "the budget is all that is known");
        assert_eq!(Ahead::default().text(34.0, 30.0), "the first round takes longer than the budget");
        assert_eq!(
            text(None, Some(310.0)),
            "at most 4m36s left",
            "the fewest rounds take longer than the budget"
        );
        assert_eq!(text(Some(103.0), Some(300.0)), "about 1m10s left, at most 4m26s");
        assert_eq!(text(Some(290.0), Some(300.0)), "at most 4m26s left");
        assert_eq!(text(Some(20.0), Some(300.0)), "about 1 s left, at most 4m26s", "overdue");
        assert_eq!(text(None, Some(30.0)), "nearly done");
    }
}
