//! How long our own threads ran, and how long they were ready but had no CPU.
//!
//! A client that waits for a CPU sends late and counts the wait as the server's latency. The scheduler
//! says exactly how long it was: wall time less this wait is a loop's own CPU time.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use crate::error::CollectError;
use crate::process::parse::{SchedStat, schedstat};
use crate::source::{Reader, is_absent};

/// The scheduler's figures of the threads of this process.
#[derive(Clone, Debug)]
pub struct OwnSample {
    /// When it was read.
    pub taken: Instant,
    /// Each thread's, by thread id.
    pub threads: BTreeMap<u32, SchedStat>,
}

/// What our threads did between two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnDelta {
    /// Length of the window.
    pub window: Duration,
    /// Time on a CPU, all threads.
    pub run: Duration,
    /// Time ready but without a CPU, all threads.
    pub wait: Duration,
    /// The largest wait of one thread.
    pub wait_max: Duration,
}

impl OwnDelta {
    /// Time waited, as a share of the window; above 1 when several threads waited at once.
    pub fn wait_share(&self) -> f64 {
        match self.window.as_secs_f64() {
            window_s if window_s > 0.0 => self.wait.as_secs_f64() / window_s,
            _ => 0.0,
        }
    }
}

impl OwnSample {
    /// Reads all threads of this process.
    ///
    /// # Errors
    /// If the kernel keeps no such figures, or they cannot be understood.
    pub fn read() -> Result<OwnSample, CollectError> {
        let directory = "/proc/self/task";
        let entries = fs::read_dir(directory).map_err(|source| CollectError::read(directory, source))?;
        let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut reader = Reader::default();
        let mut threads = BTreeMap::new();
        for tid in ids {
            match reader.parsed(format!("{directory}/{tid}/schedstat"), schedstat) {
                Ok(sched) => threads.insert(tid, sched),
                Err(CollectError::Read { source, .. }) if is_absent(&source) => None,
                Err(error) => return Err(error),
            };
        }
        if threads.is_empty() {
            // Our own thread is certainly there: this kernel keeps no such figures.
            return OwnSample::current_thread().map(|_| OwnSample { taken: Instant::now(), threads });
        }
        Ok(OwnSample { taken: Instant::now(), threads })
    }

    /// Reads the calling thread alone: one file, a few microseconds.
    ///
    /// # Errors
    /// If the kernel keeps no such figures, or they cannot be understood.
    pub fn current_thread() -> Result<SchedStat, CollectError> {
        Reader::default().parsed("/proc/thread-self/schedstat", schedstat)
    }

    /// Growth since an earlier sample. A thread that began in between counts whole; one that ended is
    /// left out.
    pub fn delta(&self, earlier: &OwnSample) -> OwnDelta {
        let mut run_ns = 0u64;
        let mut wait_ns = 0u64;
        let mut wait_ns_max = 0;
        for (tid, now) in &self.threads {
            // A thread id that went backwards belongs to a younger thread.
            let before = earlier.threads.get(tid).filter(|before| before.run_ns <= now.run_ns);
            let before = before.copied().unwrap_or_default();
            let waited_ns = now.wait_ns.saturating_sub(before.wait_ns);
            run_ns = run_ns.saturating_add(now.run_ns - before.run_ns);
            wait_ns = wait_ns.saturating_add(waited_ns);
            wait_ns_max = wait_ns_max.max(waited_ns);
        }
        OwnDelta {
            window: self.taken.saturating_duration_since(earlier.taken),
            run: Duration::from_nanos(run_ns),
            wait: Duration::from_nanos(wait_ns),
            wait_max: Duration::from_nanos(wait_ns_max),
        }
    }
}
