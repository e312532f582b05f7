//! The files of a control group, as pure functions of their bytes.
//!
//! Formats: `Documentation/admin-guide/cgroup-v2.rst` and `cgroup-v1/` of the kernel.

use std::path::PathBuf;

use crate::error::ParseError;
use crate::mounts::device_number;
use crate::text::{fields, keyed, lines, whole, whole_u32};

/// `cpu.stat`. Without limits there are no periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuStat {
    /// CPU time of all processes ever in the group, microseconds.
    pub usage_us: Option<u64>,
    /// User part.
    pub user_us: Option<u64>,
    /// System part.
    pub system_us: Option<u64>,
    /// Enforcement periods of the CPU limit.
    pub periods: Option<u64>,
    /// Periods in which the group was held back.
    pub throttled_periods: Option<u64>,
    /// Time for which it was held back, microseconds, summed over its CPUs.
    pub throttled_us: Option<u64>,
}

/// Reads `cpu.stat`: of version 2, or of version 1, which has only the throttling.
///
/// # Errors
/// If it holds neither CPU time nor throttling.
pub fn cpu_stat(text: &[u8]) -> Result<CpuStat, ParseError> {
    let stat = CpuStat {
        usage_us: keyed(text, "usage_usec"),
        user_us: keyed(text, "user_usec"),
        system_us: keyed(text, "system_usec"),
        periods: keyed(text, "nr_periods"),
        throttled_periods: keyed(text, "nr_throttled"),
        throttled_us: keyed(text, "throttled_usec")
            .or_else(|| keyed(text, "throttled_time").map(|ns| ns / 1_000)),
    };
    if stat.usage_us.is_none() && stat.periods.is_none() {
        return Err(ParseError { format: "cpu.stat", missing: "usage_usec" });
    }
    Ok(stat)
}

/// One device's line of `io.stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceIo {
    /// Major and minor number.
    pub device: (u32, u32),
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes discarded.
    pub discard_bytes: u64,
    /// Discard requests.
    pub discards: u64,
}

/// Reads `io.stat`. Fields of cost models and whatever else a line holds are passed over, and so are
/// devices that have no figures yet.
pub fn io_stat(text: &[u8]) -> Vec<DeviceIo> {
    lines(text).filter_map(device_io).collect()
}

fn device_io(line: &[u8]) -> Option<DeviceIo> {
    let mut parts = fields(line);
    let mut io = DeviceIo { device: device_number(parts.next()?)?, ..DeviceIo::default() };
    let mut any = false;
    for part in parts {
        let Some(equals) = part.iter().position(|&byte| byte == b'=') else { continue };
        let place = match &part[..equals] {
            b"rbytes" => &mut io.read_bytes,
            b"wbytes" => &mut io.write_bytes,
            b"rios" => &mut io.reads,
            b"wios" => &mut io.writes,
            b"dbytes" => &mut io.discard_bytes,
            b"dios" => &mut io.discards,
            _ => continue,
        };
        if let Some(number) = whole(&part[equals + 1..]) {
            *place = number;
            any = true;
        }
    }
    any.then_some(io)
}

/// `memory.events`: how often the group came up against its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryEvents {
    /// Times held back at `memory.high`.
    pub high: u64,
    /// Times at `memory.max`.
    pub max: u64,
    /// Processes killed for lack of memory.
    pub oom_kills: u64,
}

/// Reads `memory.events`.
///
/// # Errors
/// If one of the three is missing.
pub fn memory_events(text: &[u8]) -> Result<MemoryEvents, ParseError> {
    let number = |key| keyed(text, key).ok_or(ParseError { format: "memory.events", missing: key });
    Ok(MemoryEvents { high: number("high")?, max: number("max")?, oom_kills: number("oom_kill")? })
}

/// `cpu.max`: microseconds per period, or no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuMax {
    /// CPU time allowed per period, microseconds; `None` without a limit.
    pub quota_us: Option<u64>,
    /// The period, microseconds.
    pub period_us: u64,
}

impl CpuMax {
    /// The limit as a number of CPUs.
    pub fn cpus(self) -> Option<f64> {
        let quota_us = self.quota_us?;
        (self.period_us > 0).then(|| quota_us as f64 / self.period_us as f64)
    }
}

/// Reads `cpu.max` (`max 100000`, `50000 100000`).
///
/// # Errors
/// If it is not a limit and a period.
pub fn cpu_max(text: &[u8]) -> Result<CpuMax, ParseError> {
    let missing = |missing| ParseError { format: "cpu.max", missing };
    let mut parts = fields(text);
    let quota = parts.next().ok_or(missing("quota"))?;
    let quota_us = match quota {
        b"max" => None,
        number => Some(whole(number).ok_or(missing("quota"))?),
    };
    let period_us = parts.next().and_then(whole).ok_or(missing("period"))?;
    Ok(CpuMax { quota_us, period_us })
}

/// One line of `/proc/PID/cgroup`: the group a process is in, in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Number of the hierarchy; 0 is version 2.
    pub hierarchy: u32,
    /// Controllers of a version 1 hierarchy (`cpu`, `name=systemd`).
    pub controllers: Vec<String>,
    /// The group, from the root of the hierarchy as this process sees it.
    pub path: PathBuf,
}

/// Reads `/proc/PID/cgroup`. Lines that are not understood are passed over.
pub fn memberships(text: &[u8]) -> Vec<Membership> {
    let line = |line: &[u8]| {
        let mut parts = line.splitn(3, |&byte| byte == b':');
        let hierarchy = whole_u32(parts.next()?)?;
        let controllers = String::from_utf8_lossy(parts.next()?);
        let path = String::from_utf8_lossy(parts.next()?);
        let controllers = controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned);
        Some(Membership { hierarchy, controllers: controllers.collect(), path: PathBuf::from(&*path) })
    };
    lines(text).filter_map(line).collect()
}
