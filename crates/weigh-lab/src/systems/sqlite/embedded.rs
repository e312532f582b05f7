//! SQLite as a [`System`]: a database file per slot, in the process of the load itself.
//!
//! There is no server, so the counters are those of weigh's own process, load generator included, and of
//! the disk below the work directory. Between trials nothing is open, so nothing has to be frozen.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use rusqlite::Connection;
use weigh_collect::{BlockDevice, DiskSample, ProcessTree};
use weigh_load::Driver;
use weigh_results::model::{InstanceRecord, Replication, Slot};

use super::pragmas::{self, Moment, PRAGMAS};
use super::template::FILE;
use crate::host::{copy_template, sync_changed_since, tree_bytes};
use crate::plan::ResolvedVariant;
use crate::systems::{Counters, System, SystemError};

/// Up to this size every trial starts from a fresh copy; it takes a fraction of a second.
const FRESH_COPY_BYTES_MAX: u64 = 64 << 20;

/// Recorded of every slot, asked for or not.
const ALWAYS: [&str; 7] = [
    "cache_size",
    "journal_mode",
    "locking_mode",
    "mmap_size",
    "page_size",
    "synchronous",
    "wal_autocheckpoint",
];

/// What a slot is made of.
#[derive(Clone, Debug)]
pub(super) struct SlotPlan {
    pub(super) slot: Slot,
    pub(super) variant: ResolvedVariant,
    /// Directory of its template.
    pub(super) template: PathBuf,
    /// Its own directory; the database is in `files` below it.
    pub(super) dir: PathBuf,
    /// Pragmas by name, in one spelling.
    pub(super) pragmas: BTreeMap<String, String>,
}

impl SlotPlan {
    fn files(&self) -> PathBuf {
        self.dir.join("files")
    }

    fn database(&self) -> PathBuf {
        self.files().join(FILE)
    }

    fn at(&self, moment: Moment) -> impl Iterator<Item = (&String, &String)> {
        self.pragmas.iter().filter(move |(name, _)| {
            PRAGMAS.iter().any(|pragma| pragma.name == name.as_str() && pragma.moment == moment)
        })
    }

    fn is_exclusive(&self) -> bool {
        self.pragmas.get("locking_mode").is_some_and(|mode| mode == "exclusive")
    }
}

/// Database files, prepared.
pub(super) struct Embedded {
    slots: Vec<SlotPlan>,
    fresh_copies: bool,
    device: Option<BlockDevice>,
    tree: ProcessTree,
    entered: Option<Entered>,
}

/// The slot that is under load.
struct Entered {
    at: SystemTime,
    /// Holds the log of a WAL database open: otherwise the last client to disconnect would work the
    /// debt off unseen.
    keeper: Option<Connection>,
}

impl Embedded {
    /// With templates made.
    ///
    /// # Errors
    /// When a template cannot be looked at.
    pub(super) fn new(slots: Vec<SlotPlan>, work_dir: &Path) -> Result<Embedded, SystemError> {
        let mut largest = 0;
        for slot in &slots {
            largest = tree_bytes(&slot.template)?.max(largest);
        }
        Ok(Embedded {
            slots,
            fresh_copies: largest <= FRESH_COPY_BYTES_MAX,
            device: BlockDevice::below(work_dir).ok().flatten(),
            tree: ProcessTree::of(&[std::process::id()]),
            entered: None,
        })
    }

    fn slot(&self, slot: Slot) -> Result<&SlotPlan, SystemError> {
        self.slots
            .iter()
            .find(|known| known.slot == slot)
            .ok_or_else(|| SystemError::new(format!("variant {} has no database file", slot.variant)))
    }
}

/// The template's bytes, on disk before anything is measured.
fn furnish(slot: &SlotPlan) -> Result<(), SystemError> {
    let files = slot.files();
    match fs::remove_dir_all(&files) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            let text = format!("cannot remove `{}`", files.display());
            return Err(SystemError::new(text).caused_by(error));
        }
        _ => {}
    }
    let began = SystemTime::now();
    copy_template(&slot.template, &files)?;
    let connection = open(slot)?;
    for (name, value) in slot.at(Moment::File) {
        pragmas::set(&connection, name, value)?;
    }
    drop(connection);
    sync_changed_since(&slot.dir, began)?;
    Ok(())
}

fn open(slot: &SlotPlan) -> Result<Connection, SystemError> {
    let path = slot.database();
    Connection::open(&path)
        .map_err(|error| SystemError::new(format!("cannot open `{}`", path.display())).caused_by(error))
}

/// Runs what a trial begins with, set as the load's connections are. What it wrote is on disk when this
/// returns: its debt is nobody's.
fn prepare(slot: &SlotPlan) -> Result<(), SystemError> {
    if slot.variant.prepare.is_empty() {
        return Ok(());
    }
    let began = SystemTime::now();
    let (connection, _) = read_back(slot)?;
    for (index, statement) in slot.variant.prepare.iter().enumerate() {
        connection.execute_batch(statement).map_err(|error| {
            let text = format!("`prepare` statement {} `{statement}` failed", index + 1);
            let text = format!("variant `{}`: {text}", slot.variant.name);
            SystemError::new(text).caused_by(error)
        })?;
    }
    work_off(&connection)?;
    drop(connection);
    sync_changed_since(&slot.dir, began)?;
    Ok(())
}

/// Empties the log. In other journal modes this answers that there is no log, and does nothing.
fn work_off(connection: &Connection) -> Result<(), SystemError> {
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .map_err(|error| SystemError::new("cannot checkpoint the log").caused_by(error))
}

/// A connection set as those of the load are, with everything asked for read back.
fn read_back(slot: &SlotPlan) -> Result<(Connection, BTreeMap<String, String>), SystemError> {
    let connection = open(slot)?;
    let named = |mut error: SystemError| {
        error.message = format!("variant `{}`: {}", slot.variant.name, error.message);
        error
    };
    for (name, value) in slot.at(Moment::Connection) {
        pragmas::set(&connection, name, value).map_err(named)?;
    }
    let mut effective = BTreeMap::new();
    for pragma in &PRAGMAS {
        let asked = slot.pragmas.get(pragma.name);
        if asked.is_none() && !ALWAYS.contains(&pragma.name) {
            continue;
        }
        let shown = pragmas::read(&connection, pragma)?;
        if let Some(asked) = asked.filter(|asked| **asked != shown) {
            let text = format!("`{}` is `{shown}` instead of `{asked}`", pragma.name);
            return Err(named(SystemError::new(text)));
        }
        effective.insert(pragma.name.to_owned(), shown);
    }
    Ok((connection, effective))
}

impl System for Embedded {
    fn replication(&self) -> Replication {
        Replication::Round
    }

    fn start_epoch(&mut self, _epoch: u32) -> Result<Vec<InstanceRecord>, SystemError> {
        let mut records = Vec::new();
        for slot in &self.slots {
            let began = Instant::now();
            furnish(slot)?;
            let (_, settings) = read_back(slot)?;
            records.push(InstanceRecord {
                slots: vec![slot.slot],
                version: rusqlite::version().to_owned(),
                settings,
                start: 1,
                ready_s: began.elapsed().as_secs_f64(),
            });
        }
        Ok(records)
    }

    fn enter(&mut self, slot: Slot) -> Result<Box<dyn Driver>, SystemError> {
        let plan = self.slot(slot)?.clone();
        if self.fresh_copies {
            furnish(&plan)?;
        }
        prepare(&plan)?;
        let (connection, _) = read_back(&plan)?;
        // An exclusive lock is for the one client of the load.
        let keeper = (!plan.is_exclusive()).then_some(connection);
        if let Some(keeper) = &keeper {
            // Reading takes the shared lock that keeps the log.
            keeper
                .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
                .map_err(|error| SystemError::new("cannot read the database").caused_by(error))?;
        }
        self.entered = Some(Entered { at: SystemTime::now(), keeper });
        let session =
            plan.at(Moment::Connection).map(|(name, value)| (name.clone(), value.clone())).collect();
        super::drive::driver(&plan.database(), session, &plan.variant)
    }

    fn counters(&mut self, _slot: Slot) -> Result<Counters, SystemError> {
        let tree = self.tree.sample();
        let tree = tree.map_err(|error| SystemError::new("cannot read this process").caused_by(error))?;
        let mut counters = tree.counters();
        if let Some(device) = &self.device {
            let disk = DiskSample::read(device);
            let disk =
                disk.map_err(|error| SystemError::new("cannot read the disk's counters").caused_by(error))?;
            counters.extend(disk.counters());
        }
        Ok(counters)
    }

    fn processes(&self, _slot: Slot) -> Vec<u32> {
        Vec::new()
    }

    fn frozen_cpu_s(&self, _slot: Slot) -> f64 {
        0.0
    }

    fn drain(&mut self, slot: Slot) -> Result<(), SystemError> {
        let plan = self.slot(slot)?.clone();
        let Some(entered) = &mut self.entered else { return Ok(()) };
        let opened;
        let connection = match &entered.keeper {
            Some(keeper) => keeper,
            None => {
                opened = open(&plan)?;
                &opened
            }
        };
        work_off(connection)?;
        sync_changed_since(&plan.dir, entered.at)?;
        Ok(())
    }

    fn leave(&mut self, _slot: Slot) -> Result<(), SystemError> {
        self.entered = None;
        Ok(())
    }

    fn stop(&mut self) -> Result<(), SystemError> {
        self.entered = None;
        Ok(())
    }
}
