//! Finds the block device that carries a path.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use nix::sys::stat::{major, minor, stat};
use serde::{Deserialize, Serialize};

use crate::error::CollectError;
use crate::mounts::{self, Mount, device_number};

/// A block device: a partition, a whole disk, or a device stacked on others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// Major and minor number.
    pub number: (u32, u32),
    /// Name in `/sys/class/block` (`vda1`, `dm-0`).
    pub name: String,
    /// Major and minor number of the whole disk; the same as `number` unless it is a partition.
    pub disk_number: (u32, u32),
    /// Name of the whole disk (`vda`).
    pub disk_name: String,
    /// Devices it is stacked on (LVM, RAID, encryption).
    pub stacked_on: Vec<String>,
}

/// Overlays upon overlays end somewhere.
const LAYERS_MAX: u32 = 8;

impl BlockDevice {
    /// The device below `path`: through the upper layer of an overlay, and by its source for a file
    /// system with a device number of its own (btrfs). `None` where there is none: memory, network,
    /// FUSE, or a container that cannot see its disk.
    ///
    /// # Errors
    /// If the path, or the list of mounts, cannot be read.
    pub fn below(path: &Path) -> Result<Option<BlockDevice>, CollectError> {
        let path = fs::canonicalize(path).map_err(|source| CollectError::read(path, source))?;
        below(&path, &mounts::read()?, LAYERS_MAX)
    }

    /// The device with this number, if there is one.
    pub fn by_number(number: (u32, u32)) -> Option<BlockDevice> {
        let directory = fs::canonicalize(format!("/sys/dev/block/{}:{}", number.0, number.1)).ok()?;
        let name = file_name(&directory)?;
        let whole = directory.join("partition").exists().then(|| directory.parent()).flatten();
        let disk = whole.unwrap_or(&directory);
        let disk_number = fs::read(disk.join("dev")).ok().and_then(|text| device_number(text.trim_ascii()));
        let mut stacked_on: Vec<String> = fs::read_dir(directory.join("slaves"))
            .map(|entries| entries.flatten().filter_map(|entry| file_name(&entry.path())).collect())
            .unwrap_or_default();
        stacked_on.sort();
        Some(BlockDevice {
            number,
            name,
            disk_number: disk_number.unwrap_or(number),
            disk_name: file_name(disk)?,
            stacked_on,
        })
    }

    /// The directory of the whole disk's settings (`/sys/dev/block/254:0/queue`).
    pub fn queue_directory(&self) -> PathBuf {
        PathBuf::from(format!("/sys/dev/block/{}:{}/queue", self.disk_number.0, self.disk_number.1))
    }
}

fn below(path: &Path, mounts: &[Mount], layers: u32) -> Result<Option<BlockDevice>, CollectError> {
    let facts = stat(path).map_err(|errno| CollectError::read(path, errno.into()))?;
    if let Some(device) = BlockDevice::by_number(number_of(facts.st_dev)) {
        return Ok(Some(device));
    }
    let Some(mount) = mounts::covering(mounts, path) else { return Ok(None) };
    match mount.super_option("upperdir") {
        // The name is that of whoever mounted it, perhaps in another mount namespace.
        Some(upper) if layers > 0 && Path::new(upper).is_dir() => below(Path::new(upper), mounts, layers - 1),
        _ => Ok(by_source(&mount.source)),
    }
}

/// The device a mount names as its source, if it names one.
fn by_source(source: &str) -> Option<BlockDevice> {
    let path = fs::canonicalize(source).ok()?;
    if !fs::metadata(&path).ok()?.file_type().is_block_device() {
        return None;
    }
    BlockDevice::by_number(number_of(stat(&path).ok()?.st_rdev))
}

fn number_of(device: u64) -> (u32, u32) {
    // The kernel has 12 bits for the major and 20 for the minor number.
    (u32::try_from(major(device)).unwrap_or(0), u32::try_from(minor(device)).unwrap_or(0))
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}
