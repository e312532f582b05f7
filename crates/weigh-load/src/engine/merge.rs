//! What the workers saw, added up to the report of the load.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::pace::add;
use super::recorder::{Messages, Recorder, bins_until, latency_histogram};
use super::timeline::Timeline;
use super::worker::WorkerReport;
use crate::error::LoadError;
use crate::report::{LoadReport, OperationReport, ScheduleReport};
use crate::spec::{LoadSpec, Schedule};

/// Adds up. `cancelled_ns`: when the load was cancelled, if it was.
pub(super) fn merge(
    spec: &LoadSpec,
    timeline: &Timeline,
    cancelled_ns: Option<u64>,
    workers: &[WorkerReport],
) -> Result<LoadReport, LoadError> {
    let ended_ns = ended_ns(timeline, cancelled_ns, workers);
    let settled_ns = ended_ns.min(timeline.measure_begins_ns);
    let open = spec.schedule != Schedule::Closed;
    let operations = operation_reports(spec, timeline, open, workers)?;
    let mut report = LoadReport {
        settled: Duration::from_nanos(settled_ns),
        measured: Duration::from_nanos(ended_ns - settled_ns),
        operations_measured: operations.iter().map(|operation| operation.operations_measured).sum(),
        operations_total: 0,
        errors: BTreeMap::new(),
        misses: 0,
        item_errors: BTreeMap::new(),
        reconnects: 0,
        latency: sum(operations.iter().map(|operation| &operation.latency))?,
        service: match open {
            true => Some(sum(operations.iter().filter_map(|operation| operation.service.as_ref()))?),
            false => None,
        },
        schedule: if open { Some(ScheduleReport::empty()?) } else { None },
        operations,
        first_calls: Vec::new(),
        bins_100ms: vec![0; bins_until(ended_ns)],
        client_user: Duration::ZERO,
        client_system: Duration::ZERO,
        busiest_thread: 0.0,
        client_wait: Duration::ZERO,
    };
    for worker in workers {
        report.absorb(worker)?;
    }
    Ok(report)
}

/// The end of the measured window: as planned, at a cancel, or when the last worker had done its share of a limit.
fn ended_ns(timeline: &Timeline, cancelled_ns: Option<u64>, workers: &[WorkerReport]) -> u64 {
    if let Some(cancelled_ns) = cancelled_ns {
        return cancelled_ns.min(timeline.measure_ends_ns);
    }
    let last = workers.iter().map(|worker| worker.ended_ns.unwrap_or(timeline.measure_ends_ns)).max();
    last.unwrap_or(timeline.measure_ends_ns).max(timeline.measure_begins_ns)
}

fn operation_reports(
    spec: &LoadSpec,
    timeline: &Timeline,
    open: bool,
    workers: &[WorkerReport],
) -> Result<Vec<OperationReport>, LoadError> {
    let recorders = || workers.iter().map(|worker| &worker.recorder);
    let report = |(index, name): (usize, &String)| {
        let latency = sum(recorders().map(|recorder| &recorder.latencies[index]))?;
        let service = match open {
            true => Some(sum(recorders().filter_map(|recorder| recorder.services.get(index)))?),
            false => None,
        };
        // With a limit the operations counted are those that were sent in the window.
        let operations_measured = match timeline.counts_by_start && !open {
            true => latency.len(),
            false => recorders().map(|recorder| recorder.completed[index]).sum(),
        };
        Ok(OperationReport { name: name.clone(), operations_measured, latency, service })
    };
    spec.operations.iter().map(|operation| &operation.name).enumerate().map(report).collect()
}

fn sum<'a>(histograms: impl Iterator<Item = &'a Histogram<u64>>) -> Result<Histogram<u64>, LoadError> {
    let mut sum = latency_histogram()?;
    for histogram in histograms {
        add(&mut sum, histogram)?;
    }
    Ok(sum)
}

impl LoadReport {
    /// Adds a worker's counts; its latencies are merged already.
    fn absorb(&mut self, worker: &WorkerReport) -> Result<(), LoadError> {
        let WorkerReport { recorder, spent, schedule, .. } = worker;
        self.absorb_counts(recorder);
        if let (Some(sum), Some(schedule)) = (&mut self.schedule, schedule) {
            sum.absorb(schedule)?;
        }
        self.client_user += spent.user;
        self.client_system += spent.system;
        self.client_wait += spent.wait;
        self.busiest_thread = self.busiest_thread.max(spent.busy);
        Ok(())
    }

    fn absorb_counts(&mut self, recorder: &Recorder) {
        self.operations_total += recorder.total;
        self.misses += recorder.misses;
        self.reconnects += recorder.reconnects;
        self.first_calls.extend(recorder.first_calls.iter().copied().map(Duration::from_nanos));
        absorb_messages(&mut self.errors, &recorder.errors);
        absorb_messages(&mut self.item_errors, &recorder.item_errors);
        for (sum, bin) in self.bins_100ms.iter_mut().zip(&recorder.bins) {
            *sum += bin;
        }
    }
}

fn absorb_messages(sum: &mut BTreeMap<String, u64>, messages: &Messages) {
    for (message, count) in messages.map() {
        *sum.entry(message.clone()).or_default() += count;
    }
}
