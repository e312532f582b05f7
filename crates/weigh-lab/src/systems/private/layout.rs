//! Which instance serves which slot, and which setting goes where. Pure: nothing is read or started.
//!
//! When variants differ only in what the running server can change, one instance serves them all, toggled in place: no
//! layout of memory or files that differs by variant. Otherwise every slot, the hidden second copy of the baseline
//! included, has an instance of its own.

use std::collections::BTreeMap;

use weigh_results::model::Slot;

use super::kind::Settings;
use crate::plan::{ResolvedPlan, ServerPlan};
use crate::systems::description::{SettingContext, SystemDescription};
use crate::systems::slots::{Asked, distinct, slots};

/// The layout of one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    /// What distinct servers are made of; instances point here.
    pub(super) makes: Vec<ServerPlan>,
    /// Distinct data to start from: a make, set-up texts, and settings all variants with them share.
    pub(super) seeds: Vec<Seed>,
    /// The instances.
    pub(super) instances: Vec<InstanceLayout>,
    /// What each slot adds to its instance.
    pub(super) slots: BTreeMap<Slot, SlotLayout>,
}

/// What an instance's data are made with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seed {
    /// Index into [`Layout::makes`].
    pub(super) make: usize,
    /// Set-up texts in order.
    pub(super) setup: Vec<String>,
    /// In force meanwhile.
    pub(super) settings: Settings,
}

/// One instance.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InstanceLayout {
    /// The slots it serves.
    pub(super) slots: Vec<Slot>,
    /// Index into [`Layout::seeds`].
    pub(super) seed: usize,
    /// What it is started with.
    pub(super) settings: Settings,
    /// What is toggled while it runs: every name any slot differs in.
    pub(super) live: Vec<String>,
}

/// One slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SlotLayout {
    /// Index into [`Layout::instances`].
    pub(super) instance: usize,
    /// Toggled when the slot is entered.
    pub(super) live: Settings,
    /// Everything the variant asks for, to be read back.
    pub(super) asked: Settings,
}

impl Layout {
    /// The layout for a plan.
    pub(super) fn new(plan: &ResolvedPlan, description: &SystemDescription) -> Layout {
        let Asked { common, all: asked, differing } = Asked::of(plan);
        let mut live: Vec<String> = differing.iter().flat_map(BTreeMap::keys).cloned().collect();
        live.sort();
        live.dedup();
        let (makes, make_of) = distinct(plan.variants.iter().map(|variant| variant.server.clone()));
        let seed_of = plan.variants.iter().enumerate().map(|(index, variant)| Seed {
            make: make_of[index],
            setup: variant.setup.clone(),
            settings: common.clone(),
        });
        let (seeds, seed_of) = distinct(seed_of);
        let in_place = seeds.len() == 1 && live.iter().all(|name| is_live(description, name));
        let mut layout = Layout { makes, seeds, instances: Vec::new(), slots: BTreeMap::new() };
        for slot in slots(plan) {
            let (seed, differs) = (seed_of[slot.variant], &differing[slot.variant]);
            let mut placed = match in_place {
                true => layout.share(slot, &common, &live, differs),
                false => layout.give_its_own(slot, seed, &asked[slot.variant]),
            };
            placed.asked.clone_from(&asked[slot.variant]);
            layout.slots.insert(slot, placed);
        }
        layout
    }

    /// The one instance serves this slot too.
    fn share(&mut self, slot: Slot, common: &Settings, live: &[String], differs: &Settings) -> SlotLayout {
        match self.instances.first_mut() {
            Some(only) => only.slots.push(slot),
            None => self.instances.push(InstanceLayout {
                slots: vec![slot],
                seed: 0,
                settings: common.clone(),
                live: live.to_vec(),
            }),
        }
        SlotLayout { instance: 0, live: differs.clone(), asked: Settings::new() }
    }

    fn give_its_own(&mut self, slot: Slot, seed: usize, asked: &Settings) -> SlotLayout {
        let instance = self.instances.len();
        let (slots, settings) = (vec![slot], asked.clone());
        self.instances.push(InstanceLayout { slots, seed, settings, live: Vec::new() });
        SlotLayout { instance, ..SlotLayout::default() }
    }

    /// Whether one instance serves every slot.
    pub(super) fn is_in_place(&self) -> bool {
        self.instances.len() == 1
    }
}

fn is_live(description: &SystemDescription, name: &str) -> bool {
    let known = description.settings.iter().find(|setting| setting.name == name);
    known.is_some_and(|setting| matches!(setting.context, SettingContext::Session | SettingContext::Reload))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ResolveOptions, resolve};
    use crate::systems::description::{SettingFacts, SettingKind};

    fn layout(rest: &str) -> Layout {
        let setting =
            |name: &str, context| SettingFacts { name: name.into(), context, kind: SettingKind::Text };
        let description = SystemDescription {
            settings: vec![
                setting("appendfsync", SettingContext::Reload),
                setting("io-threads", SettingContext::Restart),
            ],
            ..SystemDescription::default()
        };
        let text = format!(
            "system = \"redis\"\n[[workload.operations]]\nname = \"get\"\ncommand = \"GET a\"\n{rest}"
        );
        let experiment = crate::experiment::parse("test.toml", &text).unwrap();
        let plan = resolve(&experiment, &description, ResolveOptions::new(1)).unwrap();
        Layout::new(&plan, &description)
    }

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn live_differences_are_toggled_in_place() {
        let layout = layout(
            "[settings]\nio-threads = 2\n[factors]\n\"settings.appendfsync\" = [\"no\", \"always\"]\n",
        );
        assert!(layout.is_in_place());
        assert_eq!(layout.instances[0].settings, settings(&[("io-threads", "2")]));
        assert_eq!(
            (layout.instances[0].slots.len(), layout.instances[0].live.as_slice()),
            (3, &["appendfsync".to_owned()][..])
        );
        let last = &layout.slots[&Slot { variant: 1, copy: 0 }];
        assert_eq!(last.live, settings(&[("appendfsync", "always")]));
        assert_eq!(last.asked, settings(&[("appendfsync", "always"), ("io-threads", "2")]));
    }

    #[test]
    fn a_restart_or_another_program_gives_each_slot_its_own() {
        let restart = layout("[factors]\n\"settings.io-threads\" = [1, 2]\n");
        assert_eq!((restart.instances.len(), restart.seeds.len()), (3, 1));
        assert_eq!(restart.instances[1].settings, settings(&[("io-threads", "2")]));
        let copy = Slot { variant: 0, copy: 1 };
        assert_eq!(restart.instances[restart.slots[&copy].instance].slots, [copy]);
        let servers = layout("[factors]\n\"system.server\" = [\"redis\", \"valkey\"]\n");
        assert_eq!((servers.instances.len(), servers.makes.len(), servers.seeds.len()), (3, 2, 2));
    }
}
