//! A parameter's table in the file → a [`GeneratorSpec`].
//!
//! Fields may hold `{var}` until a variant is expanded, so this runs per variant, on filled-in tables.
//! One static table says which fields each kind has ([`KINDS`]).

use toml::{Table, Value};
use weigh_load::generator::{GeneratorError as EngineError, GeneratorSpec};

/// What is wrong with a generator.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GeneratorError {
    /// The field it is about; `None`: the generator as a whole.
    pub(super) field: Option<String>,
    /// A lowercase fragment.
    pub(super) what: String,
    /// What would have been right.
    pub(super) expected: Option<String>,
    /// Valid names to suggest from, with what was typed.
    pub(super) typed: Option<(String, Vec<&'static str>)>,
}

/// Kinds of generators and the fields they take; a field with `?` may be left out.
pub(super) const KINDS: &[(&str, &[&str])] = &[
    ("sequence", &["start?"]),
    ("repeats", &["every", "start?"]),
    ("uniform", &["min", "max"]),
    ("zipf", &["min", "max", "exponent", "scatter?"]),
    ("string", &["size"]),
    ("bytes", &["size"]),
    ("json", &["size"]),
    ("choice", &["values"]),
    ("time", &[]),
];

/// The generator a table describes.
pub(super) fn generator(table: &Table) -> Result<GeneratorSpec, GeneratorError> {
    let kind = kind_of(table)?;
    let fields = Fields { table, kind };
    let spec = match kind {
        "sequence" => GeneratorSpec::Sequence { start: fields.integer_or("start", 0)? },
        "repeats" => {
            GeneratorSpec::Repeats { start: fields.integer_or("start", 0)?, every: fields.count("every")? }
        }
        "uniform" => GeneratorSpec::Uniform { min: fields.integer("min")?, max: fields.integer("max")? },
        "zipf" => GeneratorSpec::Zipf {
            min: fields.integer("min")?,
            max: fields.integer("max")?,
            exponent: fields.number("exponent")?,
            scatter: fields.boolean_or("scatter", true)?,
        },
        "string" => GeneratorSpec::String { size: fields.size()? },
        "bytes" => GeneratorSpec::Bytes { size: fields.size()? },
        "json" => GeneratorSpec::Json { size: fields.size()? },
        "choice" => GeneratorSpec::Choice { values: fields.values()? },
        _ => GeneratorSpec::Time {},
    };
    spec.validate().map_err(impossible)?;
    Ok(spec)
}

/// The engine's own word on what it cannot make.
fn impossible(error: EngineError) -> GeneratorError {
    let field = match error {
        EngineError::EmptyRange { .. } | EngineError::RangeTooLarge { .. } => "min",
        EngineError::Exponent(_) => "exponent",
        EngineError::Size { .. } => "size",
        EngineError::NoValues => "values",
        EngineError::Start(_) => "start",
        EngineError::Every(_) => "every",
    };
    GeneratorError { field: Some(field.to_owned()), what: error.to_string(), expected: None, typed: None }
}

/// Its kind, once every field is known to belong to it.
fn kind_of(table: &Table) -> Result<&'static str, GeneratorError> {
    let names: Vec<&'static str> = KINDS.iter().map(|(name, _)| *name).collect();
    let list = || Some(super::error::list_names(names.iter().copied()));
    let Some(value) = table.get("kind") else {
        let what = "a generator without `kind`".to_owned();
        return Err(GeneratorError { field: None, what, expected: list(), typed: None });
    };
    let Some(typed) = value.as_str() else {
        return Err(wrong("kind", value, "a kind of generator, as text"));
    };
    let Some((kind, fields)) = KINDS.iter().find(|(name, _)| *name == typed) else {
        return Err(GeneratorError {
            field: Some("kind".to_owned()),
            what: format!("unknown kind of generator `{typed}`"),
            expected: list(),
            typed: Some((typed.to_owned(), names)),
        });
    };
    let known: Vec<&'static str> = fields.iter().map(|field| field.trim_end_matches('?')).collect();
    if let Some(typed) = table.keys().find(|key| *key != "kind" && !known.contains(&key.as_str())) {
        return Err(GeneratorError {
            field: Some(typed.clone()),
            what: format!("unknown field `{typed}` of the generator `{kind}`"),
            expected: Some(super::error::list_names(known.iter().copied())),
            typed: Some((typed.clone(), known)),
        });
    }
    if let Some(missing) = fields.iter().find(|field| !field.ends_with('?') && !table.contains_key(**field)) {
        let what = format!("the generator `{kind}` needs `{missing}`");
        return Err(GeneratorError { field: None, what, expected: None, typed: None });
    }
    Ok(kind)
}

fn wrong(field: &str, value: &Value, expected: &str) -> GeneratorError {
    let shown = match value {
        Value::String(text) => format!("`{text}`"),
        other => format!("a value of type {}", other.type_str()),
    };
    GeneratorError {
        field: Some(field.to_owned()),
        what: format!("wrong value for `{field}`: {shown}"),
        expected: Some(expected.to_owned()),
        typed: None,
    }
}

struct Fields<'a> {
    table: &'a Table,
    kind: &'static str,
}

impl Fields<'_> {
    fn get(&self, field: &str) -> Result<&Value, GeneratorError> {
        let missing = || GeneratorError {
            field: None,
            what: format!("the generator `{}` needs `{field}`", self.kind),
            expected: None,
            typed: None,
        };
        self.table.get(field).ok_or_else(missing)
    }

    fn integer(&self, field: &str) -> Result<i64, GeneratorError> {
        let value = self.get(field)?;
        // Text: what was `{var}` before.
        let number = value.as_integer().or_else(|| value.as_str()?.trim().parse().ok());
        number.ok_or_else(|| wrong(field, value, "an integer"))
    }

    fn integer_or(&self, field: &str, default: i64) -> Result<i64, GeneratorError> {
        if self.table.contains_key(field) { self.integer(field) } else { Ok(default) }
    }

    fn number(&self, field: &str) -> Result<f64, GeneratorError> {
        let value = self.get(field)?;
        let number = match value {
            Value::Float(number) => Some(*number),
            #[expect(clippy::cast_precision_loss, reason = "an exponent is a small number")]
            Value::Integer(number) => Some(*number as f64),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| wrong(field, value, "a number above 0"))
    }

    fn count(&self, field: &str) -> Result<u32, GeneratorError> {
        let count = self.integer(field)?;
        u32::try_from(count)
            .map_err(|_| wrong(field, self.get(field).unwrap_or(&Value::Integer(count)), "a count"))
    }

    fn boolean_or(&self, field: &str, default: bool) -> Result<bool, GeneratorError> {
        let Some(value) = self.table.get(field) else { return Ok(default) };
        let parsed = value.as_bool().or_else(|| value.as_str()?.parse().ok());
        parsed.ok_or_else(|| wrong(field, value, "`true` or `false`"))
    }

    fn size(&self) -> Result<usize, GeneratorError> {
        let size = self.integer("size")?;
        usize::try_from(size)
            .map_err(|_| wrong("size", self.get("size").unwrap_or(&Value::Integer(size)), "a length"))
    }

    fn values(&self) -> Result<Vec<String>, GeneratorError> {
        let value = self.get("values")?;
        let expected = "a list of at least one value";
        let list = value
            .as_array()
            .filter(|list| !list.is_empty())
            .ok_or_else(|| wrong("values", value, expected))?;
        let text = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => Ok(value.to_string()),
            other => Err(wrong("values", other, "text or numbers")),
        };
        list.iter().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<GeneratorSpec, GeneratorError> {
        generator(&toml::from_str(text).unwrap())
    }

    #[test]
    fn every_kind_is_read() {
        use GeneratorSpec as G;
        let check = |text: &str, spec: G| assert_eq!(parse(text).unwrap(), spec, "{text}");
        check("kind='sequence'", G::Sequence { start: 0 });
        check("kind='repeats'\nevery='100'", G::Repeats { start: 0, every: 100 });
        check("kind='uniform'\nmin=-1\nmax='9'", G::Uniform { min: -1, max: 9 });
        check(
            "kind='zipf'\nmin=1\nmax=9\nexponent=1",
            G::Zipf { min: 1, max: 9, exponent: 1.0, scatter: true },
        );
        check("kind='string'\nsize=3", G::String { size: 3 });
        check("kind='bytes'\nsize=3", G::Bytes { size: 3 });
        check("kind='json'\nsize=40", G::Json { size: 40 });
        check("kind='choice'\nvalues=['a', 1]", G::Choice { values: vec!["a".to_owned(), "1".to_owned()] });
        check("kind='time'", G::Time {});
        // The table of kinds and the type it makes must know the same names.
        for (kind, _) in KINDS {
            let parsed = parse(&format!("kind='{kind}'"));
            assert!(parsed.is_ok() || parsed.is_err_and(|error| error.what.contains("needs")), "{kind}");
        }
    }

    #[test]
    fn mistakes_name_the_field() {
        let check = |text: &str, field: Option<&str>, part: &str| {
            let error = parse(text).unwrap_err();
            assert_eq!(error.field.as_deref(), field, "{text}");
            assert!(error.what.contains(part), "{}", error.what);
        };
        check("min=1", None, "without `kind`");
        check("kind=1", Some("kind"), "wrong value");
        check("kind='unifrom'", Some("kind"), "unknown kind");
        check("kind='string'\nsise=1", Some("sise"), "unknown field");
        check("kind='string'", None, "needs `size`");
        check("kind='string'\nsize='x'", Some("size"), "wrong value");
        check("kind='json'\nsize=1", Some("size"), "must be");
        check("kind='uniform'\nmin=2\nmax=1", Some("min"), "greater than");
        check("kind='zipf'\nmin=1\nmax=2\nexponent=0", Some("exponent"), "above 0");
        check("kind='zipf'\nmin=1\nmax=2\nexponent='x'", Some("exponent"), "wrong value");
        check("kind='string'\nsize=-1", Some("size"), "wrong value");
        check("kind='repeats'\nevery=1", Some("every"), "2 or more");
        check("kind='repeats'\nevery=-1", Some("every"), "wrong value");
        check("kind='choice'\nvalues=[]", Some("values"), "wrong value");
    }
}
