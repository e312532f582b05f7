//! Reasons not to trust one load: the same kinds as for a run, with words that fit a load.
//!
//! [`of`] looks at a record and its summary, nothing else. The limits are fixed and none of them depends on
//! whether the figures look good.

use super::summary::{Distribution, LoadSummary};
use super::{number, per};
use crate::doubt::{Doubt, DoubtKind, DoubtText};
use crate::model::load::{LoadRecord, ScheduleAsked};
use crate::report::units;

/// A client above this share of its busiest core measures itself.
pub(super) const CLIENT_BUSY: f64 = 0.70;
/// Time the client's threads waited for a CPU, relative to the window and the number of threads.
pub(super) const CLIENT_WAIT: f64 = 0.05;
/// The client's own lag: harmless below this, seconds.
const CLIENT_LAG_S: f64 = 0.001;
/// Share of the response times that may be the client's own lag.
const CLIENT_LAG_SHARE: f64 = 0.05;
/// Share of what was due that may be left undone at the end of the window.
const BACKLOG: f64 = 0.02;
/// Operations that were due and are not missed yet, whatever their share: a few are always under way.
const BACKLOG_OPERATIONS: u64 = 20;
/// Share of operations that failed.
const ERRORS: f64 = 0.001;
/// Share of CPU time stolen, and used by neither us nor an idle loop.
const STEAL: f64 = 0.02;

const P50: u64 = 500_000;
const P99: u64 = 990_000;

/// Every doubt the record shows, the weightiest first.
pub fn of(record: &LoadRecord, summary: &LoadSummary) -> Vec<Doubt> {
    let found = [
        errors(record),
        client_busy(record),
        schedule(record, summary),
        capacity(record),
        client_wait(record),
        steal(record),
        too_few(summary),
        interrupted(record),
    ];
    found
        .into_iter()
        .flatten()
        .map(|(kind, evidence)| Doubt { kind, evidence, variants: Vec::new() })
        .collect()
}

type Found = Option<(DoubtKind, String)>;

fn errors(record: &LoadRecord) -> Found {
    let failed: u64 = record.errors.values().sum();
    let share = per(number(failed), number(failed + record.operations_total));
    let (worst, _) = record.errors.iter().max_by_key(|(_, count)| **count)?;
    (share > ERRORS).then(|| {
        let evidence = format!(
            "{} of {} operations failed ({}), most with `{worst}`",
            units::count(failed),
            units::count(failed + record.operations_total),
            units::percent(share),
        );
        (DoubtKind::Errors, evidence)
    })
}

fn client_busy(record: &LoadRecord) -> Found {
    let busiest = record.client.busiest_thread;
    let evidence = || format!("its busiest thread used {:.0} % of a core", 100.0 * busiest);
    (busiest > CLIENT_BUSY).then(|| (DoubtKind::ClientSaturated, evidence()))
}

/// A client that sends later than it could.
fn schedule(record: &LoadRecord, summary: &LoadSummary) -> Found {
    record.schedule.as_ref()?;
    let lag_s = typical(summary.client_lag.as_ref()?)?;
    let response_s = typical(&summary.response)?;
    let evidence = || {
        format!(
            "the p99 of its own delay in sending was {}, that of the response times {}",
            units::seconds(lag_s),
            units::seconds(response_s)
        )
    };
    is_late(lag_s, response_s).then(|| (DoubtKind::ScheduleNotKept, evidence()))
}

/// Whether a client's own lag is too much of what it measured.
pub fn is_late(client_lag_p99_s: f64, response_p99_s: f64) -> bool {
    client_lag_p99_s > CLIENT_LAG_S && client_lag_p99_s > CLIENT_LAG_SHARE * response_p99_s
}

/// p99 where it is known, else p50, else the slowest.
fn typical(times: &Distribution) -> Option<f64> {
    times.known_s(P99).or_else(|| times.known_s(P50)).or_else(|| times.max_s())
}

fn capacity(record: &LoadRecord) -> Found {
    let ScheduleAsked::Open { rate_per_s, .. } = record.asked.schedule else { return None };
    let schedule = record.schedule.as_ref()?;
    if record.signal.is_some() {
        return None;
    }
    let failed: u64 = record.errors.values().sum();
    let undone = schedule.due.saturating_sub(record.operations_measured + failed);
    if !is_backlog(undone, schedule.due) {
        return None;
    }
    let evidence = format!(
        "{}/s were due and {}/s were done; at worst {} operations waited to be sent",
        units::figure(rate_per_s),
        units::figure(per(number(record.operations_measured), record.measured_s)),
        units::count(schedule.backlog_max),
    );
    Some((DoubtKind::RateAboveCapacity, evidence))
}

/// Whether what was due and is not done at the end of a window is a backlog, and not only under way.
pub fn is_backlog(undone: u64, due: u64) -> bool {
    undone > BACKLOG_OPERATIONS && number(undone) > BACKLOG * number(due)
}

fn client_wait(record: &LoadRecord) -> Found {
    let threads = number(u64::try_from(record.asked.threads.max(1)).unwrap_or(1));
    let share = per(record.client_wait_s, record.measured_s * threads);
    let evidence = || format!("its threads waited {} of the time for a CPU", units::percent(share));
    (share > CLIENT_WAIT).then(|| (DoubtKind::RunQueueWait, evidence()))
}

fn steal(record: &LoadRecord) -> Found {
    let share = record.interference.steal;
    let evidence = || format!("the hypervisor took {} of CPU time", units::percent(share));
    (share > STEAL).then(|| (DoubtKind::Steal, evidence()))
}

fn too_few(summary: &LoadSummary) -> Found {
    let unknown = summary.response.at(P99).value;
    let super::summary::PercentileValue::TooFew { missing } = unknown else { return None };
    let evidence = format!(
        "{} operations; p99 needs {} more",
        units::count(summary.response.count()),
        units::count(missing)
    );
    Some((DoubtKind::TooFewOperations, evidence))
}

fn interrupted(record: &LoadRecord) -> Found {
    record.signal?;
    Some((
        DoubtKind::CutShort,
        format!("{} of {}", units::elapsed(record.measured_s), units::planned(record.asked.measure_s)),
    ))
}

/// The words of a doubt about one load.
pub fn text(kind: DoubtKind) -> DoubtText {
    let (title, cause, advice) = match kind {
        DoubtKind::Errors => (
            "operations failed",
            "They are counted and in no percentile, but a system that fails does less work.",
            "Read the messages above, correct the operation or the system, and measure again.",
        ),
        DoubtKind::ClientSaturated => (
            "the client was near its limit",
            "What was measured is partly the load generator.",
            "Give it more threads (`--threads`), or run it where CPUs are free.",
        ),
        DoubtKind::ScheduleNotKept => (
            "the client did not keep its schedule",
            "A part of the response times is the load generator's own.",
            "Give it more threads (`--threads`), more connections (`--clients`) or a free CPU, or ask for a lower `--rate`.",
        ),
        DoubtKind::RateAboveCapacity => (
            "the rate is above what the system does",
            "The backlog grows for as long as the load lasts, so the response times say how long that was.",
            "Ask for a lower `--rate` or more `--clients`; `--find-capacity` finds the highest rate that is kept.",
        ),
        DoubtKind::RunQueueWait => (
            "the client waited for a CPU",
            "Latencies then contain the scheduler's queue, and a figure can repeat well and still be many times too high.",
            "Free some CPUs, use fewer threads, or run the client on a machine of its own.",
        ),
        DoubtKind::Steal => (
            "the hypervisor gave CPU time to somebody else",
            "Latencies contain those pauses.",
            "Measure again at a quieter hour or on a host of your own.",
        ),
        DoubtKind::TooFewOperations => (
            "too few operations for p99",
            "A percentile with fewer than ten operations beyond it is a guess, and is not shown.",
            "Measure longer (`--duration`).",
        ),
        DoubtKind::CutShort => (
            "the load was cut short",
            "What was answered until then is shown; what was outstanding is not.",
            "Let it go on to its end.",
        ),
        other => return other.text(),
    };
    DoubtText { title, cause, advice }
}
