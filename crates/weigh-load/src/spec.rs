//! What load to put on a system. A schedule, a stop rule and a client are separate values.

use std::time::Duration;

use crate::error::LoadError;

/// Longest load, so that instants and bins stay sane.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// Most clients, pipeline depth and trials of a run; the last keeps `sequence` values within 64 bits.
const CLIENTS_LIMIT: usize = 1 << 16;
const PIPELINE_LIMIT: usize = 1 << 12;
const TRIALS_LIMIT: u64 = 1 << 20;

/// The load of one trial.
#[derive(Clone, Debug)]
pub struct LoadSpec {
    /// Connections, each with at most `pipeline` operations in flight.
    pub clients: usize,
    /// Worker threads; connections are partitioned among them. At least 1; more than `clients` counts as
    /// `clients`. Clients that block their thread get a thread each, whatever this says
    /// ([`Driver::blocks_its_thread`](crate::Driver::blocks_its_thread)).
    pub threads: usize,
    /// Operations in flight per connection (1: wait for each reply).
    pub pipeline: usize,
    /// Discarded warm-up.
    pub settle: Duration,
    /// Measured window.
    pub measure: Duration,
    /// Ends the measured window earlier: after this many operations were sent in it, shared out among the worker
    /// threads, and answered. `None`: time alone ends it.
    pub operations_limit: Option<u64>,
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
    /// Closed loop: as soon as the previous reply is in.
    Closed,
    /// Open loop: on a schedule that does not wait for the system. Latency counts from the intended start, so that
    /// a system that stalls is charged for everyone who would have waited. An operation that is due while every
    /// connection is busy is sent late, in order, and never dropped.
    Open {
        /// Operations per second, over all clients.
        rate_per_s: f64,
        /// How the intended starts are spaced.
        arrivals: Arrivals,
    },
}

/// How the intended starts of an open loop are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// Evenly.
    #[default]
    Constant,
    /// As independent users come: exponential gaps, drawn from the load's seed.
    Poisson,
}

/// Highest rate that can be asked for, operations per second.
pub const RATE_LIMIT_PER_S: f64 = 1e7;

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

impl LoadSpec {
    /// Says what makes the load impossible, if anything does. [`start`](crate::start) calls it.
    ///
    /// # Errors
    /// [`LoadError::Spec`] or [`LoadError::Generator`].
    pub fn validate(&self) -> Result<(), LoadError> {
        let within = |name: &str, value: usize, limit: usize| {
            let message = || LoadError::Spec(format!("`{name}` must be 1 to {limit}, not `{value}`"));
            (1..=limit).contains(&value).then_some(()).ok_or_else(message)
        };
        within("clients", self.clients, CLIENTS_LIMIT)?;
        within("threads", self.threads, CLIENTS_LIMIT)?;
        within("pipeline", self.pipeline, PIPELINE_LIMIT)?;
        if self.measure.is_zero() || self.measure + self.settle > LONGEST {
            return Err(LoadError::Spec(
                "the measured window must be above 0 and the load at most a week".into(),
            ));
        }
        if self.trial_number >= TRIALS_LIMIT {
            return Err(LoadError::Spec(format!("a run has at most {TRIALS_LIMIT} trials")));
        }
        if let Schedule::Open { rate_per_s, .. } = self.schedule
            && !(rate_per_s > 0.0 && rate_per_s <= RATE_LIMIT_PER_S)
        {
            return Err(LoadError::Spec(format!(
                "the rate must be above 0 and at most 1e7/s, not `{rate_per_s}`"
            )));
        }
        if self.operations_limit == Some(0) {
            return Err(LoadError::Spec("a limit of 0 operations leaves nothing to measure".into()));
        }
        if self.operations.is_empty() {
            return Err(LoadError::Spec("there is no operation".into()));
        }
        self.operations.iter().try_for_each(Operation::validate)
    }
}

impl Operation {
    /// Says what makes the operation impossible, if anything does.
    ///
    /// # Errors
    /// [`LoadError::Spec`] or [`LoadError::Generator`].
    pub fn validate(&self) -> Result<(), LoadError> {
        if self.weight == 0 {
            return Err(LoadError::Spec(format!(
                "the weight of operation `{}` must be at least 1",
                self.name
            )));
        }
        for (index, spec) in self.parameters.iter().enumerate() {
            spec.validate().map_err(|source| LoadError::Generator {
                operation: self.name.clone(),
                number: index + 1,
                source,
            })?;
        }
        Ok(())
    }
}
