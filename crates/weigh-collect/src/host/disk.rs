//! A disk's own counters: what really reached it, from whoever it came.

use std::path::PathBuf;
use std::time::Instant;

use super::device::BlockDevice;
use super::parse::disk_stat;
use crate::counters::{Counters, Tally};
use crate::error::CollectError;
use crate::source::Reader;

/// The counters of one block device, since boot. A request counts when it is completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounts {
    /// Read requests.
    pub reads: u64,
    /// Read requests that were merged into a neighbour before they were sent.
    pub merged_reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time of all reads, each for itself, milliseconds.
    pub read_ms: u64,
    /// Write requests.
    pub writes: u64,
    /// Write requests that were merged.
    pub merged_writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time of all writes, each for itself, milliseconds.
    pub write_ms: u64,
    /// Requests on their way now.
    pub in_flight: u64,
    /// Time in which at least one request was on its way, milliseconds.
    pub io_ms: u64,
    /// Time of all requests, each for itself, milliseconds.
    pub queue_ms: u64,
    /// Discard requests; `None` before Linux 4.18.
    pub discards: Option<u64>,
    /// Bytes discarded.
    pub discard_bytes: Option<u64>,
    /// Flushes of the disk's cache; `None` before Linux 5.5. The block layer joins flushes that are
    /// asked for at the same time, and a disk without a volatile cache needs none. Counted for whole
    /// disks only.
    pub flushes: Option<u64>,
    /// Time of all flushes, milliseconds.
    pub flush_ms: Option<u64>,
}

/// One reading of the counters of the disk below a path.
#[derive(Clone, Debug)]
pub struct DiskSample {
    /// When it was read.
    pub taken: Instant,
    /// Counters of the device that carries the file system; its flushes are those of the whole disk.
    pub counts: DiskCounts,
}

impl DiskSample {
    /// Reads the device's counters, and for a partition the flushes of its disk.
    ///
    /// # Errors
    /// If the device's `stat` cannot be read or understood.
    pub fn read(device: &BlockDevice) -> Result<DiskSample, CollectError> {
        let mut reader = Reader::default();
        let mut counts = reader.parsed(stat_path(device.number), disk_stat)?;
        if device.number != device.disk_number {
            let disk = reader.parsed(stat_path(device.disk_number), disk_stat)?;
            counts.flushes = disk.flushes;
            counts.flush_ms = disk.flush_ms;
        }
        Ok(DiskSample { taken: Instant::now(), counts })
    }

    /// What grows: `disk.write_bytes`, `disk.writes`, `disk.flushes` and so on.
    pub fn counters(&self) -> Counters {
        let counts = &self.counts;
        let us = |ms: u64| ms.saturating_mul(1_000);
        let mut tally = Tally::new("disk");
        tally.add("reads", counts.reads);
        tally.add("merged_reads", counts.merged_reads);
        tally.add("read_bytes", counts.read_bytes);
        tally.add("read_us", us(counts.read_ms));
        tally.add("writes", counts.writes);
        tally.add("merged_writes", counts.merged_writes);
        tally.add("write_bytes", counts.write_bytes);
        tally.add("write_us", us(counts.write_ms));
        tally.add("io_us", us(counts.io_ms));
        tally.add("queue_us", us(counts.queue_ms));
        tally.add_known("discards", counts.discards);
        tally.add_known("discard_bytes", counts.discard_bytes);
        tally.add_known("flushes", counts.flushes);
        tally.add_known("flush_us", counts.flush_ms.map(us));
        tally.finish()
    }

    /// Levels: `disk.in_flight_requests`.
    pub fn gauges(&self) -> Counters {
        let mut tally = Tally::new("disk");
        tally.add("in_flight_requests", self.counts.in_flight);
        tally.finish()
    }
}

fn stat_path((major, minor): (u32, u32)) -> PathBuf {
    PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"))
}
