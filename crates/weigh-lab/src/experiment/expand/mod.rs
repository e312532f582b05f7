//! One combination of levels → a [`ResolvedVariant`](crate::plan::ResolvedVariant) with nothing left to substitute.
//!
//! - [`expand`]: one variant; [`operations`]: the operations of a workload by themselves.
//! - `operation`: one operation; `sql`, `command`, `request`: its text, by kind; `parameters`: its generators.
//!
//! Reports what only shows once variables are filled in: undefined or cyclic variables, texts whose parameters do
//! not match, generators that make no sense, counts that are none, weights that are all 0.

mod command;
mod operation;
mod parameters;
mod request;
mod schedule;
mod sql;
mod variant;

pub(crate) use variant::expand;
pub(super) use variant::operations;
