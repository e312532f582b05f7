//! A generator in one word, as typed behind `--parameter`: `uniform:1..1000`.
//!
//! The kinds and their fields are those of a file ([`GeneratorSpec`]); here they are short:
//! `sequence`, `sequence:START`, `uniform:MIN..MAX`, `zipf:MIN..MAX:EXPONENT`, `string:SIZE`, `bytes:SIZE`,
//! `json:SIZE`, `choice:A,B,C`, `time`.

use weigh_load::generator::GeneratorSpec;

/// Every form, for messages.
pub(super) const FORMS: &str = "`sequence`, `sequence:1000`, `uniform:1..1000`, `zipf:1..1000:0.99`, `string:16`, `bytes:64`, \
                         `json:200`, `choice:a,b,c`, `time`";

/// Why a word is no generator.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{typed}` is no generator: {what}")]
pub(super) struct ParameterError {
    /// The word.
    pub(super) typed: String,
    /// What is wrong with it.
    pub(super) what: String,
}

/// Reads one.
///
/// # Errors
/// What is wrong, and what would have been right.
pub(super) fn parse(typed: &str) -> Result<GeneratorSpec, ParameterError> {
    let wrong = |what: String| ParameterError { typed: typed.to_owned(), what };
    let (kind, rest) = match typed.split_once(':') {
        Some((kind, rest)) => (kind.trim(), Some(rest)),
        None => (typed.trim(), None),
    };
    let spec = match (kind, rest) {
        ("sequence", None) => Some(GeneratorSpec::Sequence { start: 0 }),
        ("sequence", Some(start)) => number(start).map(|start| GeneratorSpec::Sequence { start }),
        ("uniform", Some(range)) => range_of(range).map(|(min, max)| GeneratorSpec::Uniform { min, max }),
        ("zipf", Some(rest)) => zipf(rest),
        ("string", Some(size)) => number(size).map(|size| GeneratorSpec::String { size }),
        ("bytes", Some(size)) => number(size).map(|size| GeneratorSpec::Bytes { size }),
        ("json", Some(size)) => number(size).map(|size| GeneratorSpec::Json { size }),
        ("choice", Some(values)) => {
            Some(GeneratorSpec::Choice { values: values.split(',').map(str::to_owned).collect() })
        }
        ("time", None) => Some(GeneratorSpec::Time {}),
        _ => None,
    };
    let spec = spec.ok_or_else(|| wrong(format!("it must be one of {FORMS}")))?;
    spec.validate().map_err(|error| wrong(error.to_string()))?;
    Ok(spec)
}

fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.trim().replace('_', "").parse().ok()
}

/// `1..1000`, both ends included.
fn range_of(text: &str) -> Option<(i64, i64)> {
    let (min, max) = text.split_once("..")?;
    Some((number(min)?, number(max.strip_prefix('=').unwrap_or(max))?))
}

/// `1..1000:0.99`; without an exponent, that of YCSB.
fn zipf(text: &str) -> Option<GeneratorSpec> {
    let (range, exponent) = match text.split_once(':') {
        Some((range, exponent)) => (range, number(exponent)?),
        None => (text, 0.99),
    };
    let (min, max) = range_of(range)?;
    Some(GeneratorSpec::Zipf { min, max, exponent, scatter: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_that_is_named_is_read() {
        for form in FORMS.split(", ").map(|form| form.trim_matches('`')) {
            assert!(parse(form).is_ok(), "{form}: {:?}", parse(form));
        }
        assert_eq!(parse("uniform:-5..1_000"), Ok(GeneratorSpec::Uniform { min: -5, max: 1_000 }));
        assert_eq!(parse("sequence:7"), Ok(GeneratorSpec::Sequence { start: 7 }));
        assert_eq!(
            parse("choice:a, b,"),
            Ok(GeneratorSpec::Choice { values: vec!["a".into(), " b".into(), String::new()] })
        );
        assert_eq!(
            parse("zipf:1..9"),
            Ok(GeneratorSpec::Zipf { min: 1, max: 9, exponent: 0.99, scatter: true })
        );
    }

    #[test]
    fn mistakes_say_what_would_be_right() {
        for typed in
            ["", "unifrom:1..2", "uniform", "uniform:1-2", "string", "string:x", "time:1", "zipf:1..2:x"]
        {
            let error = parse(typed).unwrap_err().to_string();
            assert!(error.contains("`uniform:1..1000`"), "{error}");
        }
        let error = parse("uniform:2..1").unwrap_err().to_string();
        assert_eq!(error, "`uniform:2..1` is no generator: `min` (2) is greater than `max` (1)");
        assert!(parse("zipf:1..9:0").unwrap_err().to_string().contains("above 0"));
    }
}
