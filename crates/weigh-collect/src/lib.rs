//! Counters of processes, control groups and the host.
//!
//! - [`process`]: everything a server's processes have used so far, summed over the whole tree
//!   and monotone even when children exit ([`ProcessTree`], [`TreeSample`]).
//! - [`cgroup`]: which control groups this host offers ([`CgroupFacts`]) and what one has used
//!   ([`CgroupSample`]).
//! - [`host`]: CPU time with steal, paging, pressure, memory, the disk below a path, and how long
//!   our own threads waited for a CPU ([`HostSample`], [`DiskSample`], [`OwnSample`]).
//! - [`facts`]: what kind of machine this is ([`HostFacts`]).
//!
//! This room only reads. It never writes a file, starts a process or changes a setting, and depends
//! on no other room. Every parser is a pure function of bytes, apart from the code that reads them,
//! and never panics whatever the bytes are.

pub mod cgroup;
mod counters;
mod error;
pub mod facts;
pub mod host;
pub mod mounts;
pub mod process;
mod source;
mod text;

pub use cgroup::{CgroupFacts, CgroupSample};
pub use counters::{Counters, delta};
pub use error::{CollectError, ParseError};
pub use facts::HostFacts;
pub use host::{BlockDevice, DiskSample, HostDelta, HostSample, OwnSample};
pub use process::{ProcessTree, TreeSample};
