//! What a load found out.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

/// Calls kept in [`LoadReport::first_calls`].
pub const FIRST_CALLS: usize = 50;

/// The result of one load.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// Length of the warm-up as it was.
    pub settled: Duration,
    /// Length of the measured window as it was.
    pub measured: Duration,
    /// Operations that completed without error inside the measured window: over `measured`, the throughput. In an
    /// open loop `latency` holds those that were *due* inside it, which may be more or fewer. With a limit of
    /// operations, those that were sent inside it.
    pub operations_measured: u64,
    /// Operations that completed without error since the start of the load.
    pub operations_total: u64,
    /// Failures since the start of the load, by message: error replies, operations in flight on a connection
    /// that broke or never answered, failed connects. Never in the latencies.
    pub errors: BTreeMap<String, u64>,
    /// Operations that were answered and did not find what they asked for, since the start of the load. They
    /// count as completed without error.
    pub misses: u64,
    /// Items that failed inside operations that were otherwise done, by message, since the start of the load.
    pub item_errors: BTreeMap<String, u64>,
    /// Connections that had to be made again.
    pub reconnects: u64,
    /// Latencies, nanoseconds, 3 significant digits. Closed loop: of operations completed inside the measured
    /// window (with a limit: sent inside it), from when they were sent. Open loop (*response time*): of operations due inside the window and
    /// answered at any time until the end of the drain, from their intended start.
    pub latency: Histogram<u64>,
    /// Open loop only: of the same operations, from when they were really sent (*service time*).
    pub service: Option<Histogram<u64>>,
    /// Open loop only: how the schedule was kept.
    pub schedule: Option<ScheduleReport>,
    /// The same per operation, in the order of [`LoadSpec::operations`](crate::LoadSpec::operations).
    pub operations: Vec<OperationReport>,
    /// Latencies of the first [`FIRST_CALLS`] operations of client 0 that were done, in the order in which they were
    /// answered, from the start of the load: the warm-up is what they show. As in `latency` from when they were
    /// sent, in an open loop from their intended start.
    pub first_calls: Vec<Duration>,
    /// Operations completed without error per 100 ms since the start of the load, up to the end of the
    /// measured window (the last bin may be shorter).
    pub bins_100ms: Vec<u64>,
    /// User-mode CPU of all workers over the measured window.
    pub client_user: Duration,
    /// System CPU of all workers over the measured window.
    pub client_system: Duration,
    /// CPU use of the busiest worker over the measured window, as a fraction of one core.
    pub busiest_thread: f64,
    /// Time workers waited for a CPU over the measured window (`/proc/thread-self/schedstat`), summed.
    pub client_wait: Duration,
}

/// How an open loop kept its schedule: of operations due inside the measured window, up to a cancel.
///
/// The books balance: what was due is either in [`LoadReport::latency`], or `never_sent`, or `never_answered`, or it
/// failed, and then its message is among [`LoadReport::errors`].
#[derive(Clone, Debug)]
pub struct ScheduleReport {
    /// Operations that were due.
    pub due: u64,
    /// Of these, sent at any time.
    pub sent: u64,
    /// Of these, never sent: every connection was busy until the end of the drain. `due = sent + never_sent`.
    pub never_sent: u64,
    /// Sent and neither answered nor failed until the end of the drain.
    pub never_answered: u64,
    /// Really sent minus intended start, nanoseconds, whoever caused it.
    pub lag: Histogram<u64>,
    /// The client's own share: really sent minus the later of the intended start and the moment when a
    /// connection was free. A client that cannot keep up shows here and nowhere else.
    pub client_lag: Histogram<u64>,
    /// Sent more than 1 ms after the intended start.
    pub late_starts: u64,
    /// Most operations due and not sent at any one time since the window began, summed over the workers' worst
    /// moments. 1 is what a perfect schedule has: the moment between falling due and being sent.
    pub backlog_max: u64,
}

/// One operation's share of a [`LoadReport`].
#[derive(Clone, Debug)]
pub struct OperationReport {
    /// Its name.
    pub name: String,
    /// As [`LoadReport::operations_measured`].
    pub operations_measured: u64,
    /// Its latencies, nanoseconds.
    pub latency: Histogram<u64>,
    /// Open loop only: its service times, nanoseconds.
    pub service: Option<Histogram<u64>>,
}

/// A load that is still running, as of its workers' last publication. All figures are since the start of the load,
/// but for the histogram; differences of two snapshots describe what lies between.
#[derive(Clone, Debug)]
pub struct LoadSnapshot {
    /// Time since the start of the load.
    pub at: Duration,
    /// Operations completed without error.
    pub operations: u64,
    /// Failures of any kind.
    pub errors: u64,
    /// The commonest message so far.
    pub commonest_error: Option<String>,
    /// Connections that had to be made again.
    pub reconnects: u64,
    /// Latencies of the measured window so far, as [`LoadReport::latency`].
    pub latency: Histogram<u64>,
    /// Operations due and not sent; 0 in a closed loop.
    pub backlog: u64,
    /// CPU time of all workers, user and system.
    pub client_cpu: Duration,
}
