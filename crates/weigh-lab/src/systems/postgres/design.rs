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
        let texts = plan.variants.iter().map(|variant| {
            variant.settings.iter().map(|(name, level)| (name.clone(), level.to_text())).collect()
        });
        let asked: Vec<Settings> = texts.collect();
        let common = common(&asked);
        let differing: Vec<Settings> = asked.iter().map(|settings| without(settings, &common)).collect();
        let (setups, setup_of) = distinct_setups(plan);
        let is_live = |name: &String| {
            matches!(context(description, name), SettingContext::Session | SettingContext::Reload)
        };
        let in_place = setups.len() == 1 && differing.iter().flat_map(BTreeMap::keys).all(is_live);
        let mut design = Design {
            common,
            setups,
            instances: Vec::new(),
            slots: BTreeMap::new(),
            reloads: false,
            clients_max: plan.variants.iter().map(|variant| variant.clients).max().unwrap_or(1),
        };
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

/// Every distinct set of set-up statements, and which of them each variant has.
fn distinct_setups(plan: &ResolvedPlan) -> (Vec<Vec<String>>, Vec<usize>) {
    let mut setups: Vec<Vec<String>> = Vec::new();
    let mut setup_of = Vec::new();
    for variant in &plan.variants {
        let known = setups.iter().position(|known| *known == variant.setup);
        setup_of.push(known.unwrap_or(setups.len()));
        if known.is_none() {
            setups.push(variant.setup.clone());
        }
    }
    (setups, setup_of)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ResolveOptions, resolve};
    use crate::systems::description::{SettingFacts, SettingKind};

    fn description() -> SystemDescription {
        let setting =
            |name: &str, context| SettingFacts { name: name.into(), context, kind: SettingKind::Text };
        SystemDescription {
            version: "15.18".to_owned(),
            settings: vec![
                setting("fsync", SettingContext::Reload),
                setting("jit", SettingContext::Session),
                setting("shared_buffers", SettingContext::Restart),
                setting("work_mem", SettingContext::Session),
            ],
            ..SystemDescription::default()
        }
    }

    fn design(rest: &str) -> Design {
        let text = format!(
            "system = \"postgres\"\n[[workload.operations]]\nname = \"read\"\nsql = \"SELECT 1\"\n{rest}"
        );
        let experiment = crate::experiment::parse("test.toml", &text).unwrap();
        let plan = resolve(&experiment, &description(), ResolveOptions::new(1)).unwrap();
        Design::new(&plan, &description())
    }

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn live_differences_are_toggled_in_place() {
        let design = design(
            "[settings]\nshared_buffers = \"64MB\"\n[factors]\n\"settings.fsync\" = [\"on\", \"off\"]\n\
             \"settings.jit\" = [\"on\", \"off\"]\n",
        );
        assert!(design.is_in_place() && design.reloads);
        assert_eq!(design.common, settings(&[("shared_buffers", "64MB")]));
        assert_eq!(design.instances[0].settings, Settings::new());
        assert_eq!(design.instances[0].slots.len(), 5);
        let last = &design.slots[&Slot { variant: 3, copy: 0 }];
        assert_eq!(last.reload, settings(&[("fsync", "off")]));
        assert_eq!(last.session, settings(&[("jit", "off")]));
        assert_eq!(last.asked, settings(&[("fsync", "off"), ("jit", "off"), ("shared_buffers", "64MB")]));
    }

    #[test]
    fn a_restart_puts_everything_into_instances() {
        let design = design(
            "[factors]\n\"settings.shared_buffers\" = [\"64MB\", \"32MB\"]\n\"settings.jit\" = [\"on\", \"off\"]\n",
        );
        assert!(!design.is_in_place() && !design.reloads);
        assert_eq!(design.instances.len(), 5);
        assert_eq!(design.instances[3].settings, settings(&[("jit", "off"), ("shared_buffers", "32MB")]));
        let copy = Slot { variant: 0, copy: 1 };
        assert_eq!(design.instances[design.slots[&copy].instance].slots, [copy]);
        assert!(design.slots.values().all(|slot| slot.session.is_empty() && slot.reload.is_empty()));
    }

    #[test]
    fn only_clients_differ() {
        let design = design("[factors]\n\"load.clients\" = [1, 90]\n");
        assert!(design.is_in_place() && !design.reloads);
        assert_eq!(design.clients_max, 90);
    }
}
