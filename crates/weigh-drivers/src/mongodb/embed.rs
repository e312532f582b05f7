//! A parameter's JSON text as an embedded BSON document, in one pass and without a tree between.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::message::finish;

/// Types of BSON values.
pub(super) const DOUBLE: u8 = 0x01;
pub(super) const STRING: u8 = 0x02;
pub(super) const DOCUMENT: u8 = 0x03;
pub(super) const ARRAY: u8 = 0x04;
pub(super) const BINARY: u8 = 0x05;
pub(super) const OBJECT_ID: u8 = 0x07;
pub(super) const BOOLEAN: u8 = 0x08;
pub(super) const DATE: u8 = 0x09;
pub(super) const NULL: u8 = 0x0A;
pub(super) const INT32: u8 = 0x10;
pub(super) const INT64: u8 = 0x12;

/// Appends the document that the JSON object `text` is, with the bytes of `first` (whole elements) as its first ones;
/// gives whether the text has a member `_id` itself. Nothing is appended if it is no JSON object.
pub(super) fn write_document(text: &str, first: &[u8], out: &mut Vec<u8>) -> Option<bool> {
    let begin = out.len();
    let mut has_id = false;
    let mut parser = serde_json::Deserializer::from_str(text);
    let written = DocumentSeed { out, first, has_id: &mut has_id }.deserialize(&mut parser);
    if written.and_then(|()| parser.end()).is_err() {
        out.truncate(begin);
        return None;
    }
    Some(has_id)
}

/// Appends a string's value.
#[inline]
pub(super) fn write_string(text: &[u8], out: &mut Vec<u8>) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(text);
    out.push(0);
    finish_string(at, out);
}

/// Patches the length of a string at `at`, which does not count itself.
#[inline]
pub(super) fn finish_string(at: usize, out: &mut [u8]) {
    let length = u32::try_from(out.len() - at - 4).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

/// Appends an integer in the smaller type that holds it; gives the type.
#[inline]
pub(super) fn write_integer(value: i64, out: &mut Vec<u8>) -> u8 {
    if let Ok(small) = i32::try_from(value) {
        out.extend_from_slice(&small.to_le_bytes());
        INT32
    } else {
        out.extend_from_slice(&value.to_le_bytes());
        INT64
    }
}

struct DocumentSeed<'a> {
    out: &'a mut Vec<u8>,
    first: &'a [u8],
    has_id: &'a mut bool,
}

impl<'de> DeserializeSeed<'de> for DocumentSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for DocumentSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        write_members(map, self.first, self.has_id, self.out)
    }
}

fn write_members<'de, A: MapAccess<'de>>(
    mut map: A,
    first: &[u8],
    has_id: &mut bool,
    out: &mut Vec<u8>,
) -> Result<(), A::Error> {
    let begin = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(first);
    loop {
        let type_at = out.len();
        out.push(0);
        if map.next_key_seed(KeySeed { out: &mut *out })?.is_none() {
            // The type that was not needed is the end of the document.
            break;
        }
        *has_id |= &out[type_at + 1..] == b"_id\0";
        let kind = map.next_value_seed(ValueSeed { out: &mut *out })?;
        out[type_at] = kind;
    }
    finish(begin, &mut out[..]);
    Ok(())
}

/// Appends a key.
struct KeySeed<'a> {
    out: &'a mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<(), E> {
        if key.as_bytes().contains(&0) {
            return Err(E::custom("a key holds a zero byte"));
        }
        self.out.extend_from_slice(key.as_bytes());
        self.out.push(0);
        Ok(())
    }
}

/// Appends a value and gives its type.
struct ValueSeed<'a> {
    out: &'a mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = u8;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u8, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = u8;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<u8, E> {
        Ok(NULL)
    }

    fn visit_bool<E>(self, value: bool) -> Result<u8, E> {
        self.out.push(u8::from(value));
        Ok(BOOLEAN)
    }

    fn visit_i64<E>(self, value: i64) -> Result<u8, E> {
        Ok(write_integer(value, self.out))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a number too large for 64 bits is a double in extended JSON"
    )]
    fn visit_u64<E: Error>(self, value: u64) -> Result<u8, E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => self.visit_f64(value as f64),
        }
    }

    fn visit_f64<E>(self, value: f64) -> Result<u8, E> {
        self.out.extend_from_slice(&value.to_le_bytes());
        Ok(DOUBLE)
    }

    fn visit_str<E>(self, text: &str) -> Result<u8, E> {
        write_string(text.as_bytes(), self.out);
        Ok(STRING)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<u8, A::Error> {
        let begin = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        for index in 0_u32.. {
            let type_at = self.out.len();
            self.out.push(0);
            self.out.extend_from_slice(itoa::Buffer::new().format(index).as_bytes());
            self.out.push(0);
            match sequence.next_element_seed(ValueSeed { out: &mut *self.out })? {
                Some(kind) => self.out[type_at] = kind,
                None => {
                    // The type that was not needed is the end of the array.
                    self.out.truncate(type_at + 1);
                    break;
                }
            }
        }
        finish(begin, &mut self.out[..]);
        Ok(ARRAY)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<u8, A::Error> {
        write_members(map, b"", &mut false, self.out)?;
        Ok(DOCUMENT)
    }
}

#[cfg(test)]
mod tests {
    use bson::{Document, doc};

    use super::*;

    #[test]
    fn every_kind_of_value_is_embedded() {
        let text = r#"{"a": [1, "x\n", [], {}], "b": {"c": 5000000000, "d": -1.5}, "e": null, "f": true,
                       "g": 18446744073709551615}"#;
        let mut out = b"before".to_vec();
        assert_eq!(write_document(text, b"", &mut out), Some(false));
        let expected = doc! {
            "a": [1, "x\n", [], {}], "b": {"c": 5_000_000_000_i64, "d": -1.5}, "e": null, "f": true,
            "g": 18_446_744_073_709_551_615.0
        };
        assert_eq!(Document::from_reader(&out[6..]).unwrap(), expected);
    }

    #[test]
    fn an_id_is_seen_at_the_top_only_and_elements_go_first() {
        let mut out = Vec::new();
        assert_eq!(write_document(r#"{"a": {"_id": 1}}"#, b"\x0Afirst\0", &mut out), Some(false));
        assert_eq!(Document::from_reader(&out[..]).unwrap(), doc! {"first": null, "a": {"_id": 1}});
        assert_eq!(write_document(r#"{"a": 1, "_id": 2}"#, b"", &mut out), Some(true));
    }

    #[test]
    fn what_is_no_object_leaves_nothing() {
        for text in ["", "{", "[1]", "{} {}", r#"{"a": tru"#, r#"{"a\u0000b": 1}"#, &"{\"a\":".repeat(500)] {
            let mut out = b"before".to_vec();
            assert_eq!(write_document(text, b"", &mut out), None, "{text}");
            assert_eq!(out, b"before");
        }
    }
}
