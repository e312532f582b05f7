//! What one worker saw: histograms, bins, errors. Buffers are made before the load starts.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::timeline::Timeline;
use crate::error::LoadError;

/// Latencies below this are one bucket, nanoseconds.
const LATENCY_LOW_NS: u64 = 100;
/// Latencies above this are recorded as this.
const LATENCY_HIGH_NS: u64 = 3_600_000_000_000;
/// Length of a bin.
const BIN_NS: u64 = 100_000_000;
/// Different messages kept; what comes after is counted together.
const MESSAGES_LIMIT: usize = 100;
const OTHER_MESSAGES: &str = "other errors";

/// An empty latency histogram: nanoseconds, 3 significant digits.
pub(super) fn latency_histogram() -> Result<Histogram<u64>, LoadError> {
    Histogram::new_with_bounds(LATENCY_LOW_NS, LATENCY_HIGH_NS, 3)
        .map_err(|error| LoadError::Spec(format!("no histogram: {error}")))
}

/// What one worker saw.
#[derive(Debug)]
pub(super) struct Recorder {
    timeline: Timeline,
    /// Per operation, of the measured window.
    pub(super) latencies: Vec<Histogram<u64>>,
    /// Successes since the start.
    pub(super) total: u64,
    pub(super) bins: Vec<u64>,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) reconnects: u64,
}

impl Recorder {
    pub(super) fn new(timeline: Timeline, operations: usize) -> Result<Self, LoadError> {
        let bins = usize::try_from(timeline.measure_ends_ns.div_ceil(BIN_NS)).unwrap_or(usize::MAX);
        Ok(Self {
            timeline,
            latencies: (0..operations).map(|_| latency_histogram()).collect::<Result<_, _>>()?,
            total: 0,
            bins: vec![0; bins],
            errors: BTreeMap::new(),
            reconnects: 0,
        })
    }

    /// An operation that was meant to start at `intended_ns` completed without error at `now_ns`.
    #[inline]
    pub(super) fn success(&mut self, operation: usize, intended_ns: u64, now_ns: u64) {
        self.total += 1;
        // After the window there is no bin.
        if let Some(bin) = usize::try_from(now_ns / BIN_NS).ok().and_then(|index| self.bins.get_mut(index))
            && now_ns < self.timeline.measure_ends_ns
        {
            *bin += 1;
        }
        if self.timeline.measures(now_ns) {
            self.latencies[operation].saturating_record(now_ns.saturating_sub(intended_ns));
        }
    }

    /// `count` operations or connects failed with `message`.
    #[cold]
    pub(super) fn failure(&mut self, message: &str, count: u64) {
        if let Some(known) = self.errors.get_mut(message) {
            *known += count;
        } else if self.errors.len() < MESSAGES_LIMIT {
            self.errors.insert(message.to_owned(), count);
        } else {
            *self.errors.entry(OTHER_MESSAGES.to_owned()).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const MS: u64 = 1_000_000;

    fn recorder() -> Recorder {
        let timeline = Timeline {
            start: Instant::now(),
            measure_begins_ns: 200 * MS,
            measure_ends_ns: 450 * MS,
            drain_ends_ns: 1000 * MS,
            reply_limit_ns: 1000 * MS,
        };
        Recorder::new(timeline, 2).unwrap()
    }

    #[test]
    fn only_the_window_has_latencies_and_every_success_has_a_total() {
        let mut recorder = recorder();
        recorder.success(0, 100 * MS, 199 * MS);
        recorder.success(0, 100 * MS, 200 * MS);
        recorder.success(1, 440 * MS, 449 * MS);
        recorder.success(1, 440 * MS, 450 * MS);
        assert_eq!(recorder.total, 4);
        assert_eq!(recorder.bins, [0, 1, 1, 0, 1]);
        assert_eq!((recorder.latencies[0].len(), recorder.latencies[1].len()), (1, 1));
        let error_ns = recorder.latencies[0].max().abs_diff(100 * MS);
        assert!(error_ns < MS / 10, "3 digits: off by {error_ns} ns");
    }

    #[test]
    fn messages_are_bounded_and_no_failure_is_lost() {
        let mut recorder = recorder();
        for number in 0..1000 {
            recorder.failure(&format!("message {number}"), 2);
        }
        recorder.failure("message 3", 1);
        assert_eq!(recorder.errors.len(), MESSAGES_LIMIT + 1);
        assert_eq!(recorder.errors["message 3"], 3);
        assert_eq!(recorder.errors.values().sum::<u64>(), 2001);
    }

    #[test]
    fn latencies_beyond_the_range_are_kept_at_its_end() {
        let mut histogram = latency_histogram().unwrap();
        histogram.saturating_record(u64::MAX);
        histogram.saturating_record(0);
        assert_eq!(histogram.len(), 2);
    }
}
