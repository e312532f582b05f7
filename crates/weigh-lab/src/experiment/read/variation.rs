//! Factors and explicit variants: nested tables are flattened to dotted keys, sweeps become levels.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::parts::Parts;
use super::section::{Reader, Section, float_of, integer_of, type_of};
use crate::experiment::level::{Number, Pace, Sweep};
use crate::experiment::origin::Half;
use crate::experiment::{Factor, Level, VariantSection};

const SWEEP_KEYS: [&str; 4] = ["from", "to", "step", "times"];
const FACTOR_EXPECTED: &str = "a list of levels, or a sweep `{ from = 1, to = 64, times = 2 }`";
/// Tables deeper than this have no meaning in any section.
const DEPTH_MAX: usize = 16;

impl Parts<'_> {
    /// Every scalar below a table, by its dotted key.
    pub(super) fn flat_levels<'t>(
        &mut self,
        path: &str,
        prefix: &str,
        table: &'t DeTable<'t>,
        found: &mut dyn FnMut(String, Level),
    ) {
        for entry in self.reader.open(path, table).entries {
            let key = joined(prefix, entry.key);
            match entry.value.get_ref() {
                DeValue::Table(inner) if depth(&key) < DEPTH_MAX => {
                    self.flat_levels(&entry.path, &key, inner, found)
                }
                _ => {
                    if let Some(level) = self.reader.level(&entry.path, entry.value) {
                        found(key, level);
                    }
                }
            }
        }
    }

    /// `[factors]`, in file order.
    pub(super) fn factors<'t>(&mut self, table: &'t DeTable<'t>) -> Vec<Factor> {
        let mut factors = Vec::new();
        self.factors_below("factors", "", table, &mut factors);
        factors
    }

    fn factors_below<'t>(
        &mut self,
        path: &str,
        prefix: &str,
        table: &'t DeTable<'t>,
        factors: &mut Vec<Factor>,
    ) {
        for entry in self.reader.open(path, table).entries {
            let key = joined(prefix, entry.key);
            match entry.value.get_ref() {
                DeValue::Table(inner) if !is_factor(inner) && depth(&key) < DEPTH_MAX => {
                    self.factors_below(&entry.path, &key, inner, factors);
                }
                _ => factors.extend(factor(self.reader, &entry.path, key, entry.value)),
            }
        }
    }

    /// `[variants]`, in file order.
    pub(super) fn variants<'t>(&mut self, table: &'t DeTable<'t>) -> Vec<VariantSection> {
        let mut variants = Vec::new();
        for entry in self.reader.open("variants", table).entries {
            let DeValue::Table(inner) = entry.value.get_ref() else {
                self.reader.wrong_type(&entry, "a table of levels: `[variants.NAME]`");
                continue;
            };
            let mut variant = VariantSection { name: entry.key.to_owned(), levels: Default::default() };
            self.flat_levels(&entry.path, "", inner, &mut |key, level| {
                variant.levels.insert(key, level);
            });
            variants.push(variant);
        }
        variants
    }
}

fn joined(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

fn depth(key: &str) -> usize {
    key.matches('.').count()
}

/// Whether a table is a factor's value rather than a table of factors.
fn is_factor(table: &DeTable<'_>) -> bool {
    table.keys().any(|key| SWEEP_KEYS.contains(&key.get_ref().as_ref()) || key.get_ref() == "levels")
}

/// One factor from its value.
fn factor<'t>(
    reader: &mut Reader,
    path: &str,
    key: String,
    value: &'t Spanned<DeValue<'t>>,
) -> Option<Factor> {
    let (levels, sweep) = match value.get_ref() {
        DeValue::Array(list) => (levels(reader, path, list.iter()), false),
        DeValue::Table(table) if table.keys().any(|key| key.get_ref() == "levels") => {
            // How a stored run writes a sweep down: its levels, already made.
            let section = reader.section(path, table, &["levels", "sweep"]);
            let sweep = reader.boolean(&section, "sweep").unwrap_or(false);
            let entry = section.get("levels")?;
            let DeValue::Array(list) = entry.value.get_ref() else {
                reader.wrong_type(entry, "a list of levels");
                return None;
            };
            // Levels stand where those of a plain list do.
            (levels(reader, path, list.iter()), sweep)
        }
        DeValue::Table(table) => {
            let section = reader.section(path, table, &SWEEP_KEYS);
            (sweep(reader, &section, &key)?, true)
        }
        other => {
            let what = format!("wrong type for the levels of `{key}`: {}", type_of(other));
            reader.wrong(path, what, FACTOR_EXPECTED);
            return None;
        }
    };
    Some(Factor { key, levels, sweep })
}

fn levels<'t>(
    reader: &mut Reader,
    path: &str,
    list: impl Iterator<Item = &'t Spanned<DeValue<'t>>>,
) -> Vec<Level> {
    let mut levels = Vec::new();
    for (index, item) in list.enumerate() {
        let path = format!("{path}[{index}]");
        reader.origin.mark(path.clone(), item.span(), item.span());
        levels.extend(reader.level(&path, item));
    }
    levels
}

fn sweep(reader: &mut Reader, section: &Section<'_>, key: &str) -> Option<Vec<Level>> {
    let mut number = |name: &str| -> Option<Number> {
        let entry = section.get(name)?;
        let value = entry.value.get_ref();
        let number = integer_of(value).map(Number::Integer).or_else(|| float_of(value).map(Number::Float));
        if number.is_none() {
            reader.wrong_type(entry, "a number");
        }
        number
    };
    let (from, to, step, times) = (number("from"), number("to"), number("step"), number("times"));
    let missing = |name: &str| section.get(name).is_none();
    let incomplete = missing("from") || missing("to") || missing("step") == missing("times");
    if incomplete {
        let error =
            reader.origin.error(Half::Value, &section.path, format!("an incomplete sweep of `{key}`"));
        reader.errors.push(error.expected("`from`, `to` and one of `step`, `times`"));
        return None;
    }
    let pace = step.map(Pace::Step).or(times.map(Pace::Times))?;
    match (Sweep { from: from?, to: to?, pace }).levels() {
        Ok(levels) => Some(levels),
        Err(what) => {
            reader.wrong(
                &section.path,
                format!("{what} (`{key}`)"),
                "a pace that arrives at `to` within 64 levels",
            );
            None
        }
    }
}

/// One factor from the text of a TOML value (`["a", "b"]` or `{ from = …}`), for flags.
pub(in crate::experiment) fn factor_from_toml(
    reader_path: &str,
    key: &str,
    text: &str,
) -> Result<Factor, String> {
    let parsed = DeValue::parse(text).map_err(|error| error.message().replace('\n', ", "))?;
    let mut reader = Reader::new(crate::experiment::Origin::file(reader_path, text));
    let factor = factor(&mut reader, reader_path, key.to_owned(), &parsed);
    match (factor, reader.errors.into_iter().next()) {
        (_, Some(error)) => Err(error.what),
        (Some(factor), None) => Ok(factor),
        (None, None) => Err("no levels".to_owned()),
    }
}
