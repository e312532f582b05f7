//! Loads as the checks make them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weigh_load::{Driver, LoadReport, LoadSpec, Operation, RunningLoad, Schedule, start};

use super::error::SelftestError;
use crate::host::Cancel;

/// A length of time that was chosen, as the reports write it.
pub(super) fn planned(length: Duration) -> String {
    weigh_results::report::units::planned(length.as_secs_f64())
}

/// What a load reported, and when its measured window was.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) report: LoadReport,
    /// When the workers began to send.
    pub(super) began: Instant,
    pub(super) measure_ends: Instant,
}

/// A load of `clients` connections on one thread: closed loop, no warm-up, `measure` long. The checks change what
/// they need to.
pub(super) fn spec(clients: usize, measure: Duration) -> LoadSpec {
    LoadSpec {
        clients,
        threads: 1,
        pipeline: 1,
        settle: Duration::ZERO,
        measure,
        operations_limit: None,
        schedule: Schedule::Closed,
        operations: vec![Operation { name: "ask".into(), weight: 1, parameters: Vec::new() }],
        seed: 1,
        trial_number: 0,
        pin: true,
    }
}

/// Makes the load; ends it early when told to stop.
///
/// # Errors
/// The load's, [`SelftestError::Cancelled`], and any operation that failed: none may, here.
pub(super) fn run(
    spec: &LoadSpec,
    driver: impl Driver + 'static,
    cancel: &Cancel,
) -> Result<Ran, SelftestError> {
    finish(start(spec, Arc::new(driver))?, cancel)
}

/// Waits for the end of a load that is under way.
///
/// # Errors
/// As for [`run`].
pub(super) fn finish(load: RunningLoad, cancel: &Cancel) -> Result<Ran, SelftestError> {
    let (began, measure_ends) = (load.began(), load.measure_ends());
    let handle = load.cancel_handle();
    let report = cancel.during(|| load.finish(), || handle.cancel())?;
    if cancel.is_cancelled() {
        return Err(SelftestError::Cancelled);
    }
    if let Some((message, count)) = report.errors.iter().next() {
        let text = format!("{count} operations of the built-in load failed: {message}");
        return Err(SelftestError::Figures(text));
    }
    Ok(Ran { report, began, measure_ends })
}
