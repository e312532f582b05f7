//! What is mounted where: `/proc/self/mountinfo`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::error::CollectError;
use crate::source::Reader;
use crate::text::{fields, lines, whole_u32};

/// One mount, as in `proc_pid_mountinfo(5)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Device number of the file system: major, minor. Major 0 is no block device.
    pub device: (u32, u32),
    /// The directory of the file system that is shown.
    pub root: PathBuf,
    /// Where it is shown.
    pub mount_point: PathBuf,
    /// Options of this mount (`ro`, `noatime`).
    pub options: Vec<String>,
    /// Type of the file system (`ext4`, `overlay`, `cgroup2`).
    pub kind: String,
    /// What is mounted (`/dev/vda`, `tmpfs`).
    pub source: String,
    /// Options of the file system (`upperdir=…`, `cpuacct`).
    pub super_options: Vec<String>,
}

impl Mount {
    /// Whether nothing can be written through it.
    pub fn is_read_only(&self) -> bool {
        [&self.options, &self.super_options].iter().any(|options| options.iter().any(|option| option == "ro"))
    }

    /// The value of an option of the file system (`upperdir`).
    pub fn super_option(&self, name: &str) -> Option<&str> {
        self.super_options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Reads the text of `mountinfo`. Lines that are not understood are passed over.
pub fn parse(text: &[u8]) -> Vec<Mount> {
    lines(text).filter_map(parse_line).collect()
}

/// All mounts this process sees, in the order they were made.
///
/// # Errors
/// If `/proc/self/mountinfo` cannot be read.
pub fn read() -> Result<Vec<Mount>, CollectError> {
    Reader::default().parsed("/proc/self/mountinfo", |text| Ok(parse(text)))
}

/// The mount that shows `path`: the deepest mount point above it, the youngest if several are stacked.
pub fn covering<'m>(mounts: &'m [Mount], path: &Path) -> Option<&'m Mount> {
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.mount_point))
        .max_by_key(|mount| mount.mount_point.as_os_str().len())
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut parts = fields(line).skip(2);
    let device = device_number(parts.next()?)?;
    let root = unescape(parts.next()?);
    let mount_point = unescape(parts.next()?);
    let options = options(parts.next()?);
    // Any number of optional fields, closed by a hyphen.
    parts.find(|&field| field == b"-")?;
    let kind = text(unescape(parts.next()?));
    let source = text(unescape(parts.next()?));
    let super_options = parts.next().map(self::options).unwrap_or_default();
    Some(Mount {
        device,
        root: root.into(),
        mount_point: mount_point.into(),
        options,
        kind,
        source,
        super_options,
    })
}

/// `MAJOR:MINOR`.
pub(crate) fn device_number(field: &[u8]) -> Option<(u32, u32)> {
    let colon = field.iter().position(|&byte| byte == b':')?;
    Some((whole_u32(&field[..colon])?, whole_u32(&field[colon + 1..])?))
}

fn options(field: &[u8]) -> Vec<String> {
    field.split(|&byte| byte == b',').map(|option| text(unescape(option))).collect()
}

/// Undoes the kernel's octal escapes (`\040` for a blank).
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'\\').then(|| tail.get(..3).and_then(octal)).flatten();
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &tail[3..] } else { tail };
    }
    OsString::from_vec(bytes)
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

fn text(string: OsString) -> String {
    string.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_optional_fields() {
        let line = br"36 35 98:0 /sub\040dir /mnt/with\040blank\134x rw,noatime master:1 shared:2 - ext4 /dev/root rw,errors=continue";
        let mounts = parse(line);
        assert_eq!(mounts.len(), 1);
        assert_eq!(mounts[0].device, (98, 0));
        assert_eq!(mounts[0].root, Path::new("/sub dir"));
        assert_eq!(mounts[0].mount_point, Path::new(r"/mnt/with blank\x"));
        assert_eq!(mounts[0].super_option("errors"), Some("continue"));
        assert!(!mounts[0].is_read_only());
    }

    #[test]
    fn the_deepest_and_youngest_mount_covers() {
        let text = b"1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:2 / /var rw - xfs /dev/b rw\n\
            3 1 8:3 / /va rw - xfs /dev/c rw\n4 1 8:4 / /var ro - btrfs /dev/d rw\n";
        let mounts = parse(text);
        let kind = |path| covering(&mounts, Path::new(path)).map(|mount| mount.kind.as_str());
        assert_eq!(kind("/var/lib/x"), Some("btrfs"));
        assert_eq!(kind("/variable"), Some("ext4"));
        assert!(covering(&mounts, Path::new("/var")).is_some_and(Mount::is_read_only));
    }
}
