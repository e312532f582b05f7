//! The one writer of a run.

use std::io;
use std::path::{Path, PathBuf};

use super::lines;
use super::storage::{EventStorage, FileStorage};
use super::{EVENTS_FILE, StoreError};
use crate::model::{Event, Run, RunHeader};

/// Appends events to one run; holds its lock as long as it lives.
///
/// Each event is one line and one `write`. Nothing is synced to the disk while a run is going on,
/// because a sync would disturb what is being measured: a crash of weigh loses nothing, a crash of the
/// whole machine may lose the last seconds. [`Event::Finished`] is synced.
pub struct Recorder {
    storage: Box<dyn EventStorage>,
    path: PathBuf,
    run_id: String,
    /// Length of all complete lines, bytes.
    len_bytes: u64,
    /// Something may be behind them.
    torn: bool,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("path", &self.path)
            .field("len_bytes", &self.len_bytes)
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// Makes the run's directory below `runs_dir` and writes its first line.
    pub(super) fn create(runs_dir: &Path, header: &RunHeader) -> Result<Recorder, StoreError> {
        let dir = runs_dir.join(&header.run_id);
        std::fs::create_dir_all(runs_dir).map_err(io_error("make the directory", runs_dir))?;
        std::fs::create_dir(&dir).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists { run_id: header.run_id.clone() },
            _ => StoreError::Io { action: "make the directory", path: dir.clone(), source },
        })?;
        let path = dir.join(EVENTS_FILE);
        let storage = FileStorage::create(&path).map_err(io_error("create", &path))?;
        Recorder::begin(Box::new(storage), path, header)
    }

    /// Starts a run in any storage; `path` is for messages only.
    pub fn begin(
        storage: Box<dyn EventStorage>,
        path: PathBuf,
        header: &RunHeader,
    ) -> Result<Recorder, StoreError> {
        let mut recorder =
            Recorder { storage, path, run_id: header.run_id.clone(), len_bytes: 0, torn: false };
        recorder.append(&Event::Started(Box::new(header.clone())))?;
        Ok(recorder)
    }

    /// Opens the run in directory `dir` to append to it, and gives what it holds so far.
    pub(super) fn reopen(dir: &Path) -> Result<(Recorder, Run), StoreError> {
        let path = dir.join(EVENTS_FILE);
        let storage = FileStorage::open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::WouldBlock => StoreError::Locked { run_id: name_of(dir) },
            _ => StoreError::Io { action: "open", path: path.clone(), source },
        })?;
        Recorder::resume(Box::new(storage), path)
    }

    /// Continues a run in any storage: reads what is complete, cuts off a torn last line.
    pub fn resume(mut storage: Box<dyn EventStorage>, path: PathBuf) -> Result<(Recorder, Run), StoreError> {
        let bytes = storage.read_all().map_err(io_error("read", &path))?;
        // A damaged or newer file is refused before anything is cut.
        let run = lines::fold(&bytes, &path)?;
        let (_, complete) = lines::complete_lines(&bytes);
        let len_bytes = complete as u64;
        if complete < bytes.len() {
            storage.truncate(len_bytes).map_err(io_error("cut the torn last line off", &path))?;
        }
        let run_id = run.header.run_id.clone();
        Ok((Recorder { storage, path, run_id, len_bytes, torn: false }, run))
    }

    /// Adds one event. After an error the file holds exactly the events that were added before it.
    pub fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(event).map_err(|source| StoreError::Encode { source })?;
        line.push(b'\n');
        self.mend()?;
        if let Err(source) = self.write_line(&line) {
            // Half a line must not be followed by a whole one. Should the cut fail too, it is tried again
            // before anything else is added; until then a reader ignores the torn line.
            self.torn = self.storage.truncate(self.len_bytes).is_err();
            return Err(StoreError::Io { action: "append to", path: self.path.clone(), source });
        }
        self.len_bytes += line.len() as u64;
        if matches!(event, Event::Finished(_)) {
            self.storage.sync().map_err(io_error("sync", &self.path))?;
        }
        Ok(())
    }

    /// Cuts off what a failed write may have left behind.
    fn mend(&mut self) -> Result<(), StoreError> {
        if self.torn {
            self.storage
                .truncate(self.len_bytes)
                .map_err(io_error("cut the torn last line off", &self.path))?;
            self.torn = false;
        }
        Ok(())
    }

    fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        loop {
            match self.storage.append(line) {
                Ok(taken) if taken == line.len() => return Ok(()),
                Ok(taken) => {
                    let message = format!("only {taken} of {} bytes were taken (disk full?)", line.len());
                    return Err(io::Error::new(io::ErrorKind::WriteZero, message));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The file of events.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's own name.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }
}

/// The directory's own name: a run's name when its first line is not read.
pub(super) fn name_of(dir: &Path) -> String {
    dir.file_name().map_or_else(|| dir.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Wraps an I/O error with what was being done to what.
pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |source| StoreError::Io { action, path, source }
}
