//! The generators of an operation's parameters, and whether its texts use them.

use std::collections::BTreeSet;

use weigh_load::generator::GeneratorSpec;

use super::super::origin::Half;
use super::super::{OperationSection, generators};
use super::variant::Expander;

impl Expander<'_> {
    pub(super) fn parameters(&mut self, path: &str, operation: &OperationSection) -> Vec<GeneratorSpec> {
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

    /// Parameters `$1` … `$n`: each used, none missing. `subject` is what takes them: `the SQL`.
    pub(super) fn check_numbers(
        &mut self,
        (path, key, subject): (&str, &str, &str),
        used: &BTreeSet<u32>,
        given: usize,
    ) {
        let wanted = used.last().copied().unwrap_or(0) as usize;
        let plural = |count: usize| {
            if count == 1 { "1 parameter is".to_owned() } else { format!("{count} parameters are") }
        };
        if used.first() == Some(&0) {
            self.error(&format!("{path}.{key}"), "parameter `$0`", "parameters from `$1`");
        } else if wanted > given {
            let what = format!("{subject} takes `${wanted}`, but {} given", plural(given));
            let expected = "one generator in `parameters` for each of `$1`, `$2`, …";
            self.error(&format!("{path}.{key}"), what, expected);
        } else if let Some(unused) = (1..=given).find(|&n| !used.iter().any(|&u| u as usize == n)) {
            let what = format!("{} given, but {subject} does not use `${unused}`", plural(given));
            let expected = format!("one generator for each of `$1`, `$2`, … in {subject}");
            self.error(&format!("{path}.parameters"), what, &expected);
        }
    }
}
