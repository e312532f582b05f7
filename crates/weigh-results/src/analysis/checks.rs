//! The self checks that run in every experiment: A/A, carry-over, halves, drift.

use weigh_stats::Interval;
use weigh_stats::checks::{self, CHECK_LEVEL};
use weigh_stats::huber::LogRatios;
use weigh_stats::verdict::{self, Decision};

use super::judge::{self, interval};
use super::rounds::{Rounds, whole_bins};
use crate::model::{Metric, Run, Slot, Trial};

/// The two copies of the baseline against each other, by one decision metric.
#[derive(Clone, Debug, PartialEq)]
pub struct AaCheck {
    /// The metric.
    pub metric: Metric,
    /// Log ratio second copy / first copy.
    pub interval: Option<Interval>,
    /// What it means.
    pub outcome: AaOutcome,
    /// Units it rests on.
    pub units: u32,
}

/// What the A/A check found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AaOutcome {
    /// Not enough rounds yet.
    Pending,
    /// The copies agree within the difference that matters.
    Agrees,
    /// The copies agree only within this relative difference.
    AgreesWithin(f64),
    /// The copies differ: no verdict.
    Fails,
}

/// The other checks; `None` where there is too little data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelfChecks {
    /// What ran before a trial shows in it: log effect and whether it fails.
    pub carry_over: Option<(f64, bool)>,
    /// Second half of trials against the first: (variant, log interval, fails).
    pub halves: Vec<(usize, Interval, bool)>,
    /// The effect in the first and in the second half of the run: (variant, first, second), only where they differ.
    pub drifting: Vec<(usize, Interval, Interval)>,
}

impl SelfChecks {
    /// Whether trials do not settle within their warm-up.
    pub fn unsettled(&self) -> bool {
        self.carry_over.is_some_and(|(_, fails)| fails) || self.halves.iter().any(|(_, _, fails)| *fails)
    }
}

/// The A/A check of every decision metric, by the same looks and spending as the comparisons.
pub(crate) fn aa(run: &Run, rounds: &Rounds<'_>) -> Vec<AaCheck> {
    let rule = &run.header.plan.judge;
    let [first, second] = rounds.baseline_slots();
    rule.decide
        .iter()
        .map(|metric| {
            let observations = rounds.observations(*metric);
            let judged = judge::judge(rule, rounds, rule.alpha, run.finish.is_some(), |units, p| {
                interval(&observations, &[second], &[first], rounds.cluster_at(units), p)
            });
            let outcome = match (&judged.interval, judged.decision) {
                (None, _) => AaOutcome::Pending,
                (Some(_), Decision::Different) => AaOutcome::Fails,
                (Some(_), Decision::Same) => AaOutcome::Agrees,
                (Some(found), Decision::Undecided) => AaOutcome::AgreesWithin(verdict::excluded_above(found)),
            };
            AaCheck { metric: *metric, interval: judged.interval, outcome, units: judged.units }
        })
        .collect()
}

/// Carry-over, halves and drift of the first decision metric.
pub(crate) fn self_checks(run: &Run, rounds: &Rounds<'_>) -> SelfChecks {
    let Some(metric) = run.header.plan.judge.decide.first().copied() else { return SelfChecks::default() };
    SelfChecks {
        carry_over: carry_over(rounds, metric),
        halves: halves(run, rounds),
        drifting: drifting(run, rounds, metric),
    }
}

/// D = ln A − ln A', x = [A directly follows a variant] − [A' does] (docs/methods.md, carry-over).
fn carry_over(rounds: &Rounds<'_>, metric: Metric) -> Option<(f64, bool)> {
    let [first, second] = rounds.baseline_slots();
    let follows = |index: usize, slot: Slot| -> Option<f64> {
        let here = rounds.rounds[index].trials.get(&slot)?;
        let before = predecessor(rounds, index, here)?;
        Some(f64::from(u8::from(before.slot.variant != rounds.baseline)))
    };
    let mut differences = Vec::new();
    let mut exposures = Vec::new();
    for (index, observation) in rounds.observations(metric).iter().enumerate().skip(1) {
        let (Some(a), Some(b)) = (observation.values.get(&first), observation.values.get(&second)) else {
            continue;
        };
        if index >= rounds.rounds.len() {
            break;
        }
        let (Some(x), Some(y)) = (follows(index, first), follows(index, second)) else { continue };
        differences.push(a.ln() - b.ln());
        exposures.push(x - y);
    }
    let found = checks::carry_over(&differences, &exposures)?;
    Some((found.effect, found.fails))
}

/// The trial that ran directly before, in the same round or as the last of the previous one.
fn predecessor<'a>(rounds: &Rounds<'a>, index: usize, here: &Trial) -> Option<&'a Trial> {
    if here.position > 0 {
        return rounds.rounds[index]
            .trials
            .values()
            .copied()
            .find(|trial| trial.position + 1 == here.position);
    }
    let previous = rounds.rounds.get(index.checked_sub(1)?)?;
    (previous.number + 1 == rounds.rounds[index].number)
        .then(|| previous.trials.values().copied().max_by_key(|trial| trial.position))?
}

/// ln of operations in the second half of the measured window over the first, by trial.
fn half_ratio(trial: &Trial) -> Option<f64> {
    let from = whole_bins(trial.settle_s + 0.0999);
    let until = whole_bins(trial.settle_s + trial.measured.seconds);
    let bins = trial.bins_100ms.get(from..until.min(trial.bins_100ms.len()))?;
    let half = bins.len() / 2;
    if half < 2 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
    let sum = |part: &[u64]| part.iter().sum::<u64>() as f64;
    let ratio = (sum(&bins[bins.len() - half..]) / sum(&bins[..half])).ln();
    ratio.is_finite().then_some(ratio)
}

fn halves(run: &Run, rounds: &Rounds<'_>) -> Vec<(usize, Interval, bool)> {
    (0..run.header.plan.variants.len())
        .filter_map(|variant| {
            let mut ratios = LogRatios::new();
            for round in &rounds.rounds {
                let values: Vec<f64> = round
                    .trials
                    .iter()
                    .filter(|(slot, _)| slot.variant == variant)
                    .filter_map(|(_, trial)| half_ratio(trial))
                    .collect();
                if !values.is_empty() {
                    ratios.push_round(round.cluster, &values);
                }
            }
            let found = checks::halves(&ratios, CHECK_LEVEL)?;
            Some((variant, found.interval, found.fails))
        })
        .collect()
}

fn drifting(run: &Run, rounds: &Rounds<'_>, metric: Metric) -> Vec<(usize, Interval, Interval)> {
    let observations = rounds.observations(metric);
    (0..run.header.plan.variants.len())
        .filter(|variant| *variant != rounds.baseline)
        .filter_map(|variant| {
            let ratios = judge::log_ratios(
                &observations,
                &[Slot { variant, copy: 0 }],
                &rounds.baseline_slots(),
                u32::MAX,
            );
            let found = checks::drifting_effect(&ratios, CHECK_LEVEL)?;
            found.fails.then_some((variant, found.first, found.second))
        })
        .collect()
}
