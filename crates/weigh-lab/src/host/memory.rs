//! A limit of the memory an instance may use: its processes' own and the pages of the files they read.
//!
//! [`MemoryGroup`] is a control group with that limit, of version 2 (`memory.max`) or 1 (the `memory` controller),
//! whichever this host manages memory with; made and registered by
//! [`HostChanges::make_memory_group`](super::HostChanges::make_memory_group). A page of a file counts for the group
//! that first read it in, so files somebody else has in memory have to leave it first
//! ([`forget_files`](super::forget_files)).
//!
//! It never changes a group that is not ours, and none is taken for limited before the limit was read back.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::HostError;
use super::cgroup;

/// A control group with a limit of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryGroup {
    path: PathBuf,
    version: Version,
}

/// Which interface the kernel has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl MemoryGroup {
    /// Where one for this instance could be made, most promising first; empty where memory cannot be limited.
    pub(crate) fn plan(run_id: &str, instance: &str) -> Vec<MemoryGroup> {
        let name = cgroup::unique_name(run_id, instance);
        let one = version_1_group().into_iter().map(|parent| (parent, Version::One));
        let two = version_2_parents().into_iter().map(|parent| (parent, Version::Two));
        one.chain(two).map(|(parent, version)| MemoryGroup { path: parent.join(&name), version }).collect()
    }

    /// Sets the limit of a group that was just made, and reads it back.
    pub(crate) fn limit(&self, bytes: u64) -> io::Result<()> {
        let file = self.path.join(match self.version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        });
        fs::write(&file, bytes.to_string())?;
        let in_force: u64 = fs::read_to_string(&file)?.trim().parse().map_err(io::Error::other)?;
        // The kernel rounds to pages.
        if in_force.abs_diff(bytes) > 1 << 16 {
            return Err(io::Error::other(format!("{in_force} bytes are in force instead of {bytes}")));
        }
        // Swap would be a way around it; not every kernel counts it.
        let (swap, most) = match self.version {
            Version::One => ("memory.memsw.limit_in_bytes", bytes),
            Version::Two => ("memory.swap.max", 0),
        };
        match fs::write(self.path.join(swap), most.to_string()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether processes can be started in it. Only a trial tells.
    pub(crate) fn admits(&self) -> bool {
        cgroup::joins(&self.path)
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is of version 2, where a process is in one group only: it can then be frozen through it too.
    pub fn is_unified(&self) -> bool {
        self.version == Version::Two
    }

    /// What the group's memory has been through, as counters: pages that were read again after they had been
    /// dropped for want of room (`server.refaults`), and major faults of its processes.
    pub fn counters(&self) -> BTreeMap<String, f64> {
        let text = fs::read_to_string(self.path.join("memory.stat")).unwrap_or_default();
        refaults(&text).map(|pages| ("server.refaults".to_owned(), pages)).into_iter().collect()
    }

    /// How many of its processes the kernel has killed for want of memory.
    pub fn killed(&self) -> u64 {
        let file = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let text = fs::read_to_string(self.path.join(file)).unwrap_or_default();
        value_of(&text, "oom_kill").unwrap_or(0)
    }
}

/// `workingset_refault_file` and `_anon`; older kernels have one figure for both.
fn refaults(text: &str) -> Option<f64> {
    let (file, anon) = (value_of(text, "workingset_refault_file"), value_of(text, "workingset_refault_anon"));
    let both = file.map(|file| file + anon.unwrap_or(0)).or_else(|| value_of(text, "workingset_refault"));
    #[expect(clippy::cast_precision_loss, reason = "pages, far below 2^52")]
    both.map(|pages| pages as f64)
}

fn value_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}

/// The group of the version 1 `memory` controller this process is in.
fn version_1_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let inside = groups.lines().find_map(version_1_path)?;
    let (root, mount) = mounts.lines().find_map(version_1_mount)?;
    // In a container the mount shows a part of the hierarchy only.
    let inside = Path::new(inside);
    let below = inside.strip_prefix(&root).unwrap_or_else(|_| inside.strip_prefix("/").unwrap_or(inside));
    Some(Path::new(&mount).join(below))
}

/// `4:memory:/a` → `/a`.
fn version_1_path(line: &str) -> Option<&str> {
    let mut fields = line.splitn(3, ':');
    let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    controllers.split(',').any(|controller| controller == "memory").then_some(path)
}

/// Root and mount point, when a line of mountinfo is the version 1 hierarchy of `memory`.
fn version_1_mount(line: &str) -> Option<(String, String)> {
    let (before, after) = line.split_once(" - ")?;
    let mut kind = after.split(' ');
    let is_memory = kind.next()? == "cgroup" && kind.nth(1)?.split(',').any(|option| option == "memory");
    let mut fields = before.split(' ').skip(3);
    is_memory.then(|| Some((fields.next()?.to_owned(), fields.next()?.to_owned())))?
}

/// Groups of version 2 whose children have the memory controller: the own one and those above it. A group with
/// processes in it, as the own one usually is, cannot give its controllers away.
fn version_2_parents() -> Vec<PathBuf> {
    let Some(own) = cgroup::own_group() else { return Vec::new() };
    let gives = |dir: &&Path| {
        let text = fs::read_to_string(dir.join("cgroup.subtree_control")).unwrap_or_default();
        text.split_whitespace().any(|controller| controller == "memory")
    };
    own.ancestors().filter(gives).map(Path::to_owned).collect()
}

/// What to say where there is no way to limit memory.
pub(crate) fn cannot(instance: &str, why: Vec<String>) -> HostError {
    let why = if why.is_empty() {
        "no control group of this user has the memory controller".to_owned()
    } else {
        why.join("; ")
    };
    HostError::Memory { instance: instance.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_1_controller_is_found() {
        // Captured from a host with both versions, and from a distribution that mounts two controllers at once.
        let mount = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory";
        let both = "35 31 0:32 /part /sys/fs/cgroup/x rw - cgroup cgroup rw,cpu,memory";
        assert_eq!(version_1_mount(mount), Some(("/".to_owned(), "/sys/fs/cgroup/memory".to_owned())));
        assert_eq!(version_1_mount(both), Some(("/part".to_owned(), "/sys/fs/cgroup/x".to_owned())));
        let other = "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct";
        let second = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
        assert_eq!((version_1_mount(other), version_1_mount(second)), (None, None));
        assert_eq!(version_1_path("4:memory:/process_api/80"), Some("/process_api/80"));
        assert_eq!(version_1_path("0::/"), None);
    }

    #[test]
    fn figures_are_read_out_of_both_versions() {
        // Captured from Linux 6.18, version 1, and from an older kernel's version 2.
        let one =
            "workingset_refault_anon 7\nworkingset_refault_file 8658\ntotal_workingset_refault_file 9\n";
        assert_eq!(refaults(one), Some(8665.0));
        assert_eq!(refaults("workingset_refault 12\n"), Some(12.0));
        assert_eq!(refaults(""), None);
        assert_eq!(value_of("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill"), Some(3));
    }
}
