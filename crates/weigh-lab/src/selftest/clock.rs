//! The clock that everything is timed with: fine, cheap, never backwards on any core, and timers that wake on time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use weigh_results::model::selftest::{Figure, FigureUnit, Right};

use super::cores;
use super::error::SelftestError;
use super::order::Ordered;
use super::run::{Measured, Stage};
use super::server::nanoseconds;
use super::watch::Watch;

const READINGS: u32 = 200_000;
/// How long all cores compare their readings.
const COMPARED_FOR: Duration = Duration::from_millis(200);
const MOST_CORES: usize = 64;
const SLEEPS: usize = 500;
const SLEEP: Duration = Duration::from_micros(400);

/// The check.
pub(super) fn check(stage: &Stage<'_>) -> Result<Measured, SelftestError> {
    let mut watch = Watch::begin();
    let begun = [monotonic(ClockId::CLOCK_MONOTONIC), monotonic(ClockId::CLOCK_MONOTONIC_RAW)];
    let mut figures = readings();
    let cores = cores::allowed();
    figures.push(across(&cores[..cores.len().min(MOST_CORES)])?);
    figures.extend(timers(&mut watch)?);
    figures.push(rate(begun));
    let source = if stage.clock_source.is_empty() { "unknown" } else { stage.clock_source };
    let setup = format!("clock source `{source}`, {} cores", cores.len());
    Ok(Measured { setup, figures, disturbance: watch.end() })
}

/// Resolution and cost.
fn readings() -> Vec<Figure> {
    let epoch = Instant::now();
    let mut finest = u64::MAX;
    let mut before = 0;
    for _ in 0..READINGS {
        let now = nanoseconds(epoch.elapsed());
        if now > before {
            finest = finest.min(now - before);
        }
        before = now;
    }
    let each_s = epoch.elapsed().as_secs_f64() / f64::from(READINGS);
    let seconds = FigureUnit::Seconds;
    vec![
        Figure::timed(
            "smallest step",
            finest as f64 / 1e9,
            seconds,
            Right::AtMost(1e-6),
            "latencies are told in microseconds",
        ),
        Figure::timed(
            "one reading",
            each_s,
            seconds,
            Right::AtMost(200e-9),
            "read without a system call (tsc, kvm-clock, arch_sys_counter); an operation takes two readings",
        ),
    ]
}

/// Every core reads the clock and compares with the latest reading that any other has published before.
fn across(cores: &[usize]) -> Result<Figure, SelftestError> {
    let (epoch, latest, worst) = (Instant::now(), AtomicU64::new(0), AtomicU64::new(0));
    let together = Barrier::new(cores.len().max(1));
    let compare = |core: usize| {
        cores::pin_to(core);
        together.wait();
        let ends = Instant::now() + COMPARED_FOR;
        let mut backwards = 0;
        while Instant::now() < ends {
            for _ in 0..100 {
                let published = latest.load(Ordering::Acquire);
                let now = nanoseconds(epoch.elapsed());
                backwards = backwards.max(published.saturating_sub(now));
                latest.fetch_max(now, Ordering::AcqRel);
            }
        }
        worst.fetch_max(backwards, Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        let compare = &compare;
        cores.iter().for_each(|core| {
            let core = *core;
            scope.spawn(move || compare(core));
        });
    });
    Ok(Figure::always(
        "backwards between cores, at most",
        worst.load(Ordering::Relaxed) as f64 / 1e9,
        FigureUnit::Seconds,
        Right::Exactly(0.0),
        "a reading may never be earlier than one that was published before it",
    ))
}

/// How much later than asked a thread with fine timers wakes up.
fn timers(watch: &mut Watch) -> Result<Vec<Figure>, SelftestError> {
    let sleeper = std::thread::Builder::new().name("selftest-sleeper".into()).spawn(|| {
        cores::fine_timers();
        let (begun, watch) = (Instant::now(), Watch::begin());
        let late = |_| {
            let begun = Instant::now();
            std::thread::sleep(SLEEP);
            nanoseconds(begun.elapsed().saturating_sub(SLEEP))
        };
        let late = Ordered::new((0..SLEEPS).map(late).collect());
        let lived = begun.elapsed();
        (late, watch.end(), lived)
    });
    let sleeper = sleeper.map_err(SelftestError::system("starting a thread"))?;
    let Ok((late, disturbance, lived)) = sleeper.join() else {
        return Err(SelftestError::Figures("the thread that tried the timers ended by itself".into()));
    };
    watch.thread(lived.mul_f64(disturbance.wait_share), lived);
    let figure = |quantile: f64, limit_s: f64, why: &str| {
        let what = format!("a sleep of 400 µs ends late, p{}", 100.0 * quantile);
        Figure::timed(what, late.at(quantile) / 1e9, FigureUnit::Seconds, Right::AtMost(limit_s), why)
    };
    Ok(vec![
        figure(0.5, 200e-6, "an open loop is told the time by such a timer; a wake-up takes 5 to 60 µs"),
        figure(0.99, 1e-3, "later than 1 ms is a late start"),
    ])
}

/// How fast the clock runs beside the one that nobody adjusts, since `begun`.
fn rate(begun: [Option<Duration>; 2]) -> Figure {
    let now = [monotonic(ClockId::CLOCK_MONOTONIC), monotonic(ClockId::CLOCK_MONOTONIC_RAW)];
    let passed = |clock: usize| now[clock].zip(begun[clock]).map(|(now, then)| now.saturating_sub(then));
    let off = passed(0).zip(passed(1)).map_or(f64::NAN, |(adjusted, raw)| {
        if raw.is_zero() { f64::NAN } else { (adjusted.div_duration_f64(raw) - 1.0).abs() }
    });
    Figure::timed(
        "faster or slower than the raw clock",
        off,
        FigureUnit::Share,
        Right::AtMost(0.001),
        "the kernel steers a clock by 0.05 % at most; 0.05 % for reading both one after the other",
    )
}

fn monotonic(clock: ClockId) -> Option<Duration> {
    let now = clock_gettime(clock).ok()?;
    let (seconds, nanoseconds) = (u64::try_from(now.tv_sec()).ok()?, u32::try_from(now.tv_nsec()).ok()?);
    Some(Duration::new(seconds, nanoseconds))
}
