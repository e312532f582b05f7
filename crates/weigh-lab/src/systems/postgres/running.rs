//! One running instance with what is read from it, and what is done to it around a trial.

use std::time::{Duration, Instant, SystemTime};

use postgres::Client;
use weigh_collect::{BlockDevice, DiskSample, ProcessTree};

use super::counters::{Reader, Scope};
use super::instance::{Home, Instance, Shop};
use super::waits::Sampler;
use super::{client, drive, execute, warm};
use crate::host::{HostChanges, forget_files, free_bytes, sync_changed_since};
use crate::systems::{Counters, SystemError};

const LOG_LINES: usize = 12;
const SHUT_DOWN_LIMIT: Duration = Duration::from_secs(60);
/// How long the backends of clients that have disconnected may take to exit.
const FAREWELL_LIMIT: Duration = Duration::from_secs(2);
/// An instance frozen for longer may owe a timed checkpoint, which would fall into the trial.
const LONG_FROZEN: Duration = Duration::from_secs(60);
/// As the C library words it, and the server quotes it in the language it runs in.
const NO_SPACE: &str = "No space left on device";
/// With less room than this a disk is full: not even a page of a table and its log fit.
const FULL_BYTES: u64 = 1 << 20;
/// What may be missing from memory in a warm start, besides a hundredth of everything.
const TOLERATED_BYTES: u64 = 1 << 20;

/// One instance with what is read from it.
pub(super) struct Running {
    pub(super) instance: Instance,
    pub(super) sampler: Sampler,
    reader: Reader,
    tree: ProcessTree,
    /// When the trial's slot was entered.
    pub(super) entered: SystemTime,
    frozen_since: Option<Instant>,
    memory_bytes: Option<u64>,
}

impl Running {
    /// Starts the server of a home and waits until it answers.
    ///
    /// # Errors
    /// With the server's own message and the last lines of its log.
    pub(super) fn start(shop: &Shop, home: &Home, memory_bytes: Option<u64>) -> Result<Running, SystemError> {
        let mut instance = Instance::start(shop, home, &[], memory_bytes)?;
        let reader = Reader::new(&mut instance.admin, shop.major(), Scope::Cluster)?;
        let sampler = Sampler::new(instance.connect(shop)?)?;
        let tree = match instance.process.cgroup() {
            Some(group) => ProcessTree::in_cgroup(group),
            None => ProcessTree::of(&[instance.process.pid().cast_unsigned()]),
        };
        // The first backends have asked for memory that the postmaster itself does not map.
        instance.process.note_shared_memory(&shop.changes)?;
        let entered = SystemTime::now();
        Ok(Running { instance, sampler, reader, tree, entered, frozen_since: None, memory_bytes })
    }

    /// Ends it: in order, or at once when its data are thrown away.
    ///
    /// # Errors
    /// When it does not end in order, or not at all.
    pub(super) fn end(self, changes: &HostChanges, in_order: bool) -> Result<(), SystemError> {
        let Running { mut instance, sampler, .. } = self;
        sampler.pause();
        // The sampler's connection says good-bye; a frozen server would not answer.
        let thawed = instance.freezer.thaw().map_err(SystemError::from);
        drop(sampler);
        let stopped = match in_order {
            false => instance.discard(changes),
            true => instance.shut_down(changes, SHUT_DOWN_LIMIT),
        };
        thawed.and(stopped)
    }

    /// Restarts it with none of its files in memory.
    ///
    /// # Errors
    /// When it does not stop or start, or pages stay in memory.
    pub(super) fn restart_cold(self, shop: &Shop) -> Result<Running, SystemError> {
        let (home, memory_bytes) = (self.instance.home.clone(), self.memory_bytes);
        self.end(&shop.changes, true)?;
        forget_files(&home.data())?;
        Running::start(shop, &home, memory_bytes)
    }

    /// Reads everything into memory and proves that it stayed there.
    ///
    /// # Errors
    /// When it does not fit.
    pub(super) fn warm(&mut self, shop: &Shop) -> Result<(), SystemError> {
        let mut connection = self.instance.connect(shop)?;
        warm::pass(&mut connection)?;
        let before = self.storage_read_bytes()?;
        let second = warm::pass(&mut connection)?;
        self.see_off(connection)?;
        let read = before.zip(self.storage_read_bytes()?).map(|(before, after)| after.saturating_sub(before));
        // What is not in the server's buffers may still be in the operating system's cache, and the other way
        // round the server reads other things too: the smaller figure is what is missing.
        let missing = read.into_iter().chain(second.unbuffered_bytes).min().unwrap_or(0);
        if missing <= TOLERATED_BYTES + second.total_bytes / 100 {
            return Ok(());
        }
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        let (missing, total) = (mib(missing), mib(second.total_bytes));
        let text = format!(
            "it cannot start warm: {missing} of {total} MiB of its tables and indexes do not stay in memory"
        );
        Err(SystemError::new(text).hint("memory = \"…\"  # below [system]: more, or start = \"cold\""))
    }

    /// What the server's processes have had storage read for them; `None` where the kernel does not say.
    fn storage_read_bytes(&mut self) -> Result<Option<u64>, SystemError> {
        let tree = self.tree.sample().map_err(unreadable)?;
        Ok(tree.total.io.map(|io| io.read_bytes))
    }

    /// Stops it from using any CPU time.
    ///
    /// # Errors
    /// When it does not stand still in time.
    pub(super) fn freeze(&mut self) -> Result<(), SystemError> {
        self.sampler.pause();
        self.instance.freezer.freeze()?;
        self.frozen_since = Some(Instant::now());
        Ok(())
    }

    /// Thaws it. One that stood still for long works off what fell due meanwhile, before its trial.
    ///
    /// # Errors
    /// When it does not move in time.
    pub(super) fn thaw(&mut self) -> Result<(), SystemError> {
        self.instance.freezer.thaw()?;
        if self.frozen_since.take().is_some_and(|since| since.elapsed() > LONG_FROZEN) {
            self.checkpoint()?;
        }
        Ok(())
    }

    /// Runs what a trial begins with. What it wrote is on disk when this returns: its debt is nobody's.
    ///
    /// # Errors
    /// Names the statement that failed, with the server's message.
    pub(super) fn prepare(&mut self, shop: &Shop, statements: &[String]) -> Result<(), SystemError> {
        if statements.is_empty() {
            return Ok(());
        }
        let began = SystemTime::now();
        // A connection of its own: what it sets or leaves open ends with it.
        let mut connection = self.instance.connect(shop)?;
        execute::all(&mut connection, "`prepare` statement", statements, &shop.cancel)?;
        self.see_off(connection)?;
        self.checkpoint()?;
        sync_changed_since(&self.instance.home.data(), began)?;
        Ok(())
    }

    /// Everything it and its processes have counted so far.
    ///
    /// # Errors
    /// When the server or the kernel cannot be asked.
    pub(super) fn counters(&mut self, device: Option<&BlockDevice>) -> Result<Counters, SystemError> {
        let mut counters = self.reader.read(&mut self.instance.admin)?;
        counters.extend(self.sampler.counters());
        counters.extend(self.tree.sample().map_err(unreadable)?.counters());
        if let Some(memory) = &self.instance.memory {
            counters.extend(memory.counters());
        }
        if let Some(device) = device {
            let disk = DiskSample::read(device)
                .map_err(|error| SystemError::new("cannot read the disk's counters").caused_by(error))?;
            counters.extend(disk.counters());
        }
        Ok(counters)
    }

    /// Works off what the trial left behind.
    ///
    /// # Errors
    /// When the server or the disk refuses.
    pub(super) fn drain(&mut self) -> Result<(), SystemError> {
        self.see_clients_off()?;
        self.checkpoint()?;
        // With fsync off a checkpoint leaves everything in the page cache, for somebody else to pay.
        sync_changed_since(&self.instance.home.data(), self.entered)?;
        Ok(())
    }

    /// An error because the server is gone says so, with why if it is known, and with the server's last words.
    pub(super) fn explain(&mut self, ended: SystemError) -> SystemError {
        let process = &mut self.instance.process;
        // The connection breaks a moment before the process is gone.
        let Ok(Some(status)) = process.wait(Duration::from_millis(500)) else { return ended };
        let log = process.log_tail(LOG_LINES);
        let error = self.cause_of_death(&log).unwrap_or_else(|| {
            let panic = log.iter().rev().find_map(|line| line.split_once("PANIC:"));
            let why = panic.map(|(_, why)| format!(": {}", why.trim())).unwrap_or_default();
            SystemError::new(format!("the private server has ended ({status}){why}"))
        });
        error.with_log(log).caused_by(ended)
    }

    /// What the host says about it: the kernel wanted its memory back, or there is no room on the disk.
    fn cause_of_death(&self, log: &[String]) -> Option<SystemError> {
        let limit = self.memory_bytes.zip(self.instance.memory.as_ref());
        if let Some((bytes, _)) = limit.filter(|(_, group)| group.killed() > 0) {
            let text = format!(
                "the private server has ended: it needed more than the {} MiB of `system.memory`",
                bytes >> 20
            );
            return Some(SystemError::new(text));
        }
        let dir = &self.instance.home.dir;
        // The file that did not fit is gone by now.
        let did_not_fit = log.iter().any(|line| line.contains("PANIC:") && line.contains(NO_SPACE));
        let is_full = did_not_fit || free_bytes(dir).is_ok_and(|free| free < FULL_BYTES);
        is_full.then(|| {
            let text = format!("the private server has ended: the disk is full below `{}`", dir.display());
            SystemError::new(text).hint("weigh run --work-dir DIR …  # a directory with more room")
        })
    }

    fn checkpoint(&mut self) -> Result<(), SystemError> {
        self.instance
            .admin
            .batch_execute("CHECKPOINT")
            .map_err(|error| client::failed("cannot checkpoint", &error))
    }

    /// Ends a connection of our own and waits until its backend has handed over its statistics: they are not the
    /// trial's.
    fn see_off(&mut self, mut connection: Client) -> Result<(), SystemError> {
        let failed = |error: postgres::Error| client::failed("cannot look for a connection", &error);
        let pid: i32 = connection.query_one("SELECT pg_backend_pid()", &[]).map_err(failed)?.get(0);
        drop(connection);
        let began = Instant::now();
        let query = "SELECT FROM pg_stat_get_activity($1)";
        while !self.instance.admin.query(query, &[&pid]).map_err(failed)?.is_empty() {
            if began.elapsed() > FAREWELL_LIMIT {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
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

fn unreadable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> SystemError {
    SystemError::new("cannot read the server's processes").caused_by(error)
}
