//! The load engine: keeps clients busy on a system and says how long each operation took.
//!
//! - [`LoadSpec`]: clients, threads, warm-up, measured window, operations and their weights, and the [`Schedule`]:
//!   a closed loop, or an open one that does not wait for the system.
//! - [`Driver`]: what a protocol or an in-process system supplies; `weigh-drivers` holds them.
//! - [`start`] (or [`connect`] and [`ConnectedLoad::begin`]) gives a [`RunningLoad`]: the caller samples its
//!   counters at [`RunningLoad::measure_begins`] and [`RunningLoad::measure_ends`], may watch
//!   [`RunningLoad::snapshot`]s, then takes the [`LoadReport`].
//! - [`generator`]: seeded parameters of operations, the same stream for every variant of a round.
//! - [`null::NullDriver`]: operations that do nothing, to measure the engine itself.
//! - [`stall`]: what an open loop must report when a server stood still: the truth that figures are held against.
//!
//! This room knows no protocol, no experiment and no statistics. On the hot path there is no lock,
//! no allocation and no cross-thread hop per operation.

mod driver;
mod engine;
mod error;
pub mod generator;
pub mod null;
mod report;
mod spec;
pub mod stall;

pub use driver::{Connection, Decoded, Driver, DriverError, InlineClient, Outcome, Replies, SocketClient};
pub use engine::{BlockingClient, CancelHandle, ConnectedLoad, Limits, RunningLoad, connect, start};
pub use error::LoadError;
pub use report::{FIRST_CALLS, LoadReport, LoadSnapshot, OperationReport, ScheduleReport};
pub use spec::{Arrivals, LoadSpec, Operation, RATE_LIMIT_PER_S, Schedule};
