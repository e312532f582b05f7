//! The lab: from an experiment to a stored run.
//!
//! - [`experiment`]: the TOML file, the flags, the shipped files → a validated [`experiment::Experiment`].
//! - [`plan`]: experiment + what the system can do → [`plan::ResolvedPlan`]; nothing is started yet.
//! - [`systems`]: the things under test; one static table, a folder per system.
//! - [`runner`]: rounds and trials; one stream of events to recorder and screen.
//! - [`host`]: every change to the host, and its undo.
//! - [`load`]: one load by itself, and the search for the highest rate that is kept.
//! - [`selftest`]: whether the engine measures right on this machine.
//!
//! This room never prints and never reads the command line.

pub mod events;
pub mod experiment;
pub mod host;
pub mod load;
pub mod plan;
pub mod runner;
pub mod selftest;
pub mod systems;
