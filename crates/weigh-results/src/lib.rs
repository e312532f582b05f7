//! What a run leaves behind and everything that can be said about it afterwards.
//!
//! - [`model`]: the words of a stored run ([`model::Event`], [`model::Plan`], [`model::Trial`]).
//! - [`store`]: the append-only file of events, one directory per run.
//! - [`analysis`]: a pure function from a stored run to judgments, costs and doubts.
//! - [`report`]: a pure function from an analysis to a terminal screen or JSON.
//!
//! This room starts nothing, reads no counters and prints nothing: `weigh show RUN` on another
//! machine gives the same page, years later.

pub mod analysis;
pub mod doubt;
pub mod model;
pub mod report;
pub mod store;
