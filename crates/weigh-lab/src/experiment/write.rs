//! An experiment as TOML: what `--print` shows and what a run stores.
//!
//! [`Experiment::to_toml`] writes the effective experiment, defaults included; reading it back gives the
//! same experiment (a test says so for arbitrary ones). It is written by section, so that people can read it.

use std::collections::BTreeMap;
use std::fmt::Display;

use toml::Value;
use weigh_load::Arrivals;
use weigh_results::model::Goal;

use super::{
    CommandsSection, Experiment, Factor, Level, OperationSection, OperationText, RequestText, SystemSection,
};

impl Experiment {
    /// The experiment as TOML that [`parse`](super::parse) reads back to an equal one.
    pub fn to_toml(&self) -> String {
        let mut page = Page::default();
        page.text("name", &self.name);
        if !self.question.is_empty() {
            page.text("question", &self.question);
        }
        if !self.needs.is_empty() {
            let names: Vec<String> = self.needs.iter().map(|need| need.name().to_owned()).collect();
            page.texts("needs", &names);
        }
        page.system(self);
        page.levels("settings", &self.settings);
        page.workload(self);
        if let Some(commands) = &self.commands {
            page.commands(commands);
        }
        page.load(self);
        if !self.factors.is_empty() {
            page.section("factors");
            self.factors.iter().for_each(|factor| page.factor(factor));
        }
        for variant in &self.variants {
            page.section(&format!("variants.{}", key(&variant.name)));
            page.pairs(&variant.levels);
        }
        page.judge(self);
        if !self.field_figures.is_empty() {
            page.section("field");
            self.field_figures.iter().for_each(|(name, figure)| page.text(name, figure));
        }
        page.text
    }
}

impl From<&Level> for Value {
    fn from(level: &Level) -> Value {
        match level {
            Level::Text(text) => Value::String(text.clone()),
            Level::Integer(number) => Value::Integer(*number),
            Level::Float(number) => Value::Float(*number),
            Level::Boolean(value) => Value::Boolean(*value),
        }
    }
}

/// A key, quoted unless it is bare.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A basic string on one line: keys may not span several.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn section(&mut self, name: &str) {
        self.line(format!("\n[{name}]"));
    }

    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    fn pair(&mut self, name: &str, value: impl Display) {
        self.line(format!("{} = {value}", key(name)));
    }

    fn text(&mut self, name: &str, text: &str) {
        self.pair(name, Value::String(text.to_owned()));
    }

    fn texts(&mut self, name: &str, texts: &[String]) {
        self.pair(name, Value::from(texts.to_vec()));
    }

    fn pairs(&mut self, levels: &BTreeMap<String, Level>) {
        levels.iter().for_each(|(name, level)| self.pair(name, Value::from(level)));
    }

    fn levels(&mut self, section: &str, levels: &BTreeMap<String, Level>) {
        if !levels.is_empty() {
            self.section(section);
            self.pairs(levels);
        }
    }

    /// A number that may be `{var}`.
    fn count(&mut self, name: &str, text: &str) {
        match text.parse::<u32>() {
            Ok(1) if text == "1" => {}
            Ok(number) if number > 0 && number.to_string() == text => self.pair(name, number),
            _ => self.text(name, text),
        }
    }

    fn system(&mut self, experiment: &Experiment) {
        let system = &experiment.system;
        let plain = SystemSection { name: system.name.clone(), ..SystemSection::default() };
        if *system == plain {
            return self.text("system", &system.name);
        }
        self.section("system");
        self.text("name", &system.name);
        if let Some(url) = &system.url {
            self.text("url", url);
        }
        if system.allow_writes {
            self.pair("allow_writes", true);
        }
        if let Some(bin_dir) = &system.bin_dir {
            self.text("bin_dir", &bin_dir.to_string_lossy());
        }
        if let Some(ca_file) = &system.ca_file {
            self.text("ca_file", &ca_file.to_string_lossy());
        }
        if system.insecure {
            self.pair("insecure", true);
        }
        self.optional("connect_to", &system.connect_to);
        system.private.iter().for_each(|(key, text)| self.text(key.short(), text));
    }

    fn workload(&mut self, experiment: &Experiment) {
        let workload = &experiment.workload;
        if !workload.setup.is_empty() || !workload.prepare.is_empty() || workload.unit.is_some() {
            self.section("workload");
        }
        for (name, texts) in [("setup", &workload.setup), ("prepare", &workload.prepare)] {
            if !texts.is_empty() {
                self.texts(name, texts);
            }
        }
        if let Some(unit) = &workload.unit {
            self.text("unit", unit);
        }
        self.levels("workload.vars", &workload.vars);
        workload.operations.iter().for_each(|operation| self.operation(operation));
    }

    fn operation(&mut self, operation: &OperationSection) {
        self.line("\n[[workload.operations]]");
        self.text("name", &operation.name);
        if operation.weight != 1 {
            self.pair("weight", operation.weight);
        }
        match &operation.text {
            OperationText::Sql(statements) => match statements.as_slice() {
                [only] => self.text("sql", only),
                several => self.texts("sql", several),
            },
            OperationText::Command(command) => {
                self.text("command", &command.command);
                self.optional("expect", &command.expect);
            }
            OperationText::Request(request) => self.request(request),
        }
        if !operation.parameters.is_empty() {
            let tables: Vec<Value> = operation.parameters.iter().cloned().map(Value::Table).collect();
            self.pair("parameters", Value::Array(tables));
        }
        self.count("repeat", &operation.repeat);
        self.count("rows", &operation.rows);
        self.count("items", &operation.items);
        self.optional("cached_as", &operation.cached_as);
    }

    fn request(&mut self, request: &RequestText) {
        self.text("request", &request.request);
        if !request.headers.is_empty() {
            let fields = request.headers.iter();
            let fields: Vec<String> = fields
                .map(|(name, value)| format!("{} = {}", key(name), Value::String(value.clone())))
                .collect();
            self.pair("headers", format!("{{ {} }}", fields.join(", ")));
        }
        self.optional("body", &request.body);
        self.optional("expect", &request.expect);
        self.optional("expect_body", &request.expect_body);
        self.optional("expect_length", &request.expect_length);
    }

    fn optional(&mut self, name: &str, text: &Option<String>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    fn commands(&mut self, commands: &CommandsSection) {
        self.section("commands");
        self.text("shell", &commands.shell);
        if let Some(directory) = &commands.directory {
            self.text("directory", &directory.to_string_lossy());
        }
        for (name, texts) in [("setup", &commands.setup), ("cleanup", &commands.cleanup)] {
            if !texts.is_empty() {
                self.texts(name, texts);
            }
        }
        if commands.warmup > 0 {
            self.pair("warmup", commands.warmup);
        }
        if commands.ignore_failure {
            self.pair("ignore_failure", true);
        }
        for command in &commands.list {
            self.line("\n[[commands.command]]");
            self.optional("name", &command.name);
            self.text("run", &command.run);
            self.optional("prepare", &command.prepare);
            self.optional("conclude", &command.conclude);
        }
    }

    fn load(&mut self, experiment: &Experiment) {
        let load = &experiment.load;
        self.section("load");
        self.pair("clients", load.clients);
        if let Some(threads) = load.threads {
            self.pair("threads", threads);
        }
        self.pair("pipeline", load.pipeline);
        if let Some(rate_per_s) = load.rate_per_s {
            self.text("rate", &format!("{rate_per_s}/s"));
        }
        if let Some(arrivals) = load.arrivals {
            let name = if arrivals == Arrivals::Poisson { "poisson" } else { "constant" };
            self.text("arrivals", name);
        }
        if let Some(timeout) = load.timeout {
            self.text("timeout", &humantime::format_duration(timeout).to_string());
        }
        if let Some(operations) = load.operations {
            self.pair("operations", operations);
        }
        self.text("trial", &humantime::format_duration(load.trial).to_string());
        self.text("settle", &humantime::format_duration(load.settle).to_string());
    }

    fn factor(&mut self, factor: &Factor) {
        let levels = Value::Array(factor.levels.iter().map(Value::from).collect());
        if factor.sweep {
            self.pair(&factor.key, format!("{{ levels = {levels}, sweep = true }}"));
        } else {
            self.pair(&factor.key, levels);
        }
    }

    fn judge(&mut self, experiment: &Experiment) {
        let judge = &experiment.judge;
        self.section("judge");
        if let Some(baseline) = &judge.baseline {
            self.text("baseline", baseline);
        }
        let names: Vec<String> = judge.metrics.iter().map(|metric| metric.name().to_owned()).collect();
        match names.as_slice() {
            [only] => self.text("metric", only),
            several => self.texts("metrics", several),
        }
        self.difference(judge.difference);
        self.text("goal", if judge.goal == Goal::Size { "size" } else { "sign" });
        self.text("budget", &humantime::format_duration(judge.budget).to_string());
        self.pair("drain", judge.drain);
        if judge.factorial {
            self.pair("factorial", true);
        }
    }

    /// As a percentage where that is exact.
    fn difference(&mut self, difference: f64) {
        let percent = format!("{}%", difference * 100.0);
        if super::read::parse_percentage(&percent) == Some(difference) {
            self.text("difference", &percent);
        } else {
            self.pair("difference", Value::Float(difference));
        }
    }
}
