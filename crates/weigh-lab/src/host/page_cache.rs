//! Getting an instance's own files out of the page cache, and proving that they are out.
//!
//! [`forget_files`] syncs every file below a directory, has the kernel drop its pages (`posix_fadvise`), and counts
//! with `mincore` what is still there. It touches the files below that directory and nothing else:
//! `/proc/sys/vm/drop_caches` would take everybody's memory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use super::HostError;
use super::sys::resident_bytes;

/// A page that is just being written back cannot be dropped; a moment later it can.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);
/// What may stay: less than a thousandth, or as little as a few pages the kernel holds back.
const TOLERATED_BYTES: u64 = 256 << 10;

/// Writes every file below `dir` to disk and drops it from memory. Nobody may have them open meanwhile.
///
/// # Errors
/// When a file cannot be read or synced; when pages stay, which names the bytes and where.
pub fn forget_files(dir: &Path) -> Result<(), HostError> {
    let mut files = Vec::new();
    list(dir, &mut files)?;
    let (mut total, mut resident) = (0, 0);
    for attempt in 0..ATTEMPTS {
        (total, resident) = (0, 0);
        for path in &files {
            let Some((bytes, left)) = forget(path)? else { continue };
            total += bytes;
            resident += left;
        }
        if resident <= TOLERATED_BYTES.max(total / 1000) {
            return Ok(());
        }
        if attempt + 1 < ATTEMPTS {
            sleep(PAUSE);
        }
    }
    Err(HostError::StillCached { dir: dir.to_owned(), resident_bytes: resident, total_bytes: total })
}

/// Bytes of the files below `dir` that are in memory, and how many there are in all.
///
/// # Errors
/// When a file cannot be read.
pub fn cached_bytes(dir: &Path) -> Result<(u64, u64), HostError> {
    let mut files = Vec::new();
    list(dir, &mut files)?;
    let (mut total, mut resident) = (0, 0);
    for path in &files {
        let Some(file) = open(path)? else { continue };
        let (bytes, here) = resident_of(&file).map_err(|error| HostError::path("look at", path, error))?;
        total += bytes;
        resident += here;
    }
    Ok((resident, total))
}

fn list(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), HostError> {
    for entry in fs::read_dir(dir).map_err(|error| HostError::path("read", dir, error))? {
        let entry = entry.map_err(|error| HostError::path("read", dir, error))?;
        let kind = entry.file_type().map_err(|error| HostError::path("read", entry.path(), error))?;
        if kind.is_dir() {
            list(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// `None` when the file has gone meanwhile.
fn open(path: &Path) -> Result<Option<File>, HostError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(HostError::path("open", path, error)),
    }
}

fn forget(path: &Path) -> Result<Option<(u64, u64)>, HostError> {
    let Some(file) = open(path)? else { return Ok(None) };
    let (bytes, here) = resident_of(&file).map_err(|error| HostError::path("look at", path, error))?;
    if here == 0 {
        return Ok(Some((bytes, 0)));
    }
    // Dirty pages would stay.
    file.sync_data().map_err(|error| HostError::path("sync", path, error))?;
    posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
        .map_err(|errno| HostError::path("drop the pages of", path, errno.into()))?;
    resident_of(&file).map(Some).map_err(|error| HostError::path("look at", path, error))
}

fn resident_of(file: &File) -> io::Result<(u64, u64)> {
    let bytes = file.metadata()?.len();
    Ok((bytes, if bytes == 0 { 0 } else { resident_bytes(file, bytes)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_in_memory_until_it_is_forgotten() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        let path = dir.path().join("below/file");
        fs::write(&path, vec![7_u8; 3 << 20]).unwrap();
        fs::write(dir.path().join("empty"), b"").unwrap();
        assert_eq!(cached_bytes(dir.path()).unwrap(), (3 << 20, 3 << 20), "just written");
        forget_files(dir.path()).unwrap();
        let (resident, total) = cached_bytes(dir.path()).unwrap();
        assert!(resident <= TOLERATED_BYTES, "{resident}");
        assert_eq!(total, 3 << 20);
        assert_eq!(fs::read(&path).unwrap().len(), 3 << 20);
        assert_eq!(cached_bytes(dir.path()).unwrap().0, 3 << 20, "read again");
    }

    #[test]
    fn files_that_live_in_memory_are_said_to_stay() {
        let Ok(dir) = tempfile::tempdir_in("/dev/shm") else { return };
        fs::write(dir.path().join("file"), vec![7_u8; 1 << 20]).unwrap();
        match forget_files(dir.path()).unwrap_err() {
            HostError::StillCached { resident_bytes, .. } => assert_eq!(resident_bytes, 1 << 20),
            other => panic!("{other}"),
        }
    }
}
