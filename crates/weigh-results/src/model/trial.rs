//! One variant under load for one slice of time, as stored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::load::ScheduleRecord;

/// Which label a trial ran under: a variant, or the hidden second copy of the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// Index into [`Plan::variants`](super::Plan::variants).
    pub variant: usize,
    /// 0, or 1 for the hidden second copy (baseline only).
    pub copy: u8,
}

/// One finished trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Which sequence it belongs to; only trials of the last sequence count for the verdict.
    pub sequence: u32,
    /// Round within the sequence, from 0.
    pub round: u32,
    /// Epoch (stretch between two restarts) within the sequence, from 0; always 0 when toggled in place.
    pub epoch: u32,
    /// Place in the round's random order, from 0.
    pub position: u32,
    /// Variant and copy.
    pub slot: Slot,
    /// Start of the load, seconds since the run began.
    pub started_s: f64,
    /// Discarded warm-up, seconds.
    pub settle_s: f64,
    /// The measured window: operations that completed in it, counters over it.
    pub measured: Window,
    /// From the start of the load to the end of the drain: what everything the trial did has cost.
    pub whole: Window,
    /// Error replies and failures in the whole trial, by message. They are never in `ops` or latency.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// Operations of the whole trial that were answered and did not find what they asked for. They are in `ops`.
    #[serde(default)]
    pub misses: u64,
    /// Items of the whole trial that failed inside operations that were otherwise done, by message.
    #[serde(default)]
    pub item_errors: BTreeMap<String, u64>,
    /// Latencies of the measured window: HDR histogram, V2 deflate, base64; nanoseconds. Closed loop: from when an
    /// operation was sent. Open loop (response time): of operations due in the window, from their intended start.
    #[serde(default)]
    pub latency: Option<String>,
    /// Open loop: service times of the same operations, from when they were really sent.
    #[serde(default)]
    pub service: Option<String>,
    /// Open loop: how the schedule was kept.
    #[serde(default)]
    pub schedule: Option<ScheduleRecord>,
    /// Latencies of the first operations of one client, in the order they were answered, microseconds: from the start of the load,
    /// warm-up included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_calls_us: Vec<f64>,
    /// Operations completed per 100 ms from the start of the load, warm-up included.
    #[serde(default)]
    pub bins_100ms: Vec<u64>,
    /// Time the drain took, seconds; `None` when there was none.
    #[serde(default)]
    pub debt_s: Option<f64>,
    /// Levels at the end of the measured window (bytes of dirty memory, …).
    #[serde(default)]
    pub gauges: BTreeMap<String, f64>,
    /// What disturbed the trial. Read by rules fixed before the run, never by its result.
    pub interference: Interference,
    /// What the load generator itself cost.
    pub client: ClientCost,
    /// Why the rule on interference sets this trial's round aside, if it does.
    #[serde(default)]
    pub contaminated: Option<String>,
}

/// A stretch of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its length, seconds.
    pub seconds: f64,
    /// Operations completed without error in it.
    pub ops: u64,
    /// Differences of counters over it (`server.cpu_us`, `postgres.wal_bytes`, …).
    pub counters: BTreeMap<String, f64>,
}

/// What disturbed a trial, over its measured window. Fractions are of one CPU's time unless said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interference {
    /// Fraction of all CPUs' time stolen by the hypervisor.
    pub steal: f64,
    /// Fraction of all CPUs' time used by processes that are neither server nor client.
    pub other_cpu: f64,
    /// Time the server's processes waited for a CPU, relative to the window's length.
    pub server_wait: f64,
    /// Time the client's threads waited for a CPU, relative to the window's length.
    pub client_wait: f64,
    /// Share of the window in which some task waited for a CPU (PSI `some`).
    pub psi_cpu: f64,
    /// Share of the window in which some task waited for I/O (PSI `some`).
    pub psi_io: f64,
    /// CPU time used by frozen instances, seconds: must be zero.
    pub frozen_cpu_s: f64,
}

/// What the load generator itself cost over the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientCost {
    /// User-mode CPU, seconds, all workers.
    pub user_s: f64,
    /// System CPU, seconds, all workers.
    pub system_s: f64,
    /// CPU use of the busiest worker thread, as a fraction of one core.
    pub busiest_thread: f64,
}
