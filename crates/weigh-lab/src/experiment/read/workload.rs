//! `[workload]`: set-up, variables, and operations in the words of their system.
//!
//! Which of `sql`, `command` and `request` an operation is written with is read here; whether its system takes that
//! one is for `check` to say.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::parts::{Parts, default_judge, default_load};
use super::section::{Entry, Section, type_of};
use crate::experiment::origin::Half;
use crate::experiment::{
    CommandText, Experiment, Level, OperationSection, OperationText, Origin, RequestText, SystemSection,
    TextKind, WorkloadSection, sql,
};

/// Keys of `[workload]`.
pub(super) const WORKLOAD_KEYS: [&str; 5] = ["setup", "prepare", "vars", "unit", "operations"];
/// Keys every operation may have.
const OPERATION_KEYS: [&str; 7] = ["name", "weight", "parameters", "repeat", "rows", "items", "cached_as"];
/// Keys that are an operation's text, or belong to one.
const TEXT_KEYS: [&str; 8] =
    ["sql", "command", "request", "headers", "body", "expect", "expect_body", "expect_length"];
/// The texts an operation may be.
const KINDS: [TextKind; 3] = [TextKind::Sql, TextKind::Command, TextKind::Request];

impl Experiment {
    /// An experiment about a system in which nothing else is said yet.
    pub fn of_system(system: SystemSection) -> Experiment {
        Experiment {
            name: String::new(),
            question: String::new(),
            needs: Vec::new(),
            settings: BTreeMap::new(),
            workload: WorkloadSection::default(),
            commands: None,
            load: default_load(&system),
            factors: Vec::new(),
            variants: Vec::new(),
            judge: default_judge(&system, false),
            field_figures: BTreeMap::new(),
            origin: Origin::default(),
            system,
        }
    }
}

impl Parts<'_> {
    /// `[workload]`; `kind` is what its system takes, if that is known.
    pub(super) fn workload<'t>(&mut self, table: &'t DeTable<'t>, kind: Option<TextKind>) -> WorkloadSection {
        let section = self.reader.section("workload", table, &WORKLOAD_KEYS);
        let mut texts = |key| match kind {
            Some(TextKind::Command | TextKind::Request) => self.plain_texts(&section, key),
            _ => self.statements(&section, key),
        };
        let (setup, prepare) = (texts("setup"), texts("prepare"));
        let vars = self.vars(&section);
        let unit = self.reader.text(&section, "unit");
        let operations = self.operations(&section, kind);
        WorkloadSection { setup, prepare, vars, unit, operations }
    }

    /// A workload by itself, as an experiment with nothing else in it.
    pub(super) fn workload_file<'t>(mut self, system: &str, root: &'t DeTable<'t>) -> Experiment {
        let kind = crate::systems::text_kind(system);
        let inner = root.iter().find(|(key, _)| key.get_ref() == "workload");
        let workload = match inner.map(|(_, value)| value.get_ref()) {
            Some(DeValue::Table(table)) => self.workload(table, kind),
            _ => self.workload(root, kind),
        };
        let system = SystemSection { name: system.to_owned(), ..SystemSection::default() };
        Experiment { workload, ..Experiment::of_system(system) }
    }

    /// Variables.
    fn vars(&mut self, section: &Section<'_>) -> BTreeMap<String, Level> {
        let mut vars = BTreeMap::new();
        if let Some(table) = self.reader.table(section, "vars") {
            for entry in self.reader.open(&section.path_of("vars"), table).entries {
                if let Some(level) = self.reader.level(&entry.path, entry.value) {
                    vars.insert(entry.key.to_owned(), level);
                }
            }
        }
        vars
    }

    /// Every operation of a section.
    fn operations(&mut self, section: &Section<'_>, kind: Option<TextKind>) -> Vec<OperationSection> {
        let tables = self.tables(section, "operations");
        let tables = tables.into_iter().enumerate();
        tables.map(|(index, (path, table))| self.operation(index, &path, table, kind)).collect()
    }

    fn operation<'t>(
        &mut self,
        index: usize,
        path: &str,
        table: &'t DeTable<'t>,
        kind: Option<TextKind>,
    ) -> OperationSection {
        let known: Vec<&str> = OPERATION_KEYS.into_iter().chain(TEXT_KEYS).collect();
        let section = self.reader.section(path, table, &known);
        let text = self.operation_text(path, &section, kind);
        let parameters = self.tables(&section, "parameters");
        OperationSection {
            name: self.reader.text(&section, "name").unwrap_or_else(|| format!("operation{}", index + 1)),
            weight: self.reader.integer(&section, "weight", 0..=1_000_000).unwrap_or(1),
            text,
            parameters: parameters.into_iter().map(|(path, table)| self.plain_table(&path, table)).collect(),
            repeat: self.reader.count(&section, "repeat").unwrap_or_else(|| "1".to_owned()),
            rows: self.reader.count(&section, "rows").unwrap_or_else(|| "1".to_owned()),
            items: self.reader.count(&section, "items").unwrap_or_else(|| "1".to_owned()),
            cached_as: self.reader.text(&section, "cached_as"),
        }
    }

    /// Exactly one of `sql`, `command`, `request`, and only what belongs to it.
    fn operation_text(
        &mut self,
        path: &str,
        section: &Section<'_>,
        wanted: Option<TextKind>,
    ) -> OperationText {
        let given: Vec<TextKind> =
            KINDS.into_iter().filter(|kind| section.get(kind.key()).is_some()).collect();
        match given.as_slice() {
            [] => {
                let key = wanted.unwrap_or(TextKind::Sql).key();
                let error =
                    self.reader.origin.error(Half::Key, path, format!("no `{key}` in this operation"));
                self.reader.errors.push(error.expected(expected(wanted)));
            }
            [_] => {}
            [first, second, ..] => {
                let what = format!("both `{}` and `{}` in one operation", first.key(), second.key());
                let path = section.path_of(second.key());
                let error = self.reader.origin.error(Half::Key, &path, what);
                self.reader.errors.push(error.expected("one of them; several operations are several tables"));
            }
        }
        let wanted_and_given = wanted.filter(|kind| given.contains(kind));
        let kind = wanted_and_given.or(given.first().copied()).or(wanted).unwrap_or(TextKind::Sql);
        self.only_of(kind, section, &given);
        match kind {
            TextKind::Sql => OperationText::Sql(self.statements(section, "sql")),
            TextKind::Command => OperationText::Command(CommandText {
                command: self.reader.text(section, "command").unwrap_or_default(),
                expect: self.exact(section, "expect"),
            }),
            TextKind::Request => OperationText::Request(self.request(section)),
        }
    }

    /// Reports keys that belong to another kind of text.
    fn only_of(&mut self, kind: TextKind, section: &Section<'_>, given: &[TextKind]) {
        const OF_REQUESTS: [&str; 4] = ["headers", "body", "expect_body", "expect_length"];
        if given.is_empty() {
            return;
        }
        for key in TEXT_KEYS.into_iter().filter(|key| section.get(key).is_some()) {
            let home = match key {
                "expect" if kind == TextKind::Sql => "`command` or `request`",
                key if OF_REQUESTS.contains(&key) && kind != TextKind::Request => "`request`",
                _ => continue,
            };
            let what = format!("`{key}` in an operation with `{}`", kind.key());
            let error = self.reader.origin.error(Half::Key, &section.path_of(key), what);
            self.reader.errors.push(error.expected(format!("it belongs to {home}")));
        }
    }

    fn request(&mut self, section: &Section<'_>) -> RequestText {
        let mut headers = Vec::new();
        if let Some(table) = self.reader.table(section, "headers") {
            let fields = self.reader.open(&section.path_of("headers"), table);
            for entry in &fields.entries {
                if let Some(level) = self.reader.level(&entry.path, entry.value) {
                    headers.push((entry.key.to_owned(), level.to_text()));
                }
            }
        }
        RequestText {
            request: self.reader.text(section, "request").unwrap_or_default(),
            headers,
            body: self.exact(section, "body"),
            expect: self.status(section),
            expect_body: self.exact(section, "expect_body"),
            expect_length: self.length(section),
        }
    }

    /// `200`, `"2xx"`, `"any"`, or text with a `{var}`.
    fn status(&mut self, section: &Section<'_>) -> Option<String> {
        let entry = section.get("expect")?;
        match entry.value.get_ref() {
            DeValue::Integer(_) => {
                self.reader.integer(section, "expect", 100..=599).map(|code| code.to_string())
            }
            _ => self.reader.text(section, "expect"),
        }
    }

    fn length(&mut self, section: &Section<'_>) -> Option<String> {
        match section.get("expect_length")?.value.get_ref() {
            DeValue::String(_) => self.reader.text(section, "expect_length"),
            _ => self.reader.integer(section, "expect_length", 0..=u32::MAX).map(|length| length.to_string()),
        }
    }

    /// Text that may be empty.
    fn exact(&mut self, section: &Section<'_>, key: &str) -> Option<String> {
        let entry = section.get(key)?;
        match entry.value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => {
                self.reader.wrong_type(entry, "text");
                None
            }
        }
    }

    /// Texts as they are: commands.
    fn plain_texts(&mut self, section: &Section<'_>, key: &str) -> Vec<String> {
        self.reader.texts(section, key).unwrap_or_default().into_iter().map(|(text, _)| text).collect()
    }

    /// SQL: text or a list of texts, each of which may hold several statements.
    fn statements(&mut self, section: &Section<'_>, key: &str) -> Vec<String> {
        let mut all = Vec::new();
        let mut paths = Vec::new();
        for (text, path) in self.reader.texts(section, key).unwrap_or_default() {
            match sql::split(&text) {
                Ok(statements) => {
                    paths.extend(statements.iter().map(|_| path.clone()));
                    all.extend(statements);
                }
                Err(error) => self.reader.wrong(&path, error.what, "SQL"),
            }
        }
        // A statement's index need not be its text's: errors found later ask for the statement.
        let spans: Vec<_> = paths.iter().map(|path| self.reader.origin.value_span(path)).collect();
        for (index, span) in spans.into_iter().enumerate() {
            if let Some(span) = span {
                self.reader.origin.mark(format!("{}[{index}]", section.path_of(key)), span.clone(), span);
            }
        }
        all
    }

    /// The tables of a list of tables, each with its path.
    pub(super) fn tables<'t>(&mut self, section: &Section<'t>, key: &str) -> Vec<(String, &'t DeTable<'t>)> {
        let Some(entry) = section.get(key) else { return Vec::new() };
        let DeValue::Array(list) = entry.value.get_ref() else {
            self.reader.wrong_type(entry, &format!("a list of tables (`[[{}]]`)", entry.path));
            return Vec::new();
        };
        let mut tables = Vec::new();
        for (index, item) in list.iter().enumerate() {
            let path = format!("{}[{index}]", entry.path);
            self.reader.origin.mark(path.clone(), item.span(), item.span());
            match item.get_ref() {
                DeValue::Table(table) => tables.push((path, table)),
                other => {
                    let what = format!("wrong type in `{key}`: {}", type_of(other));
                    self.reader.wrong(&path, what, "a table");
                }
            }
        }
        tables
    }

    /// A generator's table without places; the places are remembered by path.
    fn plain_table<'t>(&mut self, path: &str, table: &'t DeTable<'t>) -> toml::Table {
        let mut plain = toml::Table::new();
        for entry in self.reader.open(path, table).entries {
            if let Some(value) = self.plain_value(&entry) {
                plain.insert(entry.key.to_owned(), value);
            }
        }
        plain
    }

    fn plain_value(&mut self, entry: &Entry<'_>) -> Option<toml::Value> {
        let scalar = |parts: &mut Self, value: &Spanned<DeValue<'_>>| {
            Some(match parts.reader.level(&entry.path, value)? {
                Level::Text(text) => toml::Value::String(text),
                Level::Integer(number) => toml::Value::Integer(number),
                Level::Float(number) => toml::Value::Float(number),
                Level::Boolean(value) => toml::Value::Boolean(value),
            })
        };
        match entry.value.get_ref() {
            DeValue::Array(list) => {
                let values: Option<Vec<_>> = list.iter().map(|item| scalar(self, item)).collect();
                values.map(toml::Value::Array)
            }
            _ => scalar(self, entry.value),
        }
    }
}

/// What an operation of such a system looks like.
fn expected(kind: Option<TextKind>) -> &'static str {
    match kind {
        Some(TextKind::Command) => "`command = \"…\"`",
        Some(TextKind::Request) => "`request = \"GET /path\"`",
        _ => "`sql = \"…\"`, or a list of statements for one transaction",
    }
}
