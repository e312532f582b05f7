//! Private clusters as a [`System`].
//!
//! One instance toggled in place, or one per slot ([`Design`]). Between trials every instance that is not
//! under load is frozen; between epochs all are stopped and start again from the template's bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use weigh_collect::BlockDevice;
use weigh_load::Driver;
use weigh_results::model::{InstanceRecord, Replication, Slot};

use super::conf::Settings;
use super::design::{Design, SlotDesign};
use super::drive;
use super::instance::{Home, Instance, Shop};
use super::running::Running;
use crate::host::{Cancel, HostChanges, forget_files, sync_file_system, tree_bytes};
use crate::plan::{ResolvedPlan, ResolvedVariant, Start};
use crate::systems::{Counters, System, SystemError};

/// Up to this size the bytes every variant started from are restored for every epoch.
const FRESH_COPY_BYTES_MAX: u64 = 1 << 30;

/// Private clusters, prepared or running.
pub(super) struct Private {
    /// By index of [`Design::versions`].
    shops: Vec<Shop>,
    changes: Arc<HostChanges>,
    cancel: Cancel,
    design: Design,
    variants: Vec<ResolvedVariant>,
    work_dir: PathBuf,
    /// By index of [`Design::templates`].
    templates: Vec<PathBuf>,
    fresh_copies: bool,
    device: Option<BlockDevice>,
    homes: Vec<Home>,
    /// By index of [`Design::instances`].
    running: BTreeMap<usize, Running>,
    starts: u32,
}

impl Private {
    /// With templates made, nothing running.
    ///
    /// # Errors
    /// When the templates cannot be looked at.
    pub(super) fn new(
        shops: Vec<Shop>,
        changes: Arc<HostChanges>,
        cancel: Cancel,
        plan: &ResolvedPlan,
        design: Design,
        work_dir: &Path,
        templates: Vec<PathBuf>,
    ) -> Result<Private, SystemError> {
        let mut largest = 0;
        for template in &templates {
            largest = tree_bytes(template)?.max(largest);
        }
        // Without a device (an overlay, a network) there are no disk counters; nothing else changes.
        let device = BlockDevice::below(work_dir).ok().flatten();
        Ok(Private {
            shops,
            changes,
            cancel,
            design,
            variants: plan.variants.clone(),
            work_dir: work_dir.to_owned(),
            templates,
            fresh_copies: largest <= FRESH_COPY_BYTES_MAX,
            device,
            homes: Vec::new(),
            running: BTreeMap::new(),
            starts: 0,
        })
    }

    fn slot_design(&self, slot: Slot) -> Result<SlotDesign, SystemError> {
        self.design.slots.get(&slot).cloned().ok_or_else(|| {
            SystemError::new(format!("variant {} has no instance (copy {})", slot.variant, slot.copy))
        })
    }

    fn running(&mut self, slot: Slot) -> Result<&mut Running, SystemError> {
        let index = self.slot_design(slot)?.instance;
        self.running.get_mut(&index).ok_or_else(not_running)
    }

    /// Ends all instances; with their data if every epoch starts from fresh copies.
    fn stop_all(&mut self) -> Result<(), SystemError> {
        let mut first_error = None;
        for running in std::mem::take(&mut self.running).into_values() {
            if let Err(error) = running.end(&self.changes, !self.fresh_copies) {
                first_error.get_or_insert(error);
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Copies the template to the instance's home, unless it is there and too big to copy again.
    fn furnish(&mut self, index: usize) -> Result<(), SystemError> {
        if self.homes.len() <= index {
            let home = Home::make(self.shop(index), &self.work_dir, &format!("i{index}"))?;
            self.homes.push(home);
        } else if !self.fresh_copies {
            return Ok(());
        }
        let home = self.homes[index].clone();
        let wanted = &self.design.instances[index];
        let layers = [&self.design.common, &wanted.settings];
        let template = &self.templates[wanted.template];
        Instance::copy_and_configure(self.shop(index), &home, template, &layers)?;
        Ok(())
    }

    /// What instance `index` is made with.
    fn shop(&self, index: usize) -> &Shop {
        let template = self.design.instances[index].template;
        &self.shops[self.design.templates[template].version]
    }

    /// Starts instance `index` in its home.
    fn start(&mut self, index: usize) -> Result<InstanceRecord, SystemError> {
        let memory_bytes = self.design.instances[index].memory_bytes;
        if memory_bytes.is_some() {
            // Pages that the copy left in memory would be read for nothing: they count for us.
            forget_files(&self.homes[index].data())?;
        }
        let running = Running::start(self.shop(index), &self.homes[index], memory_bytes)?;
        let record = self.record(index, &running);
        self.running.insert(index, running);
        record
    }

    /// Reads back what is in force before any trial: in the configuration of the instance, and what the
    /// sessions of each of its slots would set.
    fn record(&self, index: usize, running: &Running) -> Result<InstanceRecord, SystemError> {
        let wanted = &self.design.instances[index];
        let mut in_file = self.design.common.clone();
        in_file.extend(wanted.settings.clone());
        let named = |error: SystemError| self.name_variant(error, &wanted.slots);
        let effective =
            running.instance.read_back(self.shop(index), &in_file, &Settings::new()).map_err(named)?;
        let version = effective.get("server_version").and_then(|text| text.split_whitespace().next());
        Ok(InstanceRecord {
            slots: wanted.slots.clone(),
            version: version.unwrap_or(&self.shop(index).programs.version).to_owned(),
            settings: effective,
            start: self.starts,
            ready_s: running.instance.ready_s,
        })
    }

    /// Says whose settings an error is about, when it is about one variant's.
    fn name_variant(&self, mut error: SystemError, slots: &[Slot]) -> SystemError {
        if let [only] = slots {
            error.message = format!("variant `{}`: {}", self.variants[only.variant].name, error.message);
        }
        error
    }

    /// An error because the server is gone says so, with the server's last words.
    fn explained<T>(&mut self, slot: Slot, result: Result<T, SystemError>) -> Result<T, SystemError> {
        result.map_err(|error| match self.running(slot) {
            Ok(running) => running.explain(error),
            Err(_) => error,
        })
    }

    fn try_enter(&mut self, slot: Slot) -> Result<Box<dyn Driver>, SystemError> {
        let design = self.slot_design(slot)?;
        self.freeze_others(design.instance)?;
        self.running(slot)?.thaw()?;
        if self.design.reloads {
            self.apply(&design, &design.reload)?;
        }
        let shop = self.shop(design.instance).clone();
        let prepare = self.variants[slot.variant].prepare.clone();
        self.running(slot)?.prepare(&shop, &prepare)?;
        match design.start {
            Some(Start::Cold) => {
                let running = self.running.remove(&design.instance).ok_or_else(not_running)?;
                self.running.insert(design.instance, running.restart_cold(&shop)?);
            }
            Some(Start::Warm) => self.running(slot)?.warm(&shop)?,
            None => {}
        }
        let running = self.running(slot)?;
        running.instance.read_back(&shop, &design.asked, &design.session)?;
        running.entered = SystemTime::now();
        running.sampler.resume();
        let socket_dir = running.instance.home.socket_dir.clone();
        drive::private(&socket_dir, &design.session, &self.variants[slot.variant])
    }

    fn freeze_others(&mut self, except: usize) -> Result<(), SystemError> {
        for (index, other) in &mut self.running {
            if *index != except && !other.instance.freezer.is_frozen() {
                other.freeze()?;
            }
        }
        Ok(())
    }

    /// Writes the slot's live settings into the configuration and has it read. Every slot does the same
    /// work, whatever it changes.
    fn apply(&mut self, design: &SlotDesign, reload: &Settings) -> Result<(), SystemError> {
        let shop = self.shop(design.instance).clone();
        let Some(running) = self.running.get_mut(&design.instance) else { return Err(not_running()) };
        let wanted = &self.design.instances[design.instance];
        let layers = [&self.design.common, &wanted.settings, reload];
        running.instance.home.write_conf(&shop, &layers)?;
        let mut in_file = self.design.common.clone();
        in_file.extend(wanted.settings.clone());
        in_file.extend(reload.clone());
        running.instance.reload(&shop, &in_file)
    }
}

fn not_running() -> SystemError {
    SystemError::new("the private servers are not running")
}

impl System for Private {
    fn replication(&self) -> Replication {
        if self.design.is_in_place() { Replication::Round } else { Replication::Epoch }
    }

    fn start_epoch(&mut self, _epoch: u32) -> Result<Vec<InstanceRecord>, SystemError> {
        self.stop_all()?;
        self.starts += 1;
        for index in 0..self.design.instances.len() {
            self.furnish(index)?;
            if self.cancel.is_cancelled() {
                return Err(SystemError::interrupted());
            }
        }
        // The copies' own dirty pages are nobody's debt.
        sync_file_system(&self.work_dir)?;
        let mut records = Vec::new();
        for index in 0..self.design.instances.len() {
            let slots = self.design.instances[index].slots.clone();
            records.push(self.start(index).map_err(|error| self.name_variant(error, &slots))?);
            if let Some(running) = self.running.get_mut(&index).filter(|_| !self.design.is_in_place()) {
                running.freeze()?;
            }
        }
        Ok(records)
    }

    fn enter(&mut self, slot: Slot) -> Result<Box<dyn Driver>, SystemError> {
        let entered = self.try_enter(slot).map_err(|error| self.name_variant(error, &[slot]));
        self.explained(slot, entered)
    }

    fn counters(&mut self, slot: Slot) -> Result<Counters, SystemError> {
        let device = self.device.clone();
        let read = self.running(slot)?.counters(device.as_ref());
        self.explained(slot, read)
    }

    fn processes(&self, slot: Slot) -> Vec<u32> {
        let running = self.design.slots.get(&slot).and_then(|design| self.running.get(&design.instance));
        running.map(|running| running.instance.process.pid().cast_unsigned()).into_iter().collect()
    }

    fn frozen_cpu_s(&self, slot: Slot) -> f64 {
        let own = self.design.slots.get(&slot).map(|design| design.instance);
        self.running
            .iter()
            .filter(|(index, _)| Some(**index) != own)
            .map(|(_, other)| other.instance.freezer.cpu_seconds())
            .sum()
    }

    fn drain(&mut self, slot: Slot) -> Result<(), SystemError> {
        let drained = self.running(slot)?.drain();
        self.explained(slot, drained)
    }

    fn leave(&mut self, slot: Slot) -> Result<(), SystemError> {
        let design = self.slot_design(slot)?;
        let changes = Arc::clone(&self.changes);
        let running = self.running(slot)?;
        running.sampler.pause();
        running.instance.process.note_shared_memory(&changes)?;
        if self.design.reloads {
            self.apply(&design, &Settings::new())?;
        }
        if !self.design.is_in_place() {
            self.running(slot)?.freeze()?;
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), SystemError> {
        self.stop_all()
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // The undo registry reports and retries what fails here.
        self.stop_all().ok();
    }
}
