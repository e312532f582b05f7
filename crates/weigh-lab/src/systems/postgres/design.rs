//! Which instance serves which slot, and which setting goes where.
//!
//! When variants differ only in what a running server can change, one instance serves them all, toggled
//! in place: no layout of memory or files that differs by variant. Otherwise every slot, the hidden second
//! copy of the baseline included, has an instance of its own. Pure: nothing is read or started.

use std::collections::BTreeMap;

use weigh_results::model::Slot;

use super::conf::Settings;
use crate::plan::ResolvedPlan;
use crate::systems::description::{SettingContext, SystemDescription};
use crate::systems::slots::slots;

/// The layout of one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Design {
    /// Settings every variant asks for with the same value.
    pub(super) common: Settings,
    /// Distinct sets of set-up statements: a template each.
    pub(super) setups: Vec<Vec<String>>,
    /// The instances.
    pub(super) instances: Vec<InstanceDesign>,
    /// What each slot adds to its instance.
    pub(super) slots: BTreeMap<Slot, SlotDesign>,
    /// Some slots differ in settings that a reload brings into force.
    pub(super) reloads: bool,
    /// Most clients of any variant.
    pub(super) clients_max: usize,
}

/// One instance.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InstanceDesign {
    /// The slots it serves.
    pub(super) slots: Vec<Slot>,
    /// Index into [`Design::setups`].
    pub(super) setup: usize,
    /// What it has in its configuration besides the common settings.
    pub(super) settings: Settings,
}

/// One slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SlotDesign {
    /// Index into [`Design::instances`].
    pub(super) instance: usize,
    /// Toggled by a reload when the slot is entered.
    pub(super) reload: Settings,
    /// Set by every session of the load.
    pub(super) session: Settings,
    /// Everything the variant asks for, to be read back.
    pub(super) asked: Settings,
}

impl Design {
    /// The layout for a plan.
    pub(super) fn new(plan: &ResolvedPlan, description: &SystemDescription) -> Design {
        let asked: Vec<Settings> = plan
            .variants
            .iter()
            .map(|variant| {
                variant.settings.iter().map(|(name, level)| (name.clone(), level.to_text())).collect()
            })
            .collect();
        let common = common(&asked);
        let differing: Vec<Settings> = asked.iter().map(|settings| without(settings, &common)).collect();
        let mut setups: Vec<Vec<String>> = Vec::new();
        let setup_of: Vec<usize> = plan
            .variants
            .iter()
            .map(|variant| match setups.iter().position(|known| *known == variant.setup) {
                Some(index) => index,
                None => {
                    setups.push(variant.setup.clone());
                    setups.len() - 1
                }
            })
            .collect();
        let live = differing.iter().flat_map(BTreeMap::keys).all(|name| {
            matches!(context(description, name), SettingContext::Session | SettingContext::Reload)
        });
        let mut design = Design {
            common,
            setups,
            instances: Vec::new(),
            slots: BTreeMap::new(),
            reloads: false,
            clients_max: plan.variants.iter().map(|variant| variant.clients).max().unwrap_or(1),
        };
        let in_place = live && design.setups.len() == 1;
        for slot in slots(plan) {
            let settings = &differing[slot.variant];
            design.place(slot, setup_of[slot.variant], settings, in_place, description);
            if let Some(placed) = design.slots.get_mut(&slot) {
                placed.asked = asked[slot.variant].clone();
            }
        }
        design.reloads = design.slots.values().any(|slot| !slot.reload.is_empty());
        design
    }

    fn place(
        &mut self,
        slot: Slot,
        setup: usize,
        settings: &Settings,
        in_place: bool,
        description: &SystemDescription,
    ) {
        if !in_place {
            let instance = self.instances.len();
            self.instances.push(InstanceDesign { slots: vec![slot], setup, settings: settings.clone() });
            self.slots.insert(slot, SlotDesign { instance, ..SlotDesign::default() });
            return;
        }
        match self.instances.first_mut() {
            Some(only) => only.slots.push(slot),
            None => {
                self.instances.push(InstanceDesign { slots: vec![slot], setup, settings: Settings::new() });
            }
        }
        let (session, reload) = settings
            .clone()
            .into_iter()
            .partition(|(name, _)| context(description, name) == SettingContext::Session);
        self.slots.insert(slot, SlotDesign { instance: 0, reload, session, asked: Settings::new() });
    }

    /// Whether one instance serves every slot.
    pub(super) fn is_in_place(&self) -> bool {
        self.instances.len() == 1
    }
}

/// What is in all of them with the same value.
fn common(asked: &[Settings]) -> Settings {
    let Some((first, others)) = asked.split_first() else { return Settings::new() };
    let everywhere =
        |(name, value): &(&String, &String)| others.iter().all(|other| other.get(*name) == Some(*value));
    first.iter().filter(everywhere).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn without(settings: &Settings, common: &Settings) -> Settings {
    settings
        .iter()
        .filter(|(name, _)| !common.contains_key(*name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// A setting of an extension (`pg_stat_statements.track`) is unknown until its library is loaded; a
/// restart is the change that is right for all of them.
fn context(description: &SystemDescription, name: &str) -> SettingContext {
    description
        .settings
        .iter()
        .find(|setting| setting.name == name)
        .map_or(SettingContext::Restart, |setting| setting.context)
}
