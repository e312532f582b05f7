//! Looks the facts up.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::sys::statvfs::statvfs;
use nix::unistd::Pid;

use super::model::{ClockFacts, CpuFacts, HostFacts, MemoryFacts, StorageFacts, VirtualisationFacts};
use super::parse;
use crate::cgroup::CgroupFacts;
use crate::cgroup::parse::cpu_max;
use crate::host::{BlockDevice, parse as host};
use crate::mounts::{self, Mount};
use crate::text::{first_whole, trimmed};

/// Settings that change what a measurement shows.
const SYSCTLS: &[&str] = &[
    "kernel.numa_balancing",
    "kernel.perf_event_paranoid",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_cfs_bandwidth_slice_us",
    "kernel.sched_latency_ns",
    "kernel.sched_min_granularity_ns",
    "kernel.sched_rt_runtime_us",
    "kernel.task_delayacct",
    "net.core.somaxconn",
    "net.ipv4.tcp_congestion_control",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.overcommit_memory",
    "vm.swappiness",
    "vm.vfs_cache_pressure",
    "vm.zone_reclaim_mode",
];

/// The pid namespace a host boots with (`PROC_PID_INIT_INO` in the kernel's `proc_ns.h`).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

impl HostFacts {
    /// Looks everything up; `work_dir` is where data will be kept. Takes a few milliseconds.
    pub fn read(work_dir: &Path) -> HostFacts {
        let cgroups = CgroupFacts::read().unwrap_or_default();
        HostFacts {
            hostname: text("/proc/sys/kernel/hostname"),
            os: ["/etc/os-release", "/usr/lib/os-release"]
                .iter()
                .find_map(|path| parse::os_release(&bytes(path)?, "PRETTY_NAME")),
            kernel: text("/proc/sys/kernel/osrelease"),
            architecture: std::env::consts::ARCH.to_owned(),
            cpu: cpu(&cgroups),
            memory: memory(&cgroups),
            clock: clock(),
            virtualisation: virtualisation(),
            storage: StorageFacts::read(work_dir),
            pressure: Path::new("/proc/pressure/cpu").exists(),
            schedstat: Path::new("/proc/self/schedstat").exists(),
            sysctls: sysctls(),
            cgroups,
        }
    }
}

impl StorageFacts {
    /// What is below `path`; if that does not exist yet, below the nearest directory that does.
    pub fn read(path: &Path) -> StorageFacts {
        let path = path.ancestors().find_map(|path| fs::canonicalize(path).ok()).unwrap_or_default();
        let mounts = mounts::read().unwrap_or_default();
        let mount = mounts::covering(&mounts, &path);
        let size = statvfs(&path).ok();
        let device = BlockDevice::below(&path).ok().flatten();
        let queue = device.as_ref().map(BlockDevice::queue_directory);
        let setting = |name: &str| bytes(queue.as_ref()?.join(name));
        StorageFacts {
            file_system: mount.map(|mount| mount.kind.clone()),
            source: mount.map(|mount| mount.source.clone()),
            mount_options: mount.map(options).unwrap_or_default(),
            in_memory: mount.map(|mount| matches!(mount.kind.as_str(), "tmpfs" | "ramfs" | "devtmpfs")),
            total_bytes: size.map(|size| size.blocks().saturating_mul(size.fragment_size())),
            free_bytes: size.map(|size| size.blocks_available().saturating_mul(size.fragment_size())),
            rotational: setting("rotational").and_then(|text| first_whole(&text)).map(|flag| flag != 0),
            readahead_kib: setting("read_ahead_kb").and_then(|text| first_whole(&text)),
            scheduler: setting("scheduler").and_then(|text| parse::chosen(&text)),
            write_cache: setting("write_cache").map(|text| trimmed(&text)),
            sector_bytes: setting("logical_block_size").and_then(|text| first_whole(&text)),
            device,
            path,
        }
    }
}

/// Options of the mount and of the file system, those both have once.
fn options(mount: &Mount) -> Vec<String> {
    let of_file_system = mount.super_options.iter().filter(|option| !mount.options.contains(option));
    mount.options.iter().chain(of_file_system).cloned().collect()
}

fn cpu(cgroups: &CgroupFacts) -> CpuFacts {
    let cpu = Path::new("/sys/devices/system/cpu");
    CpuFacts {
        model: bytes("/proc/cpuinfo").and_then(|text| parse::cpu_model(&text)),
        online: bytes("/proc/stat")
            .and_then(|text| host::stat(&text).ok())
            .and_then(|stat| u32::try_from(stat.cpus.len()).ok()),
        allowed: allowed_cpus(),
        quota_cpus: quota_cpus(cgroups),
        governor: text(cpu.join("cpu0/cpufreq/scaling_governor")),
        smt: bytes(cpu.join("smt/active")).and_then(|text| first_whole(&text)).map(|flag| flag != 0),
    }
}

fn allowed_cpus() -> Option<Vec<u32>> {
    let set = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let cpus = (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false));
    Some(cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// The tightest CPU limit on the way from our group to the root of its hierarchy.
fn quota_cpus(cgroups: &CgroupFacts) -> Option<f64> {
    let v2 = cgroups.v2.iter().flat_map(|v2| up(&v2.own, &v2.mount_point)).filter_map(|directory| {
        bytes(directory.join("cpu.max")).and_then(|text| cpu_max(&text).ok()?.cpus())
    });
    let v1 = cgroups.v1.get("cpu").into_iter().flat_map(|v1| up(&v1.own, &v1.mount_point)).filter_map(
        |directory| {
            // Minus one, which is not a whole number here, means no limit.
            let quota_us = first_whole(&bytes(directory.join("cpu.cfs_quota_us"))?)?;
            let period_us = first_whole(&bytes(directory.join("cpu.cfs_period_us"))?)?;
            (period_us > 0).then(|| quota_us as f64 / period_us as f64)
        },
    );
    v2.chain(v1).min_by(f64::total_cmp)
}

fn memory(cgroups: &CgroupFacts) -> MemoryFacts {
    let info = bytes("/proc/meminfo").and_then(|text| host::meminfo(&text).ok());
    let v2 = cgroups.v2.iter().flat_map(|v2| up(&v2.own, &v2.mount_point)).map(|dir| dir.join("memory.max"));
    let v1 = cgroups.v1.get("memory").into_iter().flat_map(|v1| up(&v1.own, &v1.mount_point));
    let limits = v2.chain(v1.map(|directory| directory.join("memory.limit_in_bytes")));
    let total_bytes = info.map(|info| info.total_bytes);
    MemoryFacts {
        total_bytes,
        available_bytes: info.and_then(|info| info.available_bytes),
        // Version 1 writes "no limit" as a number larger than any memory.
        limit_bytes: limits
            .filter_map(|file| first_whole(&bytes(file)?))
            .min()
            .filter(|&limit| total_bytes.is_none_or(|total| limit < total)),
        swap_bytes: info.and_then(|info| info.swap_total_bytes),
        huge_pages: bytes("/sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|text| parse::chosen(&text)),
    }
}

/// A group's directory and those above it, up to where the hierarchy is mounted.
fn up<'p>(own: &'p Path, mount_point: &'p Path) -> impl Iterator<Item = &'p Path> {
    own.ancestors().take_while(move |path| path.starts_with(mount_point))
}

fn clock() -> ClockFacts {
    let directory = Path::new("/sys/devices/system/clocksource/clocksource0");
    ClockFacts {
        source: text(directory.join("current_clocksource")),
        available: text(directory.join("available_clocksource"))
            .map(|names| names.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default(),
        tick_hz: tick_hz(),
    }
}

/// From the running kernel's configuration, or from the file its package left beside it.
fn tick_hz() -> Option<u32> {
    let running = || {
        let mut config = Vec::new();
        let file = File::open("/proc/config.gz").ok()?;
        GzDecoder::new(file).take(16 << 20).read_to_end(&mut config).ok()?;
        parse::config_hz(&config)
    };
    let release = text("/proc/sys/kernel/osrelease")?;
    let boot = || {
        let places = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
        places.iter().find_map(|path| parse::config_hz(&bytes(path)?))
    };
    running().or_else(boot)
}

fn virtualisation() -> VirtualisationFacts {
    let dmi = |name: &str| text(PathBuf::from("/sys/class/dmi/id").join(name)).unwrap_or_default();
    let firmware = || parse::hypervisor_of_firmware(&dmi("sys_vendor"), &dmi("product_name"));
    let announced = || parse::has_hypervisor_flag(&bytes("/proc/cpuinfo").unwrap_or_default());
    VirtualisationFacts {
        hypervisor: firmware()
            .map(str::to_owned)
            .or_else(|| text("/sys/hypervisor/type"))
            .or_else(|| announced().then(|| "unnamed".to_owned())),
        container: container(),
    }
}

fn container() -> Option<String> {
    let marks = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let marked = marks.iter().find(|(path, _)| Path::new(path).exists()).map(|&(_, name)| name.to_owned());
    marked
        .or_else(|| text("/run/systemd/container"))
        .or_else(|| Some(parse::container_of_cgroup(&bytes("/proc/1/cgroup")?)?.to_owned()))
        .or_else(|| {
            let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
            (namespace != Path::new(FIRST_PID_NAMESPACE)).then(|| "unnamed".to_owned())
        })
}

fn sysctls() -> BTreeMap<String, String> {
    let value = |&name: &&str| {
        let path = Path::new("/proc/sys").join(name.replace('.', "/"));
        Some((name.to_owned(), text(path)?))
    };
    SYSCTLS.iter().filter_map(value).collect()
}

fn bytes(path: impl AsRef<Path>) -> Option<Vec<u8>> {
    fs::read(path).ok()
}

/// The file's text without blanks at its ends; `None` if it is empty.
fn text(path: impl AsRef<Path>) -> Option<String> {
    bytes(path).map(|bytes| trimmed(&bytes)).filter(|text| !text.is_empty())
}
