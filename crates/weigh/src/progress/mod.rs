//! What is seen while a run goes on, on standard error.
//!
//! [`Progress`] takes every event of the runner. On a terminal the [`table`] is redrawn in place; elsewhere there are
//! [`plain`] lines now and then; with `--quiet` nothing. What is shown is made in [`weigh_results::report::live`]; here
//! it only meets the terminal.
//!
//! Everything happens in the call, which is between two trials: there is no ticking thread that would take
//! CPU time from a server under load.

mod plain;
mod show;
mod table;

pub(crate) use show::Progress;
pub(crate) use table::live_region;
