//! The order of the checks, and what they share.

use weigh_load::Arrivals;
use weigh_results::model::Metric;

use super::super::combine;
use super::super::expand::{self, expand};
use super::super::origin::Half;
use super::super::read::{arrivals_from_name, default_judge, rate_of_level};
use super::super::{Experiment, ExperimentError, ExperimentErrors, Level, TextKind};
use super::workload::OPERATIONS_MAX;
use crate::plan::ResolvedOperation;
use crate::systems;

impl Experiment {
    /// Checks everything that can be known without a system: for an experiment changed after it was read.
    ///
    /// # Errors
    ///
    /// What does not fit together, with its place in the file or its flag.
    pub fn check(&self) -> Result<(), ExperimentErrors> {
        check(self)
    }

    /// A rate as it is typed, operations per second: `5000/s`, `300/min`.
    pub fn rate(text: &str) -> Option<f64> {
        rate_of_level(&Level::from_text(text.trim()))
    }

    /// A spacing of arrivals as it is typed.
    pub fn arrivals(text: &str) -> Option<Arrivals> {
        arrivals_from_name(text.trim())
    }

    /// Makes it an open loop at a rate. Where nobody named a metric, what an open loop is judged by takes the place of
    /// the throughput, which is its rate.
    pub fn open_loop(&mut self, rate_per_s: f64) {
        self.load.rate_per_s = Some(rate_per_s);
        let named = ["judge.metric", "judge.metrics"].iter().any(|path| self.origin.has(path));
        if !named && self.judge.metrics == [Metric::Throughput] {
            self.judge.metrics = default_judge(&self.system, true).metrics;
        }
    }
}

/// Checks everything that can be known without a system.
pub(in crate::experiment) fn check(experiment: &Experiment) -> Result<(), ExperimentErrors> {
    let mut checker = Checker { experiment, errors: Vec::new() };
    checker.system();
    checker.shape();
    checker.url();
    checker.writes();
    checker.load();
    checker.metrics();
    let keys_fit = checker.keys();
    // Variants are only made when there is a reasonable number of sound ones.
    if checker.variant_count() && keys_fit && experiment.workload.operations.len() <= OPERATIONS_MAX {
        let combinations = combine::combinations(experiment);
        checker.names(&combinations);
        for combination in &combinations {
            checker.errors.extend(expand(experiment, combination, 1).err().unwrap_or_default());
        }
    }
    ExperimentErrors::check(checker.errors)
}

/// Operations that stand by themselves, without variants.
///
/// # Errors
/// What does not fit together in them.
pub(in crate::experiment) fn operations(
    experiment: &Experiment,
) -> Result<Vec<ResolvedOperation>, ExperimentErrors> {
    let mut checker = Checker { experiment, errors: Vec::new() };
    checker.operations();
    ExperimentErrors::check(checker.errors)?;
    expand::operations(experiment)
}

/// What is looked at, and what was wrong with it so far.
pub(super) struct Checker<'e> {
    pub(super) experiment: &'e Experiment,
    pub(super) errors: Vec<ExperimentError>,
}

impl Checker<'_> {
    pub(super) fn key_error(&mut self, path: &str, what: impl Into<String>, expected: &str) {
        self.errors.push(self.experiment.origin.error(Half::Key, path, what).expected(expected));
    }

    pub(super) fn value_error(&mut self, path: &str, what: impl Into<String>, expected: &str) {
        self.errors.push(self.experiment.origin.error(Half::Value, path, what).expected(expected));
    }

    /// Whether it has settings we may vary: those of a session at least. A server that is only reached has none, and
    /// neither has any that does not speak SQL.
    pub(super) fn has_settings(&self) -> bool {
        let system = &self.experiment.system;
        let sql = systems::text_kind(&system.name) == Some(TextKind::Sql);
        systems::needs_url(&system.name).is_none() && (sql || system.url.is_none())
    }

    pub(super) fn is_commands(&self) -> bool {
        self.experiment.system.name == "commands"
    }
}
