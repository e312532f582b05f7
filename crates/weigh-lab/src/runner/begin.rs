//! From a resolved plan to a run: its header, its subject, its end.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use weigh_collect::HostFacts;
use weigh_results::model::{Event, FORMAT_VERSION, Finish, FinishReason, HostSummary, Run, RunHeader};

use super::command::CommandSubject;
use super::error::RunError;
use super::sequence::{self, RunContext};
use super::server::ServerSubject;
use super::subject::Subject;
use crate::events::{LabEvent, Progress};
use crate::experiment::without_password;
use crate::host::{Cancel, HostChanges, Undo};
use crate::plan::ResolvedPlan;
use crate::systems::{self, BuildContext, SystemError};

/// What a run needs besides its plan.
pub struct Execution<'a> {
    /// Takes every event as it happens; an error ends the run.
    pub sink: &'a mut dyn FnMut(&LabEvent) -> Result<(), String>,
    /// Set by a signal.
    pub cancel: Cancel,
    /// Where changes to the host are registered and undone.
    pub changes: Arc<HostChanges>,
}

/// A name for a run: time, experiment and a tail from the seed, unique enough to copy and type.
pub fn new_run_id(experiment: &str, now: SystemTime, seed: u64) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let stamp: String = humantime::format_rfc3339_seconds(now)
        .to_string()
        .trim_end_matches('Z')
        .chars()
        .filter_map(|letter| match letter {
            'T' => Some('-'),
            digit if digit.is_ascii_digit() => Some(digit),
            _ => None,
        })
        .collect();
    let name: String = experiment
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' })
        .take(40)
        .collect();
    let mut rest = seed;
    let tail: String = (0..4)
        .map(|_| {
            let letter = char::from(LETTERS[usize::try_from(rest % 32).unwrap_or(0)]);
            rest /= 32;
            letter
        })
        .collect();
    format!("{stamp}-{}-{tail}", name.trim_matches('-'))
}

/// The first line of a run.
pub fn header(
    plan: &ResolvedPlan,
    run_id: &str,
    command_line: Vec<String>,
    work_dir: &Path,
    now: SystemTime,
) -> RunHeader {
    // A stored run is shown to colleagues: it holds no password.
    let mut experiment = plan.experiment.clone();
    experiment.system.url = experiment.system.url.as_deref().map(without_password);
    RunHeader {
        format: FORMAT_VERSION,
        weigh_version: env!("CARGO_PKG_VERSION").to_owned(),
        run_id: run_id.to_owned(),
        started_at: humantime::format_rfc3339_seconds(now).to_string(),
        command_line: command_line.iter().map(|word| without_password(word)).collect(),
        experiment_toml: experiment.to_toml(),
        plan: plan.plan.clone(),
        host: host_summary(&HostFacts::read(work_dir)),
    }
}

/// Starts what the plan names, runs its rounds, stops everything again.
///
/// `run` is new (header only) or was read from the store to be continued. Every outcome is recorded,
/// also a system that does not start.
///
/// # Errors
/// What ended the run before its verdict; what was measured is in `run` and in the sink.
pub fn execute(plan: &ResolvedPlan, run: &mut Run, execution: Execution<'_>) -> Result<(), RunError> {
    let began = Instant::now();
    let Execution { sink, cancel, changes } = execution;
    sink(&LabEvent::Progress(Progress::Step(format!("preparing {}", plan.plan.system))))
        .map_err(RunError::Record)?;
    let mut subject = match build(plan, &run.header.run_id, &cancel, &changes, sink) {
        Ok(subject) => subject,
        Err(error) => {
            let reason = match cancel.is_cancelled() {
                true => FinishReason::Interrupted,
                false => FinishReason::Failed(error.to_string()),
            };
            let finish = Event::Finished(Finish { reason, elapsed_s: began.elapsed().as_secs_f64() });
            sink(&LabEvent::Recorded(finish.clone())).map_err(RunError::Record)?;
            run.apply(finish);
            return if cancel.is_cancelled() { Ok(()) } else { Err(error.into()) };
        }
    };
    let outcome = sequence::run(run, subject.as_mut(), RunContext { sink, cancel: cancel.clone(), began });
    let stopped = subject.stop();
    match outcome {
        // What fails while everything is being torn down by a signal is not news.
        Err(_) if cancel.is_cancelled() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => stopped.map_err(RunError::from),
    }
}

fn build(
    plan: &ResolvedPlan,
    run_id: &str,
    cancel: &Cancel,
    changes: &Arc<HostChanges>,
    sink: &mut dyn FnMut(&LabEvent) -> Result<(), String>,
) -> Result<Box<dyn Subject>, SystemError> {
    let directory = changes
        .run_dir()
        .map_err(|error| SystemError::new("cannot make the run's directory").caused_by(error))?;
    if plan.plan.system == "commands" {
        changes
            .register(Undo::StopMarked { run_id: run_id.to_owned() })
            .map_err(|error| SystemError::new("cannot register the commands' processes").caused_by(error))?;
        return Ok(Box::new(CommandSubject::new(plan, &directory, run_id, cancel.clone())?));
    }
    let mut progress = |text: String| {
        // A sink that fails here fails again at the next event, where it ends the run.
        sink(&LabEvent::Progress(Progress::Step(text))).ok();
    };
    let context = BuildContext {
        changes: Arc::clone(changes),
        work_dir: directory.clone(),
        cancel: cancel.clone(),
        progress: &mut progress,
    };
    let system = systems::build(plan, context)?;
    Ok(Box::new(ServerSubject::new(plan, system, &directory, cancel.clone())))
}

/// The host as the stored run keeps it.
fn host_summary(facts: &HostFacts) -> HostSummary {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let storage = &facts.storage;
    let virtualisation: Vec<&str> = [&facts.virtualisation.hypervisor, &facts.virtualisation.container]
        .into_iter()
        .filter_map(Option::as_deref)
        .collect();
    HostSummary {
        hostname: text(&facts.hostname),
        os: text(&facts.os),
        kernel: text(&facts.kernel),
        cpu_model: text(&facts.cpu.model),
        cpus: facts
            .cpu
            .allowed
            .as_ref()
            .and_then(|allowed| u32::try_from(allowed.len()).ok())
            .or(facts.cpu.online)
            .unwrap_or(0),
        memory_bytes: facts.memory.total_bytes.unwrap_or(0),
        clock_source: text(&facts.clock.source),
        governor: facts.cpu.governor.clone(),
        virtualisation: (!virtualisation.is_empty()).then(|| virtualisation.join(", ")),
        work_file_system: format!("{} on {}", text(&storage.file_system), text(&storage.source)),
        extra: host_extra(facts),
    }
}

fn host_extra(facts: &HostFacts) -> BTreeMap<String, String> {
    let storage = &facts.storage;
    [
        ("kernel_hz", facts.clock.tick_hz.map(|hz| hz.to_string())),
        ("architecture", Some(facts.architecture.clone())),
        ("cpu_quota", facts.cpu.quota_cpus.map(|cpus| cpus.to_string())),
        ("smt", facts.cpu.smt.map(|smt| smt.to_string())),
        ("huge_pages", facts.memory.huge_pages.clone()),
        ("disk_rotational", storage.rotational.map(|flag| flag.to_string())),
        ("disk_scheduler", storage.scheduler.clone()),
        ("disk_readahead_kib", storage.readahead_kib.map(|kib| kib.to_string())),
        ("disk_write_cache", storage.write_cache.clone()),
        ("mount_options", Some(storage.mount_options.join(","))),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key.to_owned(), value?)))
    .chain(facts.sysctls.clone())
    .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_run_is_named_by_time_experiment_and_seed() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_297_465);
        let name = new_run_id("postgres/durability", now, 12_345);
        assert_eq!(name, "20261121-214425-postgres-durability-3bna");
        assert_ne!(name, new_run_id("postgres/durability", now, 12_346));
    }
}
