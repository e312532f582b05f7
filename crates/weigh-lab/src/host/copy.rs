//! Copies of a template directory, and syncing what a trial wrote.
//!
//! Every instance starts from the same bytes: [`copy_template`] shares blocks with the template where the
//! file system can (btrfs, XFS) and copies them elsewhere. Modes and owners are kept; times are not.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, lchown, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{HostError, work};

/// Left free on the file system after a copy, so that the server can work.
const RESERVE_BYTES: u64 = 256 << 20;
/// File times come from a clock that ticks this coarsely at most (HZ=100), with some to spare.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// Copies directory `from` to `to`, which must not exist. Regular files, directories and symbolic links;
/// sockets and pipes are left out.
///
/// # Errors
/// When there is too little room for a full copy plus a reserve (checked first), or anything cannot be
/// copied exactly.
pub fn copy_template(from: &Path, to: &Path) -> Result<(), HostError> {
    let needed_bytes = tree_bytes(from)? + RESERVE_BYTES;
    let parent = to.parent().unwrap_or(to);
    let free_bytes = work::free_bytes(parent)?;
    if free_bytes < needed_bytes {
        return Err(HostError::NoSpace { path: parent.to_owned(), free_bytes, needed_bytes });
    }
    copy_dir(from, to)
}

fn copy_dir(from: &Path, to: &Path) -> Result<(), HostError> {
    let data = fs::symlink_metadata(from).map_err(|error| HostError::path("read", from, error))?;
    DirBuilder::new().mode(0o700).create(to).map_err(|error| HostError::path("create", to, error))?;
    for (path, data) in entries(from)? {
        let Some(name) = path.file_name() else { continue };
        let target = to.join(name);
        if data.is_dir() {
            copy_dir(&path, &target)?;
        } else if data.is_symlink() {
            let copied = fs::read_link(&path).and_then(|link| symlink(link, &target));
            copied.map_err(|error| HostError::path("copy", &path, error))?;
            own_like(&data, &target)?;
        } else if data.is_file() {
            reflink_copy::reflink_or_copy(&path, &target)
                .map_err(|error| HostError::path("copy", &path, error))?;
            look_like(&data, &target)?;
        }
    }
    // Last: a mode without write permission would have kept the entries out.
    look_like(&data, to)
}

fn own_like(data: &Metadata, target: &Path) -> Result<(), HostError> {
    lchown(target, Some(data.uid()), Some(data.gid()))
        .map_err(|error| HostError::path("change the owner of", target, error))
}

fn look_like(data: &Metadata, target: &Path) -> Result<(), HostError> {
    own_like(data, target)?;
    fs::set_permissions(target, data.permissions())
        .map_err(|error| HostError::path("change the mode of", target, error))
}

fn entries(dir: &Path) -> Result<Vec<(std::path::PathBuf, Metadata)>, HostError> {
    let fail = |error| HostError::path("read", dir, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        match entry.metadata() {
            Ok(data) => found.push((entry.path(), data)),
            // A running server removes files while its directory is read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(HostError::path("read", entry.path(), error)),
        }
    }
    Ok(found)
}

/// Bytes on disk below `dir`.
///
/// # Errors
/// When a directory cannot be read.
pub fn tree_bytes(dir: &Path) -> Result<u64, HostError> {
    let mut total = 0;
    for (path, data) in entries(dir)? {
        total += data.blocks() * 512;
        if data.is_dir() {
            total += tree_bytes(&path)?;
        }
    }
    Ok(total)
}

/// Syncs every file and directory below `dir` that was changed at or after `since`, and returns how many.
///
/// Not `syncfs`: that would charge a trial with whatever else is dirty on the file system. Files that did
/// not change are not synced either, because even a clean file costs a flush of the device.
///
/// # Errors
/// When a directory cannot be read or a file not synced.
pub fn sync_changed_since(dir: &Path, since: SystemTime) -> Result<usize, HostError> {
    let since = since - CLOCK_TICK;
    let is_changed = |data: &Metadata| data.modified().map_or(true, |time| time >= since);
    let mut synced = 0;
    for (path, data) in entries(dir)? {
        if data.is_dir() {
            synced += sync_changed_since(&path, since)?;
        } else if data.is_file() && is_changed(&data) {
            synced += usize::from(sync(&path)?);
        }
    }
    if fs::metadata(dir).is_ok_and(|data| is_changed(&data)) {
        synced += usize::from(sync(dir)?);
    }
    Ok(synced)
}

/// `false` when the file has gone meanwhile.
fn sync(path: &Path) -> Result<bool, HostError> {
    match File::open(path) {
        Ok(file) => {
            file.sync_all().map_err(|error| HostError::path("sync", path, error))?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(HostError::path("open", path, error)),
    }
}

/// Writes out everything that is dirty on the file system of `path`: for use between measurements only.
pub(crate) fn sync_file_system(path: &Path) -> Result<(), HostError> {
    let dir = File::open(path).map_err(|error| HostError::path("open", path, error))?;
    nix::unistd::syncfs(&dir).map_err(|errno| HostError::path("sync", path, errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn modes_links_and_empty_directories_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("a/empty")).unwrap();
        fs::write(from.join("a/file"), b"bytes").unwrap();
        fs::set_permissions(from.join("a/file"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("a/file", from.join("link")).unwrap();
        fs::set_permissions(from.join("a"), fs::Permissions::from_mode(0o500)).unwrap();
        let to = dir.path().join("to");
        copy_template(&from, &to).unwrap();
        assert_eq!(fs::read(to.join("a/file")).unwrap(), b"bytes");
        assert_eq!(fs::metadata(to.join("a/file")).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::metadata(to.join("a")).unwrap().mode() & 0o777, 0o500);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("a/file"));
        assert!(to.join("a/empty").is_dir());
        assert!(copy_template(&from, &to).is_err(), "an existing target is not overwritten");
        fs::set_permissions(from.join("a"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(to.join("a"), fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn only_what_changed_is_synced() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("old")).unwrap();
        fs::write(dir.path().join("old/file"), b"x").unwrap();
        std::thread::sleep(Duration::from_millis(60));
        let since = SystemTime::now();
        assert_eq!(sync_changed_since(dir.path(), since).unwrap(), 0);
        fs::write(dir.path().join("old/file"), b"y").unwrap();
        assert_eq!(sync_changed_since(dir.path(), since).unwrap(), 1);
        fs::write(dir.path().join("new"), b"y").unwrap();
        assert_eq!(sync_changed_since(dir.path(), since).unwrap(), 3, "two files and the directory");
    }
}
