//! When operations are sent, counted and given up. Inside a worker time is nanoseconds since the common start.
//!
//! The clock is `CLOCK_MONOTONIC`, read without a system call; a reading is a few machine instructions around it.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

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
    /// The same instant on the clock's own scale.
    start_clock_ns: u64,
    pub(super) measure_begins_ns: u64,
    pub(super) measure_ends_ns: u64,
    /// Workers end now, whatever is outstanding.
    pub(super) drain_ends_ns: u64,
    pub(super) reply_limit_ns: u64,
    /// Between two publications; `u64::MAX`: never.
    pub(super) publish_ns: u64,
    /// Latencies belong to the window by when their operations were meant to start, not by when they completed.
    pub(super) counts_by_start: bool,
}

impl Timeline {
    /// The timeline of a load that starts after `lead`.
    pub(super) fn new(lead: Duration, spec: &LoadSpec, limits: &Limits) -> Self {
        let measure_begins_ns = nanoseconds(spec.settle);
        let measure_ends_ns = measure_begins_ns + nanoseconds(spec.measure);
        Self {
            start: Instant::now() + lead,
            start_clock_ns: clock_ns() + nanoseconds(lead),
            measure_begins_ns,
            measure_ends_ns,
            drain_ends_ns: measure_ends_ns.saturating_add(nanoseconds(limits.drain)),
            reply_limit_ns: nanoseconds(limits.reply),
            publish_ns: limits.publish_every.map_or(u64::MAX, |every| nanoseconds(every).max(1)),
            counts_by_start: spec.schedule != Schedule::Closed || spec.operations_limit.is_some(),
        }
    }

    /// Nanoseconds since the start, 0 before it.
    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        clock_ns().saturating_sub(self.start_clock_ns)
    }

    /// The instant `ns` after the start.
    pub(super) fn at(&self, ns: u64) -> Instant {
        self.start + Duration::from_nanos(ns)
    }

    /// The same in nanoseconds of `CLOCK_MONOTONIC`, for absolute timers.
    pub(super) fn clock_at(&self, ns: u64) -> u64 {
        self.start_clock_ns.saturating_add(ns)
    }

    /// Waits for the common start.
    pub(super) fn await_start(&self) {
        std::thread::sleep(self.start.saturating_duration_since(Instant::now()));
    }

    /// Whether `ns` lies in the measured window.
    #[inline]
    pub(super) fn in_window(&self, ns: u64) -> bool {
        (self.measure_begins_ns..self.measure_ends_ns).contains(&ns)
    }

    /// Whether the latency of an operation that was meant to start at `intended_ns` and completes at `now_ns` counts.
    #[inline]
    pub(super) fn measures(&self, intended_ns: u64, now_ns: u64) -> bool {
        self.in_window(if self.counts_by_start { intended_ns } else { now_ns })
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds: 0 where the system has no such clock, and Linux always has.
#[inline]
fn clock_ns() -> u64 {
    let Ok(time) = clock_gettime(ClockId::CLOCK_MONOTONIC) else { return 0 };
    time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned()
}

/// A duration in nanoseconds, saturating after 584 years.
#[inline]
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
impl Timeline {
    /// A timeline that starts now, in milliseconds.
    pub(super) fn of_ms(begins: u64, ends: u64, counts_by_start: bool) -> Self {
        let ms = 1_000_000;
        Self {
            start: Instant::now(),
            start_clock_ns: clock_ns(),
            measure_begins_ns: begins * ms,
            measure_ends_ns: ends * ms,
            drain_ends_ns: 2 * ends * ms,
            reply_limit_ns: 1000 * ms,
            publish_ns: u64::MAX,
            counts_by_start,
        }
    }
}
