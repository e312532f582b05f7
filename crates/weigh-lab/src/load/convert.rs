//! From the engine's report to a record: no figure is changed, histograms become text.

use std::time::SystemTime;

use hdrhistogram::Histogram;
use weigh_load::{LoadReport, OperationReport, ScheduleReport};
use weigh_results::model::ClientCost;
use weigh_results::model::histogram::{HistogramError, encode};
use weigh_results::model::load::{LoadRecord, OperationRecord, ScheduleRecord};

use super::once::Finished;
use super::request::LoadRequest;
use crate::systems::SystemError;

/// RFC 3339 with milliseconds: the base of an HDR log's time stamps.
pub(super) fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}

/// The record of a finished load.
pub(super) fn record(
    request: &LoadRequest,
    started_at: SystemTime,
    finished: Finished,
) -> Result<LoadRecord, SystemError> {
    recorded(request, started_at, finished)
        .map_err(|error| SystemError::new("latencies cannot be kept").caused_by(error))
}

fn recorded(
    request: &LoadRequest,
    started_at: SystemTime,
    finished: Finished,
) -> Result<LoadRecord, HistogramError> {
    let Finished { report, intervals, interference, signal } = finished;
    let encoded = |histogram: Option<&Histogram<u64>>| histogram.map(encode).transpose();
    Ok(LoadRecord {
        weigh_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: time(started_at),
        asked: request.asked(),
        signal,
        settled_s: report.settled.as_secs_f64(),
        measured_s: report.measured.as_secs_f64(),
        operations_measured: report.operations_measured,
        operations_total: report.operations_total,
        errors: report.errors.clone(),
        misses: report.misses,
        item_errors: report.item_errors.clone(),
        reconnects: report.reconnects,
        response: encode(&report.latency)?,
        service: encoded(report.service.as_ref())?,
        schedule: report.schedule.as_ref().map(schedule).transpose()?,
        operations: report.operations.iter().map(operation).collect::<Result<_, _>>()?,
        intervals,
        completed_per_100ms: report.bins_100ms.clone(),
        client: client(&report),
        client_wait_s: report.client_wait.as_secs_f64(),
        interference,
        host_cpus: std::thread::available_parallelism().map_or(1, |cpus| cpus.get()),
    })
}

fn client(report: &LoadReport) -> ClientCost {
    ClientCost {
        user_s: report.client_user.as_secs_f64(),
        system_s: report.client_system.as_secs_f64(),
        busiest_thread: report.busiest_thread,
    }
}

/// How a schedule was kept.
pub(crate) fn schedule(report: &ScheduleReport) -> Result<ScheduleRecord, HistogramError> {
    Ok(ScheduleRecord {
        due: report.due,
        sent: report.sent,
        never_sent: report.never_sent,
        never_answered: report.never_answered,
        lag: encode(&report.lag)?,
        client_lag: encode(&report.client_lag)?,
        late_starts: report.late_starts,
        backlog_max: report.backlog_max,
    })
}

fn operation(report: &OperationReport) -> Result<OperationRecord, HistogramError> {
    Ok(OperationRecord {
        name: report.name.clone(),
        operations_measured: report.operations_measured,
        response: encode(&report.latency)?,
        service: report.service.as_ref().map(encode).transpose()?,
    })
}
