//! The way from an experiment to a finished run: the only file that calls the lab's runner.
//!
//! [`plan`] starts nothing. [`start`] and [`resume`] clear what dead runs have left, open the registry of
//! changes to the host and the recorder, execute, and give an [`Outcome`]: what was measured, where it is
//! stored, and what ended it. They print nothing but progress.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use weigh_lab::events::LabEvent;
use weigh_lab::experiment::{self, Experiment};
use weigh_lab::host::{Cancel, HostChanges, WorkRoot, sweep};
use weigh_lab::plan::{ResolveOptions, ResolvedPlan, resolve};
use weigh_lab::runner::{self, Execution, RunError};
use weigh_lab::systems::{self, SystemDescription};
use weigh_results::doubt::{Doubt, DoubtKind};
use weigh_results::model::{Event, HostSummary, Run};
use weigh_results::store::{Recorder, RunState, RunStore};

use crate::exit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::screen::Screen;

/// How a run is to be carried out, whatever it is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conduct {
    /// Leave the directories of servers where they are.
    pub(crate) keep: bool,
    /// No progress.
    pub(crate) quiet: bool,
    /// Where servers keep their data.
    pub(crate) work_dir: Option<PathBuf>,
}

/// What came of a run.
pub(crate) struct Outcome {
    /// Everything that was measured.
    pub(crate) run: Run,
    /// Its directory.
    pub(crate) dir: PathBuf,
    /// What ended it before its verdict.
    pub(crate) error: Option<RunError>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
}

/// The plan of an experiment. Nothing is started.
pub(crate) fn plan(experiment: &Experiment, seed: u64) -> Result<ResolvedPlan, Failure> {
    let description = describe(experiment)?;
    Ok(resolve(experiment, &description, ResolveOptions::new(seed))?)
}

/// What the system says about itself; commands have no system to ask.
fn describe(experiment: &Experiment) -> Result<SystemDescription, Failure> {
    if experiment.system.name == "commands" {
        return Ok(SystemDescription::default());
    }
    Ok(systems::describe(experiment)?)
}

/// Carries out a plan as a new run.
pub(crate) fn start(
    plan: &ResolvedPlan,
    store: &RunStore,
    conduct: &Conduct,
    screen: &Screen,
) -> Result<Outcome, Failure> {
    let prepared = Prepared::new(conduct, screen)?;
    let now = SystemTime::now();
    let run_id = runner::new_run_id(&plan.plan.experiment, now, plan.plan.seed);
    let header = runner::header(plan, &run_id, command_line(), prepared.root.path(), now);
    let recorder = store.create(&header)?;
    prepared.execute(plan, Run::new(header), recorder, conduct, screen)
}

/// Goes on with a run that was cut short, with the plan and the seed it was begun with.
pub(crate) fn resume(
    store: &RunStore,
    dir: &Path,
    conduct: &Conduct,
    screen: &Screen,
) -> Result<Outcome, Failure> {
    let (mut recorder, mut run) = store.reopen(dir)?;
    let id = run.header.run_id.clone();
    if !RunState::of(&run, false).can_be_resumed() {
        let message = format!("run `{id}` is complete: there is nothing to go on with");
        return Err(Failure::new(exit::USAGE, message).hint(format!("weigh show {id}")));
    }
    let plan = plan_again(&run)?;
    let prepared = Prepared::new(conduct, screen)?;
    let now = SystemTime::now();
    let here = runner::header(&plan, &id, Vec::new(), prepared.root.path(), now).host;
    let moved = moved(&run.header.host, &here);
    let doubt =
        |evidence| Event::Doubt(Doubt { kind: DoubtKind::MachineChanged, evidence, variants: Vec::new() });
    for event in [Event::Resumed { at: rfc3339(now) }].into_iter().chain(moved.map(doubt)) {
        recorder.append(&event)?;
        run.apply(event);
    }
    prepared.execute(&plan, run, recorder, conduct, screen)
}

/// The plan of a stored run, resolved again from the experiment in its first line.
fn plan_again(run: &Run) -> Result<ResolvedPlan, Failure> {
    let stored = &run.header.plan;
    let mut found = experiment::parse(&run.header.run_id, &run.header.experiment_toml)?;
    found.name.clone_from(&stored.experiment);
    let mut plan = plan(&found, stored.seed)?;
    if plan.plan.variants != stored.variants || plan.plan.judge != stored.judge {
        let message =
            format!("run `{}` cannot go on: its experiment gives another plan today", run.header.run_id);
        return Err(Failure::new(exit::FAILED, message).hint(format!("weigh show {}", run.header.run_id)));
    }
    plan.plan = stored.clone();
    Ok(plan)
}

/// What makes the rest of a run doubtful when it goes on elsewhere.
fn moved(then: &HostSummary, now: &HostSummary) -> Option<String> {
    let mut changes = Vec::new();
    for (what, then, now) in [
        ("host", &then.hostname, &now.hostname),
        ("kernel", &then.kernel, &now.kernel),
        ("CPU", &then.cpu_model, &now.cpu_model),
    ] {
        if then != now {
            changes.push(format!("{what} `{then}` → `{now}`"));
        }
    }
    (!changes.is_empty()).then(|| format!("the run went on under other conditions: {}", changes.join(", ")))
}

/// The command line as typed; what is not UTF-8 in it is shown as such.
fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn rfc3339(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(at).to_string()
}

/// Signals are caught and the host is clean; nothing has been started.
struct Prepared {
    cancel: Cancel,
    root: WorkRoot,
}

impl Prepared {
    fn new(conduct: &Conduct, screen: &Screen) -> Result<Prepared, Failure> {
        let cancel = Cancel::install()?;
        for cleared in sweep() {
            match cleared {
                Ok(cleared) => screen.note(&format!("cleared what run {} had left behind", cleared.run_id)),
                Err(error) => screen.fail(&Failure::from(error)),
            }
        }
        Ok(Prepared { cancel, root: WorkRoot::find(conduct.work_dir.as_deref())? })
    }

    fn execute(
        self,
        plan: &ResolvedPlan,
        mut run: Run,
        mut recorder: Recorder,
        conduct: &Conduct,
        screen: &Screen,
    ) -> Result<Outcome, Failure> {
        let guard = std::env::current_exe().ok();
        let changes = HostChanges::open(&run.header.run_id, self.root, guard)?;
        if conduct.keep {
            changes.keep_directories()?;
        }
        let mut progress = Progress::new(screen, run.clone(), conduct.quiet);
        let mut sink = |event: &LabEvent| -> Result<(), String> {
            if let LabEvent::Recorded(recorded) = event {
                recorder.append(recorded).map_err(|error| Failure::from(error).one_line())?;
            }
            progress.show(event);
            Ok(())
        };
        let execution =
            Execution { sink: &mut sink, cancel: self.cancel.clone(), changes: Arc::clone(&changes) };
        let outcome = runner::execute(plan, &mut run, execution);
        progress.end();
        // Said here, where it can be told; dropping the registry would undo everything silently.
        if let Err(error) = changes.undo_all() {
            screen.fail(&Failure::from(error));
        }
        let dir = recorder.path().parent().map(Path::to_path_buf).unwrap_or_default();
        let signal = self.cancel.is_cancelled().then(|| self.cancel.signal()).flatten();
        Ok(Outcome { run, dir, error: outcome.err(), signal })
    }
}
