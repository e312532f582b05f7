//! One combination of levels → a [`ResolvedVariant`] with nothing left to substitute.
//!
//! Reports what only shows then: undefined or cyclic variables, SQL whose parameters do not match, generators
//! that make no sense, counts that are none, weights that are all 0.

use weigh_load::generator::GeneratorSpec;

use super::combine::{Combination, raw_vars};
use super::error::ExperimentError;
use super::keys::{Key, LoadKey};
use super::origin::Half;
use super::vars::{DEPTH_MAX, TEXT_BYTES_MAX, VarError, Vars};
use super::{Experiment, Level, OperationSection, generators, sql};
use crate::plan::{ResolvedCommand, ResolvedOperation, ResolvedVariant};

/// Rows of one statement, repetitions in one transaction, items of one operation: more is a mistake.
const COUNT_MAX: u32 = 1_000_000;

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

struct Expander<'e> {
    experiment: &'e Experiment,
    combination: &'e Combination,
    vars: Vars,
    errors: Vec<ExperimentError>,
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
        let threads = threads.map_or_else(|| (cpus / 2).max(1), |threads| threads as usize);
        let pipeline = self.load_number(LoadKey::Pipeline).unwrap_or(experiment.load.pipeline) as usize;
        let (setup, command) = match (&experiment.commands, self.combination.command) {
            (Some(_), Some(index)) => self.command(index),
            _ => (self.fill_all("workload.setup", &experiment.workload.setup), None),
        };
        ResolvedVariant {
            name: self.combination.name.clone(),
            levels: self.combination.levels.clone(),
            settings,
            setup,
            operations: self.operations(),
            command,
            clients,
            threads: threads.min(clients),
            pipeline,
        }
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

    fn bad_level(&mut self, key: &str, level: &Level, expected: &str) {
        let path = self.combination.paths.get(key).cloned().unwrap_or_default();
        let error = self.experiment.origin.error(Half::Value, &path, format!("`{key}` is `{level}`"));
        self.errors.push(error.expected(expected));
    }

    fn fill(&mut self, path: &str, text: &str) -> String {
        match self.vars.fill(text) {
            Ok(filled) => filled,
            Err(error) => {
                self.errors.push(var_error(self.experiment, path, error, self.vars.names()));
                String::new()
            }
        }
    }

    fn fill_all(&mut self, path: &str, texts: &[String]) -> Vec<String> {
        texts.iter().enumerate().map(|(index, text)| self.fill(&format!("{path}[{index}]"), text)).collect()
    }

    fn error(&mut self, path: &str, what: impl Into<String>, expected: &str) {
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

    /// `None` when it was reported.
    fn operation(
        &mut self,
        index: usize,
        operation: &OperationSection,
        weight: u32,
    ) -> Option<ResolvedOperation> {
        let before = self.errors.len();
        let path = format!("workload.operations[{index}]");
        let repeat = self.count(&format!("{path}.repeat"), "repeat", &operation.repeat);
        let rows = self.count(&format!("{path}.rows"), "rows", &operation.rows);
        let items = self.count(&format!("{path}.items"), "items", &operation.items);
        let sql = self.fill_all(&format!("{path}.sql"), &operation.sql);
        let parameters = self.parameters(&path, operation);
        if self.errors.len() > before {
            return None;
        }
        for (name, number) in [("repeat", repeat), ("rows", rows)] {
            if number > 1 && sql.len() > 1 {
                let what = format!("`{name}` is {number}, but the operation has {} statements", sql.len());
                self.error(&format!("{path}.{name}"), what, "a single statement");
                return None;
            }
        }
        self.check_sql(&path, &sql, parameters.len());
        let (sql, parameters) = self.rows(&path, sql, parameters, rows);
        let resolved =
            ResolvedOperation { name: operation.name.clone(), weight, sql, parameters, repeat, items };
        (self.errors.len() == before).then_some(resolved)
    }

    fn count(&mut self, path: &str, name: &str, text: &str) -> u32 {
        let before = self.errors.len();
        let filled = self.fill(path, text);
        let number = filled.trim().parse::<u32>().ok().filter(|number| (1..=COUNT_MAX).contains(number));
        if number.is_none() && self.errors.len() == before {
            let from = if filled == text { String::new() } else { format!(" (from `{text}`)") };
            self.error(
                path,
                format!("`{name}` is `{filled}`{from}"),
                &format!("an integer from 1 to {COUNT_MAX}"),
            );
        }
        number.unwrap_or(1)
    }

    fn parameters(&mut self, path: &str, operation: &OperationSection) -> Vec<GeneratorSpec> {
        let mut made = Vec::new();
        for (index, table) in operation.parameters.iter().enumerate() {
            let path = format!("{path}.parameters[{index}]");
            let before = self.errors.len();
            let filled = self.fill_table(&path, table);
            if self.errors.len() > before {
                continue;
            }
            match generators::generator(&filled) {
                Ok(spec) => made.push(spec),
                Err(error) => {
                    let (half, path) = match &error.field {
                        Some(field) if error.what.starts_with("unknown field") => {
                            (Half::Key, format!("{path}.{field}"))
                        }
                        Some(field) => (Half::Value, format!("{path}.{field}")),
                        None => (Half::Value, path),
                    };
                    let mut reported = self.experiment.origin.error(half, &path, error.what);
                    reported.expected = error.expected;
                    if let Some((typed, valid)) = error.typed {
                        reported = reported.nearest_of(&typed, valid);
                    }
                    self.errors.push(reported);
                }
            }
        }
        made
    }

    fn fill_table(&mut self, path: &str, table: &toml::Table) -> toml::Table {
        let mut fill = |key: &str, value: &toml::Value| match value {
            toml::Value::String(text) => toml::Value::String(self.fill(&format!("{path}.{key}"), text)),
            other => other.clone(),
        };
        let one = |(key, value): (&String, &toml::Value)| {
            let filled = match value {
                toml::Value::Array(list) => {
                    list.iter().map(|item| fill(key, item)).collect::<Vec<_>>().into()
                }
                single => fill(key, single),
            };
            (key.clone(), filled)
        };
        table.iter().map(one).collect()
    }

    /// Parameters `$1` … `$n`, each used, none missing; no transactions of its own.
    fn check_sql(&mut self, path: &str, statements: &[String], given: usize) {
        if statements.is_empty() {
            self.error(&format!("{path}.sql"), "an operation without a statement", "SQL");
        }
        let mut used = std::collections::BTreeSet::new();
        for (index, statement) in statements.iter().enumerate() {
            let path = format!("{path}.sql[{index}]");
            if sql::Kind::of(statement) == sql::Kind::Transaction {
                let what = format!("`{}` in an operation", sql::verb(statement));
                self.error(&path, what, "the statements alone: several of them run as one transaction");
            }
            match sql::parameters(statement) {
                Ok(numbers) => used.extend(numbers),
                Err(error) => self.error(&path, error.what, "SQL"),
            }
        }
        let wanted = used.last().copied().unwrap_or(0) as usize;
        let plural = |count: usize| {
            if count == 1 { "1 parameter is".to_owned() } else { format!("{count} parameters are") }
        };
        if used.first() == Some(&0) {
            self.error(&format!("{path}.sql"), "parameter `$0`", "parameters from `$1`");
        } else if wanted > given {
            let what = format!("the SQL takes `${wanted}`, but {} given", plural(given));
            self.error(
                &format!("{path}.sql"),
                what,
                "one generator in `parameters` for each of `$1`, `$2`, …",
            );
        } else if let Some(unused) = (1..=given).find(|&n| !used.iter().any(|&u| u as usize == n)) {
            let what = format!("{} given, but the SQL does not use `${unused}`", plural(given));
            self.error(
                &format!("{path}.parameters"),
                what,
                "one generator for each of `$1`, `$2`, … in the SQL",
            );
        }
    }

    /// Several rows behind `VALUES`, each with parameters of its own.
    fn rows(
        &mut self,
        path: &str,
        mut sql: Vec<String>,
        parameters: Vec<GeneratorSpec>,
        rows: u32,
    ) -> (Vec<String>, Vec<GeneratorSpec>) {
        let [statement] = sql.as_mut_slice() else { return (sql, parameters) };
        if rows <= 1 {
            return (sql, parameters);
        }
        // What the wire (16 bits) and SQLite's default limit allow.
        let most = if self.experiment.system.name == "sqlite" { 32_766 } else { 65_535 };
        let total = parameters.len().saturating_mul(rows as usize);
        if total > most {
            let what = format!("`rows` is {rows}: {total} parameters in one statement");
            self.error(&format!("{path}.rows"), what, &format!("at most {most}"));
            return (sql, parameters);
        }
        let count = u32::try_from(parameters.len()).unwrap_or(u32::MAX);
        match sql::repeat_values(statement, rows, count) {
            Ok(repeated) => *statement = repeated,
            Err(what) => {
                self.error(
                    &format!("{path}.rows"),
                    format!("`rows` is {rows}, but the SQL has {what}"),
                    "an `INSERT … VALUES (…)` with one row",
                );
            }
        }
        let parameters = parameters.iter().cycle().take(total).cloned().collect();
        (sql, parameters)
    }
}
