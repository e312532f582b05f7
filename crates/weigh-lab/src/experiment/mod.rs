//! Experiments: a TOML file, a shipped file, or command-line flags → a validated [`Experiment`].
//!
//! Nothing in here starts a process, opens a socket or looks at a server. Every mistake is a
//! [`ExperimentError`] with file, line, column, what was expected and the nearest valid key.

mod model;

pub use model::{
    Experiment, Factor, JudgeSection, Level, LoadSection, OperationSection, SystemSection, VariantSection,
    WorkloadSection,
};
