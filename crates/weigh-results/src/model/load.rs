//! One load by itself, as `weigh load` measures it: what was asked, what came of it, second by second.
//!
//! - [`LoadRecord`]: everything a report needs; the page and the JSON are pure functions of it
//!   ([`crate::report::load`]).
//! - [`LoadInterval`]: about one second of it, also shown while the load goes on.
//! - [`CapacityRecord`]: a search for the highest rate that stays within a bound, step by step.
//!
//! Plain data: nothing here is computed, and nothing is thrown away. Histograms are text
//! ([`super::histogram`]), nanoseconds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ClientCost, Interference};

/// What was asked of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadAsked {
    /// Where the system is, without a password.
    pub url: String,
    /// The driver's name (`http`, `redis`, …).
    pub system: String,
    /// The operations.
    pub operations: Vec<OperationAsked>,
    /// Connections.
    pub clients: usize,
    /// Worker threads.
    pub threads: usize,
    /// Operations in flight per connection.
    pub pipeline: usize,
    /// Discarded warm-up, seconds.
    pub settle_s: f64,
    /// Measured window, seconds.
    pub measure_s: f64,
    /// Operations after which the measured window ends, if that comes earlier.
    pub operations_limit: Option<u64>,
    /// When operations are sent.
    pub schedule: ScheduleAsked,
    /// A reply later than this is given up, seconds.
    pub timeout_s: f64,
    /// Seed of generated parameters and Poisson arrivals.
    pub seed: u64,
    /// Whether worker threads are pinned to cores.
    pub pin: bool,
}

/// One operation that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationAsked {
    /// Its name.
    pub name: String,
    /// How often it is chosen, relative to the others.
    pub weight: u32,
    /// What it sends, in a line.
    pub text: String,
}

/// When operations are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ScheduleAsked {
    /// As soon as the previous reply is in.
    #[default]
    Closed,
    /// At a rate, whether the system keeps up or not.
    Open {
        /// Operations per second, over all clients.
        rate_per_s: f64,
        /// How the intended starts are spaced.
        arrivals: ArrivalsAsked,
    },
}

/// How intended starts are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalsAsked {
    /// Evenly.
    #[default]
    Constant,
    /// With exponential gaps.
    Poisson,
}

/// What came of one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// Version of the tool.
    pub weigh_version: String,
    /// RFC 3339.
    pub started_at: String,
    /// What was asked.
    pub asked: LoadAsked,
    /// The signal that ended it early, if one did.
    pub signal: Option<i32>,
    /// Warm-up as it was, seconds.
    pub settled_s: f64,
    /// Measured window as it was, seconds.
    pub measured_s: f64,
    /// Completed without error inside the measured window.
    pub operations_measured: u64,
    /// Completed without error since the start of the load.
    pub operations_total: u64,
    /// Failures since the start of the load, by message. Never in a histogram.
    pub errors: BTreeMap<String, u64>,
    /// Answered, and what was asked for was not there.
    pub misses: u64,
    /// Items that failed inside operations that were otherwise done, by message.
    pub item_errors: BTreeMap<String, u64>,
    /// Connections that had to be made again.
    pub reconnects: u64,
    /// Response times: closed loop from sending, open loop from the intended start.
    pub response: String,
    /// Open loop: the same operations, from when they were really sent.
    pub service: Option<String>,
    /// Open loop: how the schedule was kept.
    pub schedule: Option<ScheduleRecord>,
    /// Per operation, as asked.
    pub operations: Vec<OperationRecord>,
    /// The load about second by second, warm-up and drain included.
    pub intervals: Vec<LoadInterval>,
    /// Completed without error per 100 ms since the start of the load.
    pub completed_per_100ms: Vec<u64>,
    /// What the client itself cost over the measured window.
    pub client: ClientCost,
    /// Time the client's threads waited for a CPU over the measured window, seconds, summed.
    pub client_wait_s: f64,
    /// What else happened on the client's host over the measured window; `server_wait` and `frozen_cpu_s` are unknown.
    pub interference: Interference,
    /// CPUs of the client's host.
    pub host_cpus: usize,
}

/// How the schedule of an open loop was kept, of operations due inside the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScheduleRecord {
    /// Were due.
    pub due: u64,
    /// Of these, sent at any time.
    pub sent: u64,
    /// Of these, never sent before the drain ended.
    pub never_sent: u64,
    /// Sent and neither answered nor failed before the drain ended.
    pub never_answered: u64,
    /// Really sent minus intended start.
    pub lag: String,
    /// The client's own part of it.
    pub client_lag: String,
    /// Sent more than 1 ms after the intended start.
    pub late_starts: u64,
    /// Most operations due and not sent at any one time.
    pub backlog_max: u64,
}

/// One operation's share of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationRecord {
    /// Its name.
    pub name: String,
    /// Completed without error inside the measured window.
    pub operations_measured: u64,
    /// Its response times.
    pub response: String,
    /// Open loop: its service times.
    pub service: Option<String>,
}

/// A stretch of a load, about one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadInterval {
    /// Its beginning, seconds since the start of the load.
    pub begin_s: f64,
    /// Its end.
    pub end_s: f64,
    /// Whether it is part of the warm-up.
    pub settling: bool,
    /// Completed without error in it.
    pub operations: u64,
    /// Failures of any kind in it.
    pub errors: u64,
    /// The commonest message since the start of the load, where there are failures in this interval.
    #[serde(default)]
    pub commonest_error: Option<String>,
    /// Connections made again in it.
    pub reconnects: u64,
    /// Operations due and not sent at its end.
    pub backlog: u64,
    /// CPU time of the client in it, seconds.
    pub client_cpu_s: f64,
    /// Response times of measured operations that were answered in it; `None` when there are none.
    pub response: Option<String>,
}

/// A search for the highest rate at which a percentile stays within a bound.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CapacityRecord {
    /// Version of the tool.
    pub weigh_version: String,
    /// RFC 3339.
    pub started_at: String,
    /// What was asked; the schedule's rate is that of the first step.
    pub asked: LoadAsked,
    /// The bound on the p99 of response times, seconds.
    pub p99_limit_s: f64,
    /// The highest rate that was allowed, per second.
    pub max_rate_per_s: Option<f64>,
    /// Throughput of a closed loop with the same clients: where the search began.
    pub closed_loop_per_s: f64,
    /// The steps, in order.
    pub steps: Vec<CapacityStep>,
    /// Highest rate that passed and is below every rate that failed, per second.
    pub highest_pass_per_s: Option<f64>,
    /// Lowest rate that failed, per second.
    pub lowest_fail_per_s: Option<f64>,
    /// Whether both were seen at least twice.
    pub confirmed: bool,
    /// What the lowest failing rate failed for.
    pub limited_by: Option<StepFailure>,
    /// The signal that ended it early, if one did.
    pub signal: Option<i32>,
}

/// One step of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CapacityStep {
    /// The rate asked for, per second.
    pub rate_per_s: f64,
    /// Length of its measured window, seconds.
    pub measured_s: f64,
    /// Operations that were due.
    pub due: u64,
    /// Completed inside the window, per second.
    pub achieved_per_s: f64,
    /// p99 of response times, seconds; `None`: beyond what was answered, or too few operations.
    pub p99_s: Option<f64>,
    /// p99 of the client's own lag, seconds.
    pub client_lag_p99_s: f64,
    /// CPU use of the busiest client thread, as a fraction of one core.
    pub busiest_thread: f64,
    /// Time a client thread waited for a CPU, relative to the window.
    #[serde(default)]
    pub client_wait: f64,
    /// Never sent or never answered.
    pub unanswered: u64,
    /// Failures.
    pub errors: u64,
    /// Why it failed; `None`: it passed.
    pub failure: Option<StepFailure>,
}

/// Why a step failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepFailure {
    /// p99 was above the bound.
    TooSlow,
    /// A backlog grew: the system did not do as much as was due.
    Backlog,
    /// Operations failed.
    Errors,
    /// The client could not keep the schedule: it says nothing about the system.
    Client,
    /// Too few operations in the longest step for a p99.
    TooFew,
}
