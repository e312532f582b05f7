//! The times at which an open loop sends, as the server sees them.
//!
//! The built-in server looks for requests without sleeping and writes down when each came. Constant arrivals must come
//! as many as were due, at the rate, and each close to its place in the schedule, without drift. Poisson arrivals
//! must come with exponential gaps: mean, spread, and the distance of Kolmogorov and Smirnov between their
//! distribution and the exponential one with the *asked* rate (D. Knuth, The Art of Computer Programming 2, 3.3.1).
//!
//! Whether the machine lets anybody be on time is told by two witnesses: a thread that only sleeps and wakes on the
//! engine's core, and the server, which never sleeps and sees when it stood still.

use std::time::Duration;

use weigh_load::{Arrivals, Schedule};
use weigh_results::model::selftest::{Disturbance, Figure, FigureUnit, Right};

use super::client::BuiltInDriver;
use super::error::SelftestError;
use super::load::{self, planned};
use super::order::Ordered;
use super::run::{Measured, Stage};
use super::server::{BuiltInServer, ServerPlan, Waiting, nanoseconds};
use super::watch::Watch;
use super::witness::Witness;

const CLIENTS: usize = 8;
const CONSTANT_PER_S: f64 = 1000.0;
const CONSTANT_FOR: Duration = Duration::from_millis(2000);
const POISSON_PER_S: f64 = 500.0;
const POISSON_FOR: Duration = Duration::from_millis(3000);

/// A start later than this is late; the engine counts them so.
const LATE_S: f64 = 1e-3;
/// Standard deviations that a sum over random gaps may be off: by chance once in 16,000.
const DEVIATIONS: f64 = 4.0;
/// Asymptotic critical value of the Kolmogorov-Smirnov statistic times √n, at 0.1 %.
const KOLMOGOROV_CRITICAL: f64 = 1.949;

/// The check.
pub(super) fn check(stage: &Stage<'_>) -> Result<Measured, SelftestError> {
    let (mut figures, constant) = evenly(stage)?;
    let (more, poisson) = at_random(stage)?;
    figures.extend(more);
    let setup = format!(
        "{CLIENTS} clients on the built-in server: {CONSTANT_PER_S}/s evenly for {}, then {POISSON_PER_S}/s as Poisson \
         arrivals for {}",
        planned(CONSTANT_FOR),
        planned(POISSON_FOR)
    );
    Ok(Measured { setup, figures, disturbance: constant.worse(poisson) })
}

/// When requests came, seconds since the start of the load, and what else is known of them.
struct Came {
    at_s: Vec<f64>,
    figures: Vec<Figure>,
    disturbance: Disturbance,
}

fn come(
    stage: &Stage<'_>,
    name: &str,
    arrivals: Arrivals,
    rate_per_s: f64,
    measure: Duration,
) -> Result<Came, SelftestError> {
    let room = usize::try_from(measure.as_millis()).unwrap_or(0) * 4;
    let delays = vec![Duration::ZERO];
    let server = BuiltInServer::start(ServerPlan { delays, log_limit: room, waiting: Waiting::exact() })?;
    let (epoch, mut watch) = (server.epoch, Watch::begin());
    let witness = Witness::start()?;
    let mut spec = load::spec(CLIENTS, measure);
    spec.schedule = Schedule::Open { rate_per_s, arrivals };
    let ran = load::run(&spec, BuiltInDriver::new(&server), stage.cancel)?;
    let log = server.finish()?;
    watch.load(&ran.report);
    watch.server(&log);
    watch.stalled(log.stalled, log.lived);
    let (stalled, seen) = witness.finish();
    watch.stalled(stalled, seen);
    let Some(schedule) = ran.report.schedule else {
        return Err(SelftestError::Figures("the engine kept no account of its schedule".into()));
    };
    let began_ns = nanoseconds(ran.began.saturating_duration_since(epoch)) as f64;
    let at_s = log.served.iter().map(|served| (served.received_ns as f64 - began_ns) / 1e9).collect();
    let (count, came) = (FigureUnit::Count, log.answered as f64);
    let figures = vec![
        Figure::always(
            format!("{name}: due and not sent"),
            (schedule.due - schedule.sent.min(schedule.due)) as f64,
            count,
            Right::Exactly(0.0),
            "nothing may be left out",
        ),
        Figure::always(
            format!("{name}: requests that came"),
            came,
            count,
            Right::Exactly(schedule.due as f64),
            "as many as the engine says were due",
        ),
    ];
    Ok(Came { at_s, figures, disturbance: watch.end() })
}

fn evenly(stage: &Stage<'_>) -> Result<(Vec<Figure>, Disturbance), SelftestError> {
    let came = come(stage, "constant", Arrivals::Constant, CONSTANT_PER_S, CONSTANT_FOR)?;
    let mut figures = came.figures;
    let due = CONSTANT_PER_S * CONSTANT_FOR.as_secs_f64();
    figures.push(Figure::always(
        "constant: due in the window",
        came.at_s.len() as f64,
        FigureUnit::Count,
        Right::Near { truth: due, tolerance: 1.0 },
        "rate times length; one may fall on either edge",
    ));
    figures.push(Figure::timed(
        "constant: rate seen by the server",
        slope_per_s(&came.at_s),
        FigureUnit::PerSecond,
        Right::Near { truth: CONSTANT_PER_S, tolerance: 0.001 * CONSTANT_PER_S },
        "the rate asked for, within 0.1 %",
    ));
    let off = Ordered::new(off_schedule_ns(&came.at_s, CONSTANT_PER_S));
    figures.push(Figure::shown("constant: off the schedule, p50", off.at(0.5) / 1e9, FigureUnit::Seconds));
    figures.push(Figure::timed(
        "constant: off the schedule, p99",
        off.at(0.99) / 1e9,
        FigureUnit::Seconds,
        Right::AtMost(LATE_S),
        "later than 1 ms is a late start; the earliest arrival gives the schedule its place",
    ));
    Ok((figures, came.disturbance))
}

fn at_random(stage: &Stage<'_>) -> Result<(Vec<Figure>, Disturbance), SelftestError> {
    let came = come(stage, "poisson", Arrivals::Poisson, POISSON_PER_S, POISSON_FOR)?;
    let mut figures = came.figures;
    let gaps_s: Vec<f64> = came.at_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let due = POISSON_PER_S * POISSON_FOR.as_secs_f64();
    figures.push(Figure::always(
        "poisson: due in the window",
        came.at_s.len() as f64,
        FigureUnit::Count,
        Right::Near { truth: due, tolerance: DEVIATIONS * due.sqrt() },
        "a Poisson number, four standard deviations",
    ));
    if gaps_s.len() < 100 {
        return Ok((figures, came.disturbance));
    }
    let (mean_s, spread) = moments(&gaps_s);
    let count = gaps_s.len() as f64;
    figures.push(Figure::timed(
        "poisson: mean gap",
        mean_s,
        FigureUnit::Seconds,
        Right::Near { truth: 1.0 / POISSON_PER_S, tolerance: DEVIATIONS / POISSON_PER_S / count.sqrt() },
        "one over the rate, four standard errors",
    ));
    figures.push(Figure::timed(
        "poisson: variance of gaps over mean squared",
        spread,
        FigureUnit::Number,
        Right::Near { truth: 1.0, tolerance: DEVIATIONS * 2.0 / count.sqrt() },
        "1 for exponential gaps, four standard errors (2/√n)",
    ));
    figures.push(Figure::timed(
        "poisson: Kolmogorov-Smirnov distance",
        kolmogorov_smirnov(&gaps_s, POISSON_PER_S),
        FigureUnit::Number,
        Right::AtMost(KOLMOGOROV_CRITICAL / count.sqrt()),
        "from the exponential distribution with the rate asked for; critical value at 0.1 %, 1.949/√n",
    ));
    Ok((figures, came.disturbance))
}

/// Arrivals per second by least squares over their numbers: no two of them decide it.
fn slope_per_s(at_s: &[f64]) -> f64 {
    let count = at_s.len() as f64;
    let (middle, mean_s) = ((count - 1.0) / 2.0, at_s.iter().sum::<f64>() / count);
    let centred = at_s.iter().enumerate().map(|(number, at)| (number as f64 - middle, at - mean_s));
    let (across, along) = centred.fold((0.0, 0.0), |(across, along), (x, y)| (across + x * y, along + x * x));
    along / across
}

/// How much later than its place in an even schedule each arrival came, nanoseconds. The schedule is placed so that
/// none came early.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "differences from the smallest")]
fn off_schedule_ns(at_s: &[f64], rate_per_s: f64) -> Vec<u64> {
    let off = || at_s.iter().enumerate().map(|(number, at)| at - number as f64 / rate_per_s);
    let place_s = off().fold(f64::INFINITY, f64::min);
    off().map(|off_s| (1e9 * (off_s - place_s)) as u64).collect()
}

/// Mean, and variance over mean squared: 1 for an exponential distribution.
fn moments(gaps_s: &[f64]) -> (f64, f64) {
    let count = gaps_s.len() as f64;
    let mean_s = gaps_s.iter().sum::<f64>() / count;
    let variance = gaps_s.iter().map(|gap| (gap - mean_s).powi(2)).sum::<f64>() / (count - 1.0);
    (mean_s, variance / (mean_s * mean_s))
}

/// Largest distance between the distribution of the gaps and the exponential one.
fn kolmogorov_smirnov(gaps_s: &[f64], rate_per_s: f64) -> f64 {
    let mut sorted = gaps_s.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let distance = |(below, gap): (usize, &f64)| {
        let expected = -(-rate_per_s * gap).exp_m1();
        (expected - below as f64 / count).max((below + 1) as f64 / count - expected)
    };
    sorted.iter().enumerate().map(distance).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
        ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    #[test]
    fn even_arrivals_have_their_rate_and_their_lateness() {
        let at_s: Vec<f64> = (0..1000).map(|n| 0.3 + f64::from(n) / 500.0).collect();
        assert!((slope_per_s(&at_s) - 500.0).abs() < 1e-6);
        let late: Vec<f64> =
            at_s.iter().enumerate().map(|(n, at)| at + if n % 10 == 3 { 0.002 } else { 0.0 }).collect();
        let off = Ordered::new(off_schedule_ns(&late, 500.0));
        assert!(off.at(0.5) < 10.0 && (off.at(0.99) - 2e6).abs() < 10.0, "{} {}", off.at(0.5), off.at(0.99));
        let drifting: Vec<f64> = at_s.iter().map(|at| at * 1.002).collect();
        assert!((slope_per_s(&drifting) / 500.0 - 1.0).abs() > 0.001);
    }

    /// Exponential gaps pass; even ones, uniform ones, and exponential ones of a rate 10 % off do not.
    #[test]
    fn only_exponential_gaps_of_the_rate_look_like_it() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let critical = KOLMOGOROV_CRITICAL / 1500_f64.sqrt();
        let exponential: Vec<f64> = (0..1500).map(|_| -uniform(&mut random).ln() / 500.0).collect();
        assert!(kolmogorov_smirnov(&exponential, 500.0) < critical);
        let (mean_s, spread) = moments(&exponential);
        assert!((mean_s - 0.002).abs() < 0.0002 && (spread - 1.0).abs() < 0.2, "{mean_s} {spread}");
        assert!(kolmogorov_smirnov(&exponential, 550.0) > 0.03);
        assert!(kolmogorov_smirnov(&vec![0.002; 1500], 500.0) > critical);
        let even: Vec<f64> = (0..1500).map(|_| 0.004 * uniform(&mut random)).collect();
        assert!(kolmogorov_smirnov(&even, 500.0) > critical && moments(&even).1 < 0.5);
    }
}
