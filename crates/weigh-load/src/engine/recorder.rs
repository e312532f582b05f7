//! What one worker saw: histograms, bins, errors. Buffers are made before the load starts.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::timeline::Timeline;
use crate::driver::Outcome;
use crate::error::LoadError;
use crate::report::FIRST_CALLS;

/// Latencies below this are one bucket, nanoseconds.
const LATENCY_LOW_NS: u64 = 100;
/// Latencies above this are recorded as this.
const LATENCY_HIGH_NS: u64 = 3_600_000_000_000;
/// Length of a bin.
const BIN_NS: u64 = 100_000_000;
/// Bins made before the load starts: an hour. What comes after grows, once in a while.
const BINS_AHEAD: u64 = 36_000;
/// Different messages kept; what comes after is counted together.
const MESSAGES_LIMIT: usize = 100;
const OTHER_MESSAGES: &str = "other errors";

/// An empty latency histogram: nanoseconds, 3 significant digits.
pub(super) fn latency_histogram() -> Result<Histogram<u64>, LoadError> {
    Histogram::new_with_bounds(LATENCY_LOW_NS, LATENCY_HIGH_NS, 3)
        .map_err(|error| LoadError::Spec(format!("no histogram: {error}")))
}

/// Operations of one kind that were sent together and are answered together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) operation: usize,
    pub(super) intended_ns: u64,
    pub(super) sent_ns: u64,
    pub(super) count: u64,
}

/// What one worker saw.
#[derive(Debug)]
pub(super) struct Recorder {
    timeline: Timeline,
    /// Per operation, of the measured window.
    pub(super) latencies: Vec<Histogram<u64>>,
    /// The same from when they were really sent; empty in a closed loop, where that is no difference.
    pub(super) services: Vec<Histogram<u64>>,
    /// Per operation: completions inside the window.
    pub(super) completed: Vec<u64>,
    /// Successes since the start.
    pub(super) total: u64,
    pub(super) bins: Vec<u64>,
    pub(super) errors: Messages,
    pub(super) item_errors: Messages,
    pub(super) misses: u64,
    pub(super) reconnects: u64,
    /// Latencies of client 0's first calls, nanoseconds; filled until `first_calls_left` is 0.
    pub(super) first_calls: Vec<u64>,
    /// 0 from the start in workers without client 0.
    first_calls_left: usize,
    /// When the last operation ended, in whatever way.
    pub(super) last_ns: u64,
}

impl Recorder {
    pub(super) fn new(timeline: Timeline, operations: usize, open: bool) -> Result<Self, LoadError> {
        let histograms = |count| (0..count).map(|_| latency_histogram()).collect::<Result<_, _>>();
        let bins = timeline.measure_ends_ns.div_ceil(BIN_NS).min(BINS_AHEAD);
        Ok(Self {
            timeline,
            latencies: histograms(operations)?,
            services: histograms(if open { operations } else { 0 })?,
            completed: vec![0; operations],
            total: 0,
            bins: Vec::with_capacity(usize::try_from(bins).unwrap_or(0)),
            errors: Messages::default(),
            item_errors: Messages::default(),
            misses: 0,
            reconnects: 0,
            first_calls: Vec::new(),
            first_calls_left: 0,
            last_ns: 0,
        })
    }

    /// Makes room for the first calls of client 0, which is this worker's.
    pub(super) fn keep_first_calls(&mut self) {
        self.first_calls.reserve_exact(FIRST_CALLS);
        self.first_calls_left = FIRST_CALLS;
    }

    /// Whether first calls are still missing: asked once per read, and false for nearly all of a load.
    #[inline]
    pub(super) fn wants_first_calls(&self) -> bool {
        self.first_calls_left > 0
    }

    /// A run of client 0 completed without error at `now_ns`, warm-up or not.
    #[cold]
    pub(super) fn first_call(&mut self, run: &Run, now_ns: u64) {
        let count = usize::try_from(run.count).unwrap_or(usize::MAX).min(self.first_calls_left);
        let latency_ns = now_ns.saturating_sub(run.intended_ns);
        self.first_calls.extend(std::iter::repeat_n(latency_ns, count));
        self.first_calls_left -= count;
    }

    /// A run of operations completed without error at `now_ns`.
    #[inline]
    pub(super) fn success(&mut self, run: &Run, now_ns: u64) {
        let Run { operation, intended_ns, sent_ns, count } = *run;
        self.last_ns = now_ns;
        self.total += count;
        // After the window there is no bin.
        if now_ns < self.timeline.measure_ends_ns {
            self.count_bin(now_ns, count);
            if now_ns >= self.timeline.measure_begins_ns {
                self.completed[operation] += count;
            }
        }
        if self.timeline.measures(intended_ns, now_ns) {
            self.latencies[operation].saturating_record_n(now_ns.saturating_sub(intended_ns), count);
            if let Some(service) = self.services.get_mut(operation) {
                service.saturating_record_n(now_ns.saturating_sub(sent_ns), count);
            }
        }
    }

    /// A run of operations ended as `outcome` at `now_ns`.
    #[cold]
    pub(super) fn unusual(&mut self, run: &Run, outcome: Outcome, now_ns: u64) {
        self.last_ns = now_ns;
        match outcome {
            Outcome::Success => self.success(run, now_ns),
            Outcome::Miss => {
                self.misses += run.count;
                self.success(run, now_ns);
            }
            Outcome::Partial(items) => {
                for (message, count) in items {
                    self.item_errors.add(&message, count);
                }
                self.success(run, now_ns);
            }
            Outcome::Error(message) | Outcome::Broken(message) => self.failure(&message, run.count),
        }
    }

    /// `count` operations or connects failed with `message`.
    #[cold]
    pub(super) fn failure(&mut self, message: &str, count: u64) {
        self.errors.add(message, count);
    }

    #[inline]
    fn count_bin(&mut self, now_ns: u64, count: u64) {
        let Ok(index) = usize::try_from(now_ns / BIN_NS) else { return };
        if index >= self.bins.len() {
            self.bins.resize(index + 1, 0);
        }
        self.bins[index] += count;
    }
}

/// How many bins a load of this length has.
pub(super) fn bins_until(ends_ns: u64) -> usize {
    usize::try_from(ends_ns.div_ceil(BIN_NS)).unwrap_or(usize::MAX)
}

/// Counts by message, of a bounded number of messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages(BTreeMap<String, u64>);

impl Messages {
    /// Adds `count` to a message, or to the others together when there are too many.
    pub(super) fn add(&mut self, message: &str, count: u64) {
        if let Some(known) = self.0.get_mut(message) {
            *known += count;
        } else if self.0.len() < MESSAGES_LIMIT {
            self.0.insert(message.to_owned(), count);
        } else {
            *self.0.entry(OTHER_MESSAGES.to_owned()).or_default() += count;
        }
    }

    /// Of all messages.
    pub(super) fn sum(&self) -> u64 {
        self.0.values().sum()
    }

    pub(super) fn map(&self) -> &BTreeMap<String, u64> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn run(operation: usize, intended_ms: u64, count: u64) -> Run {
        let intended_ns = intended_ms * MS;
        Run { operation, intended_ns, sent_ns: intended_ns + 5 * MS, count }
    }

    #[test]
    fn only_the_window_has_latencies_and_every_success_has_a_total() {
        let mut recorder = Recorder::new(Timeline::of_ms(200, 450, false), 2, false).unwrap();
        recorder.success(&run(0, 100, 1), 199 * MS);
        recorder.success(&run(0, 100, 3), 200 * MS);
        recorder.success(&run(1, 440, 1), 449 * MS);
        recorder.success(&run(1, 440, 1), 450 * MS);
        assert_eq!(recorder.total, 6);
        assert_eq!(recorder.bins, [0, 1, 3, 0, 1]);
        assert_eq!((recorder.latencies[0].len(), recorder.latencies[1].len()), (3, 1));
        assert_eq!(recorder.completed, [3, 1]);
        assert!(recorder.services.is_empty());
        let error_ns = recorder.latencies[0].max().abs_diff(100 * MS);
        assert!(error_ns < MS / 10, "3 digits: off by {error_ns} ns");
    }

    #[test]
    fn by_start_the_answer_may_come_after_the_window() {
        let mut recorder = Recorder::new(Timeline::of_ms(200, 450, true), 1, true).unwrap();
        recorder.success(&run(0, 199, 1), 300 * MS);
        recorder.success(&run(0, 449, 1), 900 * MS);
        recorder.success(&run(0, 450, 1), 900 * MS);
        assert_eq!((recorder.total, recorder.completed[0], recorder.latencies[0].len()), (3, 1, 1));
        let (response, service) = (recorder.latencies[0].max(), recorder.services[0].max());
        assert!(response.abs_diff(451 * MS) < MS && service.abs_diff(446 * MS) < MS, "{response} {service}");
    }

    #[test]
    fn misses_and_parts_are_successes_with_a_note_and_errors_are_not() {
        let mut recorder = Recorder::new(Timeline::of_ms(0, 450, false), 1, false).unwrap();
        recorder.unusual(&run(0, 1, 1), Outcome::Miss, 2 * MS);
        recorder.unusual(&run(0, 1, 1), Outcome::Partial(vec![("duplicate".into(), 3)]), 2 * MS);
        recorder.unusual(&run(0, 1, 1), Outcome::Error("no".into()), 3 * MS);
        assert_eq!((recorder.total, recorder.misses, recorder.latencies[0].len()), (2, 1, 2));
        assert_eq!((recorder.item_errors.map()["duplicate"], recorder.errors.map()["no"]), (3, 1));
        assert_eq!(recorder.last_ns, 3 * MS);
    }

    #[test]
    fn first_calls_are_kept_up_to_their_number() {
        let mut recorder = Recorder::new(Timeline::of_ms(200, 450, false), 1, false).unwrap();
        assert!(!recorder.wants_first_calls(), "not this worker's client");
        recorder.keep_first_calls();
        let made_for = recorder.first_calls.capacity();
        recorder.first_call(&run(0, 1, 1), 4 * MS);
        recorder.first_call(&run(0, 3, 200), 5 * MS);
        assert!(!recorder.wants_first_calls());
        assert_eq!(recorder.first_calls[..3], [3 * MS, 2 * MS, 2 * MS]);
        assert_eq!((recorder.first_calls.len(), recorder.first_calls.capacity()), (FIRST_CALLS, made_for));
    }

    #[test]
    fn messages_are_bounded_and_no_failure_is_lost() {
        let mut messages = Messages::default();
        for number in 0..1000 {
            messages.add(&format!("message {number}"), 2);
        }
        messages.add("message 3", 1);
        assert_eq!(messages.map().len(), MESSAGES_LIMIT + 1);
        assert_eq!(messages.map()["message 3"], 3);
        assert_eq!(messages.sum(), 2001);
    }

    #[test]
    fn latencies_beyond_the_range_are_kept_at_its_end() {
        let mut histogram = latency_histogram().unwrap();
        histogram.saturating_record(u64::MAX);
        histogram.saturating_record(0);
        assert_eq!(histogram.len(), 2);
    }
}
