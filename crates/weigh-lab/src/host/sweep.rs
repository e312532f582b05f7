//! What a new run does first: clears what runs that died have left.
//!
//! Runs whose owner is alive (same pid *and* start time) are never touched, nor those of another pid
//! namespace.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::HostError;
use super::guard::clear;
use super::journal::{live_root, state_dir};
use super::undo::Undo;

/// What was left by one dead run and is gone now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleared {
    /// The run.
    pub run_id: String,
    /// Instances whose processes were ended (or found gone).
    pub instances: usize,
    /// Directories.
    pub directories: Vec<PathBuf>,
    /// Cgroups.
    pub others: usize,
}

impl Cleared {
    pub(crate) fn new(run_id: &str) -> Cleared {
        Cleared { run_id: run_id.to_owned(), instances: 0, directories: Vec::new(), others: 0 }
    }

    pub(crate) fn count(&mut self, undo: &Undo) {
        match undo {
            Undo::StopProcesses { .. } => self.instances += 1,
            Undo::RemoveDir { path } => self.directories.push(path.clone()),
            _ => self.others += 1,
        }
    }
}

/// Clears every dead run of this user. One entry per run, failures beside successes: a run that cannot be
/// cleared does not stop the others.
pub fn sweep() -> Vec<Result<Cleared, HostError>> {
    sweep_in(&state_dir())
}

/// The same in a given state directory.
pub fn sweep_in(state: &Path) -> Vec<Result<Cleared, HostError>> {
    let root = live_root(state);
    let entries = match fs::read_dir(&root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![Err(HostError::path("read", root, error))],
    };
    let mut results = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        if is_unborn(&path) {
            remove_if_old(&path);
            continue;
        }
        match clear(&path) {
            Ok(Some(cleared)) => results.push(Ok(cleared)),
            Ok(None) => {}
            Err(error) => results.push(Err(error)),
        }
    }
    results
}

/// A registry that is just being made, or whose maker died while making it: it holds no change.
fn is_unborn(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(".new-"))
}

fn remove_if_old(path: &Path) {
    let age = fs::metadata(path).and_then(|data| data.modified()).ok().and_then(|time| time.elapsed().ok());
    if age.is_some_and(|age| age > Duration::from_secs(3600)) {
        fs::remove_dir_all(path).ok();
    }
}
