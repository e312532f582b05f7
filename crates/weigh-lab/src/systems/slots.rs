//! The slots of a plan, and what its variants ask for.

use std::collections::BTreeMap;

use weigh_results::model::Slot;

use crate::plan::ResolvedPlan;

/// Every slot of a run: each variant, and the hidden second copy of the baseline.
pub(crate) fn slots(plan: &ResolvedPlan) -> Vec<Slot> {
    let variants = (0..plan.variants.len()).map(|variant| Slot { variant, copy: 0 });
    variants.chain([Slot { variant: plan.plan.baseline, copy: 1 }]).collect()
}

/// Settings by name, as the server's configuration has them.
pub(crate) type Settings = BTreeMap<String, String>;

/// The settings the variants of a plan ask for.
pub(crate) struct Asked {
    /// Of all of them with the same value.
    pub(crate) common: Settings,
    /// By variant, everything.
    pub(crate) all: Vec<Settings>,
    /// By variant, without the common ones.
    pub(crate) differing: Vec<Settings>,
}

impl Asked {
    /// Of every variant of a plan.
    pub(crate) fn of(plan: &ResolvedPlan) -> Asked {
        let texts = plan.variants.iter().map(|variant| {
            variant.settings.iter().map(|(name, level)| (name.clone(), level.to_text())).collect()
        });
        let all: Vec<Settings> = texts.collect();
        let mut common = all.first().cloned().unwrap_or_default();
        common.retain(|name, value| all.iter().all(|settings| settings.get(name) == Some(value)));
        let without = |settings: &Settings| {
            let mut rest = settings.clone();
            rest.retain(|name, _| !common.contains_key(name));
            rest
        };
        let differing = all.iter().map(without).collect();
        Asked { common, all, differing }
    }
}

/// Every distinct one in order of first appearance, and which of them each was.
pub(crate) fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> (Vec<T>, Vec<usize>) {
    let mut distinct = Vec::new();
    let which = all.map(|one| index_of(&mut distinct, one)).collect();
    (distinct, which)
}

/// Where it stands; it is added where it does not stand yet.
pub(crate) fn index_of<T: PartialEq>(all: &mut Vec<T>, wanted: T) -> usize {
    all.iter().position(|known| *known == wanted).unwrap_or_else(|| {
        all.push(wanted);
        all.len() - 1
    })
}
