//! One function per section of the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::{DeTable, DeValue};
use weigh_load::Arrivals;
use weigh_results::model::{Goal, Metric};

use super::section::{Reader, Section, float_of, integer_of};
use super::workload::WORKLOAD_KEYS;
use crate::experiment::keys::{LoadKey, SystemKey};
use crate::experiment::origin::Half;
use crate::experiment::{
    CommandSection, CommandsSection, Experiment, Factor, JudgeSection, Level, LoadSection, Origin,
    SystemSection, VariantSection,
};
use crate::systems::Capability;

/// The systems an experiment may name.
pub(in crate::experiment) fn system_names() -> Vec<&'static str> {
    crate::systems::names().chain(["commands"]).collect()
}

const ROOT_KEYS: [&str; 12] = [
    "name", "question", "system", "needs", "settings", "workload", "commands", "load", "factors", "variants",
    "judge", "field",
];
const JUDGE_KEYS: [&str; 8] =
    ["baseline", "metric", "metrics", "difference", "goal", "budget", "drain", "factorial"];
const LOAD_KEYS: [&str; 9] =
    ["clients", "threads", "pipeline", "rate", "arrivals", "timeout", "operations", "trial", "settle"];
const SYSTEM_KEYS: [&str; 13] = [
    "name",
    "url",
    "allow_writes",
    "bin_dir",
    "ca_file",
    "insecure",
    "connect_to",
    "server",
    "version",
    "backend",
    "memory",
    "cache",
    "start",
];
const COMMANDS_KEYS: [&str; 7] =
    ["shell", "directory", "setup", "cleanup", "warmup", "ignore_failure", "command"];

/// Where a key belongs, written as it would be at the top of the file.
pub(super) fn home_of(key: &str) -> Option<String> {
    let sections: [(&str, &[&str]); 5] = [
        ("judge", &JUDGE_KEYS),
        ("load", &LOAD_KEYS),
        ("system", &SYSTEM_KEYS),
        ("workload", &WORKLOAD_KEYS),
        ("commands", &COMMANDS_KEYS),
    ];
    let home = sections.iter().find(|(_, keys)| keys.contains(&key));
    home.map(|(section, _)| format!("{section}.{key}"))
}

/// What a duration looks like.
pub(in crate::experiment) const DURATION_EXPECTED: &str =
    "a duration with its unit, such as `300ms`, `1s` or `5min`";
/// What a percentage looks like.
pub(in crate::experiment) const PERCENTAGE_EXPECTED: &str =
    "a percentage above 0 and below 100, such as `2%`";
/// The goals by name.
pub(in crate::experiment) const GOAL_NAMES: &str = "one of `size`, `sign`";

/// A duration as people type it; not zero.
pub(in crate::experiment) fn parse_duration(text: &str) -> Option<Duration> {
    let duration = humantime::parse_duration(text.trim()).ok()?;
    (duration > Duration::ZERO).then_some(duration)
}

/// A warm-up, which may be none.
pub(in crate::experiment) fn parse_settle(text: &str) -> Option<Duration> {
    if matches!(text.trim(), "0" | "0s") { Some(Duration::ZERO) } else { parse_duration(text) }
}

/// `2%` or `0.02`, as a fraction.
pub(in crate::experiment) fn parse_percentage(text: &str) -> Option<f64> {
    let text = text.trim();
    let fraction = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse::<f64>().ok()?,
    };
    (fraction > 0.0 && fraction < 1.0).then_some(fraction)
}

/// A goal by its name.
pub(in crate::experiment) fn goal_from_name(text: &str) -> Option<Goal> {
    match text {
        "size" => Some(Goal::Size),
        "sign" => Some(Goal::Sign),
        _ => None,
    }
}

/// What a limit of memory looks like.
pub(in crate::experiment) const MEMORY_EXPECTED: &str = "memory with its unit, such as `256MB` or `1GB`";

/// Bytes: `256MB`, `1GB`, in units of 1024 as PostgreSQL counts them.
pub(crate) fn parse_memory(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit())?);
    let unit: u64 = match unit.trim() {
        "kB" | "KB" | "KiB" => 1 << 10,
        "MB" | "MiB" => 1 << 20,
        "GB" | "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

/// What a rate looks like.
pub(crate) const RATE_EXPECTED: &str =
    "operations per second or minute, at least one a minute, such as `5000/s`, `300/min` or `5000`";
/// The spacings of intended starts by name.
pub(in crate::experiment) const ARRIVALS_NAMES: &str = "one of `constant`, `poisson`";

/// Operations per second: `5000/s`, `300/min`; a bare number is per second.
pub(crate) fn parse_rate(text: &str) -> Option<f64> {
    let (number, seconds) = match text.split_once('/') {
        None => (text, 1.0),
        Some((number, unit)) => match unit.trim() {
            "s" | "sec" | "second" => (number, 1.0),
            "min" | "minute" => (number, 60.0),
            "h" | "hour" => (number, 3_600.0),
            _ => return None,
        },
    };
    let rate = number.trim().parse::<f64>().ok()? / seconds;
    is_rate(rate).then_some(rate)
}

/// Whether the engine takes such a rate.
pub(in crate::experiment) fn is_rate(per_s: f64) -> bool {
    // Less than one in a minute measures nothing that an experiment could judge.
    (1.0 / 60.0..=1e8).contains(&per_s)
}

/// A rate as a level: a number is per second.
pub(in crate::experiment) fn rate_of_level(level: &Level) -> Option<f64> {
    match level {
        Level::Text(text) => parse_rate(text),
        #[expect(clippy::cast_precision_loss, reason = "a rate above 2^53 is refused anyway")]
        Level::Integer(number) => Some(*number as f64).filter(|rate| is_rate(*rate)),
        Level::Float(number) => Some(*number).filter(|rate| is_rate(*rate)),
        Level::Boolean(_) => None,
    }
}

/// A spacing by its name.
pub(in crate::experiment) fn arrivals_from_name(text: &str) -> Option<Arrivals> {
    match text {
        "constant" => Some(Arrivals::Constant),
        "poisson" => Some(Arrivals::Poisson),
        _ => None,
    }
}

/// The load when nothing is said. Many short trials tell more than few long ones; a server needs time for its
/// background work to show, a command only for its executions to fill the trial.
pub(in crate::experiment) fn default_load(system: &SystemSection) -> LoadSection {
    let commands = system.name == "commands";
    LoadSection {
        clients: 1,
        threads: None,
        pipeline: 1,
        rate_per_s: None,
        arrivals: None,
        timeout: None,
        operations: None,
        trial: if commands { Duration::from_millis(200) } else { Duration::from_secs(1) },
        settle: Duration::from_millis(300),
    }
}

/// The rule when nothing is said. Debt is drained where the server is ours. The throughput of an open loop is its
/// rate, so there the tail of the response time decides.
pub(in crate::experiment) fn default_judge(system: &SystemSection, open_loop: bool) -> JudgeSection {
    let commands = system.name == "commands";
    let metric = match (commands, open_loop) {
        (true, _) => Metric::Time,
        (false, true) => Metric::LatencyP99,
        (false, false) => Metric::Throughput,
    };
    JudgeSection {
        baseline: None,
        metrics: vec![metric],
        difference: 0.02,
        goal: Goal::Size,
        budget: Duration::from_secs(300),
        drain: !commands && system.url.is_none(),
        factorial: false,
    }
}

/// Whether every variant is an open loop.
pub(in crate::experiment) fn is_open_loop(
    load: &LoadSection,
    factors: &[Factor],
    variants: &[VariantSection],
) -> bool {
    const RATE: &str = "load.rate";
    load.rate_per_s.is_some()
        || factors.iter().any(|factor| factor.key == RATE)
        || (!variants.is_empty() && variants.iter().all(|variant| variant.levels.contains_key(RATE)))
}

/// Reads the sections of one file.
pub(super) struct Parts<'r> {
    pub(super) reader: &'r mut Reader,
}

impl<'r> Parts<'r> {
    pub(super) fn new(reader: &'r mut Reader) -> Parts<'r> {
        Parts { reader }
    }

    /// The whole file. Where something is wrong a default stands in, and the reader holds the error.
    pub(super) fn experiment<'t>(mut self, source_name: &str, root: &'t DeTable<'t>) -> Experiment {
        let root = self.reader.section("", root, &ROOT_KEYS);
        let system = self.system(&root);
        let factors =
            self.reader.table(&root, "factors").map(|table| self.factors(table)).unwrap_or_default();
        let variants =
            self.reader.table(&root, "variants").map(|table| self.variants(table)).unwrap_or_default();
        let load = match self.reader.table(&root, "load") {
            Some(table) => self.load(table, &system),
            None => default_load(&system),
        };
        let open_loop = is_open_loop(&load, &factors, &variants);
        let kind = crate::systems::text_kind(&system.name);
        Experiment {
            name: self.reader.text(&root, "name").unwrap_or_else(|| stem(source_name)),
            question: self.reader.text(&root, "question").unwrap_or_default(),
            needs: self.needs(&root),
            settings: self
                .reader
                .table(&root, "settings")
                .map(|table| self.settings(table))
                .unwrap_or_default(),
            workload: self
                .reader
                .table(&root, "workload")
                .map(|table| self.workload(table, kind))
                .unwrap_or_default(),
            commands: self.reader.table(&root, "commands").map(|table| self.commands(table)),
            load,
            factors,
            variants,
            judge: match self.reader.table(&root, "judge") {
                Some(table) => self.judge(table, default_judge(&system, open_loop)),
                None => default_judge(&system, open_loop),
            },
            field_figures: self
                .reader
                .table(&root, "field")
                .map(|table| self.field(table))
                .unwrap_or_default(),
            system,
            origin: Origin::default(),
        }
    }

    fn system(&mut self, root: &Section<'_>) -> SystemSection {
        let Some(entry) = root.get("system") else {
            let error = self.reader.origin.error_at(0..0, "no `system`");
            self.reader.errors.push(error.expected("`system = \"…\"` at the top of the file"));
            return SystemSection::default();
        };
        let DeValue::Table(table) = entry.value.get_ref() else {
            let name = self.reader.text(root, "system").unwrap_or_default();
            return SystemSection { name, ..SystemSection::default() };
        };
        let section = self.reader.section("system", table, &SYSTEM_KEYS);
        if section.get("name").is_none() {
            let error = self.reader.origin.error(Half::Key, "system", "no `name` in `system`");
            self.reader.errors.push(error.expected(crate::experiment::error::list_names(system_names())));
        }
        SystemSection {
            name: self.reader.text(&section, "name").unwrap_or_default(),
            url: self.reader.text(&section, "url"),
            allow_writes: self.reader.boolean(&section, "allow_writes").unwrap_or(false),
            bin_dir: self.reader.text(&section, "bin_dir").map(PathBuf::from),
            ca_file: self.reader.text(&section, "ca_file").map(PathBuf::from),
            insecure: self.reader.boolean(&section, "insecure").unwrap_or(false),
            connect_to: self.reader.text(&section, "connect_to"),
            private: self.private(&section),
        }
    }

    /// What private servers are made of; `version = 16` is as good as `version = "16"`.
    fn private(&mut self, section: &Section<'_>) -> BTreeMap<SystemKey, String> {
        let mut private = BTreeMap::new();
        for key in SystemKey::ALL {
            let Some(entry) = section.get(key.short()) else { continue };
            if let Some(level) = self.reader.level(&entry.path, entry.value) {
                private.insert(key, level.to_text());
            }
        }
        private
    }

    fn needs(&mut self, root: &Section<'_>) -> Vec<Capability> {
        let mut needs = Vec::new();
        for (name, path) in self.reader.texts(root, "needs").unwrap_or_default() {
            match Capability::ALL.into_iter().find(|one| one.name() == name) {
                Some(capability) => needs.push(capability),
                None => {
                    let what = format!("unknown capability `{name}`");
                    let error = self.reader.origin.error(Half::Value, &path, what);
                    self.reader.errors.push(error.one_of(&name, Capability::ALL.map(Capability::name)));
                }
            }
        }
        needs
    }

    fn settings<'t>(&mut self, table: &'t DeTable<'t>) -> BTreeMap<String, Level> {
        let mut settings = BTreeMap::new();
        self.flat_levels("settings", "", table, &mut |key, level| {
            settings.insert(key, level);
        });
        settings
    }

    fn commands<'t>(&mut self, table: &'t DeTable<'t>) -> CommandsSection {
        let section = self.reader.section("commands", table, &COMMANDS_KEYS);
        let texts = |parts: &mut Self, key: &str| {
            let texts = parts.reader.texts(&section, key).unwrap_or_default();
            texts.into_iter().map(|(text, _)| text).collect::<Vec<String>>()
        };
        let (setup, cleanup) = (texts(self, "setup"), texts(self, "cleanup"));
        let tables = self.tables(&section, "command");
        CommandsSection {
            list: tables.into_iter().map(|(path, table)| self.command(&path, table)).collect(),
            shell: self.reader.text(&section, "shell").unwrap_or_else(|| "sh".to_owned()),
            directory: self.reader.text(&section, "directory").map(PathBuf::from),
            setup,
            cleanup,
            warmup: self.reader.integer(&section, "warmup", 0..=1_000_000).unwrap_or(0),
            ignore_failure: self.reader.boolean(&section, "ignore_failure").unwrap_or(false),
        }
    }

    fn command<'t>(&mut self, path: &str, table: &'t DeTable<'t>) -> CommandSection {
        let section = self.reader.section(path, table, &["name", "run", "prepare", "conclude"]);
        if section.get("run").is_none() {
            let error = self.reader.origin.error(Half::Key, path, "no `run` in this command");
            self.reader.errors.push(error.expected("`run = \"…\"`: what is timed"));
        }
        CommandSection {
            name: self.reader.text(&section, "name"),
            run: self.reader.text(&section, "run").unwrap_or_default(),
            prepare: self.reader.text(&section, "prepare"),
            conclude: self.reader.text(&section, "conclude"),
        }
    }

    fn load<'t>(&mut self, table: &'t DeTable<'t>, system: &SystemSection) -> LoadSection {
        let default = default_load(system);
        let section = self.reader.section("load", table, &LOAD_KEYS);
        let mut number = |key, of: LoadKey| self.reader.integer(&section, key, 1..=of.max());
        LoadSection {
            clients: number("clients", LoadKey::Clients).unwrap_or(default.clients),
            threads: number("threads", LoadKey::Threads),
            pipeline: number("pipeline", LoadKey::Pipeline).unwrap_or(default.pipeline),
            rate_per_s: self.rate(&section),
            arrivals: self.reader.parsed(&section, "arrivals", ARRIVALS_NAMES, arrivals_from_name),
            timeout: self.duration(&section, "timeout"),
            operations: self.reader.integer(&section, "operations", 1..=u32::MAX).map(u64::from),
            trial: self.duration(&section, "trial").unwrap_or(default.trial),
            settle: self
                .reader
                .parsed(&section, "settle", DURATION_EXPECTED, parse_settle)
                .unwrap_or(default.settle),
        }
    }

    fn rate(&mut self, section: &Section<'_>) -> Option<f64> {
        let entry = section.get("rate")?;
        let level = self.reader.level(&entry.path, entry.value)?;
        let rate = rate_of_level(&level);
        if rate.is_none() {
            self.reader.wrong(&entry.path, format!("bad `rate`: `{level}`"), RATE_EXPECTED);
        }
        rate
    }

    fn duration(&mut self, section: &Section<'_>, key: &str) -> Option<Duration> {
        self.reader.parsed(section, key, DURATION_EXPECTED, parse_duration)
    }

    fn judge<'t>(&mut self, table: &'t DeTable<'t>, default: JudgeSection) -> JudgeSection {
        let section = self.reader.section("judge", table, &JUDGE_KEYS);
        if let (Some(_), Some(metrics)) = (section.get("metric"), section.get("metrics")) {
            let error = self.reader.origin.error(Half::Key, &metrics.path, "both `metric` and `metrics`");
            self.reader.errors.push(error.expected("one of them"));
        }
        let key = if section.get("metrics").is_some() { "metrics" } else { "metric" };
        let metrics = self.metrics(&section, key);
        JudgeSection {
            baseline: self.reader.text(&section, "baseline"),
            metrics: if metrics.is_empty() { default.metrics } else { metrics },
            difference: self.percentage(&section, "difference").unwrap_or(default.difference),
            goal: self.reader.parsed(&section, "goal", GOAL_NAMES, goal_from_name).unwrap_or(default.goal),
            budget: self.duration(&section, "budget").unwrap_or(default.budget),
            drain: self.reader.boolean(&section, "drain").unwrap_or(default.drain),
            factorial: self.reader.boolean(&section, "factorial").unwrap_or(default.factorial),
        }
    }

    fn metrics(&mut self, section: &Section<'_>, key: &str) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for (name, path) in self.reader.texts(section, key).unwrap_or_default() {
            match Metric::from_name(&name) {
                Some(metric) if metrics.contains(&metric) => {
                    self.reader.wrong(&path, format!("metric `{name}` twice"), "each metric once");
                }
                Some(metric) => metrics.push(metric),
                None => {
                    let error =
                        self.reader.origin.error(Half::Value, &path, format!("unknown metric `{name}`"));
                    self.reader.errors.push(error.one_of(&name, Metric::ALL.map(Metric::name)));
                }
            }
        }
        metrics
    }

    fn percentage(&mut self, section: &Section<'_>, key: &str) -> Option<f64> {
        let entry = section.get(key)?;
        if entry.value.get_ref().is_str() {
            return self.reader.parsed(section, key, PERCENTAGE_EXPECTED, parse_percentage);
        }
        let fraction = float_of(entry.value.get_ref()).filter(|fraction| *fraction > 0.0 && *fraction < 1.0);
        if fraction.is_none() {
            let is_number = entry.value.get_ref().is_float() || integer_of(entry.value.get_ref()).is_some();
            if is_number {
                let shown = self.reader.source(entry.value.span());
                self.reader.wrong(&entry.path, format!("bad `{key}`: {shown}"), PERCENTAGE_EXPECTED);
            } else {
                self.reader.wrong_type(entry, PERCENTAGE_EXPECTED);
            }
        }
        fraction
    }

    fn field<'t>(&mut self, table: &'t DeTable<'t>) -> BTreeMap<String, String> {
        let section = self.reader.open("field", table);
        let keys: Vec<String> = section.entries.iter().map(|entry| entry.key.to_owned()).collect();
        keys.into_iter().filter_map(|key| Some((key.clone(), self.reader.text(&section, &key)?))).collect()
    }
}

/// A file's name without directory and ending.
fn stem(source_name: &str) -> String {
    let stem = Path::new(source_name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| !stem.trim().is_empty()).unwrap_or_else(|| "experiment".to_owned())
}
