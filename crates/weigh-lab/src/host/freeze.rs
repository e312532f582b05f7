//! Freezing an instance that is not under load, so that it cannot disturb the one that is.
//!
//! A [`Freezer`] uses the instance's version 2 cgroup where there is one, else SIGSTOP on every process,
//! repeated until no new one appears. Both [`Freezer::freeze`] and [`Freezer::thaw`] return only when they
//! are in force. SIGKILL ends a frozen instance either way.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::undo::{Instance, send};
use super::{HostError, ServerProcess, cgroup, process};

/// A process in uninterruptible sleep is frozen when its disk has answered.
const LIMIT: Duration = Duration::from_secs(10);

/// How an instance is frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreezeMethod {
    /// `cgroup.freeze` of its own version 2 group.
    Cgroup,
    /// SIGSTOP and SIGCONT to every process.
    Signals,
}

/// Freezes and thaws one running instance.
#[derive(Debug)]
pub struct Freezer {
    root: (i32, u64),
    dir: PathBuf,
    programs: Vec<PathBuf>,
    cgroup: Option<PathBuf>,
    frozen: bool,
}

impl Freezer {
    /// For an instance that has been started (and is not frozen).
    pub fn new(server: &ServerProcess) -> Freezer {
        Freezer {
            root: (server.pid(), server.start_ticks()),
            dir: server.dir().to_owned(),
            programs: vec![server.program().to_owned()],
            cgroup: server.cgroup().map(ToOwned::to_owned),
            frozen: false,
        }
    }

    /// How it does it.
    pub fn method(&self) -> FreezeMethod {
        if self.cgroup.is_some() { FreezeMethod::Cgroup } else { FreezeMethod::Signals }
    }

    /// Whether the instance is frozen now.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// CPU time the instance has used so far, seconds.
    pub fn cpu_seconds(&self) -> f64 {
        self.cgroup
            .as_deref()
            .and_then(cgroup::cpu_seconds)
            .unwrap_or_else(|| process::cpu_seconds(self.members()))
    }

    /// Stops every process of the instance; returns when they stand still.
    ///
    /// # Errors
    /// When they do not in time.
    pub fn freeze(&mut self) -> Result<(), HostError> {
        if self.frozen {
            return Ok(());
        }
        let done = match &self.cgroup {
            Some(group) => {
                self.ask_cgroup(true)?;
                within(|| cgroup::is_frozen(group))
            }
            None => self.stop_all(),
        };
        self.frozen = true;
        if done { Ok(()) } else { Err(self.late("freeze")) }
    }

    /// Lets every process run again; returns when none stands still.
    ///
    /// # Errors
    /// When they do not in time.
    pub fn thaw(&mut self) -> Result<(), HostError> {
        if !self.frozen {
            return Ok(());
        }
        let done = match &self.cgroup {
            Some(group) => {
                self.ask_cgroup(false)?;
                within(|| !cgroup::is_frozen(group))
            }
            None => within(|| {
                let members = self.members();
                members.iter().for_each(|pid| send(*pid, Signal::SIGCONT));
                process::none_stopped(&members)
            }),
        };
        self.frozen = false;
        if done { Ok(()) } else { Err(self.late("thaw")) }
    }

    fn ask_cgroup(&self, frozen: bool) -> Result<(), HostError> {
        let Some(group) = &self.cgroup else { return Ok(()) };
        let action = if frozen { "freeze" } else { "thaw" };
        cgroup::set_frozen(group, frozen).map_err(|error| HostError::path(action, group, error))
    }

    /// A process may fork between being listed and being stopped: done when two listings agree and
    /// everything in them is stopped.
    fn stop_all(&self) -> bool {
        let mut previous: BTreeSet<i32> = BTreeSet::new();
        within(|| {
            let members = self.members();
            let stable = members == previous && process::all_stopped(&members);
            if !stable {
                members.iter().for_each(|pid| send(*pid, Signal::SIGSTOP));
            }
            previous = members;
            stable
        })
    }

    fn members(&self) -> BTreeSet<i32> {
        let root = Some(self.root);
        let cgroup = self.cgroup.as_deref();
        Instance { root, dir: &self.dir, programs: &self.programs, cgroup }.members()
    }

    fn late(&self, action: &'static str) -> HostError {
        HostError::Freeze { action, what: self.dir.clone(), seconds: LIMIT.as_secs() }
    }
}

fn within(mut is_done: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    let mut pause = Duration::from_micros(100);
    loop {
        if is_done() {
            return true;
        }
        if begin.elapsed() > LIMIT {
            return false;
        }
        sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}
