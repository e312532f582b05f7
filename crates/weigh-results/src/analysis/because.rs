//! What explains a difference: counters whose paired difference survives the multiplicity control.

use weigh_stats::Interval;
use weigh_stats::multiplicity;

use super::rounds::Rounds;
use super::summary::VariantSummary;
use crate::model::Run;

/// Family-wise error over all counters and variants (Holm).
const FAMILY_ALPHA: f64 = 0.05;

/// A counter that differs between a variant and the baseline, beyond chance.
#[derive(Clone, Debug, PartialEq)]
pub struct Because {
    /// Variant index.
    pub variant: usize,
    /// Counter key.
    pub counter: String,
    /// Cost per operation of the variant.
    pub variant_per_op: f64,
    /// Cost per operation of the baseline.
    pub baseline_per_op: f64,
    /// Log ratio with its interval; `None` when one side is zero.
    pub ratio: Option<Interval>,
    /// How large, for ordering: |ln ratio| with half a count added to each total.
    pub size: f64,
}

/// Counters that are materially and reliably different, largest first within each variant.
pub(crate) fn because(run: &Run, rounds: &Rounds<'_>, variants: &[VariantSummary]) -> Vec<Because> {
    let plan = &run.header.plan;
    let mut candidates = Vec::new();
    let mut p_values = Vec::new();
    for summary in variants.iter().filter(|summary| summary.variant != plan.baseline) {
        let variant = summary.variant;
        for cost in &summary.costs {
            let Some(compared) = cost.against_baseline else { continue };
            if !explains(&cost.counter) {
                continue;
            }
            p_values.push(compared.p_value);
            candidates.push(Because {
                variant,
                size: size(rounds, variant, cost.per_op, cost.baseline_per_op),
                counter: cost.counter.clone(),
                variant_per_op: cost.per_op,
                baseline_per_op: cost.baseline_per_op,
                ratio: compared.ratio,
            });
        }
    }
    let survives = multiplicity::holm(&p_values, FAMILY_ALPHA);
    let mut kept: Vec<Because> = candidates
        .into_iter()
        .zip(survives)
        .filter(|(because, survives)| *survives && is_material(because))
        .map(|(because, _)| because)
        .collect();
    kept.sort_by(|a, b| a.variant.cmp(&b.variant).then(b.size.total_cmp(&a.size)));
    kept
}

/// Parts of a sum that is shown already, the client's own cost, and what a device did with the
/// requests (times overlap, merges and discards are its own affair) and sampled waits explain nothing on their own.
fn explains(counter: &str) -> bool {
    const PARTS: [&str; 5] =
        ["cpu_user_us", "cpu_system_us", "read_chars_bytes", "write_chars_bytes", "dirtied_bytes"];
    let (room, name) = counter.split_once('.').unwrap_or(("", counter));
    let of_the_device =
        room == "disk" && (name.ends_with("_us") || name.contains("discard") || name.starts_with("merged"));
    let sampled = name.starts_with("wait.");
    !["client", "host"].contains(&room) && !PARTS.contains(&name) && !of_the_device && !sampled
}

/// Differences too small per operation to explain anything, by unit: a count below one in a hundred
/// operations, a byte count below 16, a time below half a microsecond; and less than 5 % of the larger.
fn is_material(because: &Because) -> bool {
    let difference = (because.variant_per_op - because.baseline_per_op).abs();
    let larger = because.variant_per_op.abs().max(because.baseline_per_op.abs());
    let floor = if because.counter.ends_with("_bytes") {
        16.0
    } else if because.counter.ends_with("_us") {
        0.5
    } else {
        0.01
    };
    difference >= floor && difference >= 0.05 * larger
}

fn size(rounds: &Rounds<'_>, variant: usize, per_op: f64, baseline_per_op: f64) -> f64 {
    let ops = |variant: usize| rounds.trials_of(variant).map(super::rounds::whole_ops).sum::<f64>().max(1.0);
    let (own, base) = (ops(variant), ops(rounds.baseline));
    (((per_op * own + 0.5) / own) / ((baseline_per_op * base + 0.5) / base)).ln().abs()
}
