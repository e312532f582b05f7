//! Experiments from the command line: the same sections, checked by the same rules, with errors that name
//! the flag instead of a line.
//!
//! - [`from_flags`]: `weigh run --system … --set … --sql …`.
//! - [`from_commands`]: `weigh commands …`.
//!
//! The caller has split the arguments and read the files; nothing here looks at the command line or a disk.

mod commands;
mod levels;
mod run;
mod sql_file;
mod typed;

pub use commands::{CommandFlags, from_commands};
pub use run::{FlagExperiment, SqlSource, from_flags};
