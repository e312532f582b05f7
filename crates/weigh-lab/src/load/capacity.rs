//! Finding the highest rate that is kept: steps of real load, chosen by [`Search`].
//!
//! First a closed loop with the same clients: the system's throughput when nobody waits his turn, which no open
//! loop with these clients exceeds. Then open-loop steps, each long enough for its p99 to be known, each on fresh
//! connections.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use weigh_load::{Driver, Limits};
use weigh_results::model::load::{
    ArrivalsAsked, CapacityRecord, CapacityStep, LoadInterval, ScheduleAsked, StepFailure,
};

use super::once::{self, once};
use super::request::LoadRequest;
use super::search::{Search, SearchLimits};
use super::{convert, step};
use crate::host::Cancel;
use crate::systems::SystemError;

/// Measured window of the closed loop, at most.
const ESTIMATE: Duration = Duration::from_secs(2);
/// Share of the closed loop's throughput that is tried first.
const FIRST: f64 = 0.8;
/// Operations of a step: twice what its p99 needs.
const OPERATIONS: f64 = 2_000.0;
/// No step is longer, unless it was asked for.
const LONGEST: Duration = Duration::from_secs(60);
/// Rates below this have too few operations in the longest step.
const LEAST_PER_S: f64 = 20.0;
/// The search gives up this far below the closed loop.
const LEAST_SHARE: f64 = 0.001;
/// How close the two ends must come.
const PRECISION: f64 = 0.05;
const STEPS: usize = 40;

/// What must hold at a rate for it to be kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapacityBound {
    /// p99 of response times, at most.
    pub p99: Duration,
    /// Highest rate to try, per second.
    pub max_rate_per_s: Option<f64>,
}

/// What goes on in a search.
#[derive(Clone, Copy, Debug)]
pub enum CapacityEvent<'a> {
    /// A load begins: the closed loop (`None`), or a step at a rate per second.
    Begins(Option<f64>),
    /// An interval of it has ended; it is planned to last so many seconds.
    Interval(&'a LoadInterval, f64),
    /// The closed loop did so many operations per second.
    Estimated(f64),
    /// A step has ended; its number, from 1.
    Step(usize, &'a CapacityStep),
}

/// Searches. `request.measure` is the shortest step; its schedule's arrivals are kept, its rate is not looked at.
///
/// # Errors
/// As for [`run`](super::run), and when a closed loop does nothing at all.
pub fn find_capacity(
    request: &LoadRequest,
    bound: CapacityBound,
    cancel: &Cancel,
    on: &mut dyn FnMut(CapacityEvent<'_>),
) -> Result<CapacityRecord, SystemError> {
    let started_at = convert::time(SystemTime::now());
    let mut hunt = Hunt { driver: once::driver(request)?, request, bound, cancel, on };
    let closed_loop_per_s = hunt.estimate()?;
    if closed_loop_per_s <= 0.0 && !cancel.is_cancelled() {
        return Err(SystemError::new(
            "a closed loop did not complete one operation: there is no capacity to find",
        ));
    }
    let most_per_s = bound.max_rate_per_s.unwrap_or(1e8);
    let mut search = Search::new(SearchLimits {
        first_per_s: FIRST * closed_loop_per_s,
        least_per_s: (LEAST_SHARE * closed_loop_per_s).max(LEAST_PER_S).min(most_per_s),
        most_per_s,
        precision: PRECISION,
        steps: STEPS,
    });
    let mut steps: Vec<CapacityStep> = Vec::new();
    while !cancel.is_cancelled()
        && let Some(rate_per_s) = search.next_rate()
    {
        let Some(step) = hunt.step(rate_per_s)? else { break };
        search.record(rate_per_s, step.failure.is_none());
        (hunt.on)(CapacityEvent::Step(steps.len() + 1, &step));
        steps.push(step);
    }
    let found = search.found();
    let limited_by = found.failed_per_s.and_then(|rate_per_s| commonest_failure(&steps, rate_per_s));
    Ok(CapacityRecord {
        weigh_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        asked: request.asked(),
        p99_limit_s: bound.p99.as_secs_f64(),
        max_rate_per_s: bound.max_rate_per_s,
        closed_loop_per_s,
        steps,
        highest_pass_per_s: found.kept_per_s,
        lowest_fail_per_s: found.failed_per_s,
        confirmed: found.confirmed,
        limited_by,
        signal: cancel.is_cancelled().then(|| cancel.signal().unwrap_or(0)),
    })
}

/// What the steps at a rate failed for most often; the weightier when there is no most.
fn commonest_failure(steps: &[CapacityStep], rate_per_s: f64) -> Option<StepFailure> {
    let at_rate = steps.iter().filter(|step| (step.rate_per_s / rate_per_s - 1.0).abs() < 1e-9);
    let failures: Vec<StepFailure> = at_rate.filter_map(|step| step.failure).collect();
    failures.iter().copied().max_by_key(|why| (failures.iter().filter(|other| *other == why).count(), *why))
}

/// A search under way.
struct Hunt<'a, 'o> {
    driver: Arc<dyn Driver>,
    request: &'a LoadRequest,
    bound: CapacityBound,
    cancel: &'a Cancel,
    on: &'o mut dyn FnMut(CapacityEvent<'_>),
}

impl Hunt<'_, '_> {
    /// Operations per second of a closed loop.
    fn estimate(&mut self) -> Result<f64, SystemError> {
        (self.on)(CapacityEvent::Begins(None));
        let measure = self.request.measure.min(ESTIMATE);
        let request = LoadRequest { schedule: ScheduleAsked::Closed, measure, ..self.request.clone() };
        let report = self.load(&request)?;
        let measured_s = report.measured.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
        let per_s = if measured_s > 0.0 { report.operations_measured as f64 / measured_s } else { 0.0 };
        (self.on)(CapacityEvent::Estimated(per_s));
        Ok(per_s)
    }

    /// One step; `None` when a signal cut it short.
    fn step(&mut self, rate_per_s: f64) -> Result<Option<CapacityStep>, SystemError> {
        (self.on)(CapacityEvent::Begins(Some(rate_per_s)));
        let arrivals = match self.request.schedule {
            ScheduleAsked::Open { arrivals, .. } => arrivals,
            ScheduleAsked::Closed => ArrivalsAsked::Constant,
        };
        let needed = Duration::from_secs_f64(OPERATIONS / rate_per_s).min(LONGEST);
        let request = LoadRequest {
            schedule: ScheduleAsked::Open { rate_per_s, arrivals },
            measure: self.request.measure.max(needed),
            operations_limit: None,
            ..self.request.clone()
        };
        let report = self.load(&request)?;
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        Ok(Some(step::judge(rate_per_s, &report, self.request.threads(), self.bound.p99.as_secs_f64())))
    }

    fn load(&mut self, request: &LoadRequest) -> Result<weigh_load::LoadReport, SystemError> {
        let planned_s = (request.settle + request.measure).as_secs_f64();
        // A step that is already lost is not waited for: who is not answered by then is beyond the bound.
        let drain = (2 * self.bound.p99).clamp(Duration::from_millis(500), Duration::from_secs(10));
        let limits = Limits { reply: request.timeout, drain, ..Limits::default() };
        let on = &mut self.on;
        let mut watch = |interval: &LoadInterval| on(CapacityEvent::Interval(interval, planned_s));
        Ok(once(&request.spec(), &self.driver, limits, self.cancel, &mut watch)?.report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_given_is_the_commonest_at_that_rate() {
        let step = |rate_per_s, failure| CapacityStep { rate_per_s, failure, ..CapacityStep::default() };
        let steps = [
            step(100.0, Some(StepFailure::Client)),
            step(200.0, Some(StepFailure::TooSlow)),
            step(200.0, Some(StepFailure::Backlog)),
            step(200.0, Some(StepFailure::Backlog)),
            step(200.0, None),
        ];
        assert_eq!(commonest_failure(&steps, 200.0), Some(StepFailure::Backlog));
        assert_eq!(commonest_failure(&steps, 150.0), None);
    }
}
