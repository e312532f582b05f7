//! Where instances live: a directory of the user's own that weigh may fill and empty.
//!
//! [`WorkRoot::open`] makes `<parent>/weigh-<uid>` and marks it with a file; directories are only ever
//! removed below a marked directory that belongs to this user. Below it every run has a directory, and
//! every instance one in that.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};
use nix::sys::statvfs::statvfs;

use super::HostError;
use super::sys::User;

/// The parent of the work root when nothing else is asked for. Not `/tmp`, which is often in memory.
const DEFAULT_PARENT: &str = "/var/tmp";
const MARK: &str = ".weigh-work-root";

/// A directory that holds nothing but what weigh made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkRoot {
    path: PathBuf,
}

impl WorkRoot {
    /// The root below `asked` (`--work-dir`), else below `$WEIGH_WORK_DIR`, else below `/var/tmp`.
    ///
    /// # Errors
    /// As [`WorkRoot::open`].
    pub fn find(asked: Option<&Path>) -> Result<WorkRoot, HostError> {
        let variable = std::env::var_os("WEIGH_WORK_DIR").filter(|value| !value.is_empty());
        let parent = asked.map(Path::to_owned).or(variable.map(PathBuf::from));
        WorkRoot::open(&parent.unwrap_or_else(|| PathBuf::from(DEFAULT_PARENT)))
    }

    /// Opens `<parent>/weigh-<uid>`, making and marking it if needed. It stays when runs end.
    ///
    /// # Errors
    /// When it cannot be made, or somebody else owns it.
    pub fn open(parent: &Path) -> Result<WorkRoot, HostError> {
        fs::create_dir_all(parent).map_err(|error| HostError::path("create", parent, error))?;
        let parent = parent.canonicalize().map_err(|error| HostError::path("find", parent, error))?;
        let uid = nix::unistd::geteuid().as_raw();
        let path = parent.join(format!("weigh-{uid}"));
        match DirBuilder::new().mode(0o711).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(HostError::path("create", path, error));
            }
            _ => {}
        }
        let found = fs::symlink_metadata(&path).map_err(|error| HostError::path("look at", &path, error))?;
        if found.uid() != uid || !found.is_dir() {
            return Err(HostError::Owner { path, owner: found.uid(), expected: uid });
        }
        // The umask may have closed it to the servers' user.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o711))
            .and_then(|()| File::create(path.join(MARK)))
            .map_err(|error| HostError::path("mark", &path, error))?;
        Ok(WorkRoot { path })
    }

    /// Its path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that `user` may pass through every directory down to it.
    ///
    /// # Errors
    /// Names the directory that is closed to the user.
    pub fn check_reachable(&self, user: &User) -> Result<(), HostError> {
        match closed_to(&self.path, user)? {
            None => Ok(()),
            Some(dir) => {
                Err(HostError::Unreachable { path: self.path.clone(), dir, user: user.name.clone() })
            }
        }
    }
}

/// The first directory, `path` or above it, that `user` may not pass through.
fn closed_to(path: &Path, user: &User) -> Result<Option<PathBuf>, HostError> {
    for dir in path.ancestors() {
        let data = fs::metadata(dir).map_err(|error| HostError::path("look at", dir, error))?;
        let bit = match (data.uid() == user.uid, data.gid() == user.gid) {
            (true, _) => 0o100,
            (false, true) => 0o010,
            (false, false) => 0o001,
        };
        if data.mode() & bit == 0 {
            return Ok(Some(dir.to_owned()));
        }
    }
    Ok(None)
}

/// Whether `user` may pass through every directory down to `path`, a directory.
pub(crate) fn is_reachable(path: &Path, user: &User) -> bool {
    closed_to(path, user).is_ok_and(|closed| closed.is_none())
}

/// Whether `path` lies below a marked directory of this user, without climbing (`..`) out of it.
pub(crate) fn is_below_a_work_root(path: &Path) -> bool {
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let uid = nix::unistd::geteuid().as_raw();
    let is_marked = |dir: &Path| {
        // The mark inside a run (a server could make one) does not count: only the root is named so.
        dir.file_name().is_some_and(|name| name == format!("weigh-{uid}").as_str())
            && dir.join(MARK).is_file()
            && fs::symlink_metadata(dir).is_ok_and(|data| data.is_dir() && data.uid() == uid)
    };
    path.is_absolute() && plain && path.ancestors().skip(1).any(is_marked)
}

/// Bytes an unprivileged user may still write to the file system of `path`.
///
/// # Errors
/// When the file system cannot be asked.
pub fn free_bytes(path: &Path) -> Result<u64, HostError> {
    let found = statvfs(path).map_err(|errno| HostError::path("look at", path, errno.into()))?;
    Ok(found.blocks_available() * found.fragment_size())
}

/// Whether `path` is on a file system in memory (tmpfs, ramfs), where durability costs nothing.
///
/// # Errors
/// When the file system cannot be asked.
pub fn in_memory(path: &Path) -> Result<bool, HostError> {
    // linux/magic.h; nix has no name for it.
    const RAMFS_MAGIC: FsType = FsType(0x8584_58f6);
    let found = statfs(path).map_err(|errno| HostError::path("look at", path, errno.into()))?;
    Ok([TMPFS_MAGIC, RAMFS_MAGIC].contains(&found.filesystem_type()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_made_marked_and_found_again() {
        let parent = tempfile::tempdir().unwrap();
        let root = WorkRoot::open(parent.path()).unwrap();
        assert_eq!(WorkRoot::open(parent.path()).unwrap(), root);
        assert!(is_below_a_work_root(&root.path().join("run/i0")));
        assert!(!is_below_a_work_root(root.path()), "the root itself stays");
        assert!(!is_below_a_work_root(&root.path().join("run/../../x")));
        assert!(!is_below_a_work_root(Path::new("run/i0")));
        assert!(!is_below_a_work_root(parent.path()));
    }

    #[test]
    fn a_symbolic_link_in_place_of_the_root_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let name = format!("weigh-{}", nix::unistd::geteuid());
        std::os::unix::fs::symlink(elsewhere.path(), parent.path().join(name)).unwrap();
        assert!(matches!(WorkRoot::open(parent.path()), Err(HostError::Owner { .. })));
    }

    #[test]
    fn a_closed_directory_is_named() {
        let parent = tempfile::tempdir().unwrap();
        let closed = parent.path().join("closed");
        let root = WorkRoot::open(&closed).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        let nobody = User { name: "nobody".to_owned(), uid: 65_534, gid: 65_534 };
        let error = root.check_reachable(&nobody).unwrap_err();
        assert!(error.to_string().starts_with("user `nobody` cannot enter `"), "{error}");
    }

    #[test]
    fn memory_file_systems_are_told_apart() {
        assert!(!in_memory(Path::new("/proc")).unwrap());
        if Path::new("/dev/shm").exists() {
            assert!(in_memory(Path::new("/dev/shm")).unwrap());
        }
        assert!(free_bytes(Path::new("/")).unwrap() > 0);
    }
}
