//! A server that stands still for a second in an open loop at a constant rate.
//!
//! What a user would have waited is known from the schedule and the moments of the stop alone ([`Stall::response`]);
//! the engine must report it. Beside it stands what timing from the real start of each request gives: the figure
//! people are usually told, and the reason why it is wrong is that the requests which would have waited were
//! never sent (G. Tene, *How NOT to Measure Latency*: coordinated omission).

use std::sync::Arc;
use std::time::Duration;

use weigh_load::stall::{Constant, Stall};
use weigh_load::{Arrivals, LoadReport, Schedule, start};
use weigh_results::model::selftest::{Figure, FigureUnit, Right};

use super::error::SelftestError;
use super::load;
use super::run::{Measured, Stage};
use super::victim::Victim;
use super::watch::Watch;

const CLIENTS: usize = 8;
const RATE_PER_S: f64 = 1000.0;
const SETTLE: Duration = Duration::from_millis(300);
const MEASURE: Duration = Duration::from_secs(5);
/// The stop begins so long after the window does, and lasts so long.
const AFTER: Duration = Duration::from_millis(1500);
const STOPPED_FOR: Duration = Duration::from_secs(1);
/// Of the true value.
const TOLERANCE: f64 = 0.02;

/// The check.
pub(super) fn check(stage: &Stage<'_>) -> Result<Measured, SelftestError> {
    let mut victim = Victim::start(stage)?;
    let measured = stopped(stage, &mut victim);
    let name = victim.name.clone();
    victim.end(stage)?;
    let mut measured = measured?;
    measured.setup = format!(
        "{name}, {CLIENTS} clients, {RATE_PER_S}/s for {} s, stopped for {} s in the middle",
        MEASURE.as_secs(),
        STOPPED_FOR.as_secs()
    );
    Ok(measured)
}

fn stopped(stage: &Stage<'_>, victim: &mut Victim) -> Result<Measured, SelftestError> {
    let mut watch = Watch::begin();
    let capacity_per_s = capacity(stage, victim)?;
    let mut spec = load::spec(CLIENTS, MEASURE);
    spec.settle = SETTLE;
    spec.schedule = Schedule::Open { rate_per_s: RATE_PER_S, arrivals: Arrivals::Constant };
    let running = start(&spec, Arc::clone(&victim.driver))?;
    let stall = victim.stand_still(stage, running.measure_begins() + AFTER, STOPPED_FOR)?;
    let ran = load::finish(running, stage.cancel)?;
    watch.load(&ran.report);
    let figures = figures(&ran.report, &stall, capacity_per_s)?;
    Ok(Measured { setup: String::new(), figures, disturbance: watch.end() })
}

/// Operations per second the server can do for the same clients.
fn capacity(stage: &Stage<'_>, victim: &Victim) -> Result<f64, SelftestError> {
    let spec = load::spec(CLIENTS, Duration::from_millis(300));
    let ran = load::finish(start(&spec, Arc::clone(&victim.driver))?, stage.cancel)?;
    Ok(ran.report.operations_measured as f64 / ran.report.measured.as_secs_f64())
}

fn figures(report: &LoadReport, stall: &Stall, capacity_per_s: f64) -> Result<Vec<Figure>, SelftestError> {
    let (Some(schedule), Some(service)) = (&report.schedule, &report.service) else {
        return Err(SelftestError::Figures("the engine kept no account of its schedule".into()));
    };
    let constant = Constant { rate_per_s: RATE_PER_S, due: schedule.due, capacity_per_s };
    let (seconds, count) = (FigureUnit::Seconds, FigureUnit::Count);
    let (shortest, longest) = stall.length();
    let stood_s = f64::midpoint(shortest.as_secs_f64(), longest.as_secs_f64());
    let mut figures = vec![
        Figure::shown("the server stood still for", stood_s, seconds),
        Figure::shown("it can do", capacity_per_s, FigureUnit::PerSecond),
    ];
    for quantile in [0.9, 0.99] {
        let Some(truth) = stall.response(&constant, quantile) else {
            return Err(SelftestError::Figures(format!(
                "{capacity_per_s:.0} operations per second are too few for a rate of {RATE_PER_S}"
            )));
        };
        figures.push(Figure::timed(
            format!("response time, p{}", 100.0 * quantile),
            report.latency.value_at_quantile(quantile) as f64 / 1e9,
            seconds,
            Right::Between {
                low: truth.low_s * (1.0 - TOLERANCE),
                high: truth.high_s * (1.0 + TOLERANCE),
            },
            "from the schedule and the moments of the stop, within 2 %; the backlog drains between at once and at \
             the server's capacity",
        ));
    }
    figures.push(Figure::shown(
        "timed from when each was sent, p99 (what closed loops say)",
        service.value_at_quantile(0.99) as f64 / 1e9,
        seconds,
    ));
    figures.push(Figure::timed(
        "most operations waiting to be sent",
        schedule.backlog_max as f64,
        count,
        Right::Near { truth: RATE_PER_S * stood_s - CLIENTS as f64, tolerance: TOLERANCE * RATE_PER_S },
        "all that were due meanwhile, but for one in flight per client",
    ));
    figures.push(Figure::always(
        "due and never answered",
        (schedule.due - schedule.sent.min(schedule.due) + schedule.never_answered) as f64,
        count,
        Right::Exactly(0.0),
        "nothing may be left out",
    ));
    Ok(figures)
}
