//! Whether the parts of an experiment fit together, before any system is asked.
//!
//! [`check`] serves files and flags alike: it looks at an [`Experiment`] and lets its origin say where a
//! mistake stands. It decides nothing and changes nothing.

use std::time::Duration;

use weigh_results::model::Metric;

use super::combine::{self, Combination};
use super::error::list_names;
use super::expand::expand;
use super::keys::{Key, LoadKey};
use super::level::VARIANTS_MAX;
use super::origin::Half;
use super::read::system_names;
use super::{Experiment, ExperimentError, ExperimentErrors, sql};

impl Experiment {
    /// Checks everything that can be known without a system: for an experiment changed after it was read.
    ///
    /// # Errors
    ///
    /// What does not fit together, with its place in the file or its flag.
    pub fn check(&self) -> Result<(), ExperimentErrors> {
        check(self)
    }
}

/// Operations of one workload.
const OPERATIONS_MAX: usize = 100;

/// Checks everything that can be known without a system.
pub(super) fn check(experiment: &Experiment) -> Result<(), ExperimentErrors> {
    let mut checker = Checker { experiment, errors: Vec::new() };
    checker.system();
    checker.shape();
    checker.url();
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

struct Checker<'e> {
    experiment: &'e Experiment,
    errors: Vec<ExperimentError>,
}

impl Checker<'_> {
    fn key_error(&mut self, path: &str, what: impl Into<String>, expected: &str) {
        self.errors.push(self.experiment.origin.error(Half::Key, path, what).expected(expected));
    }

    fn value_error(&mut self, path: &str, what: impl Into<String>, expected: &str) {
        self.errors.push(self.experiment.origin.error(Half::Value, path, what).expected(expected));
    }

    fn is_commands(&self) -> bool {
        self.experiment.system.name == "commands"
    }

    fn system(&mut self) {
        let name = self.experiment.system.name.as_str();
        let known = system_names();
        if !known.contains(&name) {
            let origin = &self.experiment.origin;
            let path = if origin.value_span("system.name").is_some() { "system.name" } else { "system" };
            let error = origin.error(Half::Value, path, format!("unknown system `{name}`"));
            self.errors.push(error.one_of(name, known));
        }
    }

    /// A commands experiment has commands and no server; the others have operations.
    fn shape(&mut self) {
        let experiment = self.experiment;
        match (&experiment.commands, self.is_commands()) {
            (None, true) => {
                self.value_error("system", "no commands", "`[[commands.command]]` with `run = \"…\"`")
            }
            (Some(_), false) => {
                let what = format!("`commands` for the system `{}`", experiment.system.name);
                self.key_error("commands", what, "`system = \"commands\"`");
            }
            (Some(commands), true) => {
                if commands.list.is_empty() {
                    self.key_error("commands", "no commands", "`[[commands.command]]` with `run = \"…\"`");
                }
                self.only_commands();
            }
            (None, false) if experiment.workload.operations.is_empty() => {
                self.key_error("workload", "no operations", "`[[workload.operations]]` with `sql = \"…\"`");
            }
            (None, false) => self.operation_names(),
        }
    }

    fn only_commands(&mut self) {
        let experiment = self.experiment;
        let what = |part: &str| format!("`{part}` for the system `commands`");
        if !experiment.workload.operations.is_empty() {
            self.key_error("workload.operations", what("operations"), "`[[commands.command]]`");
        }
        if !experiment.workload.setup.is_empty() {
            self.key_error("workload.setup", what("workload.setup"), "`setup` in `[commands]`");
        }
        if !experiment.settings.is_empty() {
            self.key_error("settings", what("settings"), "variables (`[workload.vars]`) in the commands");
        }
        if !experiment.variants.is_empty() {
            self.key_error("variants", what("variants"), "factors: the commands themselves are the variants");
        }
    }

    fn operation_names(&mut self) {
        let operations = &self.experiment.workload.operations;
        if operations.len() > OPERATIONS_MAX {
            let what = format!("{} operations", operations.len());
            self.key_error("workload.operations", what, &format!("at most {OPERATIONS_MAX}"));
            return;
        }
        for (index, operation) in operations.iter().enumerate() {
            if operations[..index].iter().any(|other| other.name == operation.name) {
                let path = format!("workload.operations[{index}].name");
                self.value_error(&path, format!("operation `{}` twice", operation.name), "a name of its own");
            }
        }
    }

    /// A server of the user's own is not written to without permission.
    fn url(&mut self) {
        let experiment = self.experiment;
        let Some(url) = &experiment.system.url else {
            if experiment.system.allow_writes {
                self.key_error(
                    "system.allow_writes",
                    "`allow_writes` without `url`",
                    "a server of your own at `url`",
                );
            }
            return;
        };
        if experiment.system.name != "postgres" {
            let what = format!("`url` for the system `{}`", experiment.system.name);
            self.key_error("system.url", what, "`url` with the system `postgres`");
        } else if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            self.value_error(
                "system.url",
                "not a URL of a PostgreSQL server",
                "`postgres://user@host:5432/database`",
            );
        }
        if experiment.system.bin_dir.is_some() {
            self.key_error("system.bin_dir", "both `url` and `bin_dir`", "one of them");
        }
        if experiment.system.allow_writes {
            return;
        }
        const EXPECTED: &str = "`allow_writes = true` if that server may be changed";
        if !experiment.workload.setup.is_empty() {
            self.value_error("workload.setup[0]", "set-up would write to the server at `url`", EXPECTED);
        }
        for (index, operation) in experiment.workload.operations.iter().enumerate() {
            for (at, statement) in operation.sql.iter().enumerate() {
                if sql::Kind::of(statement) == sql::Kind::Write {
                    let path = format!("workload.operations[{index}].sql[{at}]");
                    let what = format!("`{}` would write to the server at `url`", sql::verb(statement));
                    self.value_error(&path, what, EXPECTED);
                }
            }
        }
    }

    fn load(&mut self) {
        let load = &self.experiment.load;
        if let Some(threads) = load.threads.filter(|threads| *threads > load.clients)
            && !self.experiment.factors.iter().any(|factor| factor.key == LoadKey::NAMES[0])
            && self.experiment.variants.is_empty()
        {
            let what = format!("{threads} threads for {} clients", load.clients);
            self.value_error("load.threads", what, "at most one thread per client");
        }
        if load.trial < Duration::from_millis(10) {
            self.value_error("load.trial", "a trial shorter than 10 ms", "`1s`, or what the workload needs");
        }
        let budget = self.experiment.judge.budget;
        if budget <= load.trial + load.settle {
            let shown = humantime::format_duration(budget);
            self.value_error("judge.budget", format!("a budget of {shown} that no trial fits in"), "`5min`");
        }
        if self.is_commands() && (load.clients, load.pipeline) != (1, 1) {
            self.key_error(
                "load.clients",
                "`load.clients` for the system `commands`",
                "1: commands run one at a time",
            );
        }
    }

    fn metrics(&mut self) {
        let commands = self.is_commands();
        let fits = |metric: &Metric| match metric {
            Metric::Time => commands,
            Metric::CpuPerOp => true,
            _ => !commands,
        };
        let valid = list_names(Metric::ALL.into_iter().filter(|metric| fits(metric)).map(Metric::name));
        for metric in self.experiment.judge.metrics.iter().filter(|metric| !fits(metric)) {
            let path =
                if self.experiment.origin.has("judge.metrics") { "judge.metrics" } else { "judge.metric" };
            let what = format!("metric `{}` for the system `{}`", metric.name(), self.experiment.system.name);
            self.value_error(path, what, &valid);
        }
    }

    /// Every factor and every level of a variant names something that exists.
    fn keys(&mut self) -> bool {
        let before = self.errors.len();
        let experiment = self.experiment;
        if let (Some(_), Some(_)) = (experiment.factors.first(), experiment.variants.first()) {
            self.key_error("variants", "both `factors` and `variants`", "one of them");
        }
        for factor in &experiment.factors {
            let path = format!("factors.{}", factor.key);
            self.key(&path, &factor.key);
            if !combine::is_used(experiment, factor) {
                let what = format!("no command uses `{}`", factor.key);
                self.key_error(&path, what, "its name in braces in at least one command");
            }
            if factor.levels.is_empty() {
                self.value_error(&path, format!("no levels for `{}`", factor.key), "at least one level");
            }
            // A longer list is too many variants anyway.
            for (index, level) in factor.levels.iter().enumerate().take(VARIANTS_MAX) {
                // Compared as the system will see them: `1` and `"1"` are the same.
                if factor.levels[..index].iter().any(|other| other.to_text() == level.to_text()) {
                    let what = format!("level `{level}` of `{}` twice", factor.key);
                    self.value_error(&format!("{path}[{index}]"), what, "each level once");
                }
            }
        }
        for variant in &experiment.variants {
            if variant.name.trim().is_empty() {
                self.key_error(
                    &format!("variants.{}", variant.name),
                    "a variant without a name",
                    "`[variants.NAME]`",
                );
            }
            for key in variant.levels.keys() {
                self.key(&format!("variants.{}.{key}", variant.name), key);
            }
        }
        self.errors.len() == before
    }

    fn key(&mut self, path: &str, key: &str) {
        let experiment = self.experiment;
        let operations: Vec<String> =
            experiment.workload.operations.iter().map(|op| op.name.clone()).collect();
        let known = match Key::parse(key) {
            Some(Key::Setting(_) | Key::Load(_)) => !self.is_commands(),
            Some(Key::Var(_)) => true,
            Some(Key::Weight(name)) => operations.iter().any(|operation| operation == name),
            None => false,
        };
        if known {
            return;
        }
        let mut valid: Vec<String> =
            experiment.workload.vars.keys().map(|name| format!("vars.{name}")).collect();
        let mut expected = "`vars.NAME`".to_owned();
        if !self.is_commands() {
            valid.extend(operations.iter().map(|name| format!("operations.{name}.weight")));
            valid.push(format!("settings.{key}"));
            valid.extend(LoadKey::NAMES.map(str::to_owned));
            let weights: Vec<String> =
                operations.iter().map(|name| format!("operations.{name}.weight")).collect();
            let mut keys =
                vec!["settings.NAME", "load.clients", "load.threads", "load.pipeline", "vars.NAME"];
            keys.extend(weights.iter().map(String::as_str));
            expected = list_names(keys);
        }
        let error = experiment.origin.error(Half::Key, path, format!("unknown key `{key}`"));
        self.errors.push(error.expected(expected).nearest_of(key, valid.iter().map(String::as_str)));
    }

    /// At least two, at most 64.
    fn variant_count(&mut self) -> bool {
        let experiment = self.experiment;
        let path = if experiment.commands.is_some() {
            "commands"
        } else if !experiment.factors.is_empty() {
            "factors"
        } else {
            "variants"
        };
        if experiment.factors.iter().any(|factor| factor.levels.is_empty()) {
            return false;
        }
        let count = combine::count(experiment);
        if count > VARIANTS_MAX {
            let what = format!("{count} variants");
            self.key_error(path, what, &format!("at most {VARIANTS_MAX}: each needs a trial in every round"));
        } else if count < 2 {
            let expected = match path {
                "commands" => "at least two commands, or a factor `vars.NAME` that they use",
                _ => "at least two: a factor with two levels, or two `[variants.NAME]`",
            };
            let what = if count == 0 { "no variant" } else { "only one variant" };
            self.key_error(path, what, expected);
        }
        (2..=VARIANTS_MAX).contains(&count)
    }

    /// The baseline and the field's figures name variants.
    fn names(&mut self, combinations: &[Combination]) {
        let experiment = self.experiment;
        let names: Vec<&str> = combinations.iter().map(|one| one.name.as_str()).collect();
        if let Some(baseline) = experiment.judge.baseline.as_deref().filter(|name| !names.contains(name)) {
            let what = format!("the baseline `{baseline}` is not a variant");
            let error = experiment.origin.error(Half::Value, "judge.baseline", what);
            self.errors.push(error.one_of(baseline, names.iter().copied()));
        }
        for name in experiment.field_figures.keys().filter(|name| !names.contains(&name.as_str())) {
            let what = format!("`{name}` in `field` is not a variant");
            let error = experiment.origin.error(Half::Key, &format!("field.{name}"), what);
            self.errors.push(error.one_of(name, names.iter().copied()));
        }
    }
}
