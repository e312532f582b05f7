//! A table of the file with the keys it may have, and getters that report a wrong type and go on.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::experiment::origin::Half;
use crate::experiment::{ExperimentError, Level, Origin};

/// What has been found so far: places and mistakes.
pub(super) struct Reader {
    pub(super) origin: Origin,
    pub(super) errors: Vec<ExperimentError>,
}

/// One table; its entries in file order.
pub(super) struct Section<'t> {
    pub(super) path: String,
    pub(super) entries: Vec<Entry<'t>>,
}

/// One `key = value`.
pub(super) struct Entry<'t> {
    pub(super) key: &'t str,
    pub(super) path: String,
    pub(super) value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Section<'t> {
    /// The entry of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Entry<'t>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The path a key has or would have.
    pub(super) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

impl Reader {
    pub(super) fn new(origin: Origin) -> Reader {
        Reader { origin, errors: Vec::new() }
    }

    /// A table whose keys are free names.
    pub(super) fn open<'t>(&mut self, path: &str, table: &'t DeTable<'t>) -> Section<'t> {
        let mut section = Section { path: path.to_owned(), entries: Vec::new() };
        let mut pairs: Vec<_> = table.iter().collect();
        pairs.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in pairs {
            let path = section.path_of(key.get_ref());
            self.origin.mark(path.clone(), key.span(), value.span());
            section.entries.push(Entry { key: key.get_ref(), path, value });
        }
        section
    }

    /// A table with a closed set of keys: every other key is reported.
    pub(super) fn section<'t>(&mut self, path: &str, table: &'t DeTable<'t>, known: &[&str]) -> Section<'t> {
        let mut section = self.open(path, table);
        section.entries.retain(|entry| {
            let is_known = known.contains(&entry.key);
            if !is_known {
                let place = if path.is_empty() { String::new() } else { format!(" in `{path}`") };
                let what = format!("unknown key `{}`{place}", entry.key);
                let mut error = self.origin.error(Half::Key, &entry.path, what);
                error = error.one_of(entry.key, known.iter().copied());
                // The right key in the wrong place is the likelier mistake.
                error.nearest = super::parts::home_of(entry.key).or(error.nearest);
                self.errors.push(error);
            }
            is_known
        });
        section
    }

    /// Reports a value that is not what it should be.
    pub(super) fn wrong(&mut self, path: &str, what: impl Into<String>, expected: &str) {
        self.errors.push(self.origin.error(Half::Value, path, what).expected(expected));
    }

    /// Reports a value of the wrong type.
    pub(super) fn wrong_type(&mut self, entry: &Entry<'_>, expected: &str) {
        let what = format!("wrong type for `{}`: {}", entry.key, type_of(entry.value.get_ref()));
        self.wrong(&entry.path, what, expected);
    }

    /// The table of a key.
    pub(super) fn table<'t>(&mut self, section: &Section<'t>, key: &str) -> Option<&'t DeTable<'t>> {
        let entry = section.get(key)?;
        match entry.value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                self.wrong_type(entry, "a table");
                None
            }
        }
    }

    pub(super) fn text(&mut self, section: &Section<'_>, key: &str) -> Option<String> {
        let entry = section.get(key)?;
        match entry.value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Some(text.to_string()),
            DeValue::String(_) => {
                self.wrong(&entry.path, format!("empty `{key}`"), "text");
                None
            }
            _ => {
                self.wrong_type(entry, "text");
                None
            }
        }
    }

    pub(super) fn boolean(&mut self, section: &Section<'_>, key: &str) -> Option<bool> {
        let entry = section.get(key)?;
        match entry.value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => {
                self.wrong_type(entry, "`true` or `false`");
                None
            }
        }
    }

    /// An integer within a range.
    pub(super) fn integer(
        &mut self,
        section: &Section<'_>,
        key: &str,
        range: RangeInclusive<u32>,
    ) -> Option<u32> {
        let entry = section.get(key)?;
        let expected = format!("an integer from {} to {}", range.start(), range.end());
        if !entry.value.get_ref().is_integer() {
            self.wrong_type(entry, &expected);
            return None;
        }
        let number = integer_of(entry.value.get_ref()).and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let shown = self.source(entry.value.span());
            self.wrong(&entry.path, format!("`{key}` is {shown}"), &expected);
        }
        number
    }

    /// An integer of at least 1, or text with a `{var}`; as text.
    pub(super) fn count(&mut self, section: &Section<'_>, key: &str) -> Option<String> {
        match section.get(key)?.value.get_ref() {
            DeValue::String(_) => self.text(section, key),
            _ => self.integer(section, key, 1..=u32::MAX).map(|number| number.to_string()),
        }
    }

    /// Text that `parse` understands.
    pub(super) fn parsed<T>(
        &mut self,
        section: &Section<'_>,
        key: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let entry = section.get(key)?;
        let DeValue::String(text) = entry.value.get_ref() else {
            self.wrong_type(entry, expected);
            return None;
        };
        let parsed = parse(text);
        if parsed.is_none() {
            self.wrong(&entry.path, format!("bad `{key}`: `{text}`"), expected);
        }
        parsed
    }

    /// Text, or a list of texts, each with its path.
    pub(super) fn texts(&mut self, section: &Section<'_>, key: &str) -> Option<Vec<(String, String)>> {
        const EXPECTED: &str = "text, or a list of texts";
        let entry = section.get(key)?;
        let DeValue::Array(list) = entry.value.get_ref() else {
            if entry.value.get_ref().is_str() {
                return self.text(section, key).map(|text| vec![(text, entry.path.clone())]);
            }
            self.wrong_type(entry, EXPECTED);
            return None;
        };
        let mut texts = Vec::new();
        for (index, item) in list.iter().enumerate() {
            let path = format!("{}[{index}]", entry.path);
            self.origin.mark(path.clone(), item.span(), item.span());
            match item.get_ref() {
                DeValue::String(text) => texts.push((text.to_string(), path)),
                other => {
                    let what = format!("wrong type in `{key}`: {}", type_of(other));
                    self.wrong(&path, what, "text");
                }
            }
        }
        Some(texts)
    }

    /// A scalar as a level.
    pub(super) fn level(&mut self, path: &str, value: &Spanned<DeValue<'_>>) -> Option<Level> {
        const EXPECTED: &str = "text, a number, `true` or `false`";
        let level = match value.get_ref() {
            DeValue::String(text) => Some(Level::Text(text.to_string())),
            DeValue::Boolean(value) => Some(Level::Boolean(*value)),
            number @ DeValue::Integer(_) => integer_of(number).map(Level::Integer),
            number @ DeValue::Float(_) => float_of(number).map(Level::Float),
            other => {
                self.wrong(path, format!("wrong type for a level: {}", type_of(other)), EXPECTED);
                return None;
            }
        };
        if level.is_none() {
            let shown = self.source(value.span());
            self.wrong(path, format!("the number {shown} is out of range"), EXPECTED);
        }
        level
    }

    /// The text as written, for numbers.
    pub(super) fn source(&self, span: Range<usize>) -> String {
        self.origin.text().get(span).unwrap_or_default().to_owned()
    }
}

/// The value of an integer that fits.
pub(super) fn integer_of(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// The value of a finite float.
pub(super) fn float_of(value: &DeValue<'_>) -> Option<f64> {
    value.as_float()?.as_str().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Its type in words.
pub(super) fn type_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "`true` or `false`",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
