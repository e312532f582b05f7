//! Commands as people write them: JSON with the order of keys kept, and BSON's other types in extended JSON.
//!
//! [`Json::parse`] gives the tree; [`Json::leaf`] turns one of its values into the bytes of a BSON value, with the `bson`
//! crate for everything that is not plain JSON. Source: MongoDB's "Extended JSON (v2)" specification.

use std::fmt;

use bson::{Bson, Document};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use weigh_load::DriverError;

/// A JSON value; objects keep the order of their members.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Keys that make an object a value of another type.
const TYPES: [&str; 17] = [
    "$binary",
    "$code",
    "$date",
    "$dbPointer",
    "$maxKey",
    "$minKey",
    "$numberDecimal",
    "$numberDouble",
    "$numberInt",
    "$numberLong",
    "$oid",
    "$regularExpression",
    "$scope",
    "$symbol",
    "$timestamp",
    "$undefined",
    "$uuid",
];

impl Json {
    /// Parses a text.
    ///
    /// # Errors
    /// Where and why it is not JSON.
    pub(super) fn parse(text: &str) -> Result<Self, DriverError> {
        serde_json::from_str(text).map_err(|error| DriverError::caused("not a JSON document", error))
    }

    /// The member of an object.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Whether it is a number equal to `number`.
    pub(super) fn is_number(&self, number: i64) -> bool {
        self.number() == Some(number as f64)
    }

    /// Its value if it is a number, in extended JSON too.
    #[expect(clippy::cast_precision_loss, reason = "counts and sizes are far below 2^53")]
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Object(_) => match self.typed().ok()?? {
                Bson::Int32(value) => Some(value.into()),
                Bson::Int64(value) => Some(value as f64),
                Bson::Double(value) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// The only member of an object.
    pub(super) fn only_member(&self) -> Option<(&str, &Self)> {
        match self {
            Self::Object(members) => match members.as_slice() {
                [(key, value)] => Some((key, value)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value of an object that is one in extended JSON (`{"$oid": …}`).
    ///
    /// # Errors
    /// What is wrong inside it.
    fn typed(&self) -> Result<Option<Bson>, DriverError> {
        let Self::Object(members) = self else { return Ok(None) };
        if members.is_empty() || !members.iter().all(|(key, _)| TYPES.contains(&key.as_str())) {
            return Ok(None);
        }
        let name = &members[0].0;
        let wrong = |error| DriverError::caused(format!("`{name}` is not as extended JSON has it"), error);
        serde_json::from_value(self.unordered()).map(Some).map_err(wrong)
    }

    /// Type byte and bytes of a value that is no plain array or object; `None` for those.
    ///
    /// # Errors
    /// What is wrong with an object of extended JSON.
    pub(super) fn leaf(&self) -> Result<Option<(u8, Vec<u8>)>, DriverError> {
        let value = match self {
            Self::Null => Bson::Null,
            Self::Bool(value) => Bson::Boolean(*value),
            Self::Integer(value) => i32::try_from(*value).map_or(Bson::Int64(*value), Bson::Int32),
            Self::Float(value) => Bson::Double(*value),
            Self::Text(text) => Bson::String(text.clone()),
            Self::Array(_) => return Ok(None),
            Self::Object(_) => match self.typed()? {
                Some(value) => value,
                None => return Ok(None),
            },
        };
        let mut document = Document::new();
        document.insert("", value);
        let wrong = |error| DriverError::caused("a value cannot be sent", error);
        let bytes = document.to_vec().map_err(wrong)?;
        // Length, type, empty key; the value; the end of the document.
        Ok(Some((bytes[4], bytes[6..bytes.len() - 1].to_vec())))
    }

    /// The same as the library has it, without the order.
    pub(super) fn unordered(&self) -> serde_json::Value {
        use serde_json::Value;
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => (*value).into(),
            Self::Integer(value) => (*value).into(),
            Self::Float(value) => (*value).into(),
            Self::Text(text) => text.as_str().into(),
            Self::Array(items) => items.iter().map(Self::unordered).collect(),
            Self::Object(members) => {
                members.iter().map(|(key, value)| (key.clone(), value.unordered())).collect()
            }
        }
    }
}

/// In the order of its members, as it was written.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(members) => serializer.collect_map(members.iter().map(|(key, value)| (key, value))),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Integer(value))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a number too large for 64 bits is a double in extended JSON"
    )]
    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(i64::try_from(value).map_or(Json::Float(value as f64), Json::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut members: Vec<(String, Json)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Json>()? {
            if members.iter().any(|(known, _)| *known == key) {
                return Err(de::Error::custom(format_args!("the key `{key}` stands twice in one document")));
            }
            if key.contains('\0') {
                return Err(de::Error::custom("a key holds a zero byte"));
            }
            members.push((key, value));
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(text: &str) -> Option<(u8, Vec<u8>)> {
        Json::parse(text).unwrap().leaf().unwrap()
    }

    #[test]
    fn order_is_kept_and_twice_is_refused() {
        let Json::Object(members) = Json::parse(r#"{"z": 1, "a": {"y": 2, "b": 3}}"#).unwrap() else {
            panic!()
        };
        assert_eq!(members.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["z", "a"]);
        for text in [r#"{"a": 1, "a": 2}"#, r#"{"a\u0000": 1}"#, "{", "{} x", r#"{"a": 1,}"#] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_have_the_types_of_relaxed_extended_json() {
        assert_eq!(leaf("5"), Some((0x10, 5_i32.to_le_bytes().to_vec())));
        assert_eq!(leaf("-5"), Some((0x10, (-5_i32).to_le_bytes().to_vec())));
        assert_eq!(leaf("5000000000"), Some((0x12, 5_000_000_000_i64.to_le_bytes().to_vec())));
        assert_eq!(leaf("0.5"), Some((0x01, 0.5_f64.to_le_bytes().to_vec())));
        assert_eq!(leaf(r#""é""#), Some((0x02, b"\x03\0\0\0\xc3\xa9\0".to_vec())));
        assert_eq!(leaf("true"), Some((0x08, vec![1])));
        assert_eq!(leaf("null"), Some((0x0A, vec![])));
        assert_eq!(leaf(r#"{"$numberLong": "5"}"#), Some((0x12, 5_i64.to_le_bytes().to_vec())));
        assert_eq!(leaf(r#"{"$oid": "0102030405060708090a0b0c"}"#), Some((0x07, (1..=12).collect())));
        assert_eq!(
            leaf(r#"{"$date": "1970-01-01T00:00:01Z"}"#),
            Some((0x09, 1000_i64.to_le_bytes().to_vec()))
        );
        assert_eq!(
            leaf(r#"{"$date": {"$numberLong": "-1"}}"#),
            Some((0x09, (-1_i64).to_le_bytes().to_vec()))
        );
        assert_eq!(leaf(r#"{"$minKey": 1}"#), Some((0xFF, vec![])));
        assert_eq!(
            leaf(r#"{"$regularExpression": {"pattern": "^a", "options": "i"}}"#),
            Some((0x0B, b"^a\0i\0".to_vec()))
        );
        assert_eq!(
            leaf(r#"{"$binary": {"base64": "AQI=", "subType": "00"}}"#),
            Some((0x05, b"\x02\0\0\0\0\x01\x02".to_vec()))
        );
        for operator in [r#"{"$gt": 5}"#, r#"{"$regex": "x"}"#, "{}", "[]", r#"{"$set": {"a": 1}}"#] {
            assert_eq!(leaf(operator), None, "{operator}");
        }
        assert!(Json::parse(r#"{"$oid": "short"}"#).unwrap().leaf().is_err());
    }

    #[test]
    fn numbers_are_found_in_every_notation() {
        assert!(Json::parse("0").unwrap().is_number(0));
        assert!(Json::parse(r#"{"$numberInt": "7"}"#).unwrap().is_number(7));
        assert!(Json::parse("1.0").unwrap().is_number(1));
        assert_eq!(Json::parse(r#""1""#).unwrap().number(), None);
    }
}
