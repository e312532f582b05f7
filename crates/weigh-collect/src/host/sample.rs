//! One reading of the whole host, and what two of them say about the time between.

use std::time::{Duration, Instant};

use super::parse::{self, CpuTimes, LoadAvg, MemInfo, Stat, VmStat};
use super::pressure::{Pressure, pressure};
use crate::counters::{Counters, Tally};
use crate::error::CollectError;
use crate::source::{Reader, page_bytes, ticks_to_ns, ticks_to_us};

/// The host's counters and levels at one moment.
#[derive(Clone, Debug)]
pub struct HostSample {
    /// When it was read.
    pub taken: Instant,
    /// CPU time by kind, context switches, interrupts.
    pub stat: Stat,
    /// Paging.
    pub vm: VmStat,
    /// Memory.
    pub memory: MemInfo,
    /// Load.
    pub load: LoadAvg,
    /// Waiting for a CPU; `None` if the kernel keeps no pressure figures.
    pub cpu_pressure: Option<Pressure>,
    /// Waiting for I/O.
    pub io_pressure: Option<Pressure>,
    /// Waiting for memory.
    pub memory_pressure: Option<Pressure>,
}

/// Shares of a window in which somebody waited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PressureShares {
    /// At least one task waited.
    pub some: f64,
    /// Every task that was not idle waited.
    pub full: Option<f64>,
}

/// What happened on the host between two samples. Fractions are of the time of all CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostDelta {
    /// Length of the window.
    pub window: Duration,
    /// CPUs that were online.
    pub cpus: usize,
    /// Ready to run, but the hypervisor ran somebody else.
    pub steal: f64,
    /// Doing something.
    pub busy: f64,
    /// Nothing to do while somebody waited for a disk.
    pub iowait: f64,
    /// CPU time of everybody, in clock ticks.
    pub busy_time: Duration,
    /// Share of the window in which tasks waited for a CPU.
    pub cpu_pressure: Option<PressureShares>,
    /// Share of the window in which tasks waited for I/O.
    pub io_pressure: Option<PressureShares>,
    /// Share of the window in which tasks waited for memory.
    pub memory_pressure: Option<PressureShares>,
}

impl HostDelta {
    /// Fraction of all CPUs' time used by anybody but `known` (server and client together), and never
    /// below zero: the host's clock ticks are coarser than a process's own time.
    pub fn other_busy(&self, known: Duration) -> f64 {
        let capacity_s = self.window.as_secs_f64() * self.cpus as f64;
        match capacity_s > 0.0 {
            true => (self.busy_time.saturating_sub(known).as_secs_f64() / capacity_s).min(1.0),
            false => 0.0,
        }
    }
}

impl HostSample {
    /// Reads the host's files.
    ///
    /// # Errors
    /// If one of `stat`, `vmstat`, `meminfo`, `loadavg` cannot be read or understood.
    pub fn read() -> Result<HostSample, CollectError> {
        let mut reader = Reader::default();
        Ok(HostSample {
            taken: Instant::now(),
            stat: reader.parsed("/proc/stat", parse::stat)?,
            vm: reader.parsed("/proc/vmstat", parse::vmstat)?,
            memory: reader.parsed("/proc/meminfo", parse::meminfo)?,
            load: reader.parsed("/proc/loadavg", parse::loadavg)?,
            cpu_pressure: reader.optional("/proc/pressure/cpu", pressure)?,
            io_pressure: reader.optional("/proc/pressure/io", pressure)?,
            memory_pressure: reader.optional("/proc/pressure/memory", pressure)?,
        })
    }

    /// What grows: `host.cpu_user_us`, `host.context_switches`, `host.page_out_bytes`,
    /// `host.psi_cpu_some_us` and so on.
    pub fn counters(&self) -> Counters {
        let mut tally = Tally::new("host");
        let CpuTimes { user, nice, system, idle, iowait, irq, softirq, steal } = self.stat.cpu;
        let kinds = [
            ("cpu_user_us", user),
            ("cpu_nice_us", nice),
            ("cpu_system_us", system),
            ("cpu_idle_us", idle),
            ("cpu_iowait_us", iowait),
            ("cpu_irq_us", irq),
            ("cpu_softirq_us", softirq),
            ("cpu_steal_us", steal),
        ];
        for (name, ticks) in kinds {
            tally.add(name, ticks_to_us(ticks));
        }
        tally.add_known("context_switches", self.stat.context_switches);
        tally.add_known("interrupts", self.stat.interrupts);
        tally.add_known("forks", self.stat.forks);
        self.tally_paging(&mut tally);
        for (name, pressure) in self.pressures() {
            if let Some(pressure) = pressure {
                pressure.tally(&mut tally, name);
            }
        }
        tally.finish()
    }

    fn tally_paging(&self, tally: &mut Tally) {
        let kib = |kib: Option<u64>| kib.map(|kib| kib.saturating_mul(1024));
        let pages = |pages: Option<u64>| pages.map(|pages| pages.saturating_mul(page_bytes()));
        tally.add_known("page_in_bytes", kib(self.vm.paged_in_kib));
        tally.add_known("page_out_bytes", kib(self.vm.paged_out_kib));
        tally.add_known("faults", self.vm.faults);
        tally.add_known("major_faults", self.vm.major_faults);
        tally.add_known("swap_in_bytes", pages(self.vm.swapped_in_pages));
        tally.add_known("swap_out_bytes", pages(self.vm.swapped_out_pages));
        tally.add_known("refault_bytes", pages(self.vm.refaulted_file_pages));
        tally.add_known("dirtied_bytes", pages(self.vm.dirtied_pages));
        tally.add_known("written_back_bytes", pages(self.vm.written_pages));
        tally.add_known("oom_kills", self.vm.oom_kills);
    }

    /// Levels: `host.total_bytes`, `host.free_bytes`, `host.available_bytes`, `host.dirty_bytes`,
    /// `host.writeback_bytes`, `host.swap_used_bytes`, `host.load_tasks`, `host.runnable_tasks`.
    pub fn gauges(&self) -> Counters {
        let mut tally = Tally::new("host");
        tally.add("total_bytes", self.memory.total_bytes);
        tally.add("free_bytes", self.memory.free_bytes);
        tally.add_known("available_bytes", self.memory.available_bytes);
        tally.add_known("dirty_bytes", self.memory.dirty_bytes);
        tally.add_known("writeback_bytes", self.memory.writeback_bytes);
        let swap = self.memory.swap_total_bytes.zip(self.memory.swap_free_bytes);
        tally.add_known("swap_used_bytes", swap.map(|(total, free)| total.saturating_sub(free)));
        tally.add_f64("load_tasks", self.load.mean_tasks[0]);
        tally.add("runnable_tasks", self.load.runnable_tasks);
        tally.finish()
    }

    /// What happened between `earlier` and this sample.
    pub fn delta(&self, earlier: &HostSample) -> HostDelta {
        let window = self.taken.saturating_duration_since(earlier.taken);
        let ticks = self.stat.cpu.since(&earlier.stat.cpu);
        let total = ticks.total();
        let share = |part: u64| if total > 0 { part as f64 / total as f64 } else { 0.0 };
        let shares = |now: Option<Pressure>, then: Option<Pressure>| {
            now.zip(then).map(|(now, then)| pressure_shares(now, then, window))
        };
        HostDelta {
            window,
            cpus: self.stat.cpus.len().max(1),
            steal: share(ticks.steal),
            busy: share(ticks.busy()),
            iowait: share(ticks.iowait),
            busy_time: Duration::from_nanos(ticks_to_ns(ticks.busy())),
            cpu_pressure: shares(self.cpu_pressure, earlier.cpu_pressure),
            io_pressure: shares(self.io_pressure, earlier.io_pressure),
            memory_pressure: shares(self.memory_pressure, earlier.memory_pressure),
        }
    }

    fn pressures(&self) -> [(&'static str, Option<Pressure>); 3] {
        [("cpu", self.cpu_pressure), ("io", self.io_pressure), ("memory", self.memory_pressure)]
    }
}

fn pressure_shares(now: Pressure, then: Pressure, window: Duration) -> PressureShares {
    let window_us = window.as_secs_f64() * 1e6;
    let share = |now: u64, then: u64| match window_us > 0.0 {
        true => (now.saturating_sub(then) as f64 / window_us).min(1.0),
        false => 0.0,
    };
    PressureShares {
        some: share(now.some_us, then.some_us),
        full: now.full_us.zip(then.full_us).map(|(now, then)| share(now, then)),
    }
}
