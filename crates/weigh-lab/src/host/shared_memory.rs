//! Shared memory that outlives a server which was killed.
//!
//! A process that ends in order gives its shared memory back; one that is killed leaves files in `/dev/shm` and
//! System V segments behind. [`SharedMemory::of`] finds what living processes have mapped, before they are
//! killed; [`SharedMemory::remove`] removes it once nobody uses it any more. Only files that carry a known server's
//! name count: other shared memory may be somebody else's too.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{HostError, sys};

/// Names of files in `/dev/shm` that belong to one server only.
const OWN_FILES: [&str; 1] = ["PostgreSQL."];

/// Shared memory of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedMemory {
    /// Files directly below `/dev/shm`, with their inodes: a later file of the same name is not ours.
    files: Vec<(PathBuf, u64)>,
    /// System V segments with their keys: a later segment with the same id is not ours.
    segments: Vec<(i32, i32)>,
}

impl SharedMemory {
    /// What these processes have mapped now.
    pub fn of(pids: impl IntoIterator<Item = i32>) -> SharedMemory {
        let mut found = SharedMemory::default();
        for pid in pids {
            found.add(&fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default());
        }
        found
    }

    /// Adds what is not known yet.
    pub fn merge(&mut self, other: SharedMemory) {
        let new_files: Vec<_> = other.files.into_iter().filter(|file| !self.files.contains(file)).collect();
        let new: Vec<_> = other.segments.into_iter().filter(|one| !self.segments.contains(one)).collect();
        self.files.extend(new_files);
        self.segments.extend(new);
    }

    fn add(&mut self, maps: &str) {
        let mut new = SharedMemory::default();
        for line in maps.lines() {
            // Address, permissions, offset, device, inode, path.
            let mut fields = line.split_ascii_whitespace();
            let (Some(inode), Some(path)) = (fields.nth(4), fields.next()) else { continue };
            let file = path.strip_prefix("/dev/shm/").filter(|name| {
                !name.contains('/') && OWN_FILES.iter().any(|prefix| name.starts_with(prefix))
            });
            if let (Some(_), Ok(inode)) = (file, inode.parse()) {
                new.files.push((PathBuf::from(path), inode));
            }
            // A segment's id is shown as its inode, its key in its name.
            let key = path.strip_prefix("/SYSV").and_then(|key| u32::from_str_radix(key, 16).ok());
            if let (Some(key), Ok(id)) = (key, inode.parse()) {
                new.segments.push((id, key.cast_signed()));
            }
        }
        new.files.dedup();
        new.segments.dedup();
        self.merge(new);
    }

    /// Removes what is still there and unused.
    ///
    /// # Errors
    /// When something of ours cannot be removed.
    pub(crate) fn remove(&self) -> Result<(), HostError> {
        for (path, inode) in &self.files {
            remove_file(path, *inode)?;
        }
        for (id, key) in &self.segments {
            sys::remove_sysv_segment(*id, *key).map_err(|source| HostError::System {
                what: "removing a System V shared memory segment",
                source,
            })?;
        }
        Ok(())
    }
}

fn remove_file(path: &Path, inode: u64) -> Result<(), HostError> {
    if path.parent() != Some(Path::new("/dev/shm")) {
        return Err(HostError::NotOurs { path: path.to_owned() });
    }
    match fs::symlink_metadata(path) {
        Ok(found) if found.ino() == inode && found.is_file() => match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(HostError::path("remove", path, error))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Captured from PostgreSQL 15.18 on Linux 6.18.
    const MAPS: &str = "\
7f1c2a000000-7f1c2a021000 rw-s 00000000 00:17 412                        /dev/shm/PostgreSQL.2195354636
7f1c2b000000-7f1c33a00000 rw-s 00000000 00:01 1060                       /dev/zero (deleted)
7f1c33c7e000-7f1c33c85000 rw-s 00000000 00:17 399                        /dev/shm/PostgreSQL.978520140
7f1c33d10000-7f1c33d11000 rw-s 00000000 00:01 65575                      /SYSV0098488a (deleted)
7f1c33d20000-7f1c33d21000 rw-s 00000000 00:17 400                        /dev/shm/sem.other
7ffd1a5c8000-7ffd1a5e9000 rw-p 00000000 00:00 0                          [stack]
";

    #[test]
    fn a_servers_files_and_segments_are_found() {
        let mut found = SharedMemory::default();
        found.add(MAPS);
        found.add(MAPS);
        assert_eq!(
            found.files,
            [
                (PathBuf::from("/dev/shm/PostgreSQL.2195354636"), 412),
                (PathBuf::from("/dev/shm/PostgreSQL.978520140"), 399)
            ]
        );
        assert_eq!(found.segments, [(65_575, 0x0098_488a)]);
    }

    #[test]
    fn files_elsewhere_or_of_another_inode_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("PostgreSQL.1");
        fs::write(&path, "x").unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        let elsewhere = SharedMemory { files: vec![(path.clone(), inode)], segments: Vec::new() };
        assert!(matches!(elsewhere.remove(), Err(HostError::NotOurs { .. })));
        let climbing = SharedMemory { files: vec![("/dev/shm/../etc".into(), 1)], segments: Vec::new() };
        assert!(climbing.remove().is_err());
        assert!(path.exists());
    }
}
