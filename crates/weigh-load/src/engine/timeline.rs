//! When operations are sent, counted and given up. Inside a worker time is nanoseconds since the common start.

use std::time::{Duration, Instant};

use crate::spec::{LoadSpec, Schedule};

/// How long the engine waits for a system that does not answer.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A reply later than this is given up: counted as an error, and the connection is made again.
    pub reply: Duration,
    /// Outstanding replies are awaited this long after the measured window.
    pub drain: Duration,
    /// Workers publish what [`RunningLoad::snapshot`](crate::RunningLoad::snapshot) shows this often; `None`: never.
    pub publish_every: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { reply: Duration::from_secs(30), drain: Duration::from_secs(10), publish_every: None }
    }
}

/// The instants of one load, as nanoseconds since its start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline {
    pub(super) start: Instant,
    pub(super) measure_begins_ns: u64,
    pub(super) measure_ends_ns: u64,
    /// Workers end now, whatever is outstanding.
    pub(super) drain_ends_ns: u64,
    pub(super) reply_limit_ns: u64,
}

impl Timeline {
    pub(super) fn new(start: Instant, spec: &LoadSpec, limits: &Limits) -> Self {
        let measure_begins_ns = nanoseconds(spec.settle);
        let measure_ends_ns = measure_begins_ns + nanoseconds(spec.measure);
        Self {
            start,
            measure_begins_ns,
            measure_ends_ns,
            drain_ends_ns: measure_ends_ns.saturating_add(nanoseconds(limits.drain)),
            reply_limit_ns: nanoseconds(limits.reply),
        }
    }

    /// Nanoseconds since the start, 0 before it.
    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        nanoseconds(self.start.elapsed())
    }

    /// The instant `ns` after the start.
    pub(super) fn at(&self, ns: u64) -> Instant {
        self.start + Duration::from_nanos(ns)
    }

    /// Whether an operation that completes at `now_ns` counts.
    #[inline]
    pub(super) fn measures(&self, now_ns: u64) -> bool {
        (self.measure_begins_ns..self.measure_ends_ns).contains(&now_ns)
    }
}

impl Schedule {
    /// When an operation that can be sent at `now_ns` was meant to be sent: latency counts from here.
    #[inline]
    pub(super) fn intended_ns(self, now_ns: u64) -> u64 {
        match self {
            Self::Closed | Self::Open { .. } => now_ns,
        }
    }
}

/// A duration in nanoseconds, saturating after 584 years.
#[inline]
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
