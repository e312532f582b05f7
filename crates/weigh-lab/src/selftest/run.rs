//! Makes the checks one after the other.
//!
//! A check is made again only when it was disturbed, whatever it found, and while there is time: never until it
//! passes. Only one check runs at a time, for each wants the machine to itself.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use weigh_collect::HostFacts;
use weigh_results::model::selftest::{
    CheckKind, CheckRecord, Disturbance, Figure, SelftestHost, SelftestRecord,
};

use super::error::SelftestError;
use super::victim::ServerProgram;
use super::{arrivals, clock, cost, counts, delays, frozen, percentiles};
use crate::host::{Cancel, HostChanges};

/// Attempts at one check.
const ATTEMPTS: u32 = 3;
/// No further attempt is begun after this.
const TIME_FOR_MORE: Duration = Duration::from_secs(30);

/// What a self-test needs to know.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The checks to make, in this order.
    pub checks: &'a [CheckKind],
    /// Told when to stop.
    pub cancel: &'a Cancel,
    /// Where servers are started.
    pub changes: &'a Arc<HostChanges>,
    /// How to start a server of our own, when no real one is installed.
    pub own_server: Option<ServerProgram>,
    /// Version of weigh, for the record.
    pub weigh_version: &'a str,
}

/// How far a self-test is.
#[derive(Clone, Copy, Debug)]
pub enum SelftestEvent<'a> {
    /// A check begins.
    Begins {
        /// Which.
        check: CheckKind,
        /// Its place, from 1.
        number: usize,
        /// How many there are.
        of: usize,
    },
    /// It was disturbed and is made again.
    Again {
        /// How the attempt was disturbed.
        disturbance: &'a Disturbance,
    },
    /// A check is done.
    Done(&'a CheckRecord),
}

/// What a check has at hand.
pub(super) struct Stage<'a> {
    pub(super) cancel: &'a Cancel,
    pub(super) changes: &'a Arc<HostChanges>,
    pub(super) own_server: Option<&'a ServerProgram>,
    pub(super) clock_source: &'a str,
}

/// What one attempt gave.
pub(super) struct Measured {
    pub(super) setup: String,
    pub(super) figures: Vec<Figure>,
    pub(super) disturbance: Disturbance,
}

/// Makes the checks. What keeps one from being made is part of the record: it has failed then.
///
/// # Errors
/// [`SelftestError::Cancelled`] when told to stop.
pub fn run(
    setting: &Setting<'_>,
    sink: &mut dyn FnMut(SelftestEvent<'_>),
) -> Result<SelftestRecord, SelftestError> {
    let begun = Instant::now();
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let host = host(&HostFacts::read(setting.changes.work_root().path()));
    let stage = Stage {
        cancel: setting.cancel,
        changes: setting.changes,
        own_server: setting.own_server.as_ref(),
        clock_source: &host.clock_source,
    };
    let mut checks = Vec::with_capacity(setting.checks.len());
    for (index, &check) in setting.checks.iter().enumerate() {
        sink(SelftestEvent::Begins { check, number: index + 1, of: setting.checks.len() });
        let record = attempts(check, &stage, begun, sink)?;
        sink(SelftestEvent::Done(&record));
        checks.push(record);
    }
    let elapsed_s = begun.elapsed().as_secs_f64();
    Ok(SelftestRecord { weigh_version: setting.weigh_version.into(), started_at, host, checks, elapsed_s })
}

fn attempts(
    check: CheckKind,
    stage: &Stage<'_>,
    whole: Instant,
    sink: &mut dyn FnMut(SelftestEvent<'_>),
) -> Result<CheckRecord, SelftestError> {
    let begun = Instant::now();
    let mut attempts = 0;
    let (measured, error) = loop {
        attempts += 1;
        let attempt = once(check, stage);
        if stage.cancel.is_cancelled() {
            return Err(SelftestError::Cancelled);
        }
        match attempt {
            Ok(measured) => {
                let may_again = attempts < ATTEMPTS && whole.elapsed() < TIME_FOR_MORE;
                // What holds however busy the machine is needs no second attempt.
                let is_timed = measured.figures.iter().any(|figure| figure.timed);
                if may_again && is_timed && measured.disturbance.is_disturbed() {
                    sink(SelftestEvent::Again { disturbance: &measured.disturbance });
                    continue;
                }
                break (measured, None);
            }
            Err(error) => {
                let nothing = Measured {
                    setup: String::new(),
                    figures: Vec::new(),
                    disturbance: Disturbance::default(),
                };
                break (nothing, Some(chain(&error)));
            }
        }
    };
    let Measured { setup, figures, disturbance } = measured;
    let elapsed_s = begun.elapsed().as_secs_f64();
    Ok(CheckRecord { check, setup, figures, error, disturbance, attempts, elapsed_s })
}

fn once(check: CheckKind, stage: &Stage<'_>) -> Result<Measured, SelftestError> {
    match check {
        CheckKind::Clock => clock::check(stage),
        CheckKind::Percentiles => percentiles::check(stage),
        CheckKind::KnownDelays => delays::check(stage),
        CheckKind::Arrivals => arrivals::check(stage),
        CheckKind::FrozenServer => frozen::check(stage),
        CheckKind::Counts => counts::check(stage),
        CheckKind::ClientCost => cost::check(stage),
    }
}

/// The error with everything below it, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) if source.to_string() != error.to_string() => format!("{error}: {}", chain(source)),
        _ => error.to_string(),
    }
}

fn host(facts: &HostFacts) -> SelftestHost {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let visible = [&facts.virtualisation.hypervisor, &facts.virtualisation.container];
    let visible: Vec<&str> = visible.into_iter().filter_map(Option::as_deref).collect();
    let allowed = facts.cpu.allowed.as_ref().and_then(|allowed| u32::try_from(allowed.len()).ok());
    SelftestHost {
        hostname: text(&facts.hostname),
        kernel: text(&facts.kernel),
        cpu_model: text(&facts.cpu.model),
        cpus: allowed.or(facts.cpu.online).unwrap_or(0),
        clock_source: text(&facts.clock.source),
        virtualisation: (!visible.is_empty()).then(|| visible.join(", ")),
    }
}
