//! Stored runs side by side, two or more.
//!
//! - [`compare`] gives a [`RunComparison`]; [`render`] and [`json`] show it.
//! - [`conditions`]: facts of each run, those that differ among them; [`machine_changed`]: the doubt they give.
//! - [`figures`]: medians of the variants that runs share; [`ordinal`]: what a run is called beside others.
//!
//! Trials of different runs were not taken in turn, so a ratio across runs is never a verdict: it is shown
//! for orientation, always together with the doubt
//! [`MachineChanged`](crate::doubt::DoubtKind::MachineChanged) and what is known to differ. What does
//! compare is each variant's ratio to the baseline *of its own run*.

mod conditions;
mod facts;
mod show;

pub use conditions::{Condition, conditions, machine_changed};
pub use facts::{CompareError, Effect, RunComparison, SideBySide, compare, figures};
pub use show::{json, ordinal, render};
