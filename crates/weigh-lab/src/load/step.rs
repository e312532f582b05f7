//! One step of a search: whether a rate was kept, and if not, whose fault that was.
//!
//! A step is kept when the p99 of response times is known and within the bound, operations do not fail, and no
//! backlog grows. Operations that were never answered count as slower than all others, so they need no rule of
//! their own. A step that would have been kept but for the client's own lateness, or in which the client had no CPU
//! left, says nothing about the system.

use weigh_load::LoadReport;
use weigh_results::model::load::{CapacityStep, StepFailure};
use weigh_results::report::load::doubts::is_backlog;
use weigh_results::report::load::summary::Distribution;

/// Share of operations that may fail.
const ERRORS: f64 = 0.001;
/// A thread that used or waited for a CPU for more than this share of the time has none left to keep a schedule with.
const CLIENT_FULL: f64 = 0.95;
/// Lateness below this explains nothing, seconds.
const LATE_S: f64 = 0.000_1;
const P99: u64 = 990_000;

/// What a load at `rate_per_s` with so many client `threads` found, judged.
pub(super) fn judge(rate_per_s: f64, report: &LoadReport, threads: usize, p99_limit_s: f64) -> CapacityStep {
    let schedule = report.schedule.as_ref();
    let unanswered = schedule.map_or(0, |schedule| schedule.never_sent + schedule.never_answered);
    let response = Distribution::new(report.latency.clone(), unanswered);
    let client_lag_s = schedule.and_then(|schedule| {
        let lag = Distribution::new(schedule.client_lag.clone(), 0);
        lag.known_s(P99).or_else(|| lag.max_s())
    });
    let due = schedule.map_or(report.latency.len(), |schedule| schedule.due);
    let measured_s = report.measured.as_secs_f64();
    let mut step = CapacityStep {
        rate_per_s,
        measured_s,
        due,
        achieved_per_s: if measured_s > 0.0 { number(report.operations_measured) / measured_s } else { 0.0 },
        p99_s: response.known_s(P99),
        client_lag_p99_s: client_lag_s.unwrap_or(0.0),
        busiest_thread: report.busiest_thread,
        client_wait: wait(report, threads),
        unanswered,
        errors: report.errors.values().sum(),
        failure: None,
    };
    let is_unknown = response.count() < 1_000;
    step.failure = failure(&step, report.operations_measured, is_unknown, p99_limit_s);
    step
}

/// Time a thread of the client waited for a CPU, relative to the window.
fn wait(report: &LoadReport, threads: usize) -> f64 {
    let window_s = report.measured.as_secs_f64() * number(u64::try_from(threads.max(1)).unwrap_or(1));
    if window_s > 0.0 { report.client_wait.as_secs_f64() / window_s } else { 0.0 }
}

fn failure(step: &CapacityStep, done: u64, is_unknown: bool, p99_limit_s: f64) -> Option<StepFailure> {
    if number(step.errors) > ERRORS * number(step.due) {
        return Some(StepFailure::Errors);
    }
    if is_unknown {
        return Some(StepFailure::TooFew);
    }
    let is_slow = step.p99_s.is_none_or(|p99_s| p99_s > p99_limit_s);
    let undone = step.due.saturating_sub(done + step.errors);
    let is_behind = is_backlog(undone, step.due);
    if !is_slow && !is_behind {
        return None;
    }
    // Response times contain the client's lateness, and so does the time by which a backlog is behind: without it
    // they would be about that much shorter.
    let beyond_s = if is_slow {
        step.p99_s.unwrap_or(f64::INFINITY) - p99_limit_s
    } else {
        number(undone) / step.rate_per_s
    };
    let is_late = step.client_lag_p99_s > LATE_S && step.client_lag_p99_s >= beyond_s;
    if step.busiest_thread + step.client_wait > CLIENT_FULL || is_late {
        return Some(StepFailure::Client);
    }
    Some(if is_behind { StepFailure::Backlog } else { StepFailure::TooSlow })
}

#[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> CapacityStep {
        CapacityStep {
            rate_per_s: 1_000.0,
            measured_s: 3.0,
            due: 3_000,
            achieved_per_s: 1_000.0,
            p99_s: Some(0.004),
            client_lag_p99_s: 0.000_1,
            busiest_thread: 0.2,
            ..CapacityStep::default()
        }
    }

    #[track_caller]
    fn check(step: &CapacityStep, done: u64, expected: Option<StepFailure>) {
        assert_eq!(failure(step, done, false, 0.010), expected, "{step:?}");
    }

    #[test]
    fn a_step_fails_for_the_reason_that_matters_most() {
        check(&kept(), 2_999, None);
        check(&CapacityStep { p99_s: Some(0.011), ..kept() }, 2_990, Some(StepFailure::TooSlow));
        check(&CapacityStep { p99_s: None, unanswered: 40, ..kept() }, 2_960, Some(StepFailure::TooSlow));
        check(&kept(), 2_900, Some(StepFailure::Backlog));
        check(&CapacityStep { p99_s: None, unanswered: 900, ..kept() }, 2_100, Some(StepFailure::Backlog));
        check(&CapacityStep { errors: 3, ..kept() }, 2_997, None);
        check(&CapacityStep { errors: 30, ..kept() }, 2_970, Some(StepFailure::Errors));
    }

    #[test]
    fn a_late_client_is_not_held_against_the_system() {
        let slow = CapacityStep { p99_s: Some(0.020), ..kept() };
        check(&CapacityStep { client_lag_p99_s: 0.015, ..slow.clone() }, 2_999, Some(StepFailure::Client));
        check(&CapacityStep { busiest_thread: 0.99, ..slow.clone() }, 2_999, Some(StepFailure::Client));
        let waited = CapacityStep { busiest_thread: 0.5, client_wait: 0.5, ..slow.clone() };
        check(&waited, 2_999, Some(StepFailure::Client));
        // It was late, and without that it would still have been too slow.
        check(&CapacityStep { client_lag_p99_s: 0.003, ..slow.clone() }, 2_999, Some(StepFailure::TooSlow));
        check(
            &CapacityStep { client_lag_p99_s: 0.003, p99_s: None, ..slow },
            2_000,
            Some(StepFailure::Backlog),
        );
        // It was late, and the bound was kept all the same.
        check(&CapacityStep { client_lag_p99_s: 0.003, ..kept() }, 2_999, None);
    }

    #[test]
    fn too_few_operations_are_no_answer() {
        assert_eq!(failure(&kept(), 500, true, 0.01), Some(StepFailure::TooFew));
    }
}
