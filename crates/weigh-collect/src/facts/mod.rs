//! What kind of machine this is, as far as it bears on a measurement.
//!
//! - [`HostFacts`]: read once per run with [`HostFacts::read`]; stored with the run.
//! - [`parse`]: the formats, as pure functions.
//!
//! Hosts and containers hide different things. Every fact that cannot be read is `None`; reading never
//! fails as a whole, and nothing is guessed.

mod model;
pub mod parse;
mod read;

pub use model::{ClockFacts, CpuFacts, HostFacts, MemoryFacts, StorageFacts, VirtualisationFacts};
