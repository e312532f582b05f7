//! Where the program is: in `bin_dir`, in the user's cache, or built into it.
//!
//! The script that builds it is `scripts/ferretdb`, embedded: nobody but it knows how, and it is what the tests' set-up
//! runs too. It runs as the user weigh runs as, registered like a server, so that nothing of it outlives the run; what
//! it says is the progress that is shown.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::host::{
    Cancel, HostChanges, ServerCommand, ServerProcess, cache_dir, is_reachable, link_tree, unprivileged_user,
};
use crate::systems::SystemError;
use crate::systems::private::find_program;

/// The version that is built.
pub(in crate::systems::mongodb) const VERSION: &str = "1.24.2";

const SCRIPT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/ferretdb"));
/// What stands before everything the script says.
const SAYS: &str = "ferretdb: ";
/// Its exit status when something is missing on this host.
const MISSING: i32 = 3;
const PATIENCE: Duration = Duration::from_millis(100);
const LOG_LINES: usize = 8;

/// What of weigh's own environment the script sees: where the cache is, and how the network is reached.
const ENVIRONMENT: [&str; 14] = [
    "HOME",
    "XDG_CACHE_HOME",
    "TMPDIR",
    "GOPROXY",
    "GOSUMDB",
    "GONOSUMDB",
    "GOMODCACHE",
    "GOCACHE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "https_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The program, where the servers' user can execute it.
///
/// # Errors
/// When it is not in the `bin_dir` that was asked for, or cannot be built: with what is missing.
pub(in crate::systems::mongodb) fn program(
    bin_dir: Option<&Path>,
    changes: &HostChanges,
    work_dir: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(String),
) -> Result<PathBuf, SystemError> {
    if bin_dir.is_some() {
        return find_program(bin_dir, &["ferretdb"], "ferretdb");
    }
    let dir = cache_dir().join(format!("ferretdb-{VERSION}"));
    if !dir.join("ferretdb").is_file() {
        build(changes, work_dir, cancel, progress)?;
    }
    // What is closed to the servers' user shows in the real path only.
    let dir = dir.canonicalize().unwrap_or(dir);
    let dir = match unprivileged_user()? {
        // The home of root is closed to everybody else.
        Some(user) if !is_reachable(&dir, &user) => {
            let linked = work_dir.join("ferretdb");
            link_tree(&dir, &linked)?;
            linked
        }
        _ => dir,
    };
    Ok(dir.join("ferretdb"))
}

/// Builds it into the user's cache.
fn build(
    changes: &HostChanges,
    work_dir: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(String),
) -> Result<(), SystemError> {
    let dir = work_dir.join("build");
    changes.make_dir(&dir, None)?;
    let variable = |name: &&str| Some((OsString::from(name), std::env::var_os(name)?));
    let command = ServerCommand {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), SCRIPT.into()],
        env: ENVIRONMENT.iter().filter_map(variable).collect(),
        dir: dir.clone(),
        log: dir.join("log"),
        user: None,
        cgroup: changes.make_cgroup("build")?,
        // The script then clears up what it has begun.
        polite_signal: Some(Signal::SIGTERM),
    };
    let mut script = command.start(changes)?;
    let ended = watch(&mut script, &command.log, cancel, progress);
    let log = script.log_tail(LOG_LINES);
    changes.undo(script.undo_id())?;
    drop(script);
    command.cgroup.as_deref().map_or(Ok(()), |group| changes.remove_cgroup(group))?;
    let status = ended?;
    match status.success() {
        true => Ok(()),
        false => Err(failure(status, &log)),
    }
}

/// Waits for its end; what it says meanwhile is progress.
fn watch(
    script: &mut ServerProcess,
    log: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(String),
) -> Result<ExitStatus, SystemError> {
    let mut shown = 0;
    loop {
        let status = script.try_wait()?;
        let text = fs::read_to_string(log).unwrap_or_default();
        let said: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(SAYS)).collect();
        said.iter().skip(shown).for_each(|line| progress((*line).to_owned()));
        shown = said.len();
        if let Some(status) = status {
            return Ok(status);
        }
        if cancel.sleep(PATIENCE) {
            return Err(SystemError::interrupted());
        }
    }
}

/// What the script said last is why, and what to do about it.
fn failure(status: ExitStatus, log: &[String]) -> SystemError {
    let said: Vec<&str> = log.iter().filter_map(|line| line.strip_prefix(SAYS)).collect();
    let title = format!("cannot build FerretDB {VERSION}");
    match (status.code(), said.as_slice()) {
        (Some(MISSING), [.., why, hint]) => {
            let error = SystemError::missing(format!("{title}: {why}"), *hint);
            let others = log.iter().filter(|line| !line.starts_with(SAYS)).cloned().collect();
            error.with_log(others)
        }
        (_, [.., why]) => SystemError::new(format!("{title}: {why}")).with_log(log.to_vec()),
        _ => SystemError::new(format!("{title} ({status})")).with_log(log.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn the_script_builds_the_version_we_name() {
        assert!(SCRIPT.contains(&format!("\nVERSION={VERSION}\n")));
        assert!(
            SCRIPT.contains(&format!("echo \"{SAYS}$*\"")),
            "its lines are told apart by what begins them"
        );
        assert!(SCRIPT.contains(&format!("exit {MISSING}\n")));
    }

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let log = lines("curl: (7) no route\nferretdb: fetching Go failed\nferretdb: install Go 1.24");
        let error = failure(ExitStatus::from_raw(MISSING << 8), &log);
        assert!(error.missing);
        assert_eq!(error.message, "cannot build FerretDB 1.24.2: fetching Go failed");
        assert_eq!((error.hints, error.log), (lines("install Go 1.24"), lines("curl: (7) no route")));
        let other = failure(ExitStatus::from_raw(1 << 8), &lines("mkdir: no space"));
        assert_eq!(other.message, "cannot build FerretDB 1.24.2 (exit status: 1)");
        assert_eq!(other.log, ["mkdir: no space"]);
    }
}
