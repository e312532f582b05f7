//! Whether the parts of an experiment fit together, before any system is asked.
//!
//! - [`check`]: the door; it serves files and flags alike: it looks at an [`Experiment`](super::Experiment) and lets
//!   its origin say where a mistake stands.
//! - `system`: the system and its URL; `workload`: operations, commands and what they would write; `load`: the load
//!   and the metrics; `variants`: keys, levels, names.
//!
//! It decides nothing and changes nothing.

mod checker;
mod load;
mod system;
mod variants;
mod workload;

pub(super) use checker::{check, operations};
pub(super) use workload::PERMISSION;
