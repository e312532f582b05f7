//! Private clusters as a [`System`].
//!
//! One instance toggled in place, or one per slot ([`Design`]). Between trials every instance that is not
//! under load is frozen; between epochs all are stopped and start again from the template's bytes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use weigh_collect::{BlockDevice, DiskSample, ProcessTree};
use weigh_load::Driver;
use weigh_results::model::{InstanceRecord, Replication, Slot};

use super::conf::Settings;
use super::counters::{Reader, Scope};
use super::design::{Design, SlotDesign};
use super::instance::{Home, Instance, Shop};
use super::waits::Sampler;
use super::{client, drive};
use crate::host::{sync_changed_since, sync_file_system, tree_bytes};
use crate::plan::{ResolvedPlan, ResolvedVariant};
use crate::systems::{Counters, System, SystemError};

/// Up to this size the bytes every variant started from are restored for every epoch.
const FRESH_COPY_BYTES_MAX: u64 = 1 << 30;
const SHUT_DOWN_LIMIT: Duration = Duration::from_secs(60);
const LOG_LINES: usize = 12;
/// How long the backends of clients that have disconnected may take to exit.
const FAREWELL_LIMIT: Duration = Duration::from_secs(2);
/// An instance frozen for longer may owe a timed checkpoint, which would fall into the trial.
const LONG_FROZEN: Duration = Duration::from_secs(60);

/// Private clusters, prepared or running.
pub(super) struct Private {
    shop: Shop,
    design: Design,
    variants: Vec<ResolvedVariant>,
    work_dir: PathBuf,
    /// By index of [`Design::setups`].
    templates: Vec<PathBuf>,
    fresh_copies: bool,
    device: Option<BlockDevice>,
    homes: Vec<Home>,
    running: Vec<Running>,
    starts: u32,
}

/// One instance with what is read from it.
struct Running {
    instance: Instance,
    sampler: Sampler,
    reader: Reader,
    tree: ProcessTree,
    entered: SystemTime,
    frozen_since: Option<Instant>,
}

impl Private {
    /// With templates made, nothing running.
    ///
    /// # Errors
    /// When the templates cannot be looked at.
    pub(super) fn new(
        shop: Shop,
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
            shop,
            design,
            variants: plan.variants.clone(),
            work_dir: work_dir.to_owned(),
            templates,
            fresh_copies: largest <= FRESH_COPY_BYTES_MAX,
            device,
            homes: Vec::new(),
            running: Vec::new(),
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
        self.running.get_mut(index).ok_or_else(not_running)
    }

    /// Ends all instances; with their data if every epoch starts from fresh copies.
    fn stop_all(&mut self) -> Result<(), SystemError> {
        let mut first_error = None;
        for running in std::mem::take(&mut self.running) {
            let Running { instance, sampler, .. } = running;
            sampler.pause();
            let mut instance = instance;
            // The sampler's connection says good-bye; a frozen server would not answer.
            let thawed = instance.freezer.thaw().map_err(SystemError::from);
            drop(sampler);
            let stopped = match self.fresh_copies {
                true => instance.discard(&self.shop.changes),
                false => instance.shut_down(&self.shop.changes, SHUT_DOWN_LIMIT),
            };
            if let Err(error) = thawed.and(stopped) {
                first_error.get_or_insert(error);
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Copies the template to the instance's home, unless it is there and too big to copy again.
    fn furnish(&mut self, index: usize) -> Result<Home, SystemError> {
        if self.homes.len() <= index {
            let home = Home::make(&self.shop, &self.work_dir, &format!("i{index}"))?;
            self.homes.push(home);
        } else if !self.fresh_copies {
            return Ok(self.homes[index].clone());
        }
        let home = self.homes[index].clone();
        let wanted = &self.design.instances[index];
        let layers = [&self.design.common, &wanted.settings];
        Instance::copy_and_configure(&self.shop, &home, &self.templates[wanted.setup], &layers)?;
        Ok(home)
    }

    fn start(&self, home: &Home) -> Result<Running, SystemError> {
        let mut instance = Instance::start(&self.shop, home, &[])?;
        let major = self.shop.major();
        let reader = Reader::new(&mut instance.admin, major, Scope::Cluster)?;
        let sampler = Sampler::new(instance.connect(&self.shop)?)?;
        let tree = match instance.process.cgroup() {
            Some(group) => ProcessTree::in_cgroup(group),
            None => ProcessTree::of(&[instance.process.pid().cast_unsigned()]),
        };
        // The first backends have asked for memory that the postmaster itself does not map.
        instance.process.note_shared_memory(&self.shop.changes)?;
        Ok(Running { instance, sampler, reader, tree, entered: SystemTime::now(), frozen_since: None })
    }

    /// Reads back what is in force before any trial: in the configuration of the instance, and what the
    /// sessions of each of its slots would set.
    fn record(&self, index: usize, running: &Running) -> Result<InstanceRecord, SystemError> {
        let wanted = &self.design.instances[index];
        let mut in_file = self.design.common.clone();
        in_file.extend(wanted.settings.clone());
        let named = |error: SystemError| self.name_variant(error, &wanted.slots);
        let effective = running.instance.read_back(&self.shop, &in_file, &Settings::new()).map_err(named)?;
        let version = effective.get("server_version").and_then(|text| text.split_whitespace().next());
        Ok(InstanceRecord {
            slots: wanted.slots.clone(),
            version: version.unwrap_or(&self.shop.programs.version).to_owned(),
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
            self.apply(&design, &design.reload).map_err(|error| self.name_variant(error, &[slot]))?;
        }
        let shop = self.shop.clone();
        let running = self.running(slot)?;
        let read = running.instance.read_back(&shop, &design.asked, &design.session);
        running.entered = SystemTime::now();
        running.sampler.resume();
        let socket_dir = running.instance.home.socket_dir.clone();
        read.map_err(|error| self.name_variant(error, &[slot]))?;
        drive::private(&socket_dir, &design.session, &self.variants[slot.variant])
    }

    fn freeze_others(&mut self, except: usize) -> Result<(), SystemError> {
        for (index, other) in self.running.iter_mut().enumerate() {
            if index != except && !other.instance.freezer.is_frozen() {
                other.freeze()?;
            }
        }
        Ok(())
    }

    /// Writes the slot's live settings into the configuration and has it read. Every slot does the same
    /// work, whatever it changes.
    fn apply(&mut self, design: &SlotDesign, reload: &Settings) -> Result<(), SystemError> {
        let Some(running) = self.running.get_mut(design.instance) else { return Err(not_running()) };
        let wanted = &self.design.instances[design.instance];
        let layers = [&self.design.common, &wanted.settings, reload];
        running.instance.home.write_conf(&self.shop, &layers)?;
        let mut in_file = self.design.common.clone();
        in_file.extend(wanted.settings.clone());
        in_file.extend(reload.clone());
        running.instance.reload(&self.shop, &in_file)
    }
}

impl Running {
    fn freeze(&mut self) -> Result<(), SystemError> {
        self.sampler.pause();
        self.instance.freezer.freeze()?;
        self.frozen_since = Some(Instant::now());
        Ok(())
    }

    /// Thaws it. One that stood still for long works off what fell due meanwhile, before its trial.
    fn thaw(&mut self) -> Result<(), SystemError> {
        self.instance.freezer.thaw()?;
        if self.frozen_since.take().is_some_and(|since| since.elapsed() > LONG_FROZEN) {
            self.checkpoint()?;
        }
        Ok(())
    }

    fn counters(&mut self, device: Option<&BlockDevice>) -> Result<Counters, SystemError> {
        let mut counters = self.reader.read(&mut self.instance.admin)?;
        counters.extend(self.sampler.counters());
        let tree = self
            .tree
            .sample()
            .map_err(|error| SystemError::new("cannot read the server's processes").caused_by(error))?;
        counters.extend(tree.counters());
        if let Some(device) = device {
            let disk = DiskSample::read(device)
                .map_err(|error| SystemError::new("cannot read the disk's counters").caused_by(error))?;
            counters.extend(disk.counters());
        }
        Ok(counters)
    }

    fn drain(&mut self) -> Result<(), SystemError> {
        self.see_clients_off()?;
        self.checkpoint()?;
        // With fsync off a checkpoint leaves everything in the page cache, for somebody else to pay.
        sync_changed_since(&self.instance.home.data(), self.entered)?;
        Ok(())
    }

    fn explain(&mut self, error: SystemError) -> SystemError {
        let process = &mut self.instance.process;
        // The connection breaks a moment before the process is gone.
        let Ok(Some(status)) = process.wait(Duration::from_millis(500)) else { return error };
        let log = process.log_tail(LOG_LINES);
        SystemError::new(format!("the private server has ended ({status})")).with_log(log).caused_by(error)
    }

    fn checkpoint(&mut self) -> Result<(), SystemError> {
        self.instance
            .admin
            .batch_execute("CHECKPOINT")
            .map_err(|error| client::failed("cannot checkpoint", &error))
    }

    /// Waits until the backends of the load's clients, which have disconnected, have exited and handed over
    /// their statistics.
    fn see_clients_off(&mut self) -> Result<(), SystemError> {
        let query = "SELECT count(*) FROM pg_stat_get_activity(NULL) WHERE application_name = $1";
        let began = Instant::now();
        loop {
            let row = self.instance.admin.query_one(query, &[&drive::APPLICATION]);
            let row = row.map_err(|error| client::failed("cannot look for clients", &error))?;
            if row.get::<_, i64>(0) == 0 || began.elapsed() > FAREWELL_LIMIT {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
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
        let mut homes = Vec::new();
        for index in 0..self.design.instances.len() {
            homes.push(self.furnish(index)?);
            if self.shop.cancel.is_cancelled() {
                return Err(SystemError::interrupted());
            }
        }
        // The copies' own dirty pages are nobody's debt.
        sync_file_system(&self.work_dir)?;
        let mut records = Vec::new();
        for (index, home) in homes.iter().enumerate() {
            let slots = self.design.instances[index].slots.clone();
            let running = self.start(home).map_err(|error| self.name_variant(error, &slots))?;
            self.running.push(running);
            records.push(self.record(index, &self.running[index])?);
            if !self.design.is_in_place() {
                self.running[index].freeze()?;
            }
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
        let running = self.design.slots.get(&slot).and_then(|design| self.running.get(design.instance));
        running.map(|running| running.instance.process.pid().cast_unsigned()).into_iter().collect()
    }

    fn frozen_cpu_s(&self, slot: Slot) -> f64 {
        let own = self.design.slots.get(&slot).map(|design| design.instance);
        self.running
            .iter()
            .enumerate()
            .filter(|(index, _)| Some(*index) != own)
            .map(|(_, other)| other.instance.freezer.cpu_seconds())
            .sum()
    }

    fn drain(&mut self, slot: Slot) -> Result<(), SystemError> {
        let drained = self.running(slot)?.drain();
        self.explained(slot, drained)
    }

    fn leave(&mut self, slot: Slot) -> Result<(), SystemError> {
        let design = self.slot_design(slot)?;
        let changes = std::sync::Arc::clone(&self.shop.changes);
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
