//! One change to the host, as data, so that another process can undo it.
//!
//! Every [`Undo`] can be executed twice, and after a reboot: what is already gone counts as undone.
//! Execution never removes a directory outside a work root ([`WorkRoot`](super::WorkRoot)), never a
//! cgroup that is not named like ours, and never signals a process that does not belong to the instance.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::{HostError, SharedMemory, cgroup, marked, process, work};

/// How long an instance may take to end by itself after a polite signal.
const POLITE: Duration = Duration::from_secs(4);
/// How long SIGKILL may take (a process in uninterruptible sleep waits for its disk).
const KILL: Duration = Duration::from_secs(20);

/// What undoes one change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "undo", rename_all = "snake_case")]
pub enum Undo {
    /// Ends every process of an instance.
    StopProcesses {
        /// Pid and start time (clock ticks since boot) of the root; `None` while it is being started.
        root: Option<(i32, u64)>,
        /// The instance's directory.
        dir: PathBuf,
        /// The programs its processes run, without symbolic links.
        programs: Vec<PathBuf>,
        /// The instance's cgroup, if it has one.
        cgroup: Option<PathBuf>,
        /// Signal that makes the root clean up after itself and end at once, if there is one.
        polite_signal: Option<i32>,
        /// What is left in memory if all of them have been killed already.
        shared_memory: SharedMemory,
        /// The boot in which all this is true.
        boot_id: String,
    },
    /// Ends every process with a run's mark in its environment ([`MARK`](super::MARK)).
    StopMarked {
        /// The run.
        run_id: String,
    },
    /// Removes a directory and everything in it.
    RemoveDir {
        /// The directory, below a work root.
        path: PathBuf,
    },
    /// Ends what is left in a cgroup and removes it.
    RemoveCgroup {
        /// The cgroup's directory.
        path: PathBuf,
    },
}

impl Undo {
    /// Whether this is a directory a reader may want to keep.
    pub(crate) fn is_directory(&self) -> bool {
        matches!(self, Undo::RemoveDir { .. })
    }

    /// Undoes the change. `Ok` if it was never made or is already undone.
    ///
    /// # Errors
    /// When something is still there afterwards.
    pub fn execute(&self) -> Result<(), HostError> {
        match self {
            Undo::StopProcesses { boot_id, .. } if *boot_id != process::boot_id() => Ok(()),
            Undo::StopProcesses { root, dir, programs, cgroup, polite_signal, shared_memory, .. } => {
                let instance = Instance { root: *root, dir, programs, cgroup: cgroup.as_deref() };
                let mut memory = shared_memory.clone();
                memory.merge(SharedMemory::of(instance.members()));
                instance.stop(polite_signal.and_then(|number| Signal::try_from(number).ok()))?;
                memory.remove()
            }
            Undo::StopMarked { run_id } => marked::stop(run_id),
            Undo::RemoveDir { path } => remove_dir(path),
            Undo::RemoveCgroup { path } => cgroup::remove(path),
        }
    }
}

/// The processes of one instance, found anew each time they are asked for.
pub(crate) struct Instance<'a> {
    pub(crate) root: Option<(i32, u64)>,
    pub(crate) dir: &'a Path,
    pub(crate) programs: &'a [PathBuf],
    pub(crate) cgroup: Option<&'a Path>,
}

impl Instance<'_> {
    /// Every living process.
    pub(crate) fn members(&self) -> BTreeSet<i32> {
        let mut found = process::members(self.root, self.dir, self.programs);
        if let Some(group) = self.cgroup {
            found.extend(cgroup::processes(group));
        }
        found
    }

    /// Ends them all: politely if `polite` is given and the root lives, then by SIGKILL.
    fn stop(&self, polite: Option<Signal>) -> Result<(), HostError> {
        if let (Some(signal), Some((pid, started))) = (polite, self.root)
            && process::is_alive(pid, started)
        {
            send(pid, signal);
            self.thaw();
            if self.gone_within(POLITE, |_| {}) {
                return Ok(());
            }
        }
        // SIGKILL ends stopped processes and those frozen by a version 2 cgroup without a thaw.
        let kill_all = |members: &BTreeSet<i32>| members.iter().for_each(|pid| send(*pid, Signal::SIGKILL));
        if self.gone_within(KILL, kill_all) {
            return Ok(());
        }
        Err(HostError::Alive {
            what: self.dir.to_owned(),
            count: self.members().len(),
            seconds: KILL.as_secs(),
        })
    }

    /// A frozen process does not see a polite signal.
    fn thaw(&self) {
        if let Some(group) = self.cgroup {
            cgroup::set_frozen(group, false).ok();
        }
        self.members().into_iter().for_each(|pid| send(pid, Signal::SIGCONT));
    }

    fn gone_within(&self, limit: Duration, act: impl Fn(&BTreeSet<i32>)) -> bool {
        let begin = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            let members = self.members();
            if members.is_empty() {
                return true;
            }
            act(&members);
            if begin.elapsed() > limit {
                return false;
            }
            sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

/// A process that is already gone is as good as signalled.
pub(crate) fn send(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).ok();
}

fn remove_dir(path: &Path) -> Result<(), HostError> {
    if !work::is_below_a_work_root(path) {
        return if path.exists() { Err(HostError::NotOurs { path: path.to_owned() }) } else { Ok(()) };
    }
    // Something that is just being killed may still create a file in it.
    let mut attempts = 0;
    loop {
        match fs::remove_dir_all(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.exists() => return Ok(()),
            Err(error) if attempts >= 20 => return Err(HostError::path("remove", path, error)),
            Err(_) => attempts += 1,
        }
        sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_outside_every_work_root_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let undo = Undo::RemoveDir { path: dir.path().to_owned() };
        assert!(matches!(undo.execute(), Err(HostError::NotOurs { .. })));
        assert!(dir.path().exists());
        let absent = Undo::RemoveDir { path: dir.path().join("absent") };
        assert!(absent.execute().is_ok());
    }

    #[test]
    fn a_climbing_path_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = work::WorkRoot::open(&dir.path().join("root")).unwrap();
        fs::create_dir(dir.path().join("root/other")).unwrap();
        let undo = Undo::RemoveDir { path: root.path().join("../other") };
        assert!(matches!(undo.execute(), Err(HostError::NotOurs { .. })));
        assert!(dir.path().join("root/other").exists());
    }

    #[test]
    fn processes_of_another_boot_are_not_looked_for() {
        let undo = Undo::StopProcesses {
            root: Some((process::own_pid(), process::start_ticks(process::own_pid()).unwrap())),
            dir: PathBuf::from("/"),
            programs: vec![PathBuf::from("/proc/self/exe")],
            shared_memory: SharedMemory::default(),
            cgroup: None,
            polite_signal: None,
            boot_id: "another".to_owned(),
        };
        undo.execute().unwrap();
    }
}
