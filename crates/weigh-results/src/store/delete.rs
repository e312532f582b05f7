//! Deleting one run.
//!
//! [`delete`] takes a run's directory away and nothing else: no symbolic link is followed, a directory that is not
//! a run is refused, and so is a run that is being recorded. The file of events goes last, so that a deletion that
//! was cut short leaves a run that is still listed and can be deleted again.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::recorder::{io_error, name_of};
use super::storage::FileStorage;
use super::{EVENTS_FILE, StoreError};

/// How every file of events begins: the key of its first event.
const FIRST_BYTES: &[u8] = br#"{"event":"started""#;

/// Takes the directory away, with everything in it. `root` is the directory of runs: what lies directly in it may
/// be damaged and is a run all the same.
pub(super) fn delete(dir: &Path, root: &Path) -> Result<(), StoreError> {
    // Without a slash or a dot at its end: with one, the system would look behind a link.
    let dir = dir.components().as_path();
    let events = dir.join(EVENTS_FILE);
    look(dir, &events, root)?;
    let lock = FileStorage::open(&events).map_err(|source| match source.kind() {
        io::ErrorKind::WouldBlock => StoreError::Locked { run_id: name_of(dir) },
        _ => StoreError::Io { action: "open", path: events.clone(), source },
    })?;
    for entry in std::fs::read_dir(dir).map_err(io_error("list", dir))? {
        let entry = entry.map_err(io_error("list", dir))?;
        if entry.file_name() != EVENTS_FILE {
            remove(&entry).map_err(io_error("delete", &entry.path()))?;
        }
    }
    std::fs::remove_file(&events).map_err(io_error("delete", &events))?;
    // Held until here: a `weigh resume` that comes in between is told that the run is in use.
    drop(lock);
    std::fs::remove_dir(dir).map_err(io_error("delete", dir))
}

/// Neither call follows a symbolic link: a link goes, what it points to stays.
fn remove(entry: &std::fs::DirEntry) -> io::Result<()> {
    if entry.file_type()?.is_dir() {
        std::fs::remove_dir_all(entry.path())
    } else {
        std::fs::remove_file(entry.path())
    }
}

/// Refuses what is not a run.
fn look(dir: &Path, events: &Path, root: &Path) -> Result<(), StoreError> {
    let refused = |reason| Err(StoreError::NotARun { path: dir.into(), reason });
    let what = std::fs::symlink_metadata(dir).map_err(io_error("look at", dir))?;
    if what.is_symlink() {
        return refused("it is a symbolic link");
    }
    if !what.is_dir() {
        return refused("it is not a directory");
    }
    if !std::fs::symlink_metadata(events).is_ok_and(|found| found.is_file()) {
        return refused("it holds no file of events");
    }
    let in_root = dir.parent().is_some_and(|parent| parent == root.components().as_path());
    if !in_root && !begins_as_ours(events)? {
        return refused("its file of events is not from weigh");
    }
    Ok(())
}

fn begins_as_ours(events: &Path) -> Result<bool, StoreError> {
    let mut first = [0; FIRST_BYTES.len()];
    let mut file = File::open(events).map_err(io_error("open", events))?;
    match file.read_exact(&mut first) {
        Ok(()) => Ok(first == *FIRST_BYTES),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(source) => Err(StoreError::Io { action: "read", path: events.into(), source }),
    }
}
