//! The files of `/proc` about the whole host, as pure functions of their bytes.
//!
//! Formats are those of `proc(5)` and `Documentation/admin-guide/iostats.rst` of the kernel. Old kernels
//! write fewer columns, new ones more: what is missing at the end is zero or `None`, what is added is
//! passed over.

use super::disk::DiskCounts;
use crate::error::ParseError;
use crate::text::{fields, fraction, keyed, lines, whole, whole_u32};

/// CPU time by kind, in clock ticks. Time of guests is inside `user` and `nice`, and not counted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// User mode.
    pub user: u64,
    /// User mode at a low priority.
    pub nice: u64,
    /// Kernel mode.
    pub system: u64,
    /// Nothing to do.
    pub idle: u64,
    /// Nothing to do, and somebody was waiting for a disk. A hint, no measure: see `proc(5)`.
    pub iowait: u64,
    /// Hardware interrupts.
    pub irq: u64,
    /// Software interrupts.
    pub softirq: u64,
    /// Ready to run, but the hypervisor ran somebody else.
    pub steal: u64,
}

impl CpuTimes {
    /// All of it.
    pub fn total(&self) -> u64 {
        [self.busy(), self.idle, self.iowait, self.steal].into_iter().fold(0, u64::saturating_add)
    }

    /// Time in which the CPU did something.
    pub fn busy(&self) -> u64 {
        [self.user, self.nice, self.system, self.irq, self.softirq].into_iter().fold(0, u64::saturating_add)
    }

    /// Growth since `earlier`; what went backwards (the kernel lets `idle` and `iowait`) did not grow.
    pub fn since(&self, earlier: &CpuTimes) -> CpuTimes {
        CpuTimes {
            user: self.user.saturating_sub(earlier.user),
            nice: self.nice.saturating_sub(earlier.nice),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            irq: self.irq.saturating_sub(earlier.irq),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }
}

/// What we use of `/proc/stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// All CPUs together.
    pub cpu: CpuTimes,
    /// Each CPU that is online, by number.
    pub cpus: Vec<(u32, CpuTimes)>,
    /// Interrupts since boot.
    pub interrupts: Option<u64>,
    /// Context switches since boot.
    pub context_switches: Option<u64>,
    /// Processes and threads made since boot.
    pub forks: Option<u64>,
}

/// Reads `/proc/stat`.
///
/// # Errors
/// If there is no `cpu` line with at least the four oldest columns.
pub fn stat(text: &[u8]) -> Result<Stat, ParseError> {
    let mut stat = Stat::default();
    let mut whole_host = None;
    for line in lines(text) {
        let Some(number) = line.strip_prefix(b"cpu") else { continue };
        let Some(times) = cpu_times(line) else { continue };
        match number.first() {
            Some(b' ') => whole_host = Some(times),
            _ => stat.cpus.extend(fields(number).next().and_then(whole_u32).map(|cpu| (cpu, times))),
        }
    }
    stat.cpu = whole_host.ok_or(ParseError { format: "/proc/stat", missing: "cpu" })?;
    stat.interrupts = keyed(text, "intr");
    stat.context_switches = keyed(text, "ctxt");
    stat.forks = keyed(text, "processes");
    Ok(stat)
}

fn cpu_times(line: &[u8]) -> Option<CpuTimes> {
    let mut columns = fields(line).skip(1).map(whole);
    let mut needed = || columns.next().flatten();
    let mut times = CpuTimes {
        user: needed()?,
        nice: needed()?,
        system: needed()?,
        idle: needed()?,
        ..CpuTimes::default()
    };
    // iowait, irq and softirq came with Linux 2.5.41 and 2.6.0, steal with 2.6.11.
    for place in [&mut times.iowait, &mut times.irq, &mut times.softirq, &mut times.steal] {
        *place = needed().unwrap_or(0);
    }
    Some(times)
}

/// What we use of `/proc/vmstat`. Kernels differ in what they list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VmStat {
    /// Read from block devices, KiB.
    pub paged_in_kib: Option<u64>,
    /// Written to block devices, KiB.
    pub paged_out_kib: Option<u64>,
    /// Page faults of both kinds.
    pub faults: Option<u64>,
    /// Page faults that waited for a disk.
    pub major_faults: Option<u64>,
    /// Pages read from swap.
    pub swapped_in_pages: Option<u64>,
    /// Pages written to swap.
    pub swapped_out_pages: Option<u64>,
    /// Pages of files that had to be read again soon after they were dropped.
    pub refaulted_file_pages: Option<u64>,
    /// Pages made dirty.
    pub dirtied_pages: Option<u64>,
    /// Pages written back.
    pub written_pages: Option<u64>,
    /// Processes killed for lack of memory.
    pub oom_kills: Option<u64>,
}

/// Reads `/proc/vmstat`.
///
/// # Errors
/// If none of its counters is there.
pub fn vmstat(text: &[u8]) -> Result<VmStat, ParseError> {
    let vm = VmStat {
        paged_in_kib: keyed(text, "pgpgin"),
        paged_out_kib: keyed(text, "pgpgout"),
        faults: keyed(text, "pgfault"),
        major_faults: keyed(text, "pgmajfault"),
        swapped_in_pages: keyed(text, "pswpin"),
        swapped_out_pages: keyed(text, "pswpout"),
        // One counter for both kinds before Linux 5.9.
        refaulted_file_pages: keyed(text, "workingset_refault_file")
            .or_else(|| keyed(text, "workingset_refault")),
        dirtied_pages: keyed(text, "nr_dirtied"),
        written_pages: keyed(text, "nr_written"),
        oom_kills: keyed(text, "oom_kill"),
    };
    match vm == VmStat::default() {
        true => Err(ParseError { format: "/proc/vmstat", missing: "pgfault" }),
        false => Ok(vm),
    }
}

/// What we use of `/proc/meminfo`, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemInfo {
    /// Memory there is.
    pub total_bytes: u64,
    /// Memory nobody uses.
    pub free_bytes: u64,
    /// Memory that could be had without swapping. Not there before Linux 3.14.
    pub available_bytes: Option<u64>,
    /// Page cache that must still be written back.
    pub dirty_bytes: Option<u64>,
    /// Page cache that is being written back.
    pub writeback_bytes: Option<u64>,
    /// Swap there is.
    pub swap_total_bytes: Option<u64>,
    /// Swap nobody uses.
    pub swap_free_bytes: Option<u64>,
}

/// Reads `/proc/meminfo`.
///
/// # Errors
/// If `MemTotal` or `MemFree` is missing.
pub fn meminfo(text: &[u8]) -> Result<MemInfo, ParseError> {
    let bytes = |key| keyed(text, key).map(|kib| kib.saturating_mul(1024));
    let needed = |key| bytes(key).ok_or(ParseError { format: "/proc/meminfo", missing: key });
    Ok(MemInfo {
        total_bytes: needed("MemTotal")?,
        free_bytes: needed("MemFree")?,
        available_bytes: bytes("MemAvailable"),
        dirty_bytes: bytes("Dirty"),
        writeback_bytes: bytes("Writeback"),
        swap_total_bytes: bytes("SwapTotal"),
        swap_free_bytes: bytes("SwapFree"),
    })
}

/// `/proc/loadavg`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadAvg {
    /// Tasks running, ready to run or waiting for a disk, mean over 1, 5 and 15 minutes.
    pub mean_tasks: [f64; 3],
    /// Tasks running or ready to run now.
    pub runnable_tasks: u64,
    /// Tasks there are.
    pub tasks: u64,
}

/// Reads `/proc/loadavg`.
///
/// # Errors
/// If one of its first four fields is missing.
pub fn loadavg(text: &[u8]) -> Result<LoadAvg, ParseError> {
    let missing = |missing| ParseError { format: "/proc/loadavg", missing };
    let mut parts = fields(text);
    let mut mean = || parts.next().and_then(fraction).ok_or(missing("mean"));
    let mean_tasks = [mean()?, mean()?, mean()?];
    let tasks = parts.next().ok_or(missing("tasks"))?;
    let slash = tasks.iter().position(|&byte| byte == b'/').ok_or(missing("/"))?;
    Ok(LoadAvg {
        mean_tasks,
        runnable_tasks: whole(&tasks[..slash]).ok_or(missing("runnable"))?,
        tasks: whole(&tasks[slash + 1..]).ok_or(missing("tasks"))?,
    })
}

/// Reads `/sys/dev/block/MAJOR:MINOR/stat`: the columns of `/proc/diskstats` without the name.
///
/// # Errors
/// If there are fewer than the eleven columns Linux 2.6 has.
pub fn disk_stat(text: &[u8]) -> Result<DiskCounts, ParseError> {
    let columns: Vec<Option<u64>> = fields(text).map(whole).collect();
    let number = |column: usize| columns.get(column - 1).copied().flatten();
    let needed =
        |column, missing| number(column).ok_or(ParseError { format: "/sys/block/DEVICE/stat", missing });
    Ok(DiskCounts {
        reads: needed(1, "reads")?,
        merged_reads: needed(2, "merged reads")?,
        read_bytes: sectors(needed(3, "sectors read")?),
        read_ms: needed(4, "read time")?,
        writes: needed(5, "writes")?,
        merged_writes: needed(6, "merged writes")?,
        write_bytes: sectors(needed(7, "sectors written")?),
        write_ms: needed(8, "write time")?,
        in_flight: needed(9, "in flight")?,
        io_ms: needed(10, "I/O time")?,
        queue_ms: needed(11, "time in queue")?,
        // Since Linux 4.18.
        discards: number(12),
        discard_bytes: number(14).map(sectors),
        // Since Linux 5.5.
        flushes: number(16),
        flush_ms: number(17),
    })
}

/// One device's line of `/proc/diskstats`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskLine {
    /// Major and minor number.
    pub device: (u32, u32),
    /// Name (`vda1`).
    pub name: String,
    /// Its counters.
    pub counts: DiskCounts,
}

/// Reads `/proc/diskstats`. Lines with fewer columns, as partitions had before Linux 2.6.25, are
/// passed over.
pub fn diskstats(text: &[u8]) -> Vec<DiskLine> {
    let line = |line: &[u8]| {
        let mut parts = fields(line);
        let device = (whole_u32(parts.next()?)?, whole_u32(parts.next()?)?);
        let name = parts.next()?;
        // The columns are what follows the name, which may also be a number elsewhere in the line.
        let after = name.as_ptr_range().end as usize - line.as_ptr() as usize;
        let counts = disk_stat(line.get(after..)?).ok()?;
        Some(DiskLine { device, name: String::from_utf8_lossy(name).into_owned(), counts })
    };
    lines(text).filter_map(line).collect()
}

/// Always 512 bytes in these files, whatever the device's own sectors are.
fn sectors(sectors: u64) -> u64 {
    sectors.saturating_mul(512)
}
