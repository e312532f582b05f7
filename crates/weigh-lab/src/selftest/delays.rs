//! A server whose service times are known: what the engine says of them.
//!
//! One client asks the built-in server, which spins to the end of each service time and writes down when it read a
//! request and when it answered. The driver stamps each reply. From these stamps every latency has a lower and an
//! upper bound that owe nothing to the engine:
//!
//! ```text
//! driver   stamp(i-1) ── the engine starts request i ───────────────── stamp(i)
//! server                        received(i) ──── service ──── answered(i)
//!          └── at most from here ─────────────────────────────────────────┘
//!                               └── at least from here ───────────────────┘
//! ```
//!
//! The percentiles must lie between those of the bounds however busy the machine is. How long the way there and back
//! took is known by the same stamps, so that the median less the way must be the known service time.

use std::time::Duration;

use weigh_results::model::selftest::{Disturbance, Figure, FigureUnit, Right};

use super::client::{BuiltInDriver, Stamps};
use super::error::SelftestError;
use super::load;
use super::order::{Ordered, bracketed};
use super::run::{Measured, Stage};
use super::server::{BuiltInServer, Served, ServerPlan, Waiting, nanoseconds};
use super::watch::Watch;

/// The service time of the first half: short beside anything a person would wait for, long beside the way.
const SERVICE: Duration = Duration::from_millis(1);
/// How far the median may be off on a quiet machine: an eighth of the time a packet takes to go there and back.
const TOLERANCE_S: f64 = 5e-6;

const WHY_BETWEEN: &str = "between the same percentile of bounds stamped by server and driver; the histogram has three \
                           digits, a reading of the clock takes under 1 µs";

/// The check.
pub(super) fn check(stage: &Stage<'_>) -> Result<Measured, SelftestError> {
    let (mut figures, one_wait) = constant(stage)?;
    let (more, mixed_wait) = mixed(stage)?;
    figures.extend(more);
    let setup =
        "the built-in server, one client: 1.000 ms each, then 1, 5 and 20 ms in turn (90, 9 and 1 of 100)";
    Ok(Measured { setup: setup.into(), figures, disturbance: one_wait.worse(mixed_wait) })
}

fn constant(stage: &Stage<'_>) -> Result<(Vec<Figure>, Disturbance), SelftestError> {
    let asked = Asked::ask(stage, vec![SERVICE], Duration::from_millis(1000))?;
    let median_s = asked.latency.value_at_quantile(0.5) as f64 / 1e9;
    let way_s = asked.way().at(0.5) / 1e9;
    let right = Right::Near { truth: SERVICE.as_secs_f64(), tolerance: TOLERANCE_S };
    let seconds = FigureUnit::Seconds;
    let mut figures = vec![
        Figure::shown("1 ms: the way there and back, p50", way_s, seconds),
        Figure::timed(
            "1 ms: p50 less the way",
            median_s - way_s,
            seconds,
            right,
            "the service time is 1.000 ms; 5 µs for the spread of the way",
        ),
    ];
    figures.extend(asked.percentiles("1 ms: ", &[0.5, 0.99]));
    Ok((figures, asked.disturbance))
}

fn mixed(stage: &Stage<'_>) -> Result<(Vec<Figure>, Disturbance), SelftestError> {
    let delays = (0..100_u64).map(|turn| match turn {
        99 => Duration::from_millis(20),
        turn if turn % 11 == 5 => Duration::from_millis(5),
        _ => Duration::from_millis(1),
    });
    let asked = Asked::ask(stage, delays.collect(), Duration::from_millis(1600))?;
    Ok((asked.percentiles("mixed: ", &[0.5, 0.9, 0.95, 0.99, 0.995]), asked.disturbance))
}

/// What came of one load of one client.
struct Asked {
    latency: hdrhistogram::Histogram<u64>,
    served: Vec<Served>,
    /// When each reply was shown to the driver, before it the start of the load.
    stamps: Vec<u64>,
    disturbance: Disturbance,
}

impl Asked {
    fn ask(stage: &Stage<'_>, delays: Vec<Duration>, measure: Duration) -> Result<Asked, SelftestError> {
        let shortest = delays.iter().min().copied().unwrap_or(measure);
        let most = usize::try_from(measure.as_nanos() / shortest.as_nanos().max(1_000)).unwrap_or(0) + 16;
        let server = BuiltInServer::start(ServerPlan { delays, log_limit: most, waiting: Waiting::exact() })?;
        let stamps = Stamps::default();
        let driver = BuiltInDriver::new(&server).stamping(&stamps, most);
        let (epoch, mut watch) = (server.epoch, Watch::begin());
        let ran = load::run(&load::spec(1, measure), driver, stage.cancel)?;
        let log = server.finish()?;
        watch.load(&ran.report);
        watch.server(&log);
        let began_ns = nanoseconds(ran.began.saturating_duration_since(epoch));
        let stamps = [vec![began_ns], stamps.take()].concat();
        let measured = usize::try_from(ran.report.latency.len()).unwrap_or(usize::MAX);
        // The last replies may have come after the window; those are not in the histogram.
        if measured == 0 || measured > log.served.len() || measured >= stamps.len() {
            let text =
                format!("the engine measured {measured} operations, the server answered {}", log.answered);
            return Err(SelftestError::Figures(text));
        }
        let served = log.served[..measured].to_vec();
        Ok(Asked { latency: ran.report.latency, served, stamps, disturbance: watch.end() })
    }

    /// Per request: from the reply before it to its arrival, and from its answer to its reply.
    fn way(&self) -> Ordered {
        let way = |(served, stamps): (&Served, &[u64])| {
            served.received_ns.saturating_sub(stamps[0]) + stamps[1].saturating_sub(served.answered_ns)
        };
        Ordered::new(self.served.iter().zip(self.stamps.windows(2)).map(way).collect())
    }

    fn percentiles(&self, name: &str, quantiles: &[f64]) -> Vec<Figure> {
        let requests = || self.served.iter().zip(self.stamps.windows(2));
        let low = requests().map(|(served, stamps)| stamps[1].saturating_sub(served.received_ns));
        let high = requests().map(|(_, stamps)| stamps[1].saturating_sub(stamps[0]));
        let (low, high) = (Ordered::new(low.collect()), Ordered::new(high.collect()));
        bracketed(name, &self.latency, (&low, &high), quantiles, WHY_BETWEEN)
    }
}
