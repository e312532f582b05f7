//! Private servers of one process as a [`System`].
//!
//! One instance toggled in place, or one per slot ([`Layout`]). Between trials every instance that is not under load is
//! frozen. With an instance per slot each epoch starts every one from the template's bytes again; with one instance in
//! place there is one epoch, and what the trials write stays: the same for every variant, as they take turns.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use weigh_collect::BlockDevice;
use weigh_load::Driver;
use weigh_results::model::{InstanceRecord, Replication, Slot};

use super::home::{Home, Shop};
use super::instance::{Instance, Order};
use super::kind::{Kind, Settings};
use super::layout::{Layout, SlotLayout};
use super::template;
use crate::host::sync_file_system;
use crate::plan::{ResolvedPlan, ResolvedVariant, ServerPlan};
use crate::systems::{BuildContext, Counters, System, SystemDescription, SystemError};

/// From what a server is made of to its kind.
pub(in crate::systems) type MakeKind<'a> = dyn Fn(&ServerPlan) -> Result<Rc<dyn Kind>, SystemError> + 'a;

/// Private servers, prepared or running.
pub(in crate::systems) struct PrivateServers {
    shop: Shop,
    layout: Layout,
    /// By index of [`Layout::makes`].
    kinds: Vec<Rc<dyn Kind>>,
    variants: Vec<ResolvedVariant>,
    /// By index of [`Layout::seeds`].
    templates: Vec<Option<PathBuf>>,
    device: Option<BlockDevice>,
    homes: Vec<Home>,
    running: Vec<Instance>,
    /// What was in force, of everything that is toggled, before anything was.
    untouched: Settings,
    starts: u32,
}

impl PrivateServers {
    /// Makes the templates; nothing runs afterwards. `kind` is asked once for each distinct make.
    ///
    /// # Errors
    /// When something is missing, a setting is refused, or a set-up command fails.
    pub(in crate::systems) fn build(
        plan: &ResolvedPlan,
        description: &SystemDescription,
        context: BuildContext<'_>,
        kind: &MakeKind<'_>,
    ) -> Result<PrivateServers, SystemError> {
        let BuildContext { changes, work_dir, cancel, progress } = context;
        let shop = Shop::new(Arc::clone(&changes), work_dir, cancel)?;
        let layout = Layout::new(plan, description);
        let kinds = layout.makes.iter().map(kind).collect::<Result<Vec<_>, _>>()?;
        let device = BlockDevice::below(&shop.work_dir).ok().flatten();
        let mut servers = PrivateServers {
            shop,
            layout,
            kinds,
            variants: plan.variants.clone(),
            templates: Vec::new(),
            device,
            homes: Vec::new(),
            running: Vec::new(),
            untouched: Settings::new(),
            starts: 0,
        };
        servers.make_templates(progress)?;
        Ok(servers)
    }

    fn make_templates(&mut self, progress: &mut dyn FnMut(String)) -> Result<(), SystemError> {
        for index in 0..self.layout.instances.len() {
            let home = Home::make(&self.shop, &format!("i{index}"), self.kind(index).listens())?;
            self.homes.push(home);
        }
        let slow = |seed: &super::layout::Seed| !seed.setup.is_empty() && self.kinds[seed.make].keeps_data();
        if self.layout.seeds.iter().any(slow) {
            self.judge_all()?;
        }
        for (number, seed) in self.layout.seeds.iter().enumerate() {
            let kind = &self.kinds[seed.make];
            if slow(seed) {
                progress(format!("{}: running {} set-up commands", kind.title(), seed.setup.len()));
            }
            self.templates.push(template::make(&self.shop, kind.as_ref(), seed, number)?);
        }
        Ok(())
    }

    /// The server judges every variant's settings before any time is spent on the set-up.
    fn judge_all(&self) -> Result<(), SystemError> {
        let mut judged: Vec<(usize, &Settings)> = Vec::new();
        for (slot, placed) in &self.layout.slots {
            let make = self.layout.seeds[self.layout.instances[placed.instance].seed].make;
            if placed.asked.is_empty() || judged.contains(&(make, &placed.asked)) {
                continue;
            }
            judged.push((make, &placed.asked));
            let (kind, home) = (self.kinds[make].as_ref(), &self.homes[placed.instance]);
            template::judge(&self.shop, kind, home, &placed.asked)
                .map_err(|error| self.name_variant(error, &[*slot]))?;
        }
        Ok(())
    }

    /// The kind of an instance.
    fn kind(&self, instance: usize) -> Rc<dyn Kind> {
        Rc::clone(&self.kinds[self.layout.seeds[self.layout.instances[instance].seed].make])
    }

    fn placed(&self, slot: Slot) -> Result<SlotLayout, SystemError> {
        self.layout.slots.get(&slot).cloned().ok_or_else(|| {
            SystemError::new(format!("variant {} has no instance (copy {})", slot.variant, slot.copy))
        })
    }

    fn running(&mut self, slot: Slot) -> Result<&mut Instance, SystemError> {
        let index = self.placed(slot)?.instance;
        self.running.get_mut(index).ok_or_else(|| SystemError::new("the private servers are not running"))
    }

    fn stop_all(&mut self) -> Result<(), SystemError> {
        let mut first_error = None;
        for instance in std::mem::take(&mut self.running) {
            if let Err(error) = instance.discard(&self.shop.changes) {
                first_error.get_or_insert(error);
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    fn start(&self, index: usize) -> Result<Instance, SystemError> {
        let wanted = &self.layout.instances[index];
        let kind = self.kind(index);
        let seed = &self.layout.seeds[wanted.seed];
        let memory_bytes = self.layout.makes[seed.make].memory_bytes;
        let order = Order { memory_bytes, ..Order::for_trials(&wanted.settings) };
        let mut instance = Instance::start(&self.shop, kind.as_ref(), &self.homes[index], order)?;
        let setup = &seed.setup;
        if !kind.keeps_data() && !setup.is_empty() {
            template::execute(kind.as_ref(), &instance.home, setup, "set-up command", &self.shop.cancel)
                .map_err(|error| instance.explain(kind.as_ref(), error))?;
        }
        Ok(instance)
    }

    /// What is in force before any trial.
    fn record(&self, index: usize, instance: &mut Instance) -> Result<InstanceRecord, SystemError> {
        let wanted = &self.layout.instances[index];
        let identity = instance.identify()?;
        let mut settings = identity.settings;
        settings.extend(instance.read_back(self.kind(index).as_ref(), &wanted.settings)?);
        Ok(InstanceRecord {
            slots: wanted.slots.clone(),
            version: identity.version,
            settings,
            start: self.starts,
            ready_s: instance.ready_s,
        })
    }

    /// Says whose settings an error is about, when it is about one variant's.
    fn name_variant(&self, error: SystemError, slots: &[Slot]) -> SystemError {
        match slots {
            [only] => error.of(format_args!("variant `{}`", self.variants[only.variant].name)),
            _ => error,
        }
    }

    /// An error because the server is gone says so, with the server's last words.
    fn explained<T>(&mut self, slot: Slot, result: Result<T, SystemError>) -> Result<T, SystemError> {
        let Err(error) = result else { return result };
        let kind = self.placed(slot).map(|placed| self.kind(placed.instance));
        Err(match (kind, self.running(slot)) {
            (Ok(kind), Ok(instance)) => instance.explain(kind.as_ref(), error),
            _ => error,
        })
    }

    fn try_enter(&mut self, slot: Slot) -> Result<Box<dyn Driver>, SystemError> {
        let placed = self.placed(slot)?;
        for (index, other) in self.running.iter_mut().enumerate() {
            if index != placed.instance {
                other.freeze()?;
            }
        }
        // Everything that differs between slots is set, also where nothing changes: every slot pays the same.
        let mut live = self.untouched.clone();
        live.extend(placed.live.clone());
        let (kind, cancel) = (self.kind(placed.instance), self.shop.cancel.clone());
        let variant = self.variants[slot.variant].clone();
        let in_variant = |error: SystemError| error.of(format_args!("variant `{}`", variant.name));
        let shop = self.shop.clone();
        let instance = self.running(slot)?;
        instance.thaw()?;
        instance.note_entered();
        if !live.is_empty() {
            instance.session.apply(&live, &cancel).map_err(in_variant)?;
        }
        instance.read_back(kind.as_ref(), &placed.asked).map_err(in_variant)?;
        let home = instance.home.clone();
        template::execute(kind.as_ref(), &home, &variant.prepare, "`prepare` command", &cancel)
            .map_err(in_variant)?;
        if !live.is_empty() || !variant.prepare.is_empty() {
            // Nothing that was done to get ready is this trial's debt.
            instance.drain(&shop)?;
        }
        instance.note_entered();
        kind.driver(&home, &variant)
    }
}

impl System for PrivateServers {
    fn replication(&self) -> Replication {
        if self.layout.is_in_place() { Replication::Round } else { Replication::Epoch }
    }

    fn start_epoch(&mut self, _epoch: u32) -> Result<Vec<InstanceRecord>, SystemError> {
        self.stop_all()?;
        self.starts += 1;
        for (index, home) in self.homes.iter().enumerate() {
            let template = &self.templates[self.layout.instances[index].seed];
            Instance::furnish(home, template.as_deref())?;
            if self.shop.cancel.is_cancelled() {
                return Err(SystemError::interrupted());
            }
        }
        // The copies' dirty pages are nobody's debt.
        sync_file_system(&self.shop.work_dir)?;
        let mut records = Vec::new();
        for index in 0..self.homes.len() {
            let slots = self.layout.instances[index].slots.clone();
            let mut instance = self.start(index).map_err(|error| self.name_variant(error, &slots))?;
            let recorded = self.record(index, &mut instance);
            if recorded.is_ok() && self.homes.len() > 1 {
                instance.freeze()?;
            }
            self.running.push(instance);
            records.push(recorded.map_err(|error| self.name_variant(error, &slots))?);
        }
        if let (true, Some(only)) = (self.layout.is_in_place(), self.running.first_mut()) {
            let names: Vec<&str> = self.layout.instances[0].live.iter().map(String::as_str).collect();
            self.untouched = only.session.in_force(&names)?;
        }
        Ok(records)
    }

    fn enter(&mut self, slot: Slot) -> Result<Box<dyn Driver>, SystemError> {
        let entered = self.try_enter(slot);
        self.explained(slot, entered)
    }

    fn counters(&mut self, slot: Slot) -> Result<Counters, SystemError> {
        let device = self.device.clone();
        let read = self.running(slot)?.counters(device.as_ref());
        self.explained(slot, read)
    }

    fn processes(&self, slot: Slot) -> Vec<u32> {
        let placed = self.layout.slots.get(&slot);
        let instance = placed.and_then(|placed| self.running.get(placed.instance));
        instance.map(Instance::pid).into_iter().collect()
    }

    fn frozen_cpu_s(&self, slot: Slot) -> f64 {
        let own = self.layout.slots.get(&slot).map(|placed| placed.instance);
        let others = self.running.iter().enumerate().filter(|(index, _)| Some(*index) != own);
        others.map(|(_, other)| other.cpu_seconds()).sum()
    }

    fn drain(&mut self, slot: Slot) -> Result<(), SystemError> {
        let shop = self.shop.clone();
        let drained = self.running(slot)?.drain(&shop);
        self.explained(slot, drained)
    }

    /// What was toggled stays until the next slot sets everything that differs.
    fn leave(&mut self, slot: Slot) -> Result<(), SystemError> {
        if !self.layout.is_in_place() {
            self.running(slot)?.freeze()?;
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), SystemError> {
        self.stop_all()
    }
}

impl Drop for PrivateServers {
    fn drop(&mut self) {
        // The undo registry reports and retries what fails here.
        self.stop_all().ok();
    }
}
