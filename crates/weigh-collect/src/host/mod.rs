//! The host as a whole, and our own place in it.
//!
//! - [`HostSample`]: CPU time by kind with steal, paging, memory, load and pressure;
//!   [`HostSample::delta`] gives a [`HostDelta`] with the fractions that tell whether a trial was disturbed.
//! - [`BlockDevice`], [`DiskSample`]: the disk below a path and its own counters.
//! - [`OwnSample`]: how long our own threads ran, and waited for a CPU.
//! - [`parse`], [`pressure`]: the formats, as pure functions.
//!
//! These are counters of the whole machine: everybody on it is in them, not only the server.

mod device;
mod disk;
mod own;
pub mod parse;
pub mod pressure;
mod sample;

pub use device::BlockDevice;
pub use disk::{DiskCounts, DiskSample};
pub use own::{OwnDelta, OwnSample};
pub use sample::{HostDelta, HostSample, PressureShares};
