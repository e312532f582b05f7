//! One parameter as a BSON element.

use weigh_load::DriverError;
use weigh_load::generator::Value;

use super::embed::{
    BINARY, DATE, DOCUMENT, DOUBLE, INT64, STRING, write_document, write_integer, write_string,
};
use super::json::Json;

/// What a parameter becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What it is: an integer in the smaller type that holds it.
    Plain,
    /// An integer as an int64.
    Long,
    /// An integer as a double.
    Double,
    /// An integer of microseconds since 1970 as a date, of milliseconds.
    Date,
}

/// Subtype of plain bytes.
const GENERIC: u8 = 0;

/// A parameter that stands alone: its index from 0, and its type.
///
/// # Errors
/// A number the operation does not have.
pub(super) fn placeholder(json: &Json, parameters: usize) -> Result<Option<(usize, Kind)>, DriverError> {
    let (text, kind) = match (json, json.only_member()) {
        (Json::Text(text), _) => (text.as_str(), Kind::Plain),
        (_, Some(("$numberLong", Json::Text(text)))) => (text.as_str(), Kind::Long),
        (_, Some(("$numberDouble", Json::Text(text)))) => (text.as_str(), Kind::Double),
        (_, Some(("$date", Json::Text(text)))) => (text.as_str(), Kind::Date),
        _ => return Ok(None),
    };
    let Some(digits) = text.strip_prefix('$') else { return Ok(None) };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    match digits.parse::<usize>() {
        Ok(number) if (1..=parameters).contains(&number) => Ok(Some((number - 1, kind))),
        _ => Err(DriverError::new(format!("`{text}` is used and there are {parameters} parameters"))),
    }
}

/// Appends type, `key` (with its zero) and `value`.
#[inline]
pub(super) fn write_element(kind: Kind, key: &[u8], value: Value<'_>, out: &mut Vec<u8>) {
    let type_at = out.len();
    out.push(0);
    out.extend_from_slice(key);
    out[type_at] = match value {
        Value::Integer(number) => write_number(kind, number, out),
        Value::Text(text) => write_text(text, out),
        Value::Bytes(bytes) => {
            // At most 16 MiB.
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_le_bytes());
            out.push(GENERIC);
            out.extend_from_slice(bytes);
            BINARY
        }
    };
}

#[inline]
fn write_number(kind: Kind, number: i64, out: &mut Vec<u8>) -> u8 {
    match kind {
        Kind::Plain => write_integer(number, out),
        Kind::Long => {
            out.extend_from_slice(&number.to_le_bytes());
            INT64
        }
        #[expect(clippy::cast_precision_loss, reason = "asked for")]
        Kind::Double => {
            out.extend_from_slice(&(number as f64).to_le_bytes());
            DOUBLE
        }
        Kind::Date => {
            out.extend_from_slice(&number.div_euclid(1000).to_le_bytes());
            DATE
        }
    }
}

#[inline]
fn write_text(text: &str, out: &mut Vec<u8>) -> u8 {
    if text.starts_with('{') && write_document(text, b"", out).is_some() {
        return DOCUMENT;
    }
    write_string(text.as_bytes(), out);
    STRING
}

#[cfg(test)]
mod tests {
    use bson::{Bson, DateTime, Document, bson};

    use super::*;

    fn written(kind: Kind, value: Value<'_>) -> Bson {
        let mut out = vec![0; 4];
        write_element(kind, b"k\0", value, &mut out);
        out.push(0);
        super::super::message::finish(0, &mut out);
        Document::from_reader(&out[..]).unwrap().remove("k").unwrap()
    }

    #[test]
    fn values_become_the_types_that_are_documented() {
        assert_eq!(written(Kind::Plain, Value::Integer(-7)), Bson::Int32(-7));
        assert_eq!(written(Kind::Plain, Value::Integer(1 << 40)), Bson::Int64(1 << 40));
        assert_eq!(written(Kind::Long, Value::Integer(7)), Bson::Int64(7));
        assert_eq!(written(Kind::Double, Value::Integer(7)), Bson::Double(7.0));
        assert_eq!(written(Kind::Date, Value::Integer(-1)), DateTime::from_millis(-1).into());
        assert_eq!(written(Kind::Date, Value::Integer(1_999_999)), DateTime::from_millis(1999).into());
        assert_eq!(written(Kind::Plain, Value::Text("é")), Bson::String("é".into()));
        assert_eq!(written(Kind::Plain, Value::Text("{é")), Bson::String("{é".into()));
        assert_eq!(written(Kind::Plain, Value::Text(r#"{"a": [1]}"#)), bson!({"a": [1]}));
        let Bson::Binary(binary) = written(Kind::Plain, Value::Bytes(&[1, 2])) else { panic!() };
        assert_eq!(binary.bytes, [1, 2]);
    }

    #[test]
    fn a_parameter_alone_is_told_from_text() {
        let found = |text: &str| placeholder(&Json::parse(text).unwrap(), 2);
        assert_eq!(found(r#""$2""#).unwrap(), Some((1, Kind::Plain)));
        assert_eq!(found(r#"{"$numberLong": "$1"}"#).unwrap(), Some((0, Kind::Long)));
        assert_eq!(found(r#"{"$date": "$1"}"#).unwrap(), Some((0, Kind::Date)));
        for text in [
            r#""$name""#,
            r#""$$1""#,
            r#""$""#,
            r#""$1 ""#,
            "1",
            r#"{"$numberLong": "12"}"#,
            r#"{"a": "$1"}"#,
        ] {
            assert_eq!(found(text).unwrap(), None, "{text}");
        }
        assert!(found(r#""$3""#).is_err() && found(r#""$0""#).is_err());
    }
}
