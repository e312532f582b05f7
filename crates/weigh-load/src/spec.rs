//! What load to put on a system. A schedule, a stop rule and a client are separate values.

use std::time::Duration;

/// The load of one trial.
#[derive(Clone, Debug)]
pub struct LoadSpec {
    /// Connections, each with at most `pipeline` operations in flight.
    pub clients: usize,
    /// Worker threads; connections are partitioned among them. At least 1, at most `clients`.
    pub threads: usize,
    /// Operations in flight per connection (1: wait for each reply).
    pub pipeline: usize,
    /// Discarded warm-up.
    pub settle: Duration,
    /// Measured window.
    pub measure: Duration,
    /// When operations are sent.
    pub schedule: Schedule,
    /// The operations and how often each is chosen.
    pub operations: Vec<Operation>,
    /// Seed of the choice of operations and of their parameters: the same for every variant of a round.
    pub seed: u64,
    /// Number of this trial within the run: `sequence` generators never repeat a value across trials.
    pub trial_number: u64,
    /// Pin worker threads to cores.
    pub pin: bool,
}

/// When operations are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// As soon as the previous reply is in.
    Closed,
}

/// One kind of operation: the driver knows it by its index.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Name as reported.
    pub name: String,
    /// Relative frequency, at least 1.
    pub weight: u32,
    /// Parameters, in the order the driver binds them.
    pub parameters: Vec<crate::generator::GeneratorSpec>,
}
