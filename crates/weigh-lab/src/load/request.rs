//! What is asked of a load, and what the engine makes of it.

use std::path::PathBuf;
use std::time::Duration;

use weigh_load::{Arrivals, LoadSpec, Schedule};
use weigh_results::model::load::{ArrivalsAsked, LoadAsked, OperationAsked, ScheduleAsked};

use crate::experiment::{parse_rate, without_password};
use crate::plan::{ResolvedOperation, default_threads};

/// Operations per second, as typed: `1000/s`, `300/min`, `1000`.
///
/// # Errors
/// What it must look like.
pub fn rate(typed: &str) -> Result<f64, String> {
    parse_rate(typed).ok_or_else(|| "must be a rate like `1000/s` or `300/min`, at most 1e8/s".to_owned())
}

/// What is asked of a load.
#[derive(Clone, Debug)]
pub struct LoadRequest {
    /// Where the system is: `http://…`, `postgres://…`, `redis://…`, `memcached://…`, `mongodb://…`.
    pub url: String,
    /// The driver's name, from the URL's scheme.
    pub system: String,
    /// What is sent ([`operations`](super::operations)).
    pub operations: Vec<ResolvedOperation>,
    /// Connections.
    pub clients: usize,
    /// Worker threads; `None`: one per two CPUs, at most one per client.
    pub threads: Option<usize>,
    /// Operations in flight per connection.
    pub pipeline: usize,
    /// Discarded warm-up.
    pub settle: Duration,
    /// Measured window.
    pub measure: Duration,
    /// Ends the measured window after so many operations, if that comes earlier.
    pub operations_limit: Option<u64>,
    /// When operations are sent.
    pub schedule: ScheduleAsked,
    /// A reply later than this is an error.
    pub timeout: Duration,
    /// Seed of parameters and Poisson arrivals.
    pub seed: u64,
    /// Pin worker threads to cores.
    pub pin: bool,
    /// Authorities to trust (PEM) instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// Do not check the server's certificate.
    pub insecure: bool,
    /// Connect there (`host:port`) instead of to the URL's host.
    pub connect_to: Option<String>,
}

impl LoadRequest {
    /// Worker threads, decided.
    pub fn threads(&self) -> usize {
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
        self.threads.unwrap_or(default_threads(cpus)).min(self.clients.max(1))
    }

    /// In the engine's words.
    pub(super) fn spec(&self) -> LoadSpec {
        LoadSpec {
            clients: self.clients,
            threads: self.threads(),
            pipeline: self.pipeline,
            settle: self.settle,
            measure: self.measure,
            operations_limit: self.operations_limit,
            schedule: schedule(self.schedule),
            operations: self.operations.iter().map(ResolvedOperation::drawn).collect(),
            seed: self.seed,
            trial_number: 0,
            pin: self.pin,
        }
    }

    /// For the record: no password.
    pub(super) fn asked(&self) -> LoadAsked {
        LoadAsked {
            url: without_password(&self.url),
            system: self.system.clone(),
            operations: self
                .operations
                .iter()
                .map(|operation| OperationAsked {
                    name: operation.name.clone(),
                    weight: operation.weight,
                    text: operation.text.summary(),
                })
                .collect(),
            clients: self.clients,
            threads: self.threads(),
            pipeline: self.pipeline,
            settle_s: self.settle.as_secs_f64(),
            measure_s: self.measure.as_secs_f64(),
            operations_limit: self.operations_limit,
            schedule: self.schedule,
            timeout_s: self.timeout.as_secs_f64(),
            seed: self.seed,
            pin: self.pin,
        }
    }
}

fn schedule(asked: ScheduleAsked) -> Schedule {
    match asked {
        ScheduleAsked::Closed => Schedule::Closed,
        ScheduleAsked::Open { rate_per_s, arrivals } => Schedule::Open {
            rate_per_s,
            arrivals: match arrivals {
                ArrivalsAsked::Constant => Arrivals::Constant,
                ArrivalsAsked::Poisson => Arrivals::Poisson,
            },
        },
    }
}
