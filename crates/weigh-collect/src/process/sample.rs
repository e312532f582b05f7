//! One reading of a tree of processes: [`TreeSample`], and what it is made of.

use std::collections::BTreeMap;
use std::time::Instant;

use super::parse::{PidIo, SchedStat, Switches};
use crate::counters::{Counters, Tally, delta};

/// A process, identified for good: the kernel hands out a pid again, but never with the same start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    /// Process id.
    pub pid: u32,
    /// Start, in clock ticks since boot.
    pub start_ticks: u64,
}

/// What a process, or many, have used since they began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// CPU time, nanoseconds: the scheduler's own sum where it can be had, never less than what the
    /// clock ticks say.
    pub cpu_ns: u64,
    /// User part of the CPU time, microseconds, in steps of a clock tick (10 ms) per process.
    pub user_us: u64,
    /// System part of the CPU time, microseconds, in steps of a clock tick (10 ms) per process.
    pub system_us: u64,
    /// Page faults served from memory.
    pub minor_faults: u64,
    /// Page faults that had to wait for a disk. With readahead nearly all waits are for a page already
    /// on its way, and count as minor.
    pub major_faults: u64,
    /// Context switches because the thread waited for something.
    pub voluntary_switches: u64,
    /// Context switches because the thread was made to give up its CPU.
    pub involuntary_switches: u64,
    /// Time ready to run but waiting for a CPU, nanoseconds; `None` if the kernel does not say.
    pub wait_ns: Option<u64>,
    /// Bytes and calls; `None` if we may not see them for one of the processes.
    pub io: Option<PidIo>,
}

impl Usage {
    /// Nothing used yet.
    pub const ZERO: Usage = Usage {
        cpu_ns: 0,
        user_us: 0,
        system_us: 0,
        minor_faults: 0,
        major_faults: 0,
        voluntary_switches: 0,
        involuntary_switches: 0,
        wait_ns: Some(0),
        io: Some(PidIo {
            read_chars_bytes: 0,
            write_chars_bytes: 0,
            read_calls: 0,
            write_calls: 0,
            read_bytes: 0,
            dirtied_bytes: 0,
        }),
    };

    /// Both together. What one of them does not know, the sum does not know.
    pub fn plus(self, other: Usage) -> Usage {
        self.zip(other, u64::saturating_add)
    }

    /// What is left after taking `other` away; never below zero.
    pub(super) fn minus(self, other: Usage) -> Usage {
        self.zip(other, u64::saturating_sub)
    }

    /// The larger of each; what `floor` does not know does not matter.
    pub(super) fn at_least(self, floor: Usage) -> Usage {
        let (wait_ns, io) = (self.wait_ns, self.io);
        let larger = self.zip(floor, u64::max);
        Usage { wait_ns: larger.wait_ns.or(wait_ns), io: larger.io.or(io), ..larger }
    }

    fn zip(self, other: Usage, combine: fn(u64, u64) -> u64) -> Usage {
        Usage {
            cpu_ns: combine(self.cpu_ns, other.cpu_ns),
            user_us: combine(self.user_us, other.user_us),
            system_us: combine(self.system_us, other.system_us),
            minor_faults: combine(self.minor_faults, other.minor_faults),
            major_faults: combine(self.major_faults, other.major_faults),
            voluntary_switches: combine(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: combine(self.involuntary_switches, other.involuntary_switches),
            wait_ns: self.wait_ns.zip(other.wait_ns).map(|(one, two)| combine(one, two)),
            io: self.io.zip(other.io).map(|(one, two)| one.zip(two, combine)),
        }
    }
}

/// One thread as last seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) sched: Option<SchedStat>,
    pub(super) switches: Switches,
}

/// One process of a tree, in one reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSample {
    /// Which process.
    pub id: ProcessId,
    /// Its parent's process id.
    pub parent: u32,
    /// Name of its executable, at most 15 bytes.
    pub name: String,
    /// State, as in [`PidStat`](super::parse::PidStat).
    pub state: char,
    /// Used by the process itself. Its `io` holds that of the children it waited for too: the kernel
    /// does not keep them apart.
    pub own: Usage,
    /// Used by children it has waited for, and by theirs: CPU time and faults.
    pub children: Usage,
    /// Resident memory, bytes; pages it shares with others are counted in each.
    pub rss_bytes: u64,
    /// Proportional share of resident memory, bytes, if asked for and allowed.
    pub pss_bytes: Option<u64>,
    pub(super) threads: BTreeMap<u32, Thread>,
    /// Run and wait time and switches of threads that have ended.
    pub(super) ended: Usage,
}

impl ProcessSample {
    /// The process and the children it waited for.
    pub fn total(&self) -> Usage {
        self.own.plus(self.children)
    }

    /// Threads now.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }
}

/// One reading of a tree of processes.
#[derive(Clone, Debug)]
pub struct TreeSample {
    /// When the reading ended.
    pub taken: Instant,
    /// The processes there were, in order of pid. Empty when all have exited.
    pub processes: Vec<ProcessSample>,
    /// What the tree has used over its life, exited processes included. Never goes backwards.
    pub total: Usage,
    /// What went to and came from block devices, as the control group's io controller counts it.
    pub stored: Option<Storage>,
}

/// Bytes and requests to and from block devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written, by whoever wrote back the group's dirty pages.
    pub write_bytes: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
}

impl TreeSample {
    /// What the tree has used so far, as `server.*` counters: fit for [`delta`].
    ///
    /// `server.write_bytes` is only there if a control group counts it. The kernel's per-process figure
    /// of that name is given as what it is, `server.dirtied_bytes`: with large folios (ext4 since Linux
    /// 6.16, xfs since 5.18, btrfs since 6.17) rewriting 8 KiB counts the whole folio, up to 2 MiB.
    /// Storage really written is also in [`DiskSample`](crate::DiskSample), for the whole disk.
    pub fn counters(&self) -> Counters {
        let total = &self.total;
        let mut tally = Tally::new("server");
        tally.add_f64("cpu_us", total.cpu_ns as f64 / 1e3);
        tally.add("cpu_user_us", total.user_us);
        tally.add("cpu_system_us", total.system_us);
        tally.add("minor_faults", total.minor_faults);
        tally.add("major_faults", total.major_faults);
        tally.add("voluntary_switches", total.voluntary_switches);
        tally.add("involuntary_switches", total.involuntary_switches);
        if let Some(wait_ns) = total.wait_ns {
            tally.add_f64("wait_us", wait_ns as f64 / 1e3);
        }
        if let Some(io) = &total.io {
            tally.add("read_bytes", io.read_bytes);
            tally.add("dirtied_bytes", io.dirtied_bytes);
            tally.add("read_chars_bytes", io.read_chars_bytes);
            tally.add("write_chars_bytes", io.write_chars_bytes);
            tally.add("read_calls", io.read_calls);
            tally.add("write_calls", io.write_calls);
        }
        if let Some(stored) = &self.stored {
            tally.add("read_bytes", stored.read_bytes);
            tally.add("write_bytes", stored.write_bytes);
            tally.add("storage_reads", stored.reads);
            tally.add("storage_writes", stored.writes);
        }
        tally.finish()
    }

    /// Levels now: `server.processes`, `server.threads`, `server.rss_bytes` and, if every process
    /// gave it, `server.pss_bytes`. Not for [`delta`].
    ///
    /// Summed resident memory counts a page shared by n processes n times (PostgreSQL's buffers!);
    /// the proportional sum counts it once.
    pub fn gauges(&self) -> Counters {
        let sum = |of: fn(&ProcessSample) -> u64| self.processes.iter().map(of).fold(0, u64::saturating_add);
        let mut tally = Tally::new("server");
        tally.add("processes", self.processes.len() as u64);
        tally.add("threads", sum(|process| process.threads.len() as u64));
        tally.add("rss_bytes", sum(|process| process.rss_bytes));
        let pss = self.processes.iter().map(|process| process.pss_bytes).sum::<Option<u64>>();
        tally.add_known("pss_bytes", pss.filter(|_| !self.processes.is_empty()));
        tally.finish()
    }

    /// What the tree used between an earlier sample of the same tree and this one.
    ///
    /// A process that was already running but joined the tree in between (it was moved into the
    /// control group) counts from the sample that first saw it; one that was born counts whole; one
    /// that ended counts with its children's share, which its parent inherits, exactly, and with its
    /// switches and waits up to the last sample that saw it.
    pub fn delta(&self, earlier: &TreeSample) -> Counters {
        delta(&earlier.counters(), &self.counters())
    }

    /// Time ready to run but waiting for a CPU since an earlier sample, as a share of the time
    /// between the two; above 1 when several threads waited at once. `None` if the kernel does not say.
    pub fn wait_share(&self, earlier: &TreeSample) -> Option<f64> {
        let waited_ns = self.total.wait_ns?.saturating_sub(earlier.total.wait_ns?);
        let window_s = self.taken.saturating_duration_since(earlier.taken).as_secs_f64();
        (window_s > 0.0).then(|| waited_ns as f64 / 1e9 / window_s)
    }
}
