//! One load by itself: what `weigh load` does.
//!
//! - [`LoadRequest`]: what is asked; [`operations`]: its operations, from flags or a workload file.
//! - [`check`]: what can be known to be wrong before anything is connected.
//! - [`run`]: puts the load on the system and gives a [`LoadRecord`](weigh_results::model::load::LoadRecord), with a
//!   [`LoadInterval`](weigh_results::model::load::LoadInterval) about every second while it goes on.
//! - [`find_capacity`]: the highest rate whose p99 stays within a bound; `search.rs` decides which rate comes next,
//!   `step.rs` whether it was kept.
//!
//! Nothing is created, configured or cleaned up on the system: what is sent is the operations that were asked for,
//! nothing else. Nothing is printed and nothing is stored.

mod capacity;
mod convert;
mod flags;
mod once;
mod parameter;
mod request;
mod search;
mod step;
mod watch;

pub use capacity::{CapacityBound, CapacityEvent, find_capacity};
pub(crate) use convert::schedule;
pub use flags::{LoadMistake, OperationFlags, OperationSource, operations};
pub use once::{check, run};
pub use request::{LoadRequest, rate};
