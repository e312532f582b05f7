//! Workers that keep clients busy and record what they see.
//!
//! - [`connect`], [`start`] and [`RunningLoad`] (`run.rs`): threads, the common start, cancelling, joining.
//! - `socket/`: one thread, one event loop, its share of the connections.
//! - `inline_worker.rs`: the same for clients that run in the worker's own thread.
//! - `blocking.rs`: a socket client driven by an inline one, which asks several servers in turn.
//! - `timeline.rs`: the clock; when operations are counted and given up: window and limits.
//! - `arrivals.rs`: when operations are due in an open loop; `pace.rs`: how that schedule is kept.
//! - `recorder.rs`: histograms, bins, errors; `usage.rs`: what the worker's thread itself cost.
//! - `merge.rs`: all of that added up at the end; `publish.rs`: while the load runs.
//!
//! A worker never takes a lock, never allocates per operation and never hands an operation to another thread.

mod arrivals;
mod blocking;
mod inline_worker;
mod merge;
mod pace;
mod publish;
mod recorder;
mod run;
mod socket;
mod thread_setup;
mod timeline;
mod usage;
mod worker;

pub use blocking::BlockingClient;
pub use run::{CancelHandle, ConnectedLoad, RunningLoad, connect, start};
pub use timeline::Limits;
