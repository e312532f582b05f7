//! What a run is judged by.

use serde::{Deserialize, Serialize};

/// A per-trial figure that a verdict can be about.
///
/// Stored and typed by its name in snake case (`latency_p99`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Operations completed without error, per second of the measured window.
    Throughput,
    /// Mean latency of the measured window, seconds. In an open loop latency is the response time: from the intended
    /// start of an operation.
    LatencyMean,
    /// Median latency, seconds.
    LatencyP50,
    /// 95th percentile of latency, seconds.
    LatencyP95,
    /// 99th percentile of latency, seconds.
    LatencyP99,
    /// Open loop: median service time, from when an operation was really sent, seconds.
    ServiceP50,
    /// Open loop: 95th percentile of the service time, seconds.
    ServiceP95,
    /// Open loop: 99th percentile of the service time, seconds.
    ServiceP99,
    /// Server CPU time per operation (user + system), seconds: a ratio of totals.
    CpuPerOp,
    /// Wall-clock time of one execution of a command, seconds.
    Time,
}

/// Which way is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More is better (throughput).
    HigherIsBetter,
    /// Less is better (latency, cost).
    LowerIsBetter,
}

impl Metric {
    /// Every metric, in the order they are listed to a reader.
    pub const ALL: [Metric; 10] = [
        Metric::Throughput,
        Metric::LatencyMean,
        Metric::LatencyP50,
        Metric::LatencyP95,
        Metric::LatencyP99,
        Metric::ServiceP50,
        Metric::ServiceP95,
        Metric::ServiceP99,
        Metric::CpuPerOp,
        Metric::Time,
    ];

    /// The name as typed in an experiment file.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Throughput => "throughput",
            Metric::LatencyMean => "latency_mean",
            Metric::LatencyP50 => "latency_p50",
            Metric::LatencyP95 => "latency_p95",
            Metric::LatencyP99 => "latency_p99",
            Metric::ServiceP50 => "service_p50",
            Metric::ServiceP95 => "service_p95",
            Metric::ServiceP99 => "service_p99",
            Metric::CpuPerOp => "cpu_per_op",
            Metric::Time => "time",
        }
    }

    /// The metric of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Which way is good.
    pub fn direction(self) -> Direction {
        match self {
            Metric::Throughput => Direction::HigherIsBetter,
            _ => Direction::LowerIsBetter,
        }
    }
}
