//! What the client itself takes from the machine it measures on.
//!
//! The engine with a driver that does nothing shows its own cost per operation; a load on the built-in server shows
//! that of a small request and reply on loopback, most of it the kernel's. What the engine says of itself is
//! held against the scheduler's account of the same thread. The highest rate that one core can drive follows.

use std::fs;
use std::time::{Duration, Instant};

use weigh_load::null::NullDriver;
use weigh_load::{ConnectedLoad, LoadReport, LoadSpec, connect};
use weigh_results::model::selftest::{Figure, FigureUnit, Right};

use super::client::BuiltInDriver;
use super::error::SelftestError;
use super::load::{self, Ran, planned};
use super::run::{Measured, Stage};
use super::server::{BuiltInServer, ServerPlan, Waiting};
use super::watch::Watch;

const MEASURE: Duration = Duration::from_millis(700);
/// The engine alone: a twentieth of what a small request and reply on loopback take in the kernel.
const NULL_LIMIT_S: f64 = 500e-9;

/// The check.
pub(super) fn check(stage: &Stage<'_>) -> Result<Measured, SelftestError> {
    let mut watch = Watch::begin();
    let null = load::run(&load::spec(1, MEASURE), NullDriver, stage.cancel)?;
    let mut figures = vec![Figure::always(
        "the engine alone: CPU per operation",
        per_operation_s(&null.report).iter().sum(),
        FigureUnit::Seconds,
        Right::AtMost(NULL_LIMIT_S),
        "with a driver that does nothing; a small request and reply take about 10 µs in the kernel",
    )];
    let base = load::spec(16, MEASURE);
    for (name, spec) in [("depth 1", base.clone()), ("depth 16", LoadSpec { pipeline: 16, ..base })] {
        figures.extend(on_loopback(stage, &mut watch, name, &spec)?);
    }
    let setup = format!(
        "a driver that does nothing, then 16 clients on the built-in server; {} each",
        planned(MEASURE)
    );
    Ok(Measured { setup, figures, disturbance: watch.end() })
}

fn on_loopback(
    stage: &Stage<'_>,
    watch: &mut Watch,
    name: &str,
    spec: &LoadSpec,
) -> Result<Vec<Figure>, SelftestError> {
    let plan = ServerPlan { delays: vec![Duration::ZERO], log_limit: 0, waiting: Waiting::Sleeping };
    let server = BuiltInServer::start(plan)?;
    let connected =
        connect(spec, std::sync::Arc::new(BuiltInDriver::new(&server)), weigh_load::Limits::default())?;
    let (ran, scheduled) = watched(connected, stage)?;
    server.finish()?;
    watch.load(&ran.report);
    let report = &ran.report;
    let [user_s, system_s] = per_operation_s(report);
    let (seconds, share) = (FigureUnit::Seconds, FigureUnit::Share);
    let mut figures = vec![
        Figure::shown(format!("{name}: user CPU per operation"), user_s, seconds),
        Figure::shown(format!("{name}: system CPU per operation"), system_s, seconds),
        Figure::shown(format!("{name}: of one core"), report.busiest_thread, share),
        Figure::shown(
            format!("{name}: one core drives at most"),
            1.0 / (user_s + system_s),
            FigureUnit::PerSecond,
        ),
    ];
    if let Some(scheduled) = scheduled {
        let said = (report.client_user + report.client_system).div_duration_f64(scheduled);
        figures.push(Figure::timed(
            format!("{name}: CPU reported over CPU scheduled"),
            said,
            FigureUnit::Number,
            Right::Near { truth: 1.0, tolerance: 0.05 },
            "the scheduler's account of the same thread; both are read at most a tick late",
        ));
    }
    Ok(figures)
}

/// User and system CPU per operation, seconds.
fn per_operation_s(report: &LoadReport) -> [f64; 2] {
    let operations = report.operations_measured.max(1) as f64;
    [report.client_user, report.client_system].map(|time| time.as_secs_f64() / operations)
}

/// Runs the load and reads what the scheduler charged its worker for, over the measured window; `None` where the
/// kernel keeps no such account.
fn watched(connected: ConnectedLoad, stage: &Stage<'_>) -> Result<(Ran, Option<Duration>), SelftestError> {
    let worker = worker_thread();
    let load = connected.begin();
    let run_at = |at: Instant| {
        stage.cancel.sleep(at.saturating_duration_since(Instant::now()));
        worker.as_deref().and_then(run_time)
    };
    let before = run_at(load.measure_begins());
    let after = run_at(load.measure_ends());
    let ran = load::finish(load, stage.cancel)?;
    let scheduled = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    Ok((ran, scheduled.filter(|time| !time.is_zero())))
}

/// The account of the engine's first worker (`load-0`).
fn worker_thread() -> Option<std::path::PathBuf> {
    let threads = fs::read_dir("/proc/self/task").ok()?.flatten().map(|entry| entry.path());
    let named = |path: &std::path::PathBuf| {
        fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "load-0")
    };
    Some(threads.into_iter().find(named)?.join("schedstat"))
}

fn run_time(schedstat: &std::path::Path) -> Option<Duration> {
    let text = fs::read_to_string(schedstat).ok()?;
    Some(Duration::from_nanos(text.split_ascii_whitespace().next()?.parse().ok()?))
}
