//! Estimators, sequential intervals and verdicts.
//!
//! The way of a verdict: one value per trial → log ratios against the baseline of the same round
//! ([`huber::LogRatios`]) → an interval at a look of the group-sequential boundary
//! ([`boundary::Boundary`], [`huber::clustered_huber`]) → a ruling ([`verdict::decide`]). Costs per operation
//! go through [`totals`]; [`checks`] says when a result must be withheld; [`planner`] says what more
//! time would bring. `docs/methods.md` explains every step in words and shows the evidence.
//!
//! - Data: [`huber::LogRatios`], [`totals::Totals`]. Result: [`Interval`].
//! - How much to measure: [`boundary`], [`planner`], [`replication`], [`quantiles`], [`warmup`].
//! - Many questions at once: [`multiplicity`], [`best`]. Along a numeric factor: [`growth`].
//!   Several factors at once: [`factorial`].
//!
//! This room does no input or output, reads no clock and draws no random number: the same data give
//! the same verdict on every machine. It never counts requests as independent observations, and it
//! never drops a round by its result.

pub mod anytime;
pub mod best;
pub mod boundary;
pub mod checks;
mod dispersion;
pub mod distributions;
pub mod factorial;
pub mod growth;
pub mod huber;
mod interval;
pub mod multiplicity;
pub mod planner;
pub mod quantiles;
pub mod replication;
pub mod totals;
pub mod verdict;
pub mod warmup;

pub use interval::Interval;
