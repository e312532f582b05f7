//! The report of one load: pure functions of a [`LoadRecord`](crate::model::load::LoadRecord).
//!
//! - [`summary`]: percentiles with what is behind each, and how they differ from second to second.
//! - [`doubts`]: reasons not to trust the figures.
//! - [`page`]: what a reader sees; [`live`]: while the load goes on; [`json`]: everything, for programs.
//! - [`hlog`]: the intervals in HdrHistogram's log format.
//! - [`capacity`]: a search for the highest rate, step by step.
//!
//! A percentile that rests on fewer than ten operations beyond it is never shown as if it were known.

mod bars;
pub mod capacity;
pub mod doubts;
pub mod hlog;
pub mod json;
pub mod live;
pub mod page;
pub mod summary;

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
fn number(count: u64) -> f64 {
    count as f64
}

/// Nanoseconds as seconds.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds up to one hour are exact")]
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Per something; 0 when there was none of it.
fn per(value: f64, of: f64) -> f64 {
    if of > 0.0 { value / of } else { 0.0 }
}
