//! One load from connecting to its last reply.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use weigh_collect::HostSample;
use weigh_load::{Driver, Limits, LoadReport, LoadSpec, RunningLoad};
use weigh_results::model::Interference;
use weigh_results::model::load::{LoadInterval, LoadRecord};

use super::convert;
use super::flags::LoadMistake;
use super::request::LoadRequest;
use super::watch::Watch;
use crate::host::Cancel;
use crate::systems::SystemError;
use crate::systems::drivers::{self, DriverOptions};

/// How often the engine's workers publish what they have.
const EVERY: Duration = Duration::from_secs(1);
/// After a publication is due, it is there.
const GRACE: Duration = Duration::from_millis(25);
/// How soon the end of a load is noticed.
const PATIENCE: Duration = Duration::from_millis(50);

/// Puts the load on the system; `watch` sees every interval as it ends. A signal ends the load early, and what was
/// measured until then is the result.
///
/// # Errors
/// When the system cannot be reached, not one client can connect, or the engine fails.
pub fn run(
    request: &LoadRequest,
    cancel: &Cancel,
    watch: &mut dyn FnMut(&LoadInterval),
) -> Result<LoadRecord, SystemError> {
    let driver = driver(request)?;
    let limits = Limits { reply: request.timeout, ..Limits::default() };
    let started_at = SystemTime::now();
    let finished = once(&request.spec(), &driver, limits, cancel, watch)?;
    convert::record(request, started_at, finished)
}

/// Everything that can be known to be wrong with a request before anything is connected.
///
/// # Errors
/// An operation that makes no sense to its driver, a file of certificates that cannot be read, a number the engine
/// does not take.
pub fn check(request: &LoadRequest) -> Result<(), LoadMistake> {
    request.spec().validate().map_err(|error| SystemError::new(error.to_string()))?;
    driver(request)?;
    Ok(())
}

/// The driver for the request's URL and operations.
pub(super) fn driver(request: &LoadRequest) -> Result<Arc<dyn Driver>, SystemError> {
    let options = DriverOptions {
        ca_file: request.ca_file.clone(),
        insecure: request.insecure,
        connect_to: request.connect_to.clone(),
        ..DriverOptions::default()
    };
    drivers::driver(&request.url, &request.operations, &options)
}

/// What one load left.
pub(super) struct Finished {
    pub(super) report: LoadReport,
    pub(super) intervals: Vec<LoadInterval>,
    pub(super) interference: Interference,
    /// The signal that ended it early.
    pub(super) signal: Option<i32>,
}

/// Connects, loads, watches, and waits for the end.
pub(super) fn once(
    spec: &LoadSpec,
    driver: &Arc<dyn Driver>,
    limits: Limits,
    cancel: &Cancel,
    watch: &mut dyn FnMut(&LoadInterval),
) -> Result<Finished, SystemError> {
    let limits = Limits { publish_every: Some(EVERY), ..limits };
    let connected = weigh_load::connect(spec, Arc::clone(driver), limits).map_err(not_loaded)?;
    let load = connected.begin();
    let mut watched = Watch::new(spec.settle);
    let mut host = HostWatch::default();
    let mut due = load.began() + EVERY + GRACE;
    while !load.is_over() {
        let now = Instant::now();
        host.look(now, &load);
        if now >= due {
            due += EVERY;
            if let Some(snapshot) = load.snapshot()
                && let Some(interval) = watched.take(snapshot).map_err(unreadable)?
            {
                watch(interval);
            }
        }
        if cancel.sleep(PATIENCE) {
            load.cancel_handle().cancel();
            break;
        }
    }
    let began = load.began();
    let report = load.finish().map_err(not_loaded)?;
    watched.end(&report, began.elapsed()).map_err(unreadable)?;
    let signal = cancel.is_cancelled().then(|| cancel.signal().unwrap_or(0));
    Ok(Finished { report, intervals: watched.intervals, interference: host.end(), signal })
}

fn not_loaded(error: weigh_load::LoadError) -> SystemError {
    SystemError::new("cannot put load on the system").caused_by(error)
}

fn unreadable(error: weigh_results::model::histogram::HistogramError) -> SystemError {
    SystemError::new("latencies cannot be kept").caused_by(error)
}

/// The client's host at both ends of the measured window. What cannot be read stays unknown.
#[derive(Default)]
struct HostWatch {
    begin: Option<HostSample>,
    end: Option<HostSample>,
}

impl HostWatch {
    /// Looks if an end of the window has come.
    fn look(&mut self, now: Instant, load: &RunningLoad) {
        if self.begin.is_none() && now >= load.measure_begins() {
            self.begin = HostSample::read().ok();
        }
        if self.end.is_none() && now >= load.measure_ends() {
            self.end = HostSample::read().ok();
        }
    }

    fn end(self) -> Interference {
        let Some(begin) = self.begin else { return Interference::default() };
        let Some(end) = self.end.or_else(|| HostSample::read().ok()) else { return Interference::default() };
        let delta = end.delta(&begin);
        Interference {
            steal: delta.steal,
            psi_cpu: delta.cpu_pressure.as_ref().map_or(0.0, |share| share.some),
            psi_io: delta.io_pressure.as_ref().map_or(0.0, |share| share.some),
            ..Interference::default()
        }
    }
}
