//! `weigh run --system … --set … --sql …` → an experiment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::levels::{FlagReader, JudgeFlags};
use crate::experiment::keys::{Key, LoadKey, SystemKey};
use crate::experiment::read::{
    ARRIVALS_NAMES, DURATION_EXPECTED, RATE_EXPECTED, arrivals_from_name, default_judge, default_load,
    is_open_loop, parse_settle, rate_of_level,
};
use crate::experiment::{
    Experiment, ExperimentErrors, Factor, Level, LoadSection, SystemSection, TextKind, WorkloadSection,
};

/// The flags of a run without an experiment file, as typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlagExperiment {
    /// `--question`
    pub question: Option<String>,
    /// `--system`
    pub system: String,
    /// `--url`
    pub url: Option<String>,
    /// `--allow-writes`
    pub allow_writes: bool,
    /// `--bin-dir`
    pub bin_dir: Option<PathBuf>,
    /// `--ca-file`
    pub ca_file: Option<PathBuf>,
    /// `--insecure`
    pub insecure: bool,
    /// `--connect-to`
    pub connect_to: Option<String>,
    /// `--set name=a,b,c`: a factor, or with one value a common setting. A name without `settings.`,
    /// `load.`, `vars.`, `operations.` or `system.` is a setting's.
    pub set: Vec<String>,
    /// `--sql FILE` (read by the caller), one operation each.
    pub sql: Vec<SqlSource>,
    /// `--operation TEXT`, one operation each, in the words of the system: a statement, a command, or a method and a
    /// path.
    pub operations: Vec<String>,
    /// `--setup FILE` (read by the caller): SQL, or commands.
    pub setup: Vec<SqlSource>,
    /// `--param kind=uniform,min=1,max=1000`: `$1`, `$2`, … of the only operation.
    pub parameters: Vec<String>,
    /// `--clients 8`, or a factor `--clients 1,8`.
    pub clients: Option<String>,
    /// `--threads`
    pub threads: Option<u32>,
    /// `--pipeline`
    pub pipeline: Option<u32>,
    /// `--rate 5000/s`, or a factor `--rate 1000/s,5000/s`.
    pub rate: Option<String>,
    /// `--arrivals constant|poisson`, or a factor.
    pub arrivals: Option<String>,
    /// `--timeout`
    pub timeout: Option<String>,
    /// `--trial`
    pub trial: Option<String>,
    /// `--settle`
    pub settle: Option<String>,
    /// `--budget`
    pub budget: Option<String>,
    /// `--difference`
    pub difference: Option<String>,
    /// `--goal`
    pub goal: Option<String>,
    /// `--metric`, repeatable or with commas.
    pub metrics: Vec<String>,
    /// `--baseline`
    pub baseline: Option<String>,
    /// `--no-drain`
    pub no_drain: bool,
}

/// SQL from a file or from the command line itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlSource {
    /// The file as named by the user, or the flag (`--sql`) for SQL typed there.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Makes an experiment from flags.
///
/// # Errors
///
/// Every mistake with the flag it was typed in, or the file and line of the SQL.
pub fn from_flags(flags: &FlagExperiment) -> Result<Experiment, ExperimentErrors> {
    let mut builder =
        Builder { reader: FlagReader::new(), flags, factors: Vec::new(), private: BTreeMap::new() };
    let experiment = builder.experiment();
    let FlagReader { origin, errors } = builder.reader;
    ExperimentErrors::check(errors)?;
    let experiment = Experiment { origin, ..experiment };
    experiment.check()?;
    Ok(experiment)
}

struct Builder<'f> {
    reader: FlagReader,
    flags: &'f FlagExperiment,
    factors: Vec<Factor>,
    /// What every private server is made of.
    private: BTreeMap<SystemKey, String>,
}

impl Builder<'_> {
    fn experiment(&mut self) -> Experiment {
        let flags = self.flags;
        let system = self.system();
        let judge_flags = JudgeFlags {
            baseline: flags.baseline.as_ref(),
            metrics: &flags.metrics,
            difference: flags.difference.as_ref(),
            goal: flags.goal.as_ref(),
            budget: flags.budget.as_ref(),
        };
        let mut load = self.load(&system);
        let mut workload = self.workload();
        let mut settings = BTreeMap::new();
        self.of_load(&mut load);
        for set in &flags.set {
            self.set(set, &mut settings, &mut workload, &mut load);
        }
        self.reader.origin.mark_flag("factors".to_owned(), "--set".to_owned());
        self.reader.origin.mark_flag("variants".to_owned(), "--set".to_owned());
        let factors = std::mem::take(&mut self.factors);
        let open_loop = is_open_loop(&load, &factors, &[]);
        let mut judge = self.reader.judge(&judge_flags, default_judge(&system, open_loop));
        judge.drain &= !flags.no_drain;
        Experiment {
            name: name(&system.name, &factors),
            question: flags.question.clone().unwrap_or_default(),
            settings,
            workload,
            load,
            factors,
            judge,
            ..Experiment::of_system(SystemSection { private: std::mem::take(&mut self.private), ..system })
        }
    }

    fn system(&mut self) -> SystemSection {
        let flags = self.flags;
        for (path, flag) in [
            ("system", "--system"),
            ("system.url", "--url"),
            ("system.allow_writes", "--allow-writes"),
            ("system.bin_dir", "--bin-dir"),
            ("system.ca_file", "--ca-file"),
            ("system.insecure", "--insecure"),
            ("system.connect_to", "--connect-to"),
        ] {
            self.reader.origin.mark_flag(path.to_owned(), flag.to_owned());
        }
        SystemSection {
            name: flags.system.clone(),
            url: flags.url.clone(),
            allow_writes: flags.allow_writes,
            bin_dir: flags.bin_dir.clone(),
            ca_file: flags.ca_file.clone(),
            insecure: flags.insecure,
            connect_to: flags.connect_to.clone(),
            private: BTreeMap::new(),
        }
    }

    fn load(&mut self, system: &SystemSection) -> LoadSection {
        let default = default_load(system);
        for key in ["clients", "threads", "pipeline", "rate", "arrivals", "timeout", "trial", "settle"] {
            self.reader.origin.mark_flag(format!("load.{key}"), format!("--{key}"));
        }
        let mut number = |flag: &str, key: LoadKey, typed: Option<u32>| {
            let within = typed.filter(|number| (1..=key.max()).contains(number));
            if let (Some(typed), None) = (typed, within) {
                self.reader.error(flag, format!("bad value `{typed}`"), &format!("1 to {}", key.max()));
            }
            within
        };
        LoadSection {
            clients: default.clients,
            threads: number("--threads", LoadKey::Threads, self.flags.threads),
            pipeline: number("--pipeline", LoadKey::Pipeline, self.flags.pipeline)
                .unwrap_or(default.pipeline),
            rate_per_s: None,
            arrivals: None,
            timeout: self.reader.duration("--timeout", self.flags.timeout.as_ref()),
            operations: None,
            trial: self.reader.duration("--trial", self.flags.trial.as_ref()).unwrap_or(default.trial),
            settle: self
                .reader
                .parsed("--settle", self.flags.settle.as_ref(), DURATION_EXPECTED, parse_settle)
                .unwrap_or(default.settle),
        }
    }

    /// The flags of the load that may be factors.
    fn of_load(&mut self, load: &mut LoadSection) {
        let flags = self.flags;
        for (flag, key, text) in [
            ("--clients", LoadKey::Clients.name(), &flags.clients),
            ("--rate", "load.rate", &flags.rate),
            ("--arrivals", "load.arrivals", &flags.arrivals),
        ] {
            let factor = text.as_ref().and_then(|text| self.reader.levels(flag, key, text));
            if let Some(factor) = factor {
                self.vary(flag, factor, &mut BTreeMap::new(), &mut WorkloadSection::default(), load);
            }
        }
    }

    fn workload(&mut self) -> WorkloadSection {
        let flags = self.flags;
        let kind = crate::systems::text_kind(&flags.system).unwrap_or(TextKind::Sql);
        let flag = if kind == TextKind::Sql { "--sql" } else { "--operation" };
        self.reader.origin.mark_flag("workload".to_owned(), flag.to_owned());
        self.reader.origin.mark_flag("workload.setup".to_owned(), "--setup".to_owned());
        let setup = match kind {
            TextKind::Sql => flags.setup.iter().flat_map(|source| self.reader.statements(source)).collect(),
            _ => flags.setup.iter().map(|source| source.text.clone()).collect(),
        };
        let mut operations: Vec<_> = flags.sql.iter().map(|source| self.reader.operation(source)).collect();
        operations.extend(flags.operations.iter().map(|text| self.reader.typed_operation(text, kind)));
        let names = flags.sql.iter().map(|source| source.name.clone());
        let names = names.chain(flags.operations.iter().map(|text| format!("--operation {text}")));
        for (index, name) in names.enumerate() {
            self.reader.origin.mark_flag(format!("workload.operations[{index}]"), name);
        }
        let parameters: Vec<toml::Table> =
            flags.parameters.iter().filter_map(|text| self.reader.generator("--param", text)).collect();
        match operations.as_mut_slice() {
            _ if flags.parameters.is_empty() => {}
            [only] if only.parameters.is_empty() => {
                only.parameters = parameters;
                let path = "workload.operations[0].parameters";
                self.reader.origin.mark_flag(path.to_owned(), "--param".to_owned());
            }
            [_] => self.reader.error("--param", "the SQL file has its own `-- parameters:`", "one of them"),
            _ => {
                let what = format!("`--param` with {} operations", operations.len());
                self.reader.error("--param", what, "`-- parameters: [{ kind = … }]` in each SQL file");
            }
        }
        WorkloadSection { setup, operations, ..WorkloadSection::default() }
    }

    /// One `--set name=…`.
    fn set(
        &mut self,
        text: &str,
        settings: &mut BTreeMap<String, Level>,
        workload: &mut WorkloadSection,
        load: &mut LoadSection,
    ) {
        let Some((name, values)) = text.split_once('=').filter(|(name, _)| !name.trim().is_empty()) else {
            return self.reader.error(&format!("--set {text}"), "no value", "`--set name=a,b,c`");
        };
        let name = name.trim();
        let key = if Key::parse(name).is_some() { name.to_owned() } else { format!("settings.{name}") };
        let flag = format!("--set {name}");
        if values.trim().is_empty() {
            return self.reader.error(&flag, format!("no levels for `{name}`"), "`--set name=a,b,c`");
        }
        if let Some(factor) = self.reader.levels(&flag, &key, values) {
            self.vary(&flag, factor, settings, workload, load);
        }
    }

    /// Several levels: a factor. One: a common value.
    fn vary(
        &mut self,
        flag: &str,
        factor: Factor,
        settings: &mut BTreeMap<String, Level>,
        workload: &mut WorkloadSection,
        load: &mut LoadSection,
    ) {
        let key = factor.key.clone();
        let path = format!("factors.{key}");
        if self.reader.origin.has(&path) {
            return self.reader.error(flag, format!("`{key}` twice"), "all levels behind one flag");
        }
        self.reader.origin.mark_flag(path, flag.to_owned());
        let [only] = factor.levels.as_slice() else {
            self.factors.push(factor);
            return;
        };
        self.reader.origin.mark_flag(key.clone(), flag.to_owned());
        let number = match only {
            Level::Integer(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        let mut counted = |least: u32, most: u32, set: &mut dyn FnMut(u32)| match number {
            Some(number) if (least..=most).contains(&number) => set(number),
            _ => self.reader.error(flag, format!("bad value `{only}`"), &format!("{least} to {most}")),
        };
        match Key::parse(&key) {
            Some(Key::Setting(name)) => {
                settings.insert(name.to_owned(), only.clone());
            }
            Some(Key::Var(name)) => {
                self.reader.origin.mark_flag(format!("workload.vars.{name}"), flag.to_owned());
                workload.vars.insert(name.to_owned(), only.clone());
            }
            Some(Key::System(one)) => {
                self.private.insert(one, only.to_text());
            }
            Some(Key::Load(one)) => counted(1, one.max(), &mut |number| match one {
                LoadKey::Clients => load.clients = number,
                LoadKey::Threads => load.threads = Some(number),
                LoadKey::Pipeline => load.pipeline = number,
            }),
            Some(Key::Rate) => match rate_of_level(only) {
                None => self.reader.error(flag, format!("bad value `{only}`"), RATE_EXPECTED),
                rate => load.rate_per_s = rate,
            },
            Some(Key::Arrivals) => match arrivals_from_name(&only.to_text()) {
                None => self.reader.error(flag, format!("bad value `{only}`"), ARRIVALS_NAMES),
                arrivals => load.arrivals = arrivals,
            },
            Some(Key::Weight(name)) => counted(0, 1_000_000, &mut |number| {
                if let Some(operation) = workload.operations.iter_mut().find(|one| one.name == name) {
                    operation.weight = number;
                }
            }),
            None => {}
        }
    }
}

/// `postgres/synchronous_commit+clients`
fn name(system: &str, factors: &[Factor]) -> String {
    let keys: Vec<&str> = factors.iter().map(|factor| Key::short(&factor.key)).collect();
    if keys.is_empty() { system.to_owned() } else { format!("{system}/{}", keys.join("+")) }
}
