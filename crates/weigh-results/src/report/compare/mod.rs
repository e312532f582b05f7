//! Two stored runs side by side.
//!
//! - [`compare`] gives a [`RunComparison`]; [`render`] and [`json`] show it.
//!
//! Trials of different runs were not taken in turn, so a ratio across runs is never a verdict: it is shown
//! for orientation, always together with the doubt
//! [`MachineChanged`](crate::doubt::DoubtKind::MachineChanged) and what is known to differ. What does
//! compare is each variant's ratio to the baseline *of its own run*.

mod conditions;
mod facts;
mod show;

pub use facts::{CompareError, EffectChange, RunComparison, SideBySide, compare};
pub use show::{json, render};
