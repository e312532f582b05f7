//! The process that cleans up after a run that was killed.
//!
//! weigh starts itself once more as `weigh __guard DIR`, in a session of its own, and holds the write end of
//! the guard's standard input. However weigh ends, the kernel closes that end; the guard wakes, and if the
//! run still has something registered, undoes it. It reads nothing else, prints nothing and ignores the
//! signals a terminal sends.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::HostError;
use super::journal::{self, Journal, OwnerState};
use super::sys::{BeforeExec, before_exec};

/// The running guard of this process's run.
#[derive(Debug)]
pub(crate) struct Guard {
    child: Child,
}

impl Guard {
    /// Starts `program __guard live_dir`.
    pub(crate) fn start(program: &Path, live_dir: &Path) -> Result<Guard, HostError> {
        let mut command = Command::new(program);
        command
            .arg("__guard")
            .arg(live_dir)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let steps = BeforeExec { new_session: true, cgroups: Vec::new(), user: None, die_with_parent: false };
        before_exec(&mut command, steps);
        let child =
            command.spawn().map_err(|source| HostError::Spawn { program: program.to_owned(), source })?;
        Ok(Guard { child })
    }

    /// Lets it go once there is nothing left to guard, and waits for it.
    pub(crate) fn dismiss(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}

/// What `weigh __guard DIR` does: waits for its standard input to close, then undoes what is registered
/// in `live_dir`.
///
/// # Errors
/// When something could not be undone; it stays registered for the next run's sweep.
pub fn guard_main(live_dir: &Path) -> Result<(), HostError> {
    ignore_terminal_signals()?;
    let mut byte = [0_u8; 64];
    // Interrupted reads are retried; end of file and any error mean that the owner is gone.
    loop {
        match std::io::stdin().read(&mut byte) {
            Ok(0) => break,
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => break,
            _ => {}
        }
    }
    wait_for_owner(live_dir)?;
    clear(live_dir).map(|_| ())
}

/// A handler that does nothing: unlike SIG_IGN it is not inherited by anything.
fn ignore_terminal_signals() -> Result<(), HostError> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map_err(HostError::Signals)?;
    }
    Ok(())
}

/// The pipe closes a moment before a dying process is gone; and when an owner lives on (its registry was
/// leaked or dismissed the guard), there is nothing for a guard to do.
fn wait_for_owner(live_dir: &Path) -> Result<(), HostError> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(5) {
        match journal::read(live_dir)? {
            Some(pending) if pending.owner.state() == OwnerState::Alive => sleep(Duration::from_millis(2)),
            _ => break,
        }
    }
    Ok(())
}

/// Undoes everything a dead run has left, last first. Returns what was undone, `None` if the run is gone,
/// alive or not ours to judge. Safe against another process doing the same at the same time.
pub(crate) fn clear(live_dir: &Path) -> Result<Option<super::Cleared>, HostError> {
    let Some(_lock) = lock(live_dir)? else { return Ok(None) };
    let Some(pending) = journal::read(live_dir)? else { return Ok(None) };
    if pending.owner.state() != OwnerState::Dead {
        return Ok(None);
    }
    let mut journal = Journal::open(live_dir)?;
    let mut cleared = super::Cleared::new(&pending.run_id);
    let mut errors = Vec::new();
    for (id, undo) in pending.undos.iter().rev() {
        if pending.keep && undo.is_directory() {
            continue;
        }
        match undo.execute().and_then(|()| journal.done(*id)) {
            Ok(()) => cleared.count(undo),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        journal.finish()?;
    }
    HostError::collect(errors).map(|()| Some(cleared))
}

/// Held while clearing. `None` when the directory has gone.
fn lock(live_dir: &Path) -> Result<Option<File>, HostError> {
    let path = live_dir.join("clearing.lock");
    let file = match OpenOptions::new().create(true).truncate(false).write(true).open(&path) {
        Ok(file) => file,
        Err(_) if !live_dir.exists() => return Ok(None),
        Err(error) => return Err(HostError::path("open", path, error)),
    };
    file.lock().map_err(|error| HostError::path("lock", path, error))?;
    Ok(Some(file))
}
