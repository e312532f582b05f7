//! Experiment + what the system can do → a resolved plan. Nothing is started here.
//!
//! - [`resolve`] makes a [`ResolvedPlan`]: what is stored ([`Plan`]) and, per variant, everything with
//!   nothing left to substitute ([`ResolvedVariant`], [`ResolvedOperation`] with its [`ResolvedText`],
//!   [`ResolvedCommand`]).
//! - It checks settings against a [`SystemDescription`]; a mistake still points at its line or flag.
//!
//! It is a pure function: the same experiment, description and options give the same plan, which is how
//! a run is resumed.

mod operation;
mod resolved;
mod settings;
mod summary;

use std::collections::BTreeMap;
use std::time::Duration;

use weigh_results::model::{JudgeRule, Plan, VariantPlan};

pub(crate) use operation::default_threads;
pub use operation::{
    ResolvedCommandText, ResolvedOperation, ResolvedRequest, ResolvedText, default_operation,
};
pub use resolved::{ResolvedCommand, ResolvedPlan, ResolvedVariant, ServerPlan, Start};

use crate::experiment::{Experiment, ExperimentError, ExperimentErrors, Half, combinations, expand};
use crate::systems::description::SystemDescription;

/// What is decided by the caller rather than by the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolveOptions {
    /// Seed of every random choice.
    pub seed: u64,
    /// Time for the whole run, instead of the experiment's.
    pub budget: Option<Duration>,
    /// Measured part of a trial, instead of the experiment's.
    pub trial: Option<Duration>,
    /// CPUs this process may use: decides the number of threads where none is asked for.
    pub cpus: usize,
}

impl ResolveOptions {
    /// With a seed, everything else as the experiment and this machine say.
    pub fn new(seed: u64) -> ResolveOptions {
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
        ResolveOptions { seed, budget: None, trial: None, cpus }
    }
}

/// Probability of any wrong verdict in a run (`docs/methods.md`).
const ALPHA: f64 = 0.05;

/// Makes the plan of a run.
///
/// # Errors
///
/// Settings the system does not have, cannot change, or does not take that value for; and everything
/// [`parse`](crate::experiment::parse) reports, should the experiment not come from there.
pub fn resolve(
    experiment: &Experiment,
    description: &SystemDescription,
    options: ResolveOptions,
) -> Result<ResolvedPlan, ExperimentErrors> {
    let mut experiment = experiment.clone();
    experiment.judge.budget = options.budget.unwrap_or(experiment.judge.budget);
    experiment.load.trial = options.trial.unwrap_or(experiment.load.trial);
    experiment.check()?;
    let (mut variants, mut errors) = (Vec::new(), lacking(&experiment, description));
    for combination in combinations(&experiment) {
        match expand(&experiment, &combination, options.cpus) {
            Ok(mut variant) => {
                errors.extend(settings::check(&experiment, &combination, description, &mut variant));
                variants.push(variant);
            }
            Err(found) => errors.extend(found),
        }
    }
    ExperimentErrors::check(errors)?;
    let plan = plan(&experiment, &variants, description, options.seed);
    Ok(ResolvedPlan { plan, experiment, variants })
}

/// What the experiment needs and its system cannot do.
fn lacking(experiment: &Experiment, description: &SystemDescription) -> Vec<ExperimentError> {
    let needs = experiment.needs.iter().enumerate();
    let lack = |need| description.lacks.iter().find(|lack| lack.capability == need);
    needs
        .filter_map(|(index, need)| {
            let what = format!("needs {}: {}", need.name(), lack(*need)?.why);
            Some(experiment.origin.error(Half::Value, &format!("needs[{index}]"), what))
        })
        .collect()
}

fn plan(
    experiment: &Experiment,
    variants: &[ResolvedVariant],
    description: &SystemDescription,
    seed: u64,
) -> Plan {
    let judge = &experiment.judge;
    let baseline = judge.baseline.as_ref();
    let baseline = baseline.and_then(|name| variants.iter().position(|variant| variant.name == *name));
    Plan {
        experiment: experiment.name.clone(),
        question: summary::question(experiment),
        system: experiment.system.name.clone(),
        seed,
        variants: variants.iter().map(variant_plan).collect(),
        // The name was checked; none given means the first.
        baseline: baseline.unwrap_or(0),
        judge: JudgeRule {
            decide: judge.metrics.clone(),
            difference: judge.difference,
            alpha: ALPHA,
            goal: judge.goal,
            budget_s: judge.budget.as_secs_f64(),
            factorial: judge.factorial,
        },
        measure_s: experiment.load.trial.as_secs_f64(),
        settle_s: experiment.load.settle.as_secs_f64(),
        operations: experiment.load.operations,
        drain: judge.drain,
        in_process: ["sqlite", "commands"].contains(&experiment.system.name.as_str()),
        load_summary: summary::load(experiment, variants),
        unit: experiment.workload.unit.clone(),
        columns: description.columns.clone(),
        field_figures: experiment.field_figures.clone(),
    }
}

fn variant_plan(variant: &ResolvedVariant) -> VariantPlan {
    let mut levels: BTreeMap<String, String> =
        variant.levels.iter().map(|(key, level)| (key.clone(), level.to_text())).collect();
    if let Some(command) = &variant.command {
        levels.insert("command".to_owned(), command.run.clone());
    }
    VariantPlan { name: variant.name.clone(), levels }
}
