//! What a load found out.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

/// The result of one load.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// Length of the warm-up as it was.
    pub settled: Duration,
    /// Length of the measured window as it was.
    pub measured: Duration,
    /// Operations that completed without error inside the measured window.
    pub operations_measured: u64,
    /// Operations that completed without error since the start of the load.
    pub operations_total: u64,
    /// Failures since the start of the load, by message: error replies, operations in flight on a connection
    /// that broke or never answered, failed connects. Never in the latencies.
    pub errors: BTreeMap<String, u64>,
    /// Connections that had to be made again.
    pub reconnects: u64,
    /// Latencies of the measured window, nanoseconds, 3 significant digits.
    pub latency: Histogram<u64>,
    /// The same per operation, in the order of [`LoadSpec::operations`](crate::LoadSpec::operations).
    pub operations: Vec<OperationReport>,
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

/// One operation's share of a [`LoadReport`].
#[derive(Clone, Debug)]
pub struct OperationReport {
    /// Its name.
    pub name: String,
    /// Completed without error in the measured window.
    pub operations_measured: u64,
    /// Its latencies, nanoseconds.
    pub latency: Histogram<u64>,
}
