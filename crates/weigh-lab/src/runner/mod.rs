//! Rounds and trials: from a resolved plan to a stream of events.
//!
//! - [`execute`] drives a whole run; [`Execution`] says where its events go and how it is cancelled.
//! - [`Subject`] is what a trial is done to: servers under the load engine ([`server::ServerSubject`])
//!   or commands ([`command::CommandSubject`]).
//! - [`order`]: every random choice, from the run's seed.
//!
//! The runner folds its own events with the code a reader uses and asks `weigh-results` for the
//! judgment, so what ends a run is what its report shows. It never looks at a metric to choose an
//! order, a warm-up, a horizon or a round to set aside.

mod begin;
pub mod command;
mod error;
mod horizon;
mod interference;
pub mod order;
mod sequence;
pub mod server;
mod subject;
mod wait;

pub use begin::{Execution, execute, header, new_run_id};
pub use error::RunError;
pub use sequence::RunContext;
pub use subject::{Subject, TrialRequest};
