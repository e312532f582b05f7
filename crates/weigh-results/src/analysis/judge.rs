//! Comparisons against the baseline, at the looks of the group-sequential boundary.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use weigh_stats::Interval;
use weigh_stats::boundary::{Boundary, FIRST_LOOK_EPOCHS, FIRST_LOOK_ROUNDS, Look};
use weigh_stats::huber::{self, LogRatios};
use weigh_stats::planner;
use weigh_stats::totals::{self, Totals};
use weigh_stats::verdict::{self, Decision, Rule};

use super::rounds::{Observation, Rounds, whole_ops};
use crate::model::{Goal, JudgeRule, Metric, Replication, Run, Slot};

/// One variant against the baseline by one decision metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Variant index.
    pub variant: usize,
    /// The metric.
    pub metric: Metric,
    /// Log ratio variant / baseline at the look that decided, or at the latest look.
    pub interval: Option<Interval>,
    /// What can be said.
    pub decision: Decision,
    /// No later look will change it.
    pub is_final: bool,
    /// Undecided: relative differences above this are excluded (0.05 = 5 %).
    pub excluded_above: Option<f64>,
    /// Units (rounds or epochs) it rests on.
    pub units: u32,
    /// Nominal two-sided level of the interval at its look.
    pub nominal_p: Option<f64>,
    /// Undecided: units needed in all for a verdict: for the estimate to be told from 0 or from the difference that matters
    /// if it stays where it is, or for a difference that matters to be told from none, whichever comes sooner.
    pub units_needed: Option<u32>,
    /// Smallest difference that the present noise lets the whole budget see (relative).
    pub detectable: Option<f64>,
}

/// Judges every comparison of the run at the looks its complete rounds have reached.
pub fn sequence(run: &Run, rounds: &Rounds<'_>) -> Vec<Comparison> {
    let plan = &run.header.plan;
    let comparisons = (plan.variants.len() - 1) * plan.judge.decide.len();
    let mut judged = Vec::with_capacity(comparisons);
    for metric in &plan.judge.decide {
        let observations = rounds.observations(*metric);
        for variant in (0..plan.variants.len()).filter(|variant| *variant != plan.baseline) {
            #[expect(clippy::cast_precision_loss, reason = "at most 64 variants")]
            let alpha = plan.judge.alpha / comparisons as f64;
            let ended = run.finish.is_some();
            let slots = [Slot { variant, copy: 0 }];
            let estimate = |units: u32, p: f64| match metric {
                Metric::CpuPerOp => totals_up_to(rounds, variant, rounds.cluster_at(units), p),
                _ => interval(&observations, &slots, &rounds.baseline_slots(), rounds.cluster_at(units), p),
            };
            let mut comparison = judge(&plan.judge, rounds, alpha, ended, estimate);
            comparison.variant = variant;
            comparison.metric = *metric;
            judged.push(comparison);
        }
    }
    judged
}

/// The boundary of a run's comparisons once the horizon is known.
pub(crate) fn boundary(rounds: &Rounds<'_>, alpha: f64) -> Option<Boundary> {
    Some(remembered(first_look(rounds.replication), rounds.horizon?, alpha))
}

/// Units at the first look of the boundary: below them nothing is judged, because the t approximation of the
/// intervals has not been shown to hold.
pub fn first_look(replication: Replication) -> u32 {
    match replication {
        Replication::Round => FIRST_LOOK_ROUNDS,
        Replication::Epoch => FIRST_LOOK_EPOCHS,
    }
}

/// A boundary costs tens of milliseconds of CPU and is a pure function of three numbers; a run asks for
/// the same two after every round, while servers are being measured.
fn remembered(first: u32, horizon: u32, alpha: f64) -> Boundary {
    static KNOWN: Mutex<BTreeMap<(u32, u32, u64), Boundary>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known
        .entry((first, horizon, alpha.to_bits()))
        .or_insert_with(|| Boundary::new(first, horizon, alpha))
        .clone()
}

/// Whether the complete rounds have just reached a look of some comparison's boundary. Looks depend on
/// the horizon only, so they are the same for every comparison.
pub fn is_look(run: &Run, rounds: &Rounds<'_>) -> bool {
    boundary(rounds, run.header.plan.judge.alpha)
        .is_some_and(|boundary| boundary.at(rounds.units()).is_some() && !rounds.is_empty())
}

/// Walks the looks reached so far and stops at the first that decides.
pub(crate) fn judge(
    rule: &JudgeRule,
    rounds: &Rounds<'_>,
    alpha: f64,
    ended: bool,
    estimate: impl Fn(u32, f64) -> Option<Interval>,
) -> Comparison {
    let mut comparison = undecided();
    let Some(boundary) = boundary(rounds, alpha) else { return comparison };
    let reached = rounds.units();
    let mut looks: Vec<Look> =
        boundary.looks().iter().copied().filter(|look| look.units <= reached).collect();
    let at_horizon = looks.last().is_some_and(|look| look.units == boundary.horizon());
    let enough = reached >= first_look(rounds.replication);
    if ended && enough && !at_horizon && looks.last().is_none_or(|look| look.units < reached) {
        looks.extend(boundary.end_early(reached));
    }
    let last = looks.len();
    for (index, look) in looks.iter().enumerate() {
        let Some(interval) = estimate(look.units, look.nominal_p) else { continue };
        let ruling = verdict::decide(&interval, &stats_rule(rule));
        let closing = index + 1 == last && (look.units == boundary.horizon() || ended);
        comparison = Comparison {
            interval: Some(interval),
            decision: ruling.decision,
            is_final: ruling.is_final || closing,
            excluded_above: Some(verdict::excluded_above(&interval)),
            units: look.units,
            nominal_p: Some(look.nominal_p),
            units_needed: None,
            detectable: None,
            ..comparison
        };
        if comparison.is_final {
            break;
        }
    }
    foresee(&mut comparison, rule, &boundary);
    comparison
}

/// What more time would bring.
fn foresee(comparison: &mut Comparison, rule: &JudgeRule, boundary: &Boundary) {
    let Some(interval) = comparison.interval else { return };
    let Some(now) = boundary.latest(comparison.units).or_else(|| boundary.looks().first()) else { return };
    let half = interval.half_width();
    comparison.detectable = planner::detectable(half, now, boundary).map(f64::exp_m1);
    if comparison.decision == Decision::Undecided {
        // Either verdict would do, the size may come later. An estimate next to the difference that matters would be decided by
        // no amount of time, and would not stay there: then the units that tell such a difference from none.
        let matters = rule.difference.ln_1p();
        let same = planner::units_for_half_width(half, now, boundary, matters - interval.estimate.abs());
        let different = [interval.estimate.abs(), matters]
            .into_iter()
            .filter_map(|effect| planner::units_needed(half, now, boundary, effect));
        comparison.units_needed = different.chain(same).min();
    }
}

fn undecided() -> Comparison {
    Comparison {
        variant: 0,
        metric: Metric::Throughput,
        interval: None,
        decision: Decision::Undecided,
        is_final: false,
        excluded_above: None,
        units: 0,
        nominal_p: None,
        units_needed: None,
        detectable: None,
    }
}

/// The rule in the words of `weigh-stats`.
pub(crate) fn stats_rule(rule: &JudgeRule) -> Rule {
    Rule {
        difference: rule.difference,
        goal: match rule.goal {
            Goal::Size => verdict::Goal::Size,
            Goal::Sign => verdict::Goal::Sign,
        },
        ..Rule::default()
    }
}

/// CHS interval of `of` against every slot of `against`, up to the unit numbered `last_cluster`.
pub(crate) fn interval(
    observations: &[Observation],
    of: &[Slot],
    against: &[Slot],
    last_cluster: u32,
    nominal_p: f64,
) -> Option<Interval> {
    huber::clustered_huber(&log_ratios(observations, of, against, last_cluster), nominal_p)
}

/// Log ratios up to the unit numbered `last_cluster`.
pub(crate) fn log_ratios(
    observations: &[Observation],
    of: &[Slot],
    against: &[Slot],
    last_cluster: u32,
) -> LogRatios {
    let mut ratios = LogRatios::new();
    for observation in observations.iter().filter(|observation| observation.last_cluster <= last_cluster) {
        let values: Vec<f64> = of
            .iter()
            .filter_map(|slot| observation.values.get(slot))
            .flat_map(|&value| {
                against
                    .iter()
                    .filter_map(|slot| observation.values.get(slot))
                    .map(move |base| (value / base).ln())
            })
            .filter(|ratio| ratio.is_finite())
            .collect();
        if !values.is_empty() {
            ratios.push_round(observation.cluster, &values);
        }
    }
    ratios
}

/// `None`, and so undecided, while the CPU time came in too few lumps to trust its interval.
fn totals_up_to(rounds: &Rounds<'_>, variant: usize, last_cluster: u32, nominal_p: f64) -> Option<Interval> {
    let sums = cost_totals(rounds, variant, "server.cpu_us", last_cluster);
    totals::compare(&sums, nominal_p).filter(|compared| !compared.too_few_lumps())?.ratio
}

/// Totals of a counter per operation for a variant and for the baseline's copies, by round, over the
/// rounds the variant took part in.
pub(crate) fn cost_totals(rounds: &Rounds<'_>, variant: usize, counter: &str, last_cluster: u32) -> Totals {
    let mut sums = Totals::new();
    for round in rounds.rounds.iter().filter(|round| round.cluster <= last_cluster) {
        let sum = |wanted: &dyn Fn(&Slot) -> bool| {
            round.trials.iter().filter(|(slot, _)| wanted(slot)).fold(
                None,
                |sum: Option<(f64, f64)>, (_, trial)| {
                    let value = trial.whole.counters.get(counter)?;
                    let (above, below) = sum.unwrap_or_default();
                    Some((above + value, below + whole_ops(trial)))
                },
            )
        };
        let of = sum(&|slot: &Slot| slot.variant == variant && slot.variant != rounds.baseline);
        let against = sum(&|slot: &Slot| slot.variant == rounds.baseline);
        if let (Some(of), Some(against)) = (of, against) {
            sums.push_round(round.cluster, against, of);
        }
    }
    sums
}
