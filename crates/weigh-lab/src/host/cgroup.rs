//! Version 2 control groups of our own: made, joined, frozen, killed, removed.
//!
//! A group needs no controller for what is done here: `cgroup.freeze`, `cgroup.kill` and `cpu.stat` come
//! with every group, also where the controllers are on version 1 and version 2 is mounted beside them
//! (`/sys/fs/cgroup/unified`). The version 1 freezer is not used: SIGKILL does not reach what it holds.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::HostError;
use super::undo::send;

/// Every group of ours begins with this; nothing else is ever removed.
const PREFIX: &str = "weigh-";
const LIMIT: Duration = Duration::from_secs(20);
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Directory of the version 2 group this process is in, if version 2 is mounted.
pub(crate) fn own_group() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let inside = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = mounts.lines().find_map(version_2_mount)?;
    Some(Path::new(&mount).join(inside.trim_start_matches('/')))
}

/// The mount point, when a line of mountinfo is a version 2 hierarchy.
fn version_2_mount(line: &str) -> Option<String> {
    let (before, after) = line.split_once(" - ")?;
    (after.split(' ').next() == Some("cgroup2")).then(|| before.split(' ').nth(4).map(str::to_owned))?
}

/// Path for a new group named after a run and an instance; `None` without version 2.
pub(crate) fn plan(run_id: &str, instance: &str) -> Option<PathBuf> {
    own_group().map(|parent| parent.join(unique_name(run_id, instance)))
}

/// No two groups of this machine share a name, whatever runs and instances are called.
pub(crate) fn unique_name(run_id: &str, instance: &str) -> String {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let pid = super::process::own_pid();
    format!("{PREFIX}{run_id}-{instance}-{pid}-{number}")
}

/// Whether a group that was just made does what it is for. Only a trial tells: permissions of cgroupfs say
/// little about delegation, and to move a process also needs write access to the common ancestor.
pub(crate) fn is_usable(group: &Path) -> bool {
    group.join("cgroup.freeze").exists() && joins(group)
}

/// Whether a process can be moved into the group.
pub(crate) fn joins(group: &Path) -> bool {
    let mut command = std::process::Command::new("/bin/true");
    command.stdin(std::process::Stdio::null());
    super::sys::before_exec(
        &mut command,
        super::sys::BeforeExec {
            new_session: false,
            cgroups: vec![group.to_owned()],
            user: None,
            die_with_parent: false,
        },
    );
    command.status().is_ok_and(|status| status.success())
}

/// Processes in the group.
pub(crate) fn processes(group: &Path) -> BTreeSet<i32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Asks for the group to be frozen or thawed; it takes effect a little later ([`is_frozen`]).
pub(crate) fn set_frozen(group: &Path, frozen: bool) -> io::Result<()> {
    fs::write(group.join("cgroup.freeze"), if frozen { "1" } else { "0" })
}

/// Whether every process of the group stands still.
pub(crate) fn is_frozen(group: &Path) -> bool {
    fs::read_to_string(group.join("cgroup.events")).is_ok_and(|text| text.lines().any(|l| l == "frozen 1"))
}

/// CPU time the group has used so far, seconds; `None` when there is no such group.
pub(crate) fn cpu_seconds(group: &Path) -> Option<f64> {
    let text = fs::read_to_string(group.join("cpu.stat")).ok()?;
    let micros: u64 = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?.parse().ok()?;
    Some(micros as f64 / 1e6)
}

/// Ends what is in the group and removes it; `Ok` if it is gone.
pub(crate) fn remove(group: &Path) -> Result<(), HostError> {
    let ours = group.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX));
    if !ours || group.components().any(|part| part == std::path::Component::ParentDir) {
        return Err(HostError::NotOurs { path: group.to_owned() });
    }
    let begin = Instant::now();
    loop {
        if !group.exists() {
            return Ok(());
        }
        // Kernels before 5.14 have no `cgroup.kill`.
        if fs::write(group.join("cgroup.kill"), "1").is_err() {
            processes(group).into_iter().for_each(|pid| send(pid, Signal::SIGKILL));
        }
        set_frozen(group, false).ok();
        match fs::remove_dir(group) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                if begin.elapsed() > LIMIT {
                    return Err(HostError::path("remove", group, error));
                }
            }
            _ => return Ok(()),
        }
        sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_2_mount_is_told_from_a_version_1_mount() {
        // Captured from a host with both.
        let v1 = "39 32 0:33 / /sys/fs/cgroup/freezer rw,relatime shared:8 - cgroup cgroup rw,freezer";
        let v2 = "42 32 0:36 / /sys/fs/cgroup/unified rw,relatime shared:11 - cgroup2 cgroup2 rw";
        assert_eq!(version_2_mount(v1), None);
        assert_eq!(version_2_mount(v2).as_deref(), Some("/sys/fs/cgroup/unified"));
    }

    #[test]
    fn only_groups_with_our_name_are_removed() {
        assert!(matches!(remove(Path::new("/sys/fs/cgroup/user.slice")), Err(HostError::NotOurs { .. })));
        assert!(matches!(remove(Path::new("/sys/../weigh-x")), Err(HostError::NotOurs { .. })));
        assert!(remove(Path::new("/sys/fs/cgroup/weigh-not-there")).is_ok());
    }
}
