//! What a server's processes have used so far.
//!
//! - [`ProcessTree`] follows one or more root processes and all their descendants, or everything in
//!   a control group; [`ProcessTree::sample`] reads them all.
//! - [`TreeSample`] is one reading: [`TreeSample::counters`] grow and never go backwards while the
//!   tree lives, whoever exits; [`TreeSample::gauges`] go up and down.
//! - [`parse`]: the formats of `/proc/PID/*`, as pure functions.
//!
//! A sample never stops, signals or writes to the processes it reads. It cannot see a process that was
//! born and was gone between two samples, except through what the kernel added to its parent.

mod fold;
pub mod parse;
mod read;
mod sample;
#[cfg(test)]
mod simulation;
mod tree;

pub use sample::{ProcessId, ProcessSample, Storage, TreeSample, Usage};
pub use tree::ProcessTree;
