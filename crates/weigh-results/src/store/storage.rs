//! The only door from the store to the disk.
//!
//! [`EventStorage`] is small on purpose: tests put [`MemoryStorage`] behind it, cut what it holds at
//! every byte and make its writes fail half-way.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// A file that only grows, with one writer.
pub trait EventStorage: Send {
    /// Everything in it.
    fn read_all(&mut self) -> io::Result<Vec<u8>>;
    /// Adds bytes at the end with one `write`; gives how many were taken.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts it to a length, bytes.
    fn truncate(&mut self, len_bytes: u64) -> io::Result<()>;
    /// Waits until it is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

/// A real file, opened for appending and locked against a second writer.
#[derive(Debug)]
pub struct FileStorage {
    file: File,
}

impl FileStorage {
    /// Makes a new file; fails if it exists. Errors of kind `WouldBlock` mean that it is locked.
    pub fn create(path: &Path) -> io::Result<FileStorage> {
        FileStorage::locked(OpenOptions::new().read(true).append(true).create_new(true).open(path)?)
    }

    /// Opens an existing file. Errors of kind `WouldBlock` mean that it is locked.
    pub fn open(path: &Path) -> io::Result<FileStorage> {
        FileStorage::locked(OpenOptions::new().read(true).append(true).open(path)?)
    }

    /// The lock is the kernel's (`flock`): it goes away with the process, however that ends.
    fn locked(file: File) -> io::Result<FileStorage> {
        match file.try_lock() {
            Ok(()) => Ok(FileStorage { file }),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl EventStorage for FileStorage {
    fn read_all(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        self.file.set_len(len_bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// A file in memory, for tests: what it holds can be cut anywhere, and its next write can be made to
/// stop short.
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage {
    /// What it holds.
    pub bytes: Vec<u8>,
    /// The next write takes only this many bytes, as a full disk does.
    pub next_write_takes: Option<usize>,
}

impl EventStorage for MemoryStorage {
    fn read_all(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.bytes.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.next_write_takes.take().unwrap_or(bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        let len =
            usize::try_from(len_bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        self.bytes.truncate(len);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
