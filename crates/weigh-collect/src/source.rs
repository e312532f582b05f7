//! Reading small kernel files quickly, and the units the kernel counts in.
//!
//! [`Reader`] keeps one buffer: a file of `/proc` has no size to ask for, so that `std::fs::read`
//! would probe and grow for each of the hundred files of one sample.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::LazyLock;

use nix::errno::Errno;
use nix::unistd::{SysconfVar, sysconf};

use crate::error::{CollectError, ParseError};

/// Reads whole files into a buffer of its own.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
}

impl Reader {
    /// The whole file. The result lives until the next call.
    pub(crate) fn read(&mut self, path: impl AsRef<Path>) -> io::Result<&[u8]> {
        const STEP_BYTES: usize = 4096;
        let mut file = File::open(path)?;
        let mut filled = 0;
        loop {
            if self.buffer.len() < filled + STEP_BYTES {
                self.buffer.resize(filled + STEP_BYTES, 0);
            }
            match file.read(&mut self.buffer[filled..]) {
                Ok(0) => return Ok(&self.buffer[..filled]),
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The file, understood by `parse`.
    pub(crate) fn parsed<T>(
        &mut self,
        path: impl AsRef<Path>,
        parse: impl FnOnce(&[u8]) -> Result<T, ParseError>,
    ) -> Result<T, CollectError> {
        let path = path.as_ref();
        let bytes = self.read(path).map_err(|source| CollectError::read(path, source))?;
        parse(bytes).map_err(|source| CollectError::parse(path, source))
    }

    /// As [`Reader::parsed`], but `None` where there is no such file, or none we may read.
    pub(crate) fn optional<T>(
        &mut self,
        path: impl AsRef<Path>,
        parse: impl FnOnce(&[u8]) -> Result<T, ParseError>,
    ) -> Result<Option<T>, CollectError> {
        match self.parsed(path, parse) {
            Ok(value) => Ok(Some(value)),
            Err(CollectError::Read { source, .. }) if is_absent(&source) || is_refused(&source) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether the error says that the thing, or the process it belongs to, is not there (any more), or
/// that the kernel was built or booted without it.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || [Errno::ESRCH, Errno::ENODEV, Errno::EOPNOTSUPP, Errno::ENOTDIR]
            .iter()
            .any(|&errno| error.raw_os_error() == Some(errno as i32))
}

/// Whether the error says that we may not look.
pub(crate) fn is_refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Clock ticks per second in which `/proc` counts CPU time: `USER_HZ`, 100 almost everywhere. It is
/// not the tick of the kernel's own timer.
pub(crate) fn ticks_per_s() -> u64 {
    static TICKS: LazyLock<u64> = LazyLock::new(|| positive(SysconfVar::CLK_TCK).unwrap_or(100));
    *TICKS
}

/// Bytes in a page.
pub(crate) fn page_bytes() -> u64 {
    static PAGE: LazyLock<u64> = LazyLock::new(|| positive(SysconfVar::PAGE_SIZE).unwrap_or(4096));
    *PAGE
}

/// Nanoseconds in a number of clock ticks.
pub(crate) fn ticks_to_ns(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000_000 / ticks_per_s())
}

/// Microseconds in a number of clock ticks.
pub(crate) fn ticks_to_us(ticks: u64) -> u64 {
    ticks_to_ns(ticks) / 1_000
}

fn positive(variable: SysconfVar) -> Option<u64> {
    let value = sysconf(variable).ok().flatten()?;
    u64::try_from(value).ok().filter(|&value| value > 0)
}
