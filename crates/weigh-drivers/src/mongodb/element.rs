//! The head of one BSON element: its type, its key and how long its value is.
//!
//! Works on whatever has arrived so far and never asks for the whole value. Source: bsonspec.org, version 1.1.

use super::embed::{ARRAY, BINARY, BOOLEAN, DATE, DOCUMENT, DOUBLE, INT32, INT64, NULL, OBJECT_ID, STRING};
use super::message::read_i32;

/// Longest key of a reply's own element.
const LONGEST_KEY: usize = 4096;

/// Longest regular expression and options, each.
const LONGEST_PATTERN: usize = 1 << 16;

/// What an element begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) kind: u8,
    pub(super) key: &'a [u8],
    /// Where the value begins.
    pub(super) value_at: usize,
    /// How long the value is.
    pub(super) value_bytes: usize,
}

/// What a look at some bytes found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    Element(Head<'a>),
    /// The zero byte that ends a document.
    End,
    /// More bytes are needed to say.
    Short,
    /// This is no BSON.
    Malformed(&'static str),
}

/// Looks at the next element of a document.
#[inline]
pub(super) fn look(bytes: &[u8]) -> Found<'_> {
    let Some(&kind) = bytes.first() else { return Found::Short };
    if kind == 0 {
        return Found::End;
    }
    let key_end = match end_of_string(&bytes[1..], LONGEST_KEY) {
        Ok(Some(length)) => 1 + length,
        Ok(None) => return Found::Short,
        Err(()) => return Found::Malformed("a key without an end"),
    };
    let value_at = key_end + 1;
    let value_bytes = match value_bytes(kind, &bytes[value_at..]) {
        Ok(Some(length)) => length,
        Ok(None) => return Found::Short,
        Err(reason) => return Found::Malformed(reason),
    };
    Found::Element(Head { kind, key: &bytes[1..key_end], value_at, value_bytes })
}

/// Where the zero is that ends a string; `Err` if it is further than `limit`.
#[inline]
fn end_of_string(bytes: &[u8], limit: usize) -> Result<Option<usize>, ()> {
    match bytes.iter().take(limit).position(|byte| *byte == 0) {
        Some(length) => Ok(Some(length)),
        None if bytes.len() >= limit => Err(()),
        None => Ok(None),
    }
}

/// How long a value of a type is, from its first bytes.
#[inline]
fn value_bytes(kind: u8, value: &[u8]) -> Result<Option<usize>, &'static str> {
    // A length prefix, what it does not count, and the least it may say.
    let prefixed = |beside: usize, least: i32| match read_i32(value, 0) {
        None => Ok(None),
        Some(length) if length < least => Err("a length that is too small"),
        Some(length) => Ok(Some(usize::try_from(length).unwrap_or(0) + beside)),
    };
    match kind {
        DOUBLE | DATE | INT64 | 0x11 => Ok(Some(8)),
        INT32 => Ok(Some(4)),
        BOOLEAN => Ok(Some(1)),
        OBJECT_ID => Ok(Some(12)),
        0x13 => Ok(Some(16)),
        NULL | 0x06 | 0x7F | 0xFF => Ok(Some(0)),
        STRING | 0x0D | 0x0E => prefixed(4, 1),
        DOCUMENT | ARRAY => prefixed(0, 5),
        0x0F => prefixed(0, 14),
        BINARY => prefixed(5, 0),
        0x0C => prefixed(16, 1),
        0x0B => regular_expression(value),
        _ => Err("an unknown type of value"),
    }
}

/// Two strings.
#[cold]
fn regular_expression(value: &[u8]) -> Result<Option<usize>, &'static str> {
    let mut end = 0;
    for _ in 0..2 {
        match end_of_string(&value[end..], LONGEST_PATTERN) {
            Ok(Some(length)) => end += length + 1,
            Ok(None) => return Ok(None),
            Err(()) => return Err("a regular expression without an end"),
        }
    }
    Ok(Some(end))
}

/// A numeric value.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "counts and codes are far below 2^53")]
pub(super) fn number(kind: u8, value: &[u8]) -> Option<f64> {
    match kind {
        DOUBLE => value.first_chunk().map(|bytes| f64::from_le_bytes(*bytes)),
        INT64 => value.first_chunk().map(|bytes| i64::from_le_bytes(*bytes) as f64),
        INT32 => read_i32(value, 0).map(f64::from),
        BOOLEAN => value.first().map(|byte| f64::from(*byte)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use bson::{
        Binary, Bson, DateTime, Decimal128, JavaScriptCodeWithScope, Regex, Timestamp, doc, oid::ObjectId,
    };

    use super::*;

    #[test]
    fn every_type_has_its_length_however_it_is_cut() {
        let regex = Regex { pattern: "^a+".try_into().unwrap(), options: "i".try_into().unwrap() };
        let scoped = JavaScriptCodeWithScope { code: "f()".into(), scope: doc! {"x": 1} };
        let values: Vec<Bson> = vec![
            1.5.into(),
            "text".into(),
            doc! {"a": [1, 2]}.into(),
            vec![1, 2].into(),
            ObjectId::from_bytes([1; 12]).into(),
            true.into(),
            DateTime::from_millis(5).into(),
            Bson::Null,
            regex.into(),
            Bson::JavaScriptCode("f()".into()),
            scoped.into(),
            7_i32.into(),
            Timestamp { time: 1, increment: 2 }.into(),
            7_i64.into(),
            Bson::MinKey,
            Bson::MaxKey,
            Decimal128::from_bytes([1; 16]).into(),
            Bson::Symbol("s".into()),
            Bson::Undefined,
            Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![1; 9] }.into(),
        ];
        for value in values {
            let bytes = doc! {"key": value.clone()}.to_vec().unwrap();
            let elements = &bytes[4..];
            for cut in 0..elements.len() {
                match look(&elements[..cut]) {
                    Found::Short => {}
                    Found::Element(head) => {
                        assert_eq!((head.key, head.kind), (&b"key"[..], elements[0]));
                        assert_eq!(head.value_at + head.value_bytes, elements.len() - 1, "{value:?}");
                    }
                    other => panic!("{other:?} for {value:?}"),
                }
            }
            assert!(matches!(look(elements), Found::Element(_)));
        }
    }

    #[test]
    fn garbage_is_named() {
        assert_eq!(look(b"\0"), Found::End);
        assert!(matches!(look(b"\x55a\0"), Found::Malformed(_)));
        assert!(matches!(look(b"\x03a\0\x04\0\0\0"), Found::Malformed(_)));
        assert!(matches!(look(b"\x02a\0\xff\xff\xff\xff"), Found::Malformed(_)));
        assert!(matches!(look(&[1; 5000]), Found::Malformed(_)));
    }
}
