//! How a worker keeps an open loop's schedule: what is due, what was sent, and how late.
//!
//! Two cursors run over the same arrivals: one stands at the next operation to be sent, the other at the next one to
//! fall due. What lies between is the backlog; however long, it takes no memory.

use hdrhistogram::Histogram;

use super::arrivals::{ArrivalCursor, Place};
use super::recorder::latency_histogram;
use super::timeline::Timeline;
use crate::error::LoadError;
use crate::report::ScheduleReport;
use crate::spec::LoadSpec;

/// An operation sent later than this after its intended start is a late start.
const LATE_NS: u64 = 1_000_000;

/// The schedule of one worker, and how it was kept.
#[derive(Debug)]
pub(super) struct Pace {
    timeline: Timeline,
    next: ArrivalCursor,
    coming: ArrivalCursor,
    backlog: u64,
    report: ScheduleReport,
}

impl Pace {
    /// The schedule of a worker; `None` in a closed loop.
    pub(super) fn new(spec: &LoadSpec, timeline: &Timeline, place: Place) -> Result<Option<Self>, LoadError> {
        let Some(next) = ArrivalCursor::new(spec, timeline, place) else { return Ok(None) };
        let (coming, report) = (next.clone(), ScheduleReport::empty()?);
        Ok(Some(Self { timeline: *timeline, next, coming, backlog: 0, report }))
    }

    /// When the next operation to be sent is or was due; `u64::MAX` behind the last.
    #[inline]
    pub(super) fn due_ns(&self) -> u64 {
        self.next.due_ns()
    }

    /// Operations that were due at the last [`count_due`](Self::count_due) and are not sent.
    #[inline]
    pub(super) fn backlog(&self) -> u64 {
        self.backlog
    }

    /// Whether every operation of the schedule was sent.
    pub(super) fn all_sent(&self) -> bool {
        self.next.due_ns() == u64::MAX
    }

    /// Notes what is due by `now_ns`.
    #[inline]
    pub(super) fn count_due(&mut self, now_ns: u64) {
        if self.coming.due_ns() > now_ns {
            return;
        }
        while self.coming.due_ns() <= now_ns {
            self.backlog += 1;
            self.report.due += u64::from(self.coming.due_ns() >= self.timeline.measure_begins_ns);
            self.coming.advance();
        }
        if now_ns >= self.timeline.measure_begins_ns {
            self.report.backlog_max = self.report.backlog_max.max(self.backlog);
        }
    }

    /// Takes the oldest operation of the backlog, which must not be empty; gives its intended start.
    #[inline]
    pub(super) fn take(&mut self) -> u64 {
        let intended_ns = self.next.due_ns();
        self.next.advance();
        self.backlog -= 1;
        intended_ns
    }

    /// Notes that an operation taken was sent, on a connection that had had room since `free_ns`.
    #[inline]
    pub(super) fn sent(&mut self, intended_ns: u64, sent_ns: u64, free_ns: u64) {
        if !self.timeline.in_window(intended_ns) {
            return;
        }
        let lag_ns = sent_ns.saturating_sub(intended_ns);
        self.report.sent += 1;
        self.report.lag.saturating_record(lag_ns);
        self.report.client_lag.saturating_record(sent_ns.saturating_sub(intended_ns.max(free_ns)));
        self.report.late_starts += u64::from(lag_ns > LATE_NS);
    }

    /// Closes the books at the end of the load, or when it was cancelled: `in_flight` are the intended starts of what
    /// was sent and neither answered nor failed.
    pub(super) fn finish(mut self, now_ns: u64, in_flight: impl Iterator<Item = u64>) -> ScheduleReport {
        self.count_due(now_ns);
        self.report.never_sent = self.report.due - self.report.sent;
        let unanswered = in_flight.filter(|intended_ns| self.timeline.in_window(*intended_ns)).count();
        self.report.never_answered = unanswered as u64;
        self.report
    }
}

impl ScheduleReport {
    /// A schedule on which nothing was due.
    pub(super) fn empty() -> Result<Self, LoadError> {
        Ok(Self {
            due: 0,
            sent: 0,
            never_sent: 0,
            never_answered: 0,
            lag: latency_histogram()?,
            client_lag: latency_histogram()?,
            late_starts: 0,
            backlog_max: 0,
        })
    }

    /// Adds what another worker reports.
    pub(super) fn absorb(&mut self, other: &Self) -> Result<(), LoadError> {
        self.due += other.due;
        self.sent += other.sent;
        self.never_sent += other.never_sent;
        self.never_answered += other.never_answered;
        self.late_starts += other.late_starts;
        self.backlog_max += other.backlog_max;
        add(&mut self.lag, &other.lag)?;
        add(&mut self.client_lag, &other.client_lag)
    }
}

/// Adds a histogram to another of the same shape.
pub(super) fn add(sum: &mut Histogram<u64>, other: &Histogram<u64>) -> Result<(), LoadError> {
    sum.add(other).map_err(|error| LoadError::Spec(format!("histograms do not add up: {error}")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::spec::{Arrivals, Operation, Schedule};

    const MS: u64 = 1_000_000;

    /// 1000/s for 100 ms of warm-up and 200 ms of window.
    fn pace() -> Pace {
        let spec = LoadSpec {
            clients: 1,
            threads: 1,
            pipeline: 1,
            settle: Duration::from_millis(100),
            measure: Duration::from_millis(200),
            operations_limit: None,
            schedule: Schedule::Open { rate_per_s: 1000.0, arrivals: Arrivals::Constant },
            operations: vec![Operation { name: "one".into(), weight: 1, parameters: vec![] }],
            seed: 7,
            trial_number: 0,
            pin: false,
        };
        let timeline = Timeline::of_ms(100, 300, true);
        Pace::new(&spec, &timeline, Place { worker: 0, workers: 1 }).unwrap().unwrap()
    }

    #[test]
    fn what_is_never_sent_is_counted_from_the_window_only() {
        let mut pace = pace();
        pace.count_due(149 * MS);
        assert_eq!(pace.backlog(), 150);
        for number in 0..120 {
            assert_eq!(pace.take(), number * MS);
            pace.sent(number * MS, 149 * MS, 149 * MS);
        }
        let report = pace.finish(1000 * MS, [90 * MS, 110 * MS].into_iter());
        assert_eq!((report.due, report.sent, report.never_sent, report.never_answered), (200, 20, 180, 1));
        assert_eq!(report.backlog_max, 180);
        assert_eq!((report.lag.len(), report.client_lag.max(), report.late_starts), (20, 0, 20));
    }

    #[test]
    fn a_cancelled_schedule_owes_nothing_after_the_cancel() {
        let mut pace = pace();
        pace.count_due(50 * MS);
        let report = pace.finish(119 * MS, std::iter::empty());
        assert_eq!((report.due, report.sent, report.never_sent), (20, 0, 20));
    }

    #[test]
    fn the_clients_own_share_begins_when_a_connection_is_free() {
        let mut pace = pace();
        pace.count_due(200 * MS);
        pace.sent(150 * MS, 200 * MS, 190 * MS);
        pace.sent(150 * MS, 200 * MS, 0);
        let report = pace.report;
        assert!(report.client_lag.min() < 10_100_000 && report.client_lag.max() >= 49_900_000);
        assert!(report.lag.min() >= 49_900_000);
    }
}
