//! [`ProcessTree`]: which processes belong together, followed from sample to sample.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use nix::time::{ClockId, clock_gettime};

use super::fold::{Ledger, Processes, carry_on};
use super::parse;
use super::read::{self, Descent, Offers, Pass, Wanted};
use super::sample::{ProcessId, ProcessSample, TreeSample, Usage};
use crate::cgroup::usage;
use crate::error::{CollectError, ParseError};
use crate::source::{Reader, is_absent, ticks_per_s};

/// Readings before one is taken although a child was collected in the middle of it.
const ATTEMPTS_MAX: u32 = 4;

/// A server's processes, followed over their life.
///
/// A process once seen stays a member as long as it lives, even when its parent exits and it is
/// handed to a process outside the tree. One that detaches between two samples, before it was ever
/// seen, is only found if the tree is a control group's.
#[derive(Debug)]
pub struct ProcessTree {
    members: Members,
    with_pss: bool,
    offers: Offers,
    reader: Reader,
    ledger: Ledger,
    known: Processes,
    last: Option<Last>,
}

#[derive(Debug)]
enum Members {
    /// Root processes and everything they fork. Only the first sample looks for the roots by number.
    Roots(Vec<u32>),
    /// Everything in a control group and the groups below it.
    Cgroup(PathBuf),
}

/// What the next sample needs of the last one, beyond its processes.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// When its reading began, in clock ticks since boot.
    began_ticks: u64,
    total: Usage,
}

impl ProcessTree {
    /// The processes with these ids and all their descendants.
    pub fn of(roots: &[u32]) -> ProcessTree {
        ProcessTree::new(Members::Roots(roots.to_vec()))
    }

    /// Every process in the control group at `directory` (below a v2 or v1 mount) and in the groups
    /// below it. CPU time then comes from the group itself, exactly, if it counts it (v2: any group;
    /// v1: `cpuacct`), and bytes to and from storage too, if its io controller is on.
    pub fn in_cgroup(directory: impl Into<PathBuf>) -> ProcessTree {
        ProcessTree::new(Members::Cgroup(directory.into()))
    }

    /// Also reads every process's proportional memory. It walks the page tables: tens of milliseconds
    /// for a large server, so leave it out of measured windows.
    pub fn with_pss(mut self, with_pss: bool) -> ProcessTree {
        self.with_pss = with_pss;
        self
    }

    fn new(members: Members) -> ProcessTree {
        ProcessTree {
            members,
            with_pss: false,
            offers: Offers::detect(),
            reader: Reader::default(),
            ledger: Ledger::EMPTY,
            known: Processes::new(),
            last: None,
        }
    }

    /// Reads every process now.
    ///
    /// When all have exited the sample has no processes and the total stays what it was.
    ///
    /// # Errors
    /// On the first sample, if none of the roots is there; if the control group is not there; if a
    /// file of a living process cannot be read or understood.
    pub fn sample(&mut self) -> Result<TreeSample, CollectError> {
        let began_ticks = boot_ticks();
        let pass = self.read_settled()?;
        self.check_present(&pass)?;
        let mut now = self.carry_on(pass);
        self.ledger.settle_gone(&self.known, &mut now);
        let mut total = self.ledger.total(&now);
        let mut stored = None;
        if let Members::Cgroup(directory) = &self.members {
            let group = usage(&mut self.reader, directory)?;
            if let Some(cpu) = group.cpu {
                total.cpu_ns = cpu.usage_ns;
                total.user_us = cpu.user_us.unwrap_or(total.user_us);
                total.system_us = cpu.system_us.unwrap_or(total.system_us);
            }
            stored = group.storage;
        }
        if let Some(last) = self.last {
            total = total.at_least(last.total);
        }
        self.last = Some(Last { began_ticks, total });
        let processes: Vec<ProcessSample> = now.values().cloned().collect();
        self.known = now;
        Ok(TreeSample { taken: Instant::now(), processes, total, stored })
    }

    fn read_settled(&mut self) -> Result<Pass, CollectError> {
        for _ in 1..ATTEMPTS_MAX {
            let pass = self.read_once()?;
            if pass.settled {
                return Ok(pass);
            }
            // Whoever is in the middle of collecting a child needs a CPU to end it.
            std::thread::yield_now();
        }
        self.read_once()
    }

    fn read_once(&mut self) -> Result<Pass, CollectError> {
        let mut offers = self.offers;
        // Nobody is older than his parent.
        let mut wanted: Vec<ProcessId> = self.known.keys().copied().collect();
        wanted.sort_by_key(|id| (id.start_ticks, id.pid));
        let mut wanted: Vec<Wanted> = wanted.into_iter().map(|id| (id.pid, Some(id.start_ticks))).collect();
        match &self.members {
            // Later their numbers may be somebody else's.
            Members::Roots(roots) if self.last.is_none() => {
                wanted = roots.iter().map(|&pid| (pid, None)).collect()
            }
            Members::Roots(_) => {}
            Members::Cgroup(directory) => {
                offers.descent = Descent::Off;
                let mut pids = BTreeSet::new();
                group_pids(&mut self.reader, directory, &mut pids)?;
                // Whoever was moved out of the group is no longer a member.
                wanted.retain(|(pid, _)| pids.contains(pid));
                wanted.extend(pids.into_iter().map(|pid| (pid, None)));
            }
        }
        read::pass(&mut self.reader, offers, wanted, self.with_pss)
    }

    /// The first sample of a tree must find somebody.
    fn check_present(&self, pass: &Pass) -> Result<(), CollectError> {
        match &self.members {
            Members::Roots(roots) if self.last.is_none() && pass.processes.is_empty() => {
                Err(CollectError::NoProcess { pid: roots.first().copied().unwrap_or(0) })
            }
            _ => Ok(()),
        }
    }

    fn carry_on(&mut self, pass: Pass) -> Processes {
        let mut now = Processes::new();
        for (id, raw) in pass.processes {
            let before = self.known.get(&id);
            let process = carry_on(raw, before);
            if before.is_none() && self.joined_running(id) {
                self.ledger.discount(&process);
            }
            now.insert(id, process);
        }
        now
    }

    /// Whether a process seen for the first time already ran at the last sample.
    fn joined_running(&self, id: ProcessId) -> bool {
        self.last.is_some_and(|last| id.start_ticks < last.began_ticks)
    }
}

/// Processes in a group and in all groups below it.
fn group_pids(reader: &mut Reader, directory: &Path, pids: &mut BTreeSet<u32>) -> Result<(), CollectError> {
    let list = |text: &[u8]| Ok::<_, ParseError>(parse::pids(text));
    // Absent where a group is threaded: its processes are listed further up.
    pids.extend(reader.optional(directory.join("cgroup.procs"), list)?.unwrap_or_default());
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(CollectError::read(directory, error)),
    };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            group_pids(reader, &entry.path(), pids)?;
        }
    }
    Ok(())
}

/// Now, in clock ticks since boot, as `/proc/PID/stat` gives the start of a process.
fn boot_ticks() -> u64 {
    let Ok(now) = clock_gettime(ClockId::CLOCK_BOOTTIME) else { return 0 };
    let seconds = u64::try_from(now.tv_sec()).unwrap_or(0);
    let nanos = u64::try_from(now.tv_nsec()).unwrap_or(0);
    seconds.saturating_mul(ticks_per_s()) + nanos / (1_000_000_000 / ticks_per_s())
}
