//! The report of one load as JSON. Described field by field in `docs/load.md`.
//!
//! Times are seconds unless a name says otherwise; histograms are nanoseconds (HdrHistogram V2, deflated, base64).
//! Fields may be added; none is renamed or removed without raising
//! [`REPORT_VERSION`](crate::report::json::REPORT_VERSION).

use serde_json::{Value, json};

use super::summary::{Distribution, LoadSummary, Percentile, PercentileValue};
use super::{bars, doubts, number, per};
use crate::doubt::Doubt;
use crate::model::load::LoadRecord;
use crate::report::json::REPORT_VERSION;

/// The report.
pub fn render(record: &LoadRecord, summary: &LoadSummary) -> Value {
    let failed: u64 = record.errors.values().sum();
    let operations = number(record.operations_measured);
    json!({
        "report": "load",
        "report_version": REPORT_VERSION,
        "weigh_version": record.weigh_version,
        "started_at": record.started_at,
        "asked": record.asked,
        "signal": record.signal,
        "settled_s": record.settled_s,
        "measured_s": record.measured_s,
        "operations_measured": record.operations_measured,
        "operations_total": record.operations_total,
        "throughput_per_s": per(operations, record.measured_s),
        "errors_total": failed,
        "errors": record.errors,
        "misses": record.misses,
        "item_errors": record.item_errors,
        "reconnects": record.reconnects,
        "response": distribution(&summary.response, &record.response),
        "service": summary.service.as_ref().zip(record.service.as_deref()).map(|(times, text)| distribution(times, text)),
        "schedule": schedule(record, summary),
        "operations": each_operation(record, summary),
        "intervals": record.intervals,
        "completed_per_100ms": record.completed_per_100ms,
        "client": {
            "user_s": record.client.user_s,
            "system_s": record.client.system_s,
            "wait_s": record.client_wait_s,
            "user_per_op_s": per(record.client.user_s, operations),
            "system_per_op_s": per(record.client.system_s, operations),
            "busiest_thread": record.client.busiest_thread,
            "host_cpus": record.host_cpus,
            "host_steal": record.interference.steal,
            "host_psi_cpu": record.interference.psi_cpu,
        },
        "doubts": doubt_values(&doubts::of(record, summary)),
    })
}

/// Doubts with the words of a load.
pub(super) fn doubt_values(found: &[Doubt]) -> Vec<Value> {
    let of = |doubt: &Doubt| {
        let text = doubts::text(doubt.kind);
        json!({
            "kind": doubt.kind,
            "title": text.title,
            "evidence": doubt.evidence,
            "cause": text.cause,
            "advice": text.advice,
        })
    };
    found.iter().map(of).collect()
}

fn distribution(times: &Distribution, text: &str) -> Value {
    let buckets = bars::rows(&times.histogram);
    json!({
        "answered": times.histogram.len(),
        "unanswered": times.unanswered,
        "mean_s": (!times.histogram.is_empty()).then(|| times.histogram.mean() / 1e9),
        "max_s": times.max_s(),
        "percentiles": times.percentiles.iter().map(percentile).collect::<Vec<_>>(),
        "buckets": buckets.iter().map(|row| json!({
            "from_s": row.from_s, "to_s": row.to_s, "count": row.count, "cumulative": row.cumulative,
        })).collect::<Vec<_>>(),
        "hdr_v2_ns": text,
    })
}

fn percentile(found: &Percentile) -> Value {
    let (why, missing) = match found.value {
        PercentileValue::Known(_) => (None, None),
        PercentileValue::TooFew { missing } => (Some("too_few_operations"), Some(missing)),
        PercentileValue::Unanswered => (Some("unanswered"), None),
    };
    json!({
        "name": found.name(),
        "percent": number(found.ppm) / 10_000.0,
        "value_s": found.known_s(),
        "operations_beyond": found.above,
        "unknown_because": why,
        "operations_missing": missing,
        "in_single_seconds": found.spread.map(|spread| json!({
            "low_s": spread.low_s, "high_s": spread.high_s, "intervals": spread.intervals,
        })),
    })
}

fn schedule(record: &LoadRecord, summary: &LoadSummary) -> Option<Value> {
    let schedule = record.schedule.as_ref()?;
    let times =
        |found: &Option<Distribution>, text: &str| found.as_ref().map(|found| distribution(found, text));
    Some(json!({
        "due": schedule.due,
        "sent": schedule.sent,
        "never_sent": schedule.never_sent,
        "never_answered": schedule.never_answered,
        "late_starts": schedule.late_starts,
        "backlog_max": schedule.backlog_max,
        "lag": times(&summary.lag, &schedule.lag),
        "client_lag": times(&summary.client_lag, &schedule.client_lag),
    }))
}

fn each_operation(record: &LoadRecord, summary: &LoadSummary) -> Vec<Value> {
    let both = record.operations.iter().zip(&summary.operations);
    both.map(|(operation, times)| {
        json!({
            "name": operation.name,
            "operations_measured": operation.operations_measured,
            "throughput_per_s": per(number(operation.operations_measured), record.measured_s),
            "response": distribution(times, &operation.response),
            "service_hdr_v2_ns": operation.service,
        })
    })
    .collect()
}
