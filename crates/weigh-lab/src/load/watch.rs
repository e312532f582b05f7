//! A load while it goes on: snapshots of the engine become intervals of about a second.
//!
//! Snapshots are cumulative, so an interval is the difference of two; the last one is the difference to the final
//! report, so that intervals add up to it. Nothing here is on the hot path: it runs in the caller's thread, once a
//! second.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use weigh_load::{LoadReport, LoadSnapshot};
use weigh_results::model::histogram::{HistogramError, encode};
use weigh_results::model::load::LoadInterval;

/// A last interval shorter than this belongs to the one before.
const SHORTEST: Duration = Duration::from_millis(50);

/// What was seen last.
pub(super) struct Watch {
    settle: Duration,
    last: Cumulative,
    /// Finished intervals.
    pub(super) intervals: Vec<LoadInterval>,
}

/// Everything since the start of the load.
#[derive(Clone, Debug, Default)]
struct Cumulative {
    at: Duration,
    operations: u64,
    errors: u64,
    commonest_error: Option<String>,
    reconnects: u64,
    backlog: u64,
    client_cpu: Duration,
    /// `None`: nothing yet.
    latency: Option<Histogram<u64>>,
}

impl Watch {
    pub(super) fn new(settle: Duration) -> Watch {
        Watch { settle, last: Cumulative::default(), intervals: Vec::new() }
    }

    /// Takes a snapshot; gives the interval that it ends, `None` when nothing new was published.
    pub(super) fn take(&mut self, snapshot: LoadSnapshot) -> Result<Option<&LoadInterval>, HistogramError> {
        let now = Cumulative {
            at: snapshot.at,
            operations: snapshot.operations,
            errors: snapshot.errors,
            commonest_error: snapshot.commonest_error,
            reconnects: snapshot.reconnects,
            backlog: snapshot.backlog,
            client_cpu: snapshot.client_cpu,
            latency: Some(snapshot.latency),
        };
        if now.at < self.last.at + SHORTEST {
            return Ok(None);
        }
        self.push(now)?;
        Ok(self.intervals.last())
    }

    /// Takes the final report: what no snapshot has shown. `lasted`: from the start to the end of the drain.
    pub(super) fn end(&mut self, report: &LoadReport, lasted: Duration) -> Result<(), HistogramError> {
        let now = Cumulative {
            at: lasted.max(self.last.at),
            operations: report.operations_total,
            errors: report.errors.values().sum(),
            commonest_error: commonest(&report.errors),
            reconnects: report.reconnects,
            backlog: report.schedule.as_ref().map_or(0, |schedule| schedule.never_sent),
            client_cpu: self.last.client_cpu.max(report.client_user + report.client_system),
            latency: Some(report.latency.clone()),
        };
        let is_nothing = now.operations == self.last.operations && now.errors == self.last.errors;
        if is_nothing && now.at < self.last.at + SHORTEST && !self.intervals.is_empty() {
            return Ok(());
        }
        self.push(now)
    }

    fn push(&mut self, now: Cumulative) -> Result<(), HistogramError> {
        let before = &self.last;
        let errors = now.errors.saturating_sub(before.errors);
        self.intervals.push(LoadInterval {
            begin_s: before.at.as_secs_f64(),
            end_s: now.at.as_secs_f64(),
            // By its middle: publications are a little late.
            settling: (before.at + now.at) / 2 < self.settle,
            operations: now.operations.saturating_sub(before.operations),
            errors,
            commonest_error: now.commonest_error.clone().filter(|_| errors > 0),
            reconnects: now.reconnects.saturating_sub(before.reconnects),
            backlog: now.backlog,
            client_cpu_s: now.client_cpu.saturating_sub(before.client_cpu).as_secs_f64(),
            response: difference(now.latency.as_ref(), before.latency.as_ref())?,
        });
        self.last = now;
        Ok(())
    }
}

fn commonest(errors: &BTreeMap<String, u64>) -> Option<String> {
    errors.iter().max_by_key(|(_, count)| **count).map(|(message, _)| message.clone())
}

/// What is in `now` and was not in `before`; `None` when it is nothing.
fn difference(
    now: Option<&Histogram<u64>>,
    before: Option<&Histogram<u64>>,
) -> Result<Option<String>, HistogramError> {
    let Some(now) = now.filter(|now| !now.is_empty()) else { return Ok(None) };
    let Some(before) = before else { return encode(now).map(Some) };
    let mut between = now.clone();
    // Counts only grow. Should one not, the interval's own are unknown, and the totals still hold.
    if between.subtract(before).is_err() || between.is_empty() {
        return Ok(None);
    }
    encode(&between).map(Some)
}

#[cfg(test)]
mod tests {
    use weigh_results::model::histogram::decode;

    use super::*;

    fn histogram(values: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(100, 3_600_000_000_000, 3).unwrap();
        values.iter().for_each(|value| histogram.record(*value).unwrap());
        histogram
    }

    fn snapshot(at_ms: u64, operations: u64, values: &[u64]) -> LoadSnapshot {
        LoadSnapshot {
            at: Duration::from_millis(at_ms),
            operations,
            errors: operations / 10,
            commonest_error: None,
            reconnects: 0,
            latency: histogram(values),
            backlog: 3,
            client_cpu: Duration::from_millis(at_ms / 2),
        }
    }

    #[test]
    fn intervals_are_differences_of_snapshots() {
        let mut watch = Watch::new(Duration::from_secs(1));
        assert!(watch.take(snapshot(1_000, 100, &[])).unwrap().unwrap().settling);
        let second = watch.take(snapshot(2_000, 250, &[1_000, 2_000])).unwrap().unwrap().clone();
        assert_eq!((second.operations, second.errors, second.backlog), (150, 15, 3));
        assert!(!second.settling);
        let third = watch.take(snapshot(3_000, 300, &[1_000, 2_000, 2_000, 900_000])).unwrap().unwrap();
        let times = decode(third.response.as_deref().unwrap()).unwrap();
        assert_eq!((times.len(), times.count_at(2_000), times.count_at(900_000)), (2, 1, 1));
        assert!((third.client_cpu_s - 0.5).abs() < 1e-9);
        assert!(watch.take(snapshot(3_000, 300, &[])).unwrap().is_none(), "nothing new");
    }

    #[test]
    fn quiet_seconds_have_no_histogram() {
        let mut watch = Watch::new(Duration::ZERO);
        watch.take(snapshot(1_000, 1, &[5_000])).unwrap();
        let quiet = watch.take(snapshot(2_000, 1, &[5_000])).unwrap().unwrap();
        assert_eq!((quiet.operations, quiet.response.as_ref()), (0, None));
    }
}
