//! The facts, and what they are called.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cgroup::CgroupFacts;
use crate::host::BlockDevice;

/// What kind of machine this is. `None` is what could not be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Host name.
    pub hostname: Option<String>,
    /// Distribution and version (`Debian GNU/Linux 12 (bookworm)`).
    pub os: Option<String>,
    /// Kernel release (`6.1.0-18-amd64`).
    pub kernel: Option<String>,
    /// Machine architecture (`x86_64`).
    pub architecture: String,
    /// Processors.
    pub cpu: CpuFacts,
    /// Memory.
    pub memory: MemoryFacts,
    /// Clocks.
    pub clock: ClockFacts,
    /// Hypervisor and container.
    pub virtualisation: VirtualisationFacts,
    /// What is below the work directory.
    pub storage: StorageFacts,
    /// Control groups.
    pub cgroups: CgroupFacts,
    /// Whether the kernel keeps pressure figures (`/proc/pressure`).
    pub pressure: bool,
    /// Whether the kernel keeps run-queue waits (`/proc/PID/schedstat`).
    pub schedstat: bool,
    /// Kernel settings that change what a measurement shows, by name (`vm.dirty_ratio`).
    pub sysctls: BTreeMap<String, String>,
}

/// Processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuFacts {
    /// Model.
    pub model: Option<String>,
    /// CPUs online.
    pub online: Option<u32>,
    /// CPUs this process may run on, by number.
    pub allowed: Option<Vec<u32>>,
    /// CPU time our control group, or one above it, is limited to, as a number of CPUs; `None` without a limit.
    pub quota_cpus: Option<f64>,
    /// Frequency governor; `None` where frequency is not for this system to set.
    pub governor: Option<String>,
    /// Whether two CPUs can be threads of one core.
    pub smt: Option<bool>,
}

/// Memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryFacts {
    /// Memory there is, bytes.
    pub total_bytes: Option<u64>,
    /// Memory that can be had without swapping, bytes.
    pub available_bytes: Option<u64>,
    /// Memory our control group, or one above it, is limited to, bytes; `None` without a limit.
    pub limit_bytes: Option<u64>,
    /// Swap there is, bytes.
    pub swap_bytes: Option<u64>,
    /// Transparent huge pages (`always`, `madvise`, `never`).
    pub huge_pages: Option<String>,
}

/// Clocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// Clock source in use (`tsc`).
    pub source: Option<String>,
    /// Clock sources that could be used.
    pub available: Vec<String>,
    /// The kernel's timer ticks per second (`CONFIG_HZ`), if its configuration can be read. Waiting
    /// threads are often put on a CPU at a tick, so latencies of a busy host cluster at its multiples.
    pub tick_hz: Option<u32>,
}

/// Hypervisor and container, as far as any is visible.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VirtualisationFacts {
    /// Hypervisor (`KVM`, `Xen`, `Amazon EC2`), or `unnamed` if only the CPU shows that there is one.
    pub hypervisor: Option<String>,
    /// Container technology (`docker`, `lxc`), or `unnamed` if only the namespaces show it.
    pub container: Option<String>,
}

/// What is below a directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StorageFacts {
    /// The directory.
    pub path: PathBuf,
    /// Type of its file system (`ext4`).
    pub file_system: Option<String>,
    /// What is mounted (`/dev/vda1`).
    pub source: Option<String>,
    /// Options of the mount and of the file system.
    pub mount_options: Vec<String>,
    /// Whether the files live in memory, where syncing costs nothing.
    pub in_memory: Option<bool>,
    /// Size of the file system, bytes.
    pub total_bytes: Option<u64>,
    /// What an ordinary user can still write to it, bytes.
    pub free_bytes: Option<u64>,
    /// The block device that carries it.
    pub device: Option<BlockDevice>,
    /// What the disk says of itself: whether it turns. Virtual disks often say so and do not.
    pub rotational: Option<bool>,
    /// Readahead, KiB.
    pub readahead_kib: Option<u64>,
    /// I/O scheduler (`mq-deadline`).
    pub scheduler: Option<String>,
    /// Whether the disk has a volatile cache that must be flushed (`write back`) or not (`write through`).
    pub write_cache: Option<String>,
    /// Bytes in one logical sector.
    pub sector_bytes: Option<u64>,
}
