//! Experiments: a TOML file, a shipped file, or command-line flags → a validated [`Experiment`].
//!
//! Nothing in here starts a process, opens a socket or looks at a server. Every mistake is a
//! [`ExperimentError`] with file, line, column, what was expected and the nearest valid key.

mod check;
mod combine;
mod error;
mod expand;
mod file;
mod flags;
mod generators;
mod keys;
mod level;
mod model;
mod origin;
mod read;
mod secret;
mod shipped;
mod sql;
mod text;
mod vars;
mod write;

pub(crate) use combine::{Combination, combinations};
pub(crate) use error::list_names;
pub use error::{ExperimentError, ExperimentErrors, Position};
pub(crate) use expand::expand;
pub use file::{find, load};
pub use flags::{CommandFlags, FlagExperiment, SqlSource, from_commands, from_flags};
pub use keys::SystemKey;
pub use level::VARIANTS_MAX;
pub use model::{
    CommandSection, CommandText, CommandsSection, Experiment, Factor, JudgeSection, Level, LoadSection,
    OperationSection, OperationText, RequestText, SystemSection, TextKind, VariantSection, WorkloadSection,
};
pub(crate) use origin::Half;
pub use origin::Origin;
pub(crate) use read::parse_rate;
pub use read::{parse, read_workload};
pub use secret::without_password;
pub use shipped::{Shipped, shipped};
