//! Workers that keep clients busy and record what they see.
//!
//! - [`connect`], [`start`] and [`RunningLoad`] (`run.rs`): threads, the common start, cancelling, joining, merging.
//! - `socket_worker.rs`: one thread, one event loop, its share of the connections; `link.rs`: one of them.
//! - `inline_worker.rs`: the same for clients that run in the worker's own thread.
//! - `timeline.rs`: when operations are sent, counted and given up: schedule, window and limits.
//! - `recorder.rs`: histograms, bins, errors; `usage.rs`: what the worker's thread itself cost.
//!
//! A worker never takes a lock, never allocates per operation and never hands an operation to another thread.

mod inline_worker;
mod link;
mod recorder;
mod run;
mod socket_worker;
mod thread_setup;
mod timeline;
mod usage;
mod worker;

pub use run::{CancelHandle, ConnectedLoad, RunningLoad, connect, start};
pub use timeline::Limits;
