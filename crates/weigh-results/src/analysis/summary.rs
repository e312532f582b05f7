//! One line of the table: what a variant did, beside its verdict.

use std::collections::BTreeMap;

use weigh_stats::Interval;

use super::costs::{self, CostPerOp, INFORMATION_P};
use super::first_calls::{self, FirstCalls};
use super::judge;
use super::rounds::{Rounds, median, whole_ops};
use crate::model::{Metric, Run, Slot};

/// One variant's figures over the rounds that count.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantSummary {
    /// Variant index.
    pub variant: usize,
    /// Trials that count.
    pub trials: u32,
    /// Operations measured in them.
    pub ops: u64,
    /// Median over trials of every metric that is known.
    pub medians: BTreeMap<Metric, f64>,
    /// Every known metric against the baseline at a fixed 95 %, for information: not protected
    /// against looking often or at many.
    pub information: Vec<Information>,
    /// Costs per operation.
    pub costs: Vec<CostPerOp>,
    /// Median time to work off what a trial left behind, seconds.
    pub debt_s: Option<f64>,
    /// Failures by message, all trials.
    pub errors: BTreeMap<String, u64>,
    /// Share of operations that were answered and did not find what they asked for, all trials.
    pub misses: Option<f64>,
    /// Items that failed inside operations that were otherwise done, by message, all trials.
    pub item_errors: BTreeMap<String, u64>,
    /// Median of gauges at the end of trials.
    pub gauges: BTreeMap<String, f64>,
    /// Operations answered without error in whole trials, warm-up and drain included: what failures are compared with.
    pub answered: f64,
    /// What the first operations of a trial took, where trials carry it.
    pub first_calls: Option<FirstCalls>,
    /// Versions of the server that it ran on, if they are known; more than one only if it was replaced meanwhile.
    pub versions: Vec<String>,
    /// Client user-mode CPU per operation, seconds.
    pub client_user_per_op_s: Option<f64>,
    /// Median CPU use of the busiest client thread, fraction of a core.
    pub client_busiest: Option<f64>,
}

/// A metric against the baseline, for information.
#[derive(Clone, Debug, PartialEq)]
pub struct Information {
    /// The metric.
    pub metric: Metric,
    /// Log ratio variant / baseline, 95 %, all rounds.
    pub interval: Interval,
}

/// One summary per variant.
pub(crate) fn summaries(run: &Run, rounds: &Rounds<'_>) -> Vec<VariantSummary> {
    let plan = &run.header.plan;
    let observed: Vec<_> =
        Metric::ALL.into_iter().map(|metric| (metric, rounds.observations(metric))).collect();
    (0..plan.variants.len())
        .map(|variant| {
            let mut medians = BTreeMap::new();
            let mut information = Vec::new();
            for (metric, observations) in &observed {
                let values = observations
                    .iter()
                    .flat_map(|seen| seen.values.iter().filter(|(slot, _)| slot.variant == variant))
                    .map(|(_, value)| *value)
                    .collect();
                let Some(value) = median(values) else { continue };
                medians.insert(*metric, value);
                let slots = [Slot { variant, copy: 0 }];
                let against = rounds.baseline_slots();
                if variant != plan.baseline
                    && let Some(interval) =
                        judge::interval(observations, &slots, &against, u32::MAX, INFORMATION_P)
                {
                    information.push(Information { metric: *metric, interval });
                }
            }
            let usual_s = medians.get(&Metric::LatencyP50).copied();
            VariantSummary {
                first_calls: first_calls::of(rounds.trials_of(variant), usual_s),
                medians,
                information,
                ..figures(run, rounds, variant)
            }
        })
        .collect()
}

/// Everything of a summary that is not a metric.
fn figures(run: &Run, rounds: &Rounds<'_>, variant: usize) -> VariantSummary {
    let trials: Vec<_> = rounds.trials_of(variant).collect();
    let mut errors = BTreeMap::new();
    let mut item_errors = BTreeMap::new();
    let mut gauges: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for trial in &trials {
        for (message, count) in &trial.errors {
            *errors.entry(message.clone()).or_default() += count;
        }
        for (message, count) in &trial.item_errors {
            *item_errors.entry(message.clone()).or_default() += count;
        }
        for (key, value) in &trial.gauges {
            gauges.entry(key.clone()).or_default().push(*value);
        }
    }
    let ops: u64 = trials.iter().map(|trial| trial.measured.ops).sum();
    let user: f64 = trials.iter().map(|trial| trial.client.user_s).sum();
    let misses: u64 = trials.iter().map(|trial| trial.misses).sum();
    let answered: f64 = trials.iter().map(|trial| whole_ops(trial)).sum();
    #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
    let misses = (misses > 0 && answered > 0.0).then(|| misses as f64 / answered);
    #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
    let per_op = (ops > 0 && user > 0.0).then(|| user / ops as f64);
    VariantSummary {
        variant,
        trials: u32::try_from(trials.len()).unwrap_or(u32::MAX),
        ops,
        medians: BTreeMap::new(),
        information: Vec::new(),
        costs: costs::costs(run, rounds, variant),
        debt_s: median(trials.iter().filter_map(|trial| trial.debt_s).collect()),
        errors,
        misses,
        item_errors,
        gauges: gauges.into_iter().filter_map(|(key, values)| Some((key, median(values)?))).collect(),
        answered,
        first_calls: None,
        versions: versions(run, variant),
        client_user_per_op_s: per_op,
        client_busiest: median(trials.iter().map(|trial| trial.client.busiest_thread).collect()),
    }
}

/// In the order they were first seen.
fn versions(run: &Run, variant: usize) -> Vec<String> {
    let mut versions: Vec<String> = Vec::new();
    let serves = |slots: &[Slot]| slots.iter().any(|slot| slot.variant == variant);
    for instance in run.instances.iter().filter(|instance| serves(&instance.slots)) {
        if !instance.version.is_empty() && !versions.contains(&instance.version) {
            versions.push(instance.version.clone());
        }
    }
    versions
}
