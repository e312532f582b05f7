//! One reading of one control group.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::parse::{self, CpuStat, DeviceIo, MemoryEvents};
use crate::counters::{Counters, Tally};
use crate::error::{CollectError, ParseError};
use crate::host::pressure::{Pressure, pressure};
use crate::process::Storage;
use crate::source::{Reader, ticks_to_us};
use crate::text::{first_whole, keyed};

/// What a control group has used, held and waited for. What its controllers do not count is `None`
/// or empty.
#[derive(Clone, Debug)]
pub struct CgroupSample {
    /// When it was read.
    pub taken: Instant,
    /// CPU time and throttling.
    pub cpu: CpuStat,
    /// Memory in use now, page cache included, bytes.
    pub memory_bytes: Option<u64>,
    /// The most memory that was ever in use, bytes.
    pub memory_peak_bytes: Option<u64>,
    /// Times the group came up against its memory limits.
    pub memory_events: Option<MemoryEvents>,
    /// Bytes and requests by device.
    pub io: Vec<DeviceIo>,
    /// Waiting for a CPU.
    pub cpu_pressure: Option<Pressure>,
    /// Waiting for I/O.
    pub io_pressure: Option<Pressure>,
    /// Waiting for memory.
    pub memory_pressure: Option<Pressure>,
}

impl CgroupSample {
    /// Reads the group at `directory`, below a v2 or a v1 mount.
    ///
    /// # Errors
    /// If it is not a control group, or a file of it cannot be understood.
    pub fn read(directory: &Path) -> Result<CgroupSample, CollectError> {
        if !directory.join("cgroup.procs").exists() {
            return Err(CollectError::NotACgroup { path: directory.to_owned() });
        }
        let mut files = Files { reader: Reader::default(), directory };
        let taken = Instant::now();
        let mut cpu = files.optional("cpu.stat", parse::cpu_stat)?.unwrap_or_default();
        if cpu.usage_us.is_none()
            && let Some(v1) = files.v1_cpu()?
        {
            let throttling = cpu;
            cpu = CpuStat {
                usage_us: Some(v1.usage_ns / 1_000),
                user_us: v1.user_us,
                system_us: v1.system_us,
                ..throttling
            };
        }
        Ok(CgroupSample {
            taken,
            cpu,
            memory_bytes: files.number(&["memory.current", "memory.usage_in_bytes"])?,
            memory_peak_bytes: files.number(&["memory.peak", "memory.max_usage_in_bytes"])?,
            memory_events: files.optional("memory.events", parse::memory_events)?,
            io: files.optional("io.stat", |text| Ok(parse::io_stat(text)))?.unwrap_or_default(),
            cpu_pressure: files.optional("cpu.pressure", pressure)?,
            io_pressure: files.optional("io.pressure", pressure)?,
            memory_pressure: files.optional("memory.pressure", pressure)?,
        })
    }

    /// What grows: `cgroup.cpu_us`, `cgroup.throttled_us`, `cgroup.psi_cpu_some_us` and so on.
    pub fn counters(&self) -> Counters {
        let mut tally = Tally::new("cgroup");
        tally.add_known("cpu_us", self.cpu.usage_us);
        tally.add_known("cpu_user_us", self.cpu.user_us);
        tally.add_known("cpu_system_us", self.cpu.system_us);
        tally.add_known("cpu_periods", self.cpu.periods);
        tally.add_known("throttled_periods", self.cpu.throttled_periods);
        tally.add_known("throttled_us", self.cpu.throttled_us);
        if let Some(events) = self.memory_events {
            tally.add("memory_high_events", events.high);
            tally.add("memory_max_events", events.max);
            tally.add("oom_kills", events.oom_kills);
        }
        if let Some(stored) = storage(&self.io) {
            tally.add("read_bytes", stored.read_bytes);
            tally.add("write_bytes", stored.write_bytes);
            tally.add("reads", stored.reads);
            tally.add("writes", stored.writes);
        }
        let pressures =
            [("cpu", self.cpu_pressure), ("io", self.io_pressure), ("memory", self.memory_pressure)];
        for (name, pressure) in pressures {
            if let Some(pressure) = pressure {
                pressure.tally(&mut tally, name);
            }
        }
        tally.finish()
    }

    /// Levels: `cgroup.memory_bytes`, `cgroup.memory_peak_bytes`.
    pub fn gauges(&self) -> Counters {
        let mut tally = Tally::new("cgroup");
        tally.add_known("memory_bytes", self.memory_bytes);
        tally.add_known("memory_peak_bytes", self.memory_peak_bytes);
        tally.finish()
    }
}

/// CPU time as a group counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupCpu {
    pub(crate) usage_ns: u64,
    pub(crate) user_us: Option<u64>,
    pub(crate) system_us: Option<u64>,
}

/// What a tree of processes takes from its group rather than from the processes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupUsage {
    pub(crate) cpu: Option<GroupCpu>,
    pub(crate) storage: Option<Storage>,
}

/// CPU time and storage of a group, as far as it counts them.
///
/// # Errors
/// If the directory is not a control group.
pub(crate) fn usage(reader: &mut Reader, directory: &Path) -> Result<GroupUsage, CollectError> {
    if !directory.join("cgroup.procs").exists() {
        return Err(CollectError::NotACgroup { path: directory.to_owned() });
    }
    let mut files = Files { reader: std::mem::take(reader), directory };
    let stat = files.optional("cpu.stat", parse::cpu_stat)?.unwrap_or_default();
    let cpu = match stat.usage_us {
        Some(usage_us) => Some(GroupCpu {
            usage_ns: usage_us.saturating_mul(1_000),
            user_us: stat.user_us,
            system_us: stat.system_us,
        }),
        None => files.v1_cpu()?,
    };
    let io = files.optional("io.stat", |text| Ok(parse::io_stat(text)))?;
    *reader = files.reader;
    Ok(GroupUsage { cpu, storage: io.as_deref().map(|io| storage(io).unwrap_or_default()) })
}

/// Sum over devices; `None` if there is no figure. Devices stacked on others (LVM, RAID, encryption)
/// are left out, since every byte would count again in the device below.
fn storage(devices: &[DeviceIo]) -> Option<Storage> {
    let is_stacked = |(major, minor): (u32, u32)| {
        let slaves = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/slaves"));
        std::fs::read_dir(slaves).is_ok_and(|mut entries| entries.next().is_some())
    };
    let bottom = devices.iter().filter(|io| !is_stacked(io.device));
    bottom.fold(None, |sum: Option<Storage>, io| {
        let sum = sum.unwrap_or_default();
        Some(Storage {
            read_bytes: sum.read_bytes.saturating_add(io.read_bytes),
            write_bytes: sum.write_bytes.saturating_add(io.write_bytes),
            reads: sum.reads.saturating_add(io.reads),
            writes: sum.writes.saturating_add(io.writes),
        })
    })
}

struct Files<'d> {
    reader: Reader,
    directory: &'d Path,
}

impl Files<'_> {
    fn optional<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&[u8]) -> Result<T, ParseError>,
    ) -> Result<Option<T>, CollectError> {
        self.reader.optional(self.directory.join(name), parse)
    }

    /// The number in the first of the files that is there.
    fn number(&mut self, names: &[&'static str]) -> Result<Option<u64>, CollectError> {
        for &name in names {
            let parse = |text: &[u8]| first_whole(text).ok_or(ParseError { format: name, missing: "number" });
            if let Some(number) = self.optional(name, parse)? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// CPU time of a version 1 `cpuacct` group: exact in sum, by kind in clock ticks.
    fn v1_cpu(&mut self) -> Result<Option<GroupCpu>, CollectError> {
        let Some(usage_ns) = self.number(&["cpuacct.usage"])? else { return Ok(None) };
        let ticks = self
            .optional("cpuacct.stat", |text| Ok((keyed(text, "user"), keyed(text, "system"))))?
            .unwrap_or_default();
        Ok(Some(GroupCpu {
            usage_ns,
            user_us: ticks.0.map(ticks_to_us),
            system_us: ticks.1.map(ticks_to_us),
        }))
    }
}
