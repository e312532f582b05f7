//! Where what was fetched or built once is kept, and giving it to a server's user.
//!
//! The cache belongs to the user and outlives every run; it is not registered for undo, so nothing may go
//! there that a run has to clear.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use super::HostError;

/// `$XDG_CACHE_HOME/weigh`, else `~/.cache/weigh`; `/var/tmp/weigh-cache-<uid>` for a user without a home.
pub fn cache_dir() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("XDG_CACHE_HOME")
        .map(|dir| dir.join("weigh"))
        .or_else(|| Some(variable("HOME")?.join(".cache/weigh")))
        .unwrap_or_else(|| PathBuf::from(format!("/var/tmp/weigh-cache-{}", nix::unistd::geteuid())))
}

/// Gives directory `from` a second name, `to`, which must not exist: the same files where both are on one
/// file system, copies elsewhere. Directories are open to everybody, so that a server's user can read below a
/// directory whose own parents are closed to it.
///
/// # Errors
/// When something cannot be read or made.
pub(crate) fn link_tree(from: &Path, to: &Path) -> Result<(), HostError> {
    let made = DirBuilder::new().mode(0o755).create(to);
    made.map_err(|error| HostError::path("create", to, error))?;
    // The umask may have closed it.
    fs::set_permissions(to, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .map_err(|error| HostError::path("open", to, error))?;
    let entries = fs::read_dir(from).map_err(|error| HostError::path("read", from, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| HostError::path("read", from, error))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(|error| HostError::path("read", &path, error))?;
        if kind.is_dir() {
            link_tree(&path, &target)?;
        } else {
            link(&path, &target, kind.is_symlink()).map_err(|error| HostError::path("copy", &path, error))?;
        }
    }
    Ok(())
}

fn link(from: &Path, to: &Path, is_symlink: bool) -> io::Result<()> {
    if is_symlink {
        return symlink(fs::read_link(from)?, to);
    }
    match fs::hard_link(from, to) {
        Err(_) => reflink_copy::reflink_or_copy(from, to).map(|_| ()),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn files_are_shared_and_links_kept() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("bin")).unwrap();
        fs::write(from.join("bin/program"), b"bytes").unwrap();
        symlink("program", from.join("bin/link")).unwrap();
        let to = dir.path().join("to");
        link_tree(&from, &to).unwrap();
        let inode = |path: PathBuf| fs::metadata(path).unwrap().ino();
        assert_eq!(inode(from.join("bin/program")), inode(to.join("bin/program")));
        assert_eq!(fs::read_link(to.join("bin/link")).unwrap(), Path::new("program"));
        assert_eq!(fs::metadata(to.join("bin")).unwrap().mode() & 0o777, 0o755);
        assert!(link_tree(&from, &to).is_err(), "an existing target is left alone");
    }
}
