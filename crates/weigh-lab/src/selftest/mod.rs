//! The self-test: whether the engine measures right on this machine.
//!
//! - [`run`]: makes the checks, gives a [`weigh_results::model::selftest::SelftestRecord`]; [`Setting`]: what it
//!   needs to know; [`SelftestEvent`]: how far it is.
//! - [`answer_as_child`]: the body of the server process that is stopped when no real server is installed.
//! - `clock.rs`, `percentiles.rs`, `delays.rs`, `arrivals.rs`, `frozen.rs`, `counts.rs`, `cost.rs`: a check each.
//! - `witness.rs`: what the machine does to a thread that only wants to be on time.
//! - `server.rs`, `client.rs`: a server that knows exactly what it did, and the driver that speaks to it.
//!
//! A check compares what the engine reports with something that does not come from the engine: another thread's
//! reading of the clock, exact order statistics, the kernel's own accounts. It must never judge a time while the
//! machine is busy, and never pass what it did not judge.

mod arrivals;
mod client;
mod clock;
mod cores;
mod cost;
mod counts;
mod delays;
mod error;
mod frozen;
mod load;
mod order;
mod percentiles;
mod run;
mod server;
mod victim;
mod watch;
mod witness;

pub use error::SelftestError;
pub use run::{SelftestEvent, Setting, run};
pub use victim::{ServerProgram, answer_as_child};
