//! The directory of runs: list, find, load, create, reopen.

use std::path::{Path, PathBuf};

use super::recorder::{io_error, name_of};
use super::summary;
use super::{EVENTS_FILE, Recorder, RunSummary, StoreError, delete, lines};
use crate::model::{Run, RunHeader};

/// All runs below one directory.
#[derive(Clone, Debug)]
pub struct RunStore {
    root: PathBuf,
}

impl RunStore {
    /// The store below a directory, which need not exist yet (see [`super::runs_dir`]).
    pub fn at(root: impl Into<PathBuf>) -> RunStore {
        RunStore { root: root.into() }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes a run's directory and writes its first line.
    pub fn create(&self, header: &RunHeader) -> Result<Recorder, StoreError> {
        Recorder::create(&self.root, header)
    }

    /// Opens a run's directory to append to it; a torn last line is cut off.
    pub fn reopen(&self, dir: &Path) -> Result<(Recorder, Run), StoreError> {
        Recorder::reopen(dir)
    }

    /// Reads a run's directory, to the last complete line.
    pub fn load(&self, dir: &Path) -> Result<Run, StoreError> {
        let path = dir.join(EVENTS_FILE);
        let bytes = std::fs::read(&path).map_err(io_error("read", &path))?;
        lines::fold(&bytes, &path)
    }

    /// Takes a run's directory away with everything in it.
    ///
    /// # Errors
    /// When it is not a run, when it is a symbolic link, when a weigh is recording to it, or when the disk says no.
    pub fn delete(&self, dir: &Path) -> Result<(), StoreError> {
        delete::delete(dir, &self.root)
    }

    /// Every run, newest first, and the directories that could not be read, with the reason.
    pub fn list(&self) -> Result<(Vec<RunSummary>, Vec<StoreError>), StoreError> {
        let mut runs = Vec::new();
        let mut unreadable = Vec::new();
        for dir in self.directories()? {
            match summary::read(&dir) {
                Ok(run) => runs.push(run),
                Err(error) => unreadable.push(error),
            }
        }
        runs.sort_by(|a, b| (&b.started_at, &b.run_id).cmp(&(&a.started_at, &a.run_id)));
        Ok((runs, unreadable))
    }

    /// What `weigh list` shows of the run in a directory.
    pub fn summary(&self, dir: &Path) -> Result<RunSummary, StoreError> {
        summary::read(dir)
    }

    /// The directory of the run a reader means: its name, a unique beginning or part of it, `last`,
    /// `@1`, `@2` … (counted from the newest), or a path to a run's directory or file.
    pub fn find(&self, selector: &str) -> Result<PathBuf, StoreError> {
        if selector.contains('/') {
            return from_path(selector);
        }
        let names = self.names_newest_first()?;
        if let Some(wanted) = place_from_newest(selector) {
            let too_few = StoreError::TooFew { selector: selector.into(), wanted, present: names.len() };
            return wanted
                .checked_sub(1)
                .and_then(|at| names.get(at))
                .map(|name| self.root.join(name))
                .ok_or(too_few);
        }
        let name = matching(&names, selector)?;
        Ok(self.root.join(name))
    }

    fn names_newest_first(&self) -> Result<Vec<String>, StoreError> {
        let mut keyed: Vec<(String, String)> = Vec::new();
        for dir in self.directories()? {
            let name = name_of(&dir);
            // A run whose first line cannot be read is still found by name, so that the reader is told why.
            let started = summary::read_header(&dir).map(|header| header.started_at).unwrap_or_default();
            keyed.push((started, name));
        }
        keyed.sort_by(|a, b| b.cmp(a));
        Ok(keyed.into_iter().map(|(_, name)| name).collect())
    }

    /// The directories that hold a run, readable or not, in no particular order.
    ///
    /// # Errors
    /// When the directory of runs cannot be read; that it does not exist is no error.
    pub fn directories(&self) -> Result<Vec<PathBuf>, StoreError> {
        let entries = match std::fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(StoreError::Io { action: "list", path: self.root.clone(), source }),
        };
        let mut dirs = Vec::new();
        for entry in entries {
            let path = entry.map_err(io_error("list", &self.root))?.path();
            if path.join(EVENTS_FILE).is_file() {
                dirs.push(path);
            }
        }
        Ok(dirs)
    }
}

/// `last` and `@1` are the newest, `@2` the one before.
fn place_from_newest(selector: &str) -> Option<usize> {
    if selector == "last" { Some(1) } else { selector.strip_prefix('@')?.parse().ok() }
}

fn from_path(selector: &str) -> Result<PathBuf, StoreError> {
    let path = Path::new(selector);
    let dir = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let file = dir.join(EVENTS_FILE);
    match std::fs::metadata(&file) {
        Ok(_) => Ok(dir.to_path_buf()),
        Err(source) => Err(StoreError::Io { action: "read", path: file, source }),
    }
}

/// The one name that is `selector`, begins with it, or contains it: the first of these that any does.
fn matching<'a>(names: &'a [String], selector: &str) -> Result<&'a String, StoreError> {
    let rules: [fn(&str, &str) -> bool; 3] = [
        |name, asked| name == asked,
        |name, asked| name.starts_with(asked),
        |name, asked| name.contains(asked),
    ];
    for rule in rules {
        let found: Vec<&String> = names.iter().filter(|name| rule(name, selector)).collect();
        match found.as_slice() {
            [] => {}
            [one] => return Ok(one),
            several => {
                let candidates = several.iter().map(|name| (*name).clone()).collect();
                return Err(StoreError::Ambiguous { selector: selector.into(), candidates });
            }
        }
    }
    let mut near: Vec<(f64, &String)> = names
        .iter()
        .map(|name| (strsim::jaro_winkler(strip_time(name), strip_time(selector)), name))
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let nearest = near.into_iter().take(3).map(|(_, name)| name.clone()).collect();
    Err(StoreError::NotFound { selector: selector.into(), nearest })
}

/// A name without its time stamp: every name begins alike, which would make all of them near.
fn strip_time(name: &str) -> &str {
    name.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '-')
}
