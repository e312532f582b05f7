//! One variant: its settings, load and operations, and the errors found on the way.

use super::super::combine::{Combination, raw_vars};
use super::super::error::{ExperimentError, ExperimentErrors, list_names};
use super::super::keys::{Key, LoadKey, SystemKey};
use super::super::origin::Half;
use super::super::read::{MEMORY_EXPECTED, parse_memory};
use super::super::vars::{DEPTH_MAX, TEXT_BYTES_MAX, VarError, Vars};
use super::super::{Experiment, Level, OperationSection};
use crate::plan::{ResolvedCommand, ResolvedOperation, ResolvedVariant, ServerPlan, Start, default_threads};
use crate::systems;

/// Fills in one variant. `cpus` decides the number of threads where none is asked for.
pub(crate) fn expand(
    experiment: &Experiment,
    combination: &Combination,
    cpus: usize,
) -> Result<ResolvedVariant, Vec<ExperimentError>> {
    let vars = match Vars::resolve(&raw_vars(experiment, &combination.levels)) {
        Ok(vars) => vars,
        Err((name, error)) => return Err(vec![in_vars(experiment, combination, &name, error)]),
    };
    let mut expander = Expander { experiment, combination, vars, errors: Vec::new() };
    let variant = expander.variant(cpus);
    if expander.errors.is_empty() { Ok(variant) } else { Err(expander.errors) }
}

/// The operations of an experiment's workload as they stand, without any level.
///
/// # Errors
/// As [`expand`].
pub(crate) fn operations(experiment: &Experiment) -> Result<Vec<ResolvedOperation>, ExperimentErrors> {
    let combination = Combination::default();
    let vars = match Vars::resolve(&raw_vars(experiment, &combination.levels)) {
        Ok(vars) => vars,
        Err((name, error)) => return Err(in_vars(experiment, &combination, &name, error).into()),
    };
    let mut expander = Expander { experiment, combination: &combination, vars, errors: Vec::new() };
    let made = expander.operations();
    ExperimentErrors::check(expander.errors)?;
    Ok(made)
}

/// An error in a variable itself points at its definition.
fn in_vars(
    experiment: &Experiment,
    combination: &Combination,
    name: &str,
    error: VarError,
) -> ExperimentError {
    let factor_key = format!("vars.{name}");
    let path = match combination.paths.get(&factor_key) {
        Some(path) => path.clone(),
        None => format!("workload.vars.{name}"),
    };
    let names = raw_vars(experiment, &combination.levels);
    var_error(experiment, &path, error, names.keys().map(String::as_str))
}

fn var_error<'a>(
    experiment: &Experiment,
    path: &str,
    error: VarError,
    names: impl Iterator<Item = &'a str> + Clone,
) -> ExperimentError {
    let at = |what: String| experiment.origin.error(Half::Value, path, what);
    match error {
        VarError::Undefined(name) => {
            let error = at(format!("variable `{{{name}}}` is not defined"));
            let error = if names.clone().next().is_some() { error.one_of(&name, names) } else { error };
            match error.expected {
                Some(_) => error,
                None => error.expected(format!(
                    "`{name}` in `[workload.vars]` or as a factor `vars.{name}`; `{{{{{name}}}}}` for the braces themselves"
                )),
            }
        }
        VarError::Cycle(names) => at(format!("variables in a cycle: `{}`", names.join("` → `"))),
        VarError::TooDeep => at(format!("more than {DEPTH_MAX} variables inside each other")),
        VarError::TooLong => {
            at(format!("longer than {TEXT_BYTES_MAX} bytes once its variables are filled in"))
        }
    }
}

/// What is being made, and what was wrong with it so far.
pub(super) struct Expander<'e> {
    pub(super) experiment: &'e Experiment,
    pub(super) combination: &'e Combination,
    vars: Vars,
    pub(super) errors: Vec<ExperimentError>,
}

impl Expander<'_> {
    fn variant(&mut self, cpus: usize) -> ResolvedVariant {
        let experiment = self.experiment;
        let mut settings = experiment.settings.clone();
        for (key, level) in &self.combination.levels {
            if let Some(Key::Setting(name)) = Key::parse(key) {
                settings.insert(name.to_owned(), level.clone());
            }
        }
        let clients = self.load_number(LoadKey::Clients).unwrap_or(experiment.load.clients) as usize;
        let threads = self.load_number(LoadKey::Threads).or(experiment.load.threads);
        let threads = threads.map_or_else(|| default_threads(cpus), |threads| threads as usize);
        let pipeline = self.load_number(LoadKey::Pipeline).unwrap_or(experiment.load.pipeline) as usize;
        let (setup, command) = match (&experiment.commands, self.combination.command) {
            (Some(_), Some(index)) => self.command(index),
            _ => (self.fill_all("workload.setup", &experiment.workload.setup), None),
        };
        ResolvedVariant {
            name: self.combination.name.clone(),
            levels: self.combination.levels.clone(),
            settings,
            server: self.server(),
            setup,
            prepare: self.fill_all("workload.prepare", &experiment.workload.prepare),
            operations: self.operations(),
            command,
            clients,
            threads: threads.min(clients),
            pipeline,
            schedule: self.schedule(),
            reply_limit: experiment.load.timeout,
            operations_limit: experiment.load.operations,
        }
    }

    /// What the variant's private server is made of.
    fn server(&mut self) -> ServerPlan {
        let mut plan = ServerPlan::default();
        for (key, known) in systems::private_keys(&self.experiment.system.name) {
            let common = self.experiment.system.private.get(key);
            let level = self.combination.levels.get(key.name());
            let Some(text) = level.map(Level::to_text).or_else(|| common.cloned()) else { continue };
            if !known.is_empty() && !known.contains(&text.as_str()) {
                self.bad_system(*key, &text, &list_names(known.iter().copied()));
                continue;
            }
            match key {
                SystemKey::Server => plan.server = Some(text),
                SystemKey::Version => plan.version = Some(text),
                SystemKey::Backend => plan.backend = Some(text),
                SystemKey::Cache => plan.cache = Some(text),
                SystemKey::Start => {
                    plan.start = Some(if text == "cold" { Start::Cold } else { Start::Warm });
                }
                SystemKey::Memory => match parse_memory(&text) {
                    None => self.bad_system(*key, &text, MEMORY_EXPECTED),
                    bytes => plan.memory_bytes = bytes,
                },
            }
        }
        plan
    }

    fn bad_system(&mut self, key: SystemKey, text: &str, expected: &str) {
        let path = self.combination.paths.get(key.name()).map_or(key.name(), String::as_str);
        let what = format!("`{}` is `{text}`", key.name());
        self.errors.push(self.experiment.origin.error(Half::Value, path, what).expected(expected));
    }

    /// A number of the load that this variant sets.
    fn load_number(&mut self, wanted: LoadKey) -> Option<u32> {
        let (key, level) =
            self.combination.levels.iter().find(|(key, _)| Key::parse(key) == Some(Key::Load(wanted)))?;
        let number = match level {
            Level::Integer(number) => u32::try_from(*number).ok().filter(|n| (1..=wanted.max()).contains(n)),
            _ => None,
        };
        if number.is_none() {
            self.bad_level(key, level, &format!("an integer from 1 to {}", wanted.max()));
        }
        number
    }

    pub(super) fn bad_level(&mut self, key: &str, level: &Level, expected: &str) {
        let path = self.combination.paths.get(key).cloned().unwrap_or_default();
        let error = self.experiment.origin.error(Half::Value, &path, format!("`{key}` is `{level}`"));
        self.errors.push(error.expected(expected));
    }

    pub(super) fn fill(&mut self, path: &str, text: &str) -> String {
        match self.vars.fill(text) {
            Ok(filled) => filled,
            Err(error) => {
                self.errors.push(var_error(self.experiment, path, error, self.vars.names()));
                String::new()
            }
        }
    }

    pub(super) fn fill_all(&mut self, path: &str, texts: &[String]) -> Vec<String> {
        texts.iter().enumerate().map(|(index, text)| self.fill(&format!("{path}[{index}]"), text)).collect()
    }

    pub(super) fn error(&mut self, path: &str, what: impl Into<String>, expected: &str) {
        self.errors.push(self.experiment.origin.error(Half::Value, path, what).expected(expected));
    }

    fn command(&mut self, index: usize) -> (Vec<String>, Option<ResolvedCommand>) {
        let Some(commands) = &self.experiment.commands else { return (Vec::new(), None) };
        let command = &commands.list[index];
        let path = format!("commands.command[{index}]");
        let setup = self.fill_all("commands.setup", &commands.setup);
        let run = self.fill(&format!("{path}.run"), &command.run);
        let resolved = ResolvedCommand {
            prepare: command.prepare.as_ref().map(|text| self.fill(&format!("{path}.prepare"), text)),
            conclude: command.conclude.as_ref().map(|text| self.fill(&format!("{path}.conclude"), text)),
            cleanup: self.fill_all("commands.cleanup", &commands.cleanup),
            shell: commands.shell.clone(),
            directory: commands.directory.clone(),
            warmup: commands.warmup,
            ignore_failure: commands.ignore_failure,
            run,
        };
        if let Some(name) = &command.name {
            self.fill(&format!("{path}.name"), name);
        }
        if self.errors.is_empty() && resolved.run.trim().is_empty() {
            self.error(&format!("{path}.run"), "an empty command", "what is timed");
        }
        (setup, Some(resolved))
    }

    fn operations(&mut self) -> Vec<ResolvedOperation> {
        let experiment = self.experiment;
        let mut made = Vec::new();
        let mut all_off = !experiment.workload.operations.is_empty();
        for (index, operation) in experiment.workload.operations.iter().enumerate() {
            let weight = self.weight(operation);
            all_off &= weight == 0;
            // Mistakes in an operation that is switched off are mistakes all the same.
            let resolved = self.operation(index, operation, weight);
            made.extend(resolved.filter(|_| weight > 0));
        }
        if all_off {
            let name = &self.combination.name;
            let what = if self
                .combination
                .levels
                .keys()
                .any(|key| matches!(Key::parse(key), Some(Key::Weight(_))))
            {
                format!("every operation of the variant `{name}` has weight 0")
            } else {
                "every operation has weight 0".to_owned()
            };
            self.error("workload.operations[0].weight", what, "a weight above 0 for at least one");
        }
        made
    }

    fn weight(&mut self, operation: &OperationSection) -> u32 {
        let key = format!("operations.{}.weight", operation.name);
        let Some(level) = self.combination.levels.get(&key) else { return operation.weight };
        let number = match level {
            Level::Integer(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        if number.is_none() {
            self.bad_level(&key, level, "an integer of at least 0");
        }
        number.unwrap_or(1)
    }
}
