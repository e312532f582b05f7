//! Which control groups this host offers, and whether we may use them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use serde::{Deserialize, Serialize};

use super::parse::{Membership, memberships};
use crate::error::CollectError;
use crate::mounts::{self, Mount};
use crate::source::Reader;
use crate::text::trimmed;

/// The control group hierarchies this process can see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupFacts {
    /// Version 2, wherever it is mounted.
    pub v2: Option<V2Facts>,
    /// Version 1 hierarchies by controller (`cpuacct`, `freezer`). Controllers mounted together
    /// appear each under its own name.
    pub v1: BTreeMap<String, V1Facts>,
}

/// The version 2 hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct V2Facts {
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The directory of the group this process is in.
    pub own: PathBuf,
    /// Controllers that groups below our own can be given.
    pub controllers: Vec<String>,
    /// Whether we may make groups below our own and move processes between them.
    pub writable: bool,
    /// Whether a group below ours has `cpu.stat`, without any controller (since Linux 4.15).
    pub cpu_stat: bool,
    /// Whether groups show pressure.
    pub pressure: bool,
    /// Whether a group can be frozen (`cgroup.freeze`, since Linux 5.2).
    pub freeze: bool,
    /// Whether a group can be killed at once (`cgroup.kill`, since Linux 5.14).
    pub kill: bool,
}

/// One version 1 hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct V1Facts {
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The directory of the group this process is in.
    pub own: PathBuf,
    /// Whether we may make groups below our own and move processes between them.
    pub writable: bool,
}

impl CgroupFacts {
    /// Looks at the mounts, at our own groups, and at what is allowed there. Changes nothing.
    ///
    /// # Errors
    /// If `/proc/self/mountinfo` cannot be read.
    pub fn read() -> Result<CgroupFacts, CollectError> {
        let mounts = mounts::read()?;
        let mut reader = Reader::default();
        let own = reader.optional("/proc/self/cgroup", |text| Ok(memberships(text)))?.unwrap_or_default();
        let release =
            reader.optional("/proc/sys/kernel/osrelease", |text| Ok(trimmed(text)))?.unwrap_or_default();
        Ok(CgroupFacts::of(&mounts, &own, kernel_version(&release)))
    }

    fn of(mounts: &[Mount], own: &[Membership], kernel: (u32, u32)) -> CgroupFacts {
        let v2 = mounts.iter().find(|mount| mount.kind == "cgroup2").map(|mount| {
            let path = own.iter().find(|group| group.hierarchy == 0).map(|group| group.path.as_path());
            v2_facts(mount, own_directory(mount, path), kernel)
        });
        let mut v1 = BTreeMap::new();
        for mount in mounts.iter().filter(|mount| mount.kind == "cgroup") {
            for group in own.iter().filter(|group| belongs(mount, group)) {
                let directory = own_directory(mount, Some(&group.path));
                let facts = V1Facts {
                    mount_point: mount.mount_point.clone(),
                    writable: is_writable(mount, &directory),
                    own: directory,
                };
                for controller in &group.controllers {
                    v1.entry(controller.clone()).or_insert_with(|| facts.clone());
                }
            }
        }
        CgroupFacts { v2, v1 }
    }
}

fn v2_facts(mount: &Mount, own: PathBuf, kernel: (u32, u32)) -> V2Facts {
    let controllers = fs::read_to_string(own.join("cgroup.controllers")).unwrap_or_default();
    V2Facts {
        mount_point: mount.mount_point.clone(),
        controllers: controllers.split_whitespace().map(str::to_owned).collect(),
        writable: is_writable(mount, &own),
        cpu_stat: own.join("cpu.stat").exists(),
        pressure: own.join("cpu.pressure").exists(),
        // The root of the hierarchy has neither file, yet groups below it do.
        freeze: own.join("cgroup.freeze").exists() || kernel >= (5, 2),
        kill: own.join("cgroup.kill").exists() || kernel >= (5, 14),
        own,
    }
}

/// Whether the group is in the hierarchy that is mounted there.
fn belongs(mount: &Mount, group: &Membership) -> bool {
    group.hierarchy != 0
        && !group.controllers.is_empty()
        && group.controllers.iter().all(|controller| mount.super_options.contains(controller))
}

/// Our group's directory: its path below the mount, which may show only a part of the hierarchy.
fn own_directory(mount: &Mount, group: Option<&Path>) -> PathBuf {
    let group = group.unwrap_or(Path::new("/"));
    let below = group.strip_prefix(&mount.root).or_else(|_| group.strip_prefix("/")).unwrap_or(group);
    if below.as_os_str().is_empty() {
        return mount.mount_point.clone();
    }
    let directory = mount.mount_point.join(below);
    // Without a cgroup namespace a container may see paths of the host that it has no mount for.
    if directory.is_dir() { directory } else { mount.mount_point.clone() }
}

fn is_writable(mount: &Mount, directory: &Path) -> bool {
    !mount.is_read_only()
        && access(directory, AccessFlags::W_OK).is_ok()
        && access(&directory.join("cgroup.procs"), AccessFlags::W_OK).is_ok()
}

/// The first two numbers of a kernel release (`6.18.44-generic`); zeros if there are none.
pub(crate) fn kernel_version(release: &str) -> (u32, u32) {
    let mut numbers =
        release.split(|char: char| !char.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_versions() {
        assert_eq!(kernel_version("6.18.44-generic"), (6, 18));
        assert_eq!(kernel_version("5.4.0"), (5, 4));
        assert_eq!(kernel_version("what"), (0, 0));
    }

    #[test]
    fn a_container_sees_its_part_of_the_hierarchy() {
        let mounts = mounts::parse(
            b"1 0 0:30 /docker/abc /nowhere/cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n\
              2 0 0:31 / /nowhere/systemd rw - cgroup cgroup rw,name=systemd\n",
        );
        let own = memberships(b"4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n0::/\n");
        let facts = CgroupFacts::of(&mounts, &own, (4, 19));
        assert_eq!(facts.v2, None);
        let names: Vec<&str> = facts.v1.keys().map(String::as_str).collect();
        assert_eq!(names, ["cpu", "cpuacct", "name=systemd"]);
        assert_eq!(facts.v1["cpu"].own, Path::new("/nowhere/cpuacct"));
        assert!(!facts.v1["cpu"].writable, "mounted read-only");
    }
}
