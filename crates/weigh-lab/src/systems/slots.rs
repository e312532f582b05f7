//! The slots of a plan.

use weigh_results::model::Slot;

use crate::plan::ResolvedPlan;

/// Every slot of a run: each variant, and the hidden second copy of the baseline.
pub(crate) fn slots(plan: &ResolvedPlan) -> Vec<Slot> {
    let variants = (0..plan.variants.len()).map(|variant| Slot { variant, copy: 0 });
    variants.chain([Slot { variant: plan.plan.baseline, copy: 1 }]).collect()
}
