//! Which instance serves which slot, and which setting goes where.
//!
//! When variants differ only in what a running server can change, one instance serves them all, toggled
//! in place: no layout of memory or files that differs by variant. Otherwise every slot, the hidden second
//! copy of the baseline included, has an instance of its own: also where versions, set-ups or the memory they
//! may use differ. Pure: nothing is read or started.

use std::collections::BTreeMap;

use weigh_results::model::Slot;

use super::conf::Settings;
use crate::plan::{ResolvedPlan, Start};
use crate::systems::description::{SettingContext, SystemDescription};
use crate::systems::slots::{Asked, index_of, slots};

/// The layout of one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Design {
    /// Settings every variant asks for with the same value.
    pub(super) common: Settings,
    /// Versions asked for, each once; `None`: whatever is there.
    pub(super) versions: Vec<Option<String>>,
    /// Distinct pairs of a version and set-up statements.
    pub(super) templates: Vec<TemplateDesign>,
    /// The instances.
    pub(super) instances: Vec<InstanceDesign>,
    /// What each slot adds to its instance.
    pub(super) slots: BTreeMap<Slot, SlotDesign>,
    /// Some slots differ in settings that a reload brings into force.
    pub(super) reloads: bool,
    /// Most clients of any variant.
    pub(super) clients_max: usize,
    /// Some trials begin with everything read once.
    pub(super) warms: bool,
}

/// What instances start from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TemplateDesign {
    /// Index into [`Design::versions`].
    pub(super) version: usize,
    /// Its set-up statements.
    pub(super) setup: Vec<String>,
}

/// One instance.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InstanceDesign {
    /// The slots it serves.
    pub(super) slots: Vec<Slot>,
    /// Index into [`Design::templates`].
    pub(super) template: usize,
    /// Most memory its processes and the pages they read may take, bytes.
    pub(super) memory_bytes: Option<u64>,
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
    /// What is done before every trial.
    pub(super) start: Option<Start>,
}

/// What an instance is made of besides settings.
#[derive(Clone, Copy)]
struct Base {
    template: usize,
    memory_bytes: Option<u64>,
}

impl Design {
    /// The layout for a plan.
    pub(super) fn new(plan: &ResolvedPlan, description: &SystemDescription) -> Design {
        let Asked { common, all: asked, differing } = Asked::of(plan);
        let (versions, templates, bases) = bases(plan);
        let is_live = |name: &String| {
            matches!(context(description, name), SettingContext::Session | SettingContext::Reload)
        };
        let one_memory = bases.iter().all(|base| base.memory_bytes == bases[0].memory_bytes);
        let in_place =
            templates.len() == 1 && one_memory && differing.iter().flat_map(BTreeMap::keys).all(is_live);
        let mut design = Design {
            common,
            versions,
            templates,
            instances: Vec::new(),
            slots: BTreeMap::new(),
            reloads: false,
            clients_max: plan.variants.iter().map(|variant| variant.clients).max().unwrap_or(1),
            warms: plan.variants.iter().any(|variant| variant.server.start == Some(Start::Warm)),
        };
        for slot in slots(plan) {
            let settings = &differing[slot.variant];
            design.place(slot, bases[slot.variant], settings, in_place, description);
            if let Some(placed) = design.slots.get_mut(&slot) {
                placed.asked = asked[slot.variant].clone();
                placed.start = plan.variants[slot.variant].server.start;
            }
        }
        design.reloads = design.slots.values().any(|slot| !slot.reload.is_empty());
        design
    }

    fn place(
        &mut self,
        slot: Slot,
        base: Base,
        settings: &Settings,
        in_place: bool,
        description: &SystemDescription,
    ) {
        if !in_place {
            let instance = self.instances.len();
            self.instances.push(base.instance(slot, settings.clone()));
            self.slots.insert(slot, SlotDesign { instance, ..SlotDesign::default() });
            return;
        }
        match self.instances.first_mut() {
            Some(only) => only.slots.push(slot),
            None => self.instances.push(base.instance(slot, Settings::new())),
        }
        let (session, reload) = settings
            .clone()
            .into_iter()
            .partition(|(name, _)| context(description, name) == SettingContext::Session);
        self.slots.insert(slot, SlotDesign { reload, session, ..SlotDesign::default() });
    }

    /// Whether one instance serves every slot.
    pub(super) fn is_in_place(&self) -> bool {
        self.instances.len() == 1
    }
}

impl Base {
    fn instance(self, slot: Slot, settings: Settings) -> InstanceDesign {
        let Base { template, memory_bytes } = self;
        InstanceDesign { slots: vec![slot], template, memory_bytes, settings }
    }
}

/// Every distinct version and template, and what each variant is based on.
fn bases(plan: &ResolvedPlan) -> (Vec<Option<String>>, Vec<TemplateDesign>, Vec<Base>) {
    let (mut versions, mut templates, mut bases) = (Vec::new(), Vec::new(), Vec::new());
    for variant in &plan.variants {
        let version = index_of(&mut versions, variant.server.version.clone());
        let template = TemplateDesign { version, setup: variant.setup.clone() };
        let template = index_of(&mut templates, template);
        bases.push(Base { template, memory_bytes: variant.server.memory_bytes });
    }
    (versions, templates, bases)
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
    fn versions_and_memory_get_instances_and_templates() {
        let design = design(
            "[factors]\n\"system.version\" = [\"16\", \"18\"]\n\"system.memory\" = [\"64MB\", \"128MB\"]\n",
        );
        assert!(!design.is_in_place());
        assert_eq!(design.versions, [Some("16".to_owned()), Some("18".to_owned())]);
        assert_eq!(design.templates.iter().map(|template| template.version).collect::<Vec<_>>(), [0, 1]);
        let made = |instance: &InstanceDesign| (instance.template, instance.memory_bytes.map(|b| b >> 20));
        let instances: Vec<_> = design.instances.iter().map(made).collect();
        assert_eq!(instances, [(0, Some(64)), (0, Some(128)), (1, Some(64)), (1, Some(128)), (0, Some(64))]);
    }

    #[test]
    fn one_instance_can_start_cold_and_warm() {
        let design = design("[factors]\n\"system.start\" = [\"cold\", \"warm\"]\n");
        assert!(design.is_in_place() && design.warms);
        let starts: Vec<_> = design.slots.values().map(|slot| slot.start).collect();
        assert_eq!(starts, [Some(Start::Cold), Some(Start::Cold), Some(Start::Warm)]);
    }

    #[test]
    fn only_clients_differ() {
        let design = design("[factors]\n\"load.clients\" = [1, 90]\n");
        assert!(design.is_in_place() && !design.reloads);
        assert_eq!(design.clients_max, 90);
    }
}
