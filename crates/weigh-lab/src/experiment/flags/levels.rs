//! Levels, durations and generators as typed behind a flag.

use std::time::Duration;

use weigh_results::model::{Goal, Metric};

use crate::experiment::read::{
    DURATION_EXPECTED, GOAL_NAMES, PERCENTAGE_EXPECTED, factor_from_toml, goal_from_name, parse_duration,
    parse_percentage,
};
use crate::experiment::{ExperimentError, Factor, JudgeSection, Level, Origin};

/// Mistakes found so far, and where the parts came from.
pub(super) struct FlagReader {
    pub(super) origin: Origin,
    pub(super) errors: Vec<ExperimentError>,
}

/// The flags every kind of run shares, as typed.
pub(super) struct JudgeFlags<'a> {
    pub(super) baseline: Option<&'a String>,
    pub(super) metrics: &'a [String],
    pub(super) difference: Option<&'a String>,
    pub(super) goal: Option<&'a String>,
    pub(super) budget: Option<&'a String>,
}

impl FlagReader {
    pub(super) fn new() -> FlagReader {
        FlagReader { origin: Origin::flags(), errors: Vec::new() }
    }

    pub(super) fn error(&mut self, flag: &str, what: impl Into<String>, expected: &str) {
        self.errors.push(ExperimentError::new(flag, None, what).expected(expected));
    }

    /// `a,b,c`, or TOML for what that cannot say: `["a,b", "c"]`, `{ from = 1, to = 64, times = 2 }`.
    pub(super) fn levels(&mut self, flag: &str, key: &str, text: &str) -> Option<Factor> {
        let text = text.trim();
        if text.starts_with(['[', '{']) {
            return match factor_from_toml(flag, key, text) {
                Ok(factor) => Some(factor),
                Err(what) => {
                    self.error(flag, what, "`a,b,c`, `[\"a\", \"b\"]` or `{ from = 1, to = 64, times = 2 }`");
                    None
                }
            };
        }
        let levels = text.split(',').map(|level| Level::from_text(level.trim())).collect();
        Some(Factor { key: key.to_owned(), levels, sweep: false })
    }

    /// Text that `parse` understands; `None` when there is none or it is reported.
    pub(super) fn parsed<T>(
        &mut self,
        flag: &str,
        text: Option<&String>,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = text?;
        let parsed = parse(text);
        if parsed.is_none() {
            self.error(flag, format!("bad value `{text}`"), expected);
        }
        parsed
    }

    pub(super) fn duration(&mut self, flag: &str, text: Option<&String>) -> Option<Duration> {
        self.parsed(flag, text, DURATION_EXPECTED, parse_duration)
    }

    /// What the flags say about the verdict, over the defaults.
    pub(super) fn judge(&mut self, flags: &JudgeFlags<'_>, default: JudgeSection) -> JudgeSection {
        for (path, flag) in [
            ("judge.baseline", "--baseline"),
            ("judge.metric", "--metric"),
            ("judge.difference", "--difference"),
            ("judge.goal", "--goal"),
            ("judge.budget", "--budget"),
        ] {
            self.origin.mark_flag(path.to_owned(), flag.to_owned());
        }
        let metrics = self.metrics(flags.metrics);
        let difference = self.parsed("--difference", flags.difference, PERCENTAGE_EXPECTED, parse_percentage);
        let goal: Option<Goal> = self.parsed("--goal", flags.goal, GOAL_NAMES, goal_from_name);
        JudgeSection {
            baseline: flags.baseline.cloned(),
            metrics: if metrics.is_empty() { default.metrics } else { metrics },
            difference: difference.unwrap_or(default.difference),
            goal: goal.unwrap_or(default.goal),
            budget: self.duration("--budget", flags.budget).unwrap_or(default.budget),
            drain: default.drain,
            factorial: default.factorial,
        }
    }

    fn metrics(&mut self, texts: &[String]) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for name in texts.iter().flat_map(|text| text.split(',')).map(str::trim) {
            match Metric::from_name(name) {
                Some(metric) if metrics.contains(&metric) => {
                    self.error("--metric", format!("metric `{name}` twice"), "each metric once");
                }
                Some(metric) => metrics.push(metric),
                None => {
                    let error = ExperimentError::new("--metric", None, format!("unknown metric `{name}`"));
                    self.errors.push(error.one_of(name, Metric::ALL.map(Metric::name)));
                }
            }
        }
        metrics
    }

    /// `kind=uniform,min=1,max=1000`; the values of a choice are separated by `|`.
    pub(super) fn generator(&mut self, flag: &str, text: &str) -> Option<toml::Table> {
        let mut table = toml::Table::new();
        for field in text.split(',') {
            let Some((name, value)) = field.split_once('=') else {
                self.error(flag, format!("`{field}` is not `name=value`"), "`kind=uniform,min=1,max=1000`");
                return None;
            };
            let (name, value) = (name.trim(), value.trim());
            let value = match name {
                "values" => {
                    value.split('|').map(|one| toml::Value::String(one.to_owned())).collect::<Vec<_>>().into()
                }
                _ => toml::Value::from(&Level::from_text(value)),
            };
            if table.insert(name.to_owned(), value).is_some() {
                self.error(flag, format!("`{name}` twice"), "each field once");
            }
        }
        Some(table)
    }
}
