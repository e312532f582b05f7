//! The registry of one run's changes to the host.
//!
//! [`HostChanges::register`] writes an [`Undo`] down *before* the change is made; [`HostChanges::undo`]
//! executes one, [`HostChanges::undo_all`] all that are left, last first. Dropping the registry does the
//! same, so that an error and a panic are covered; the guard process covers the death of this one.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use super::guard::{Guard, clear};
use super::journal::{self, Journal, live_root, state_dir};
use super::sys::User;
use super::undo::Undo;
use super::{HostError, MemoryGroup, WorkRoot, cgroup, memory};

/// Names one registered change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UndoId(pub u64);

/// Every change one run has made to the host and not undone yet.
#[derive(Debug)]
pub struct HostChanges {
    run_id: String,
    work_root: WorkRoot,
    run_dir: OnceLock<PathBuf>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    journal: Journal,
    undos: BTreeMap<UndoId, Undo>,
    next: u64,
    keep: bool,
    guard: Option<Guard>,
    finished: bool,
}

impl HostChanges {
    /// Opens the registry of `run_id` in the user's state directory ([`state_dir`]) and starts its guard:
    /// `guard_program __guard DIR`. Without a guard program, only the next run clears up after `kill -9`.
    ///
    /// # Errors
    /// When the state directory cannot be written or the guard not started.
    pub fn open(
        run_id: &str,
        work_root: WorkRoot,
        guard_program: Option<PathBuf>,
    ) -> Result<Arc<HostChanges>, HostError> {
        HostChanges::open_in(&state_dir(), run_id, work_root, guard_program)
    }

    /// The same in a given state directory.
    ///
    /// # Errors
    /// As [`HostChanges::open`].
    pub fn open_in(
        state: &Path,
        run_id: &str,
        work_root: WorkRoot,
        guard_program: Option<PathBuf>,
    ) -> Result<Arc<HostChanges>, HostError> {
        settle_earlier(state, run_id)?;
        let journal = Journal::create(state, run_id)?;
        let guard = match guard_program {
            None => None,
            Some(program) => match Guard::start(&program, journal.dir()) {
                Ok(guard) => Some(guard),
                Err(error) => {
                    journal.finish().ok();
                    return Err(error);
                }
            },
        };
        let inner = Inner { journal, undos: BTreeMap::new(), next: 0, keep: false, guard, finished: false };
        let (run_id, run_dir) = (run_id.to_owned(), OnceLock::new());
        Ok(Arc::new(HostChanges { run_id, work_root, run_dir, inner: Mutex::new(inner) }))
    }

    /// The run this belongs to.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The work root all directories are below.
    pub fn work_root(&self) -> &WorkRoot {
        &self.work_root
    }

    /// Keeps directories when everything else is undone (`--keep`), also if the guard has to do it.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn keep_directories(&self) -> Result<(), HostError> {
        let mut inner = self.lock();
        inner.keep = true;
        inner.journal.keep()
    }

    /// Writes down how a change that is *about to be made* will be undone.
    ///
    /// # Errors
    /// When it cannot be written down; then the change must not be made.
    pub fn register(&self, undo: Undo) -> Result<UndoId, HostError> {
        let mut inner = self.lock();
        let id = UndoId(inner.next);
        inner.journal.register(id, &undo)?;
        inner.next += 1;
        inner.undos.insert(id, undo);
        Ok(id)
    }

    /// Replaces what is known about a change, e.g. once a started process has a pid.
    ///
    /// # Errors
    /// When it cannot be written down; the earlier text stays in force.
    pub fn amend(&self, id: UndoId, undo: Undo) -> Result<(), HostError> {
        let mut inner = self.lock();
        inner.journal.register(id, &undo)?;
        inner.undos.insert(id, undo);
        Ok(())
    }

    /// Undoes one change; `Ok` if it is undone already.
    ///
    /// # Errors
    /// When it could not be undone; it stays registered.
    pub fn undo(&self, id: UndoId) -> Result<(), HostError> {
        // The lock is not held meanwhile: another thread may have to register something.
        let Some(undo) = self.lock().undos.get(&id).cloned() else { return Ok(()) };
        undo.execute()?;
        let mut inner = self.lock();
        inner.undos.remove(&id);
        inner.journal.done(id)
    }

    /// Undoes everything that is left, last first; every undo is attempted. Afterwards nothing of this run
    /// is registered any more and its guard is gone, unless something could not be undone: that stays for
    /// the next run's sweep.
    ///
    /// # Errors
    /// The first failure, and how many more there were.
    pub fn undo_all(&self) -> Result<(), HostError> {
        let (left, keep) = {
            let inner = self.lock();
            if inner.finished {
                return Ok(());
            }
            (inner.undos.clone(), inner.keep)
        };
        let mut errors = Vec::new();
        for (id, undo) in left.into_iter().rev() {
            if keep && undo.is_directory() {
                continue;
            }
            if let Err(error) = self.undo(id) {
                errors.push(error);
            }
        }
        if errors.is_empty() {
            let mut inner = self.lock();
            inner.finished = true;
            if let Err(error) = inner.journal.finish() {
                errors.push(error);
            }
        }
        if let Some(guard) = self.lock().guard.take() {
            guard.dismiss();
        }
        HostError::collect(errors)
    }

    /// Makes a new directory (and nothing above it), registered first; owned by `user` if given.
    /// Mode 0700, or 0711 without a user so that a server's user can reach what is below.
    ///
    /// # Errors
    /// When it cannot be made or lies outside the work root.
    pub fn make_dir(&self, path: &Path, user: Option<&User>) -> Result<UndoId, HostError> {
        if !super::work::is_below_a_work_root(path) {
            return Err(HostError::NotOurs { path: path.to_owned() });
        }
        let id = self.register(Undo::RemoveDir { path: path.to_owned() })?;
        let mode = if user.is_some() { 0o700 } else { 0o711 };
        if let Err(error) = DirBuilder::new().mode(mode).create(path) {
            // What was there before is not ours to remove.
            self.forget(id)?;
            return Err(HostError::path("create", path, error));
        }
        match user {
            Some(user) => chown(path, Some(user.uid), Some(user.gid)),
            // The umask may have taken the bits that let the server's user through.
            None => fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)),
        }
        .map_err(|error| HostError::path("create", path, error))?;
        Ok(id)
    }

    /// This run's own directory below the work root, made when first asked for. A directory that an
    /// earlier part of the same run has kept is left alone; the name then gets a number.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn run_dir(&self) -> Result<PathBuf, HostError> {
        if let Some(path) = self.run_dir.get() {
            return Ok(path.clone());
        }
        let plain = self.work_root.path().join(&self.run_id);
        let numbered = (2..).map(|number| self.work_root.path().join(format!("{}.{number}", self.run_id)));
        let Some(path) = std::iter::once(plain).chain(numbered).find(|path| !path.exists()) else {
            return Err(HostError::NotOurs { path: self.work_root.path().to_owned() });
        };
        self.make_dir(&path, None)?;
        Ok(self.run_dir.get_or_init(|| path).clone())
    }

    /// Makes a cgroup for an instance, registered first; `None` where that is not possible.
    ///
    /// # Errors
    /// When it cannot be registered.
    pub fn make_cgroup(&self, instance: &str) -> Result<Option<PathBuf>, HostError> {
        let Some(path) = cgroup::plan(&self.run_id, instance) else { return Ok(None) };
        let id = self.register(Undo::RemoveCgroup { path: path.clone() })?;
        match fs::create_dir(&path) {
            Ok(()) if cgroup::is_usable(&path) => Ok(Some(path)),
            Ok(()) => self.undo(id).map(|()| None),
            // A group that was there before is somebody else's, with everything in it.
            Err(_) => self.forget(id).map(|()| None),
        }
    }

    /// Makes a cgroup for an instance that limits its memory, page cache included, registered first.
    ///
    /// # Errors
    /// When this host has no way to limit memory, or it is not in force afterwards.
    pub fn make_memory_group(&self, instance: &str, bytes: u64) -> Result<MemoryGroup, HostError> {
        let mut why = Vec::new();
        for group in MemoryGroup::plan(&self.run_id, instance) {
            let path = group.path().to_owned();
            let id = self.register(Undo::RemoveCgroup { path: path.clone() })?;
            match fs::create_dir(&path) {
                Err(error) => {
                    why.push(format!("cannot create `{}`: {error}", path.display()));
                    self.forget(id)?;
                    continue;
                }
                Ok(()) => match group.limit(bytes) {
                    Ok(()) if group.admits() => return Ok(group),
                    Ok(()) => why.push(format!("no process can be moved to `{}`", path.display())),
                    Err(error) => why.push(format!("`{}` takes no limit: {error}", path.display())),
                },
            }
            self.undo(id)?;
        }
        Err(memory::cannot(instance, why))
    }

    /// Takes back a registration whose change was not made.
    fn forget(&self, id: UndoId) -> Result<(), HostError> {
        let mut inner = self.lock();
        inner.undos.remove(&id);
        inner.journal.done(id)
    }

    /// Removes a cgroup made by [`HostChanges::make_cgroup`] or [`HostChanges::make_memory_group`], whose processes have ended.
    ///
    /// # Errors
    /// When it cannot be removed; it stays registered.
    pub fn remove_cgroup(&self, path: &Path) -> Result<(), HostError> {
        let undo = Undo::RemoveCgroup { path: path.to_owned() };
        let id = self.lock().undos.iter().find(|(_, known)| **known == undo).map(|(id, _)| *id);
        id.map_or(Ok(()), |id| self.undo(id))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic in another thread must not stop the undo.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that is resumed may have left something; one that still runs cannot be opened again.
fn settle_earlier(state: &Path, run_id: &str) -> Result<(), HostError> {
    let live = live_root(state).join(run_id);
    clear(&live)?;
    match journal::read(&live) {
        Ok(Some(pending)) => Err(HostError::Running { run_id: run_id.to_owned(), pid: pending.owner.pid }),
        _ => Ok(()),
    }
}

impl Drop for HostChanges {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure; what could not be undone stays registered for the sweep.
        self.undo_all().ok();
    }
}
