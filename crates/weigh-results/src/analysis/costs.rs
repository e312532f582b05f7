//! Every counter as a cost per operation, with an interval against the baseline.

use std::collections::BTreeSet;

use weigh_stats::totals;

use super::judge::cost_totals;
use super::rounds::{Rounds, whole_ops};
use crate::model::Run;

/// Level of intervals that are for information.
pub(crate) const INFORMATION_P: f64 = 0.05;

/// What one operation costs of one counter.
///
/// Over whole trials, drain included: everything a trial did, divided by everything it completed.
#[derive(Clone, Debug, PartialEq)]
pub struct CostPerOp {
    /// Counter key; its last word is the unit.
    pub counter: String,
    /// Cost per operation of the variant.
    pub per_op: f64,
    /// Cost per operation of the baseline over the same rounds.
    pub baseline_per_op: f64,
    /// Against the baseline.
    pub against_baseline: Option<totals::Comparison>,
}

/// The costs of a variant, by counter key.
pub(crate) fn costs(run: &Run, rounds: &Rounds<'_>, variant: usize) -> Vec<CostPerOp> {
    let baseline = run.header.plan.baseline;
    let keys: BTreeSet<&String> =
        rounds.trials_of(variant).flat_map(|trial| trial.whole.counters.keys()).collect();
    keys.into_iter()
        .filter_map(|counter| {
            let per_op = per_op(rounds, variant, counter)?;
            if variant == baseline {
                return Some(CostPerOp {
                    counter: counter.clone(),
                    per_op,
                    baseline_per_op: per_op,
                    against_baseline: None,
                });
            }
            let sums = cost_totals(rounds, variant, counter, u32::MAX);
            Some(CostPerOp {
                counter: counter.clone(),
                per_op,
                baseline_per_op: sums.baseline_per_op().unwrap_or(f64::NAN),
                against_baseline: totals::compare(&sums, INFORMATION_P),
            })
        })
        .collect()
}

/// Total of a counter over total operations.
fn per_op(rounds: &Rounds<'_>, variant: usize, counter: &str) -> Option<f64> {
    let (mut above, mut below) = (0.0, 0.0);
    for trial in rounds.trials_of(variant) {
        if let Some(value) = trial.whole.counters.get(counter) {
            above += value;
            below += whole_ops(trial);
        }
    }
    (below > 0.0).then(|| above / below)
}
