//! A set-up's `insert` that is sent many times over: a collection of thousands of documents in one text.
//!
//! `{"insert": "users", "documents": [{"_id": "u$1", "text": "$2"}], "$times": 10000,
//!   "$parameters": [{"kind": "sequence"}, {"kind": "string", "size": 200}]}`
//!
//! No server knows a key that begins with a dollar sign at that place, so [`Fill`] takes none away. Its generators are
//! those of operations. They always begin in the same way, so that the same text makes the same documents.

use serde::Deserialize;
use serde_json::Value;
use weigh_load::generator::GeneratorSpec;
use weigh_load::{DriverError, Operation};

use super::json::Json;
use crate::command::CommandOperation;

/// Documents in one request: enough for round trips not to count, few enough for documents of a hundred kilobytes.
const BATCH: u32 = 100;

/// Most documents of one fill.
const TIMES_LIMIT: u32 = 100_000_000;

/// An insert, and how often.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fill {
    command: String,
    parameters: Vec<GeneratorSpec>,
    times: u32,
}

impl Fill {
    /// The fill a text is; `None` if it is a plain command.
    ///
    /// # Errors
    /// What is wrong with its `$times` or `$parameters`.
    pub(super) fn read(text: &str) -> Result<Option<Self>, DriverError> {
        let Json::Object(mut members) = Json::parse(text)? else { return Ok(None) };
        let mut take = |key: &str| {
            let place = members.iter().position(|(known, _)| known == key)?;
            Some(members.remove(place).1.unordered())
        };
        let (times, parameters) = (take("$times"), take("$parameters"));
        let Some(times) = times else {
            return match parameters {
                None => Ok(None),
                Some(_) => Err(DriverError::new("`$parameters` without `$times`")),
            };
        };
        if members.first().is_none_or(|(name, _)| name != "insert") {
            return Err(DriverError::new("`$times` repeats the document of an `insert`, and this is none"));
        }
        let times = times.as_u64().and_then(|times| u32::try_from(times).ok());
        let times = times.filter(|times| (1..=TIMES_LIMIT).contains(times)).ok_or_else(|| {
            DriverError::new(format!("`$times` is a number of documents, 1 to {TIMES_LIMIT}"))
        })?;
        let parameters = specs(parameters.unwrap_or(Value::Array(Vec::new())))?;
        let command = serde_json::to_string(&Json::Object(members))
            .map_err(|error| DriverError::caused("the command cannot be written as JSON", error))?;
        Ok(Some(Self { command, parameters, times }))
    }

    /// What the generators are made of.
    pub(super) fn drawn(&self) -> [Operation; 1] {
        [Operation { name: "fill".to_owned(), weight: 1, parameters: self.parameters.clone() }]
    }

    /// Requests, and how many of each.
    pub(super) fn batches(&self) -> impl Iterator<Item = (CommandOperation, u32)> + use<> {
        let batch = |rows: u32| CommandOperation {
            name: "fill".to_owned(),
            command: self.command.clone(),
            parameters: self.parameters.len(),
            rows,
            expect: None,
        };
        let whole = (batch(BATCH), self.times / BATCH);
        let rest = (batch(self.times % BATCH), 1);
        [whole, rest].into_iter().filter(|(operation, count)| operation.rows > 0 && *count > 0)
    }
}

/// The generators of a fill.
fn specs(parameters: Value) -> Result<Vec<GeneratorSpec>, DriverError> {
    let wrong = |error| DriverError::caused("`$parameters` is no list of generators", error);
    let specs = Vec::<GeneratorSpec>::deserialize(parameters).map_err(wrong)?;
    for (index, spec) in specs.iter().enumerate() {
        spec.validate()
            .map_err(|error| DriverError::caused(format!("parameter {} of the fill", index + 1), error))?;
    }
    Ok(specs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &str = r#"{"insert": "users", "$times": 250, "documents": [{"z": 1.5, "_id": "u$1", "a": [true, null]}],
        "$parameters": [{"kind": "sequence"}]}"#;

    #[test]
    fn a_fill_is_taken_apart_and_the_command_keeps_its_order() {
        let fill = Fill::read(USERS).unwrap().unwrap();
        assert_eq!(fill.command, r#"{"insert":"users","documents":[{"z":1.5,"_id":"u$1","a":[true,null]}]}"#);
        assert_eq!(fill.parameters, [GeneratorSpec::Sequence { start: 0 }]);
        let batches: Vec<(u32, u32)> =
            fill.batches().map(|(operation, count)| (operation.rows, count)).collect();
        assert_eq!(batches, [(100, 2), (50, 1)]);
        assert_eq!(Fill::read(r#"{"ping": 1}"#).unwrap(), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |text: &str| Fill::read(text).unwrap_err().to_string();
        assert_eq!(message(r#"{"insert": "c", "$parameters": []}"#), "`$parameters` without `$times`");
        assert!(message(r#"{"update": "c", "$times": 3}"#).contains("this is none"));
        assert!(message(r#"{"insert": "c", "$times": 0}"#).contains("1 to 100000000"));
        assert!(
            message(r#"{"insert": "c", "$times": 1, "$parameters": [{"kind": "x"}]}"#).contains("generators")
        );
        let empty =
            r#"{"insert": "c", "$times": 1, "$parameters": [{"kind": "uniform", "min": 2, "max": 1}]}"#;
        assert!(message(empty).contains("parameter 1"));
    }
}
