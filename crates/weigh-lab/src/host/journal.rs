//! The file that says what has to be undone: `<state>/live/<run>/undo.jsonl`.
//!
//! One JSON object per line. The first names the [`Owner`]; then `register` before each change, `done`
//! after its undo, and `keep` when directories are to stay. It is append-only and never fsynced: it has
//! to survive the death of processes, not of the machine (a reboot ends processes and cgroups anyway, and
//! directories listed in a file that is lost are found by nobody but cost only space).
//!
//! A torn last line is ignored: its change had not been made yet.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::process;
use super::undo::Undo;
use super::{HostError, UndoId};

/// The process a run belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its pid.
    pub pid: i32,
    /// Its start, clock ticks since boot.
    pub start_ticks: u64,
    /// The boot it belongs to.
    pub boot_id: String,
    /// The pid namespace its pid is valid in.
    pub pid_namespace: String,
}

/// What is known about an owner from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerState {
    /// It runs.
    Alive,
    /// It is gone, or the machine has been restarted since.
    Dead,
    /// It lives (or lived) in another pid namespace of this boot: not ours to judge.
    Unknown,
}

impl Owner {
    /// This process.
    pub(crate) fn current() -> Owner {
        let pid = process::own_pid();
        Owner {
            pid,
            start_ticks: process::start_ticks(pid).unwrap_or_default(),
            boot_id: process::boot_id(),
            pid_namespace: process::pid_namespace(),
        }
    }

    /// Whether it is still there.
    pub(crate) fn state(&self) -> OwnerState {
        if self.boot_id != process::boot_id() {
            return OwnerState::Dead;
        }
        if self.pid_namespace != process::pid_namespace() {
            return OwnerState::Unknown;
        }
        if process::is_alive(self.pid, self.start_ticks) { OwnerState::Alive } else { OwnerState::Dead }
    }
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Owner { run_id: String, owner: Owner },
    Register { id: UndoId, undo: Undo },
    Done { id: UndoId },
    Keep,
}

/// What a file says is still to be undone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pending {
    /// The run.
    pub(crate) run_id: String,
    /// Its owner.
    pub(crate) owner: Owner,
    /// Undos not done yet, by the order of their registration.
    pub(crate) undos: BTreeMap<UndoId, Undo>,
    /// Directories stay.
    pub(crate) keep: bool,
}

/// The state directory: `$WEIGH_STATE_DIR`, else `$XDG_STATE_HOME/weigh`, else `~/.local/state/weigh`;
/// `/var/tmp/weigh-state-<uid>` for a user without a home.
pub fn state_dir() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("WEIGH_STATE_DIR")
        .or_else(|| Some(variable("XDG_STATE_HOME")?.join("weigh")))
        .or_else(|| Some(variable("HOME")?.join(".local/state/weigh")))
        .unwrap_or_else(|| PathBuf::from(format!("/var/tmp/weigh-state-{}", nix::unistd::geteuid())))
}

/// Directory of the runs that have something to undo.
pub(crate) fn live_root(state: &Path) -> PathBuf {
    state.join("live")
}

const FILE: &str = "undo.jsonl";

/// The open file of one run.
#[derive(Debug)]
pub(crate) struct Journal {
    dir: PathBuf,
    file: File,
}

impl Journal {
    /// Makes `<state>/live/<run_id>` with its first line, in one step: a directory that others see
    /// always names its owner.
    pub(crate) fn create(state: &Path, run_id: &str) -> Result<Journal, HostError> {
        let root = live_root(state);
        let dir = root.join(run_id);
        let new = root.join(format!(".new-{run_id}-{}", process::own_pid()));
        make_private_dir(&new)?;
        let mut file = open_append(&new.join(FILE))?;
        let first = Line::Owner { run_id: run_id.to_owned(), owner: Owner::current() };
        append(&mut file, &new.join(FILE), &first)?;
        fs::rename(&new, &dir).map_err(|error| HostError::path("create", &dir, error))?;
        Ok(Journal { dir, file })
    }

    /// Opens the file of a run that somebody else began, to finish it.
    pub(crate) fn open(dir: &Path) -> Result<Journal, HostError> {
        Ok(Journal { dir: dir.to_owned(), file: open_append(&dir.join(FILE))? })
    }

    /// Where it is.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Says that a change is about to be made.
    pub(crate) fn register(&mut self, id: UndoId, undo: &Undo) -> Result<(), HostError> {
        self.append(&Line::Register { id, undo: undo.clone() })
    }

    /// Says that a change has been undone.
    pub(crate) fn done(&mut self, id: UndoId) -> Result<(), HostError> {
        self.append(&Line::Done { id })
    }

    /// Says that directories stay.
    pub(crate) fn keep(&mut self) -> Result<(), HostError> {
        self.append(&Line::Keep)
    }

    /// Removes the file and its directory: nothing is left to undo.
    pub(crate) fn finish(&self) -> Result<(), HostError> {
        match fs::remove_dir_all(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(HostError::path("remove", &self.dir, error))
            }
            _ => Ok(()),
        }
    }

    fn append(&mut self, line: &Line) -> Result<(), HostError> {
        append(&mut self.file, &self.dir.join(FILE), line)
    }
}

/// One write per line: lines of two processes never mix, and a torn one can only be the last.
fn append(file: &mut File, path: &Path, line: &Line) -> Result<(), HostError> {
    let mut text = serde_json::to_string(line)
        .map_err(|error| HostError::Journal { path: path.to_owned(), why: error.to_string() })?;
    text.push('\n');
    file.write_all(text.as_bytes()).map_err(|error| HostError::path("write", path, error))
}

fn open_append(path: &Path) -> Result<File, HostError> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| HostError::path("open", path, error))
}

fn make_private_dir(path: &Path) -> Result<(), HostError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| HostError::path("create", path, error))
}

/// Reads what is left to undo. `Ok(None)` when the directory is gone.
pub(crate) fn read(dir: &Path) -> Result<Option<Pending>, HostError> {
    let path = dir.join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !dir.exists() => return Ok(None),
        Err(error) => return Err(HostError::path("read", &path, error)),
    };
    parse(&text).map(Some).map_err(|why| HostError::Journal { path, why })
}

fn parse(text: &str) -> Result<Pending, String> {
    // What follows the last newline was never completely written.
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = complete.lines().map(serde_json::from_str::<Line>);
    let Some(Ok(Line::Owner { run_id, owner })) = lines.next() else {
        return Err("its first line does not name an owner".to_owned());
    };
    let mut pending = Pending { run_id, owner, undos: BTreeMap::new(), keep: false };
    for line in lines {
        match line.map_err(|error| error.to_string())? {
            Line::Register { id, undo } => {
                pending.undos.insert(id, undo);
            }
            Line::Done { id } => {
                pending.undos.remove(&id);
            }
            Line::Keep => pending.keep = true,
            Line::Owner { .. } => return Err("it names two owners".to_owned()),
        }
    }
    Ok(pending)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remove(path: &str) -> Undo {
        Undo::RemoveDir { path: PathBuf::from(path) }
    }

    #[test]
    fn a_file_is_read_back_and_a_torn_line_is_ignored() {
        let state = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(state.path(), "run").unwrap();
        journal.register(UndoId(0), &remove("/a")).unwrap();
        journal.register(UndoId(1), &remove("/b")).unwrap();
        journal.done(UndoId(0)).unwrap();
        journal.file.write_all(b"{\"line\":\"regi").unwrap();
        let pending = read(journal.dir()).unwrap().unwrap();
        assert_eq!(pending.owner.state(), OwnerState::Alive);
        assert_eq!(pending.undos, BTreeMap::from([(UndoId(1), remove("/b"))]));
        assert!(!pending.keep);
        journal.finish().unwrap();
        assert_eq!(read(journal.dir()).unwrap(), None);
    }

    #[test]
    fn the_same_pid_with_another_start_time_is_dead() {
        let mut owner = Owner::current();
        assert_eq!(owner.state(), OwnerState::Alive);
        owner.start_ticks += 1;
        assert_eq!(owner.state(), OwnerState::Dead);
        let elsewhere = Owner { pid_namespace: "pid:[1]".to_owned(), ..Owner::current() };
        assert_eq!(elsewhere.state(), OwnerState::Unknown);
        let rebooted = Owner { boot_id: "another".to_owned(), ..Owner::current() };
        assert_eq!(rebooted.state(), OwnerState::Dead);
    }

    #[test]
    fn a_file_without_an_owner_is_refused() {
        assert!(parse("{\"line\":\"keep\"}\n").is_err());
        assert!(parse("").is_err());
    }
}
