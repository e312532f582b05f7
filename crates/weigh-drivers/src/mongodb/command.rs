//! A command as the user writes it becomes a template of requests and what to expect of their replies.

use weigh_load::DriverError;

use super::config::{MongodbConfig, ReadPreference, WriteConcern};
use super::json::Json;
use super::message::MORE_TO_COME;
use super::template::{Item, PartsBuilder, RequestTemplate, SequenceTemplate};
use super::value::placeholder;
use crate::command::CommandOperation;

/// Most documents in one command (`maxWriteBatchSize` of every server so far).
const ITEMS_LIMIT: u32 = 100_000;

/// Most numbers `expect` may name.
pub(super) const EXPECTED_LIMIT: usize = 64;

/// Commands that take a write concern.
const WRITES: [&str; 5] = ["insert", "update", "delete", "findAndModify", "findandmodify"];

/// Commands that take a read concern.
const READS: [&str; 4] = ["find", "aggregate", "count", "distinct"];

/// One operation, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct CommandTemplate {
    pub(super) request: RequestTemplate,
    pub(super) shape: Shape,
}

/// What to expect of the reply.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    /// Whether there is a reply at all.
    pub(super) acknowledged: bool,
    pub(super) miss: Miss,
    /// Documents, updates or deletes in the request.
    pub(super) items: u32,
    /// Whether the first item that fails ends a bulk.
    pub(super) ordered: bool,
    /// Whether the reply's `n` is how many of the items were done: so of an insert. Of an update it is how many
    /// documents matched, of a delete how many are gone.
    pub(super) counts_done: bool,
    /// Numbers the reply must hold, at most [`EXPECTED_LIMIT`].
    pub(super) expect: Vec<(String, f64)>,
    /// Documents in every further batch of a cursor, if the user said.
    pub(super) batch_size: Option<i64>,
    /// The command's text: words of an error message that stand in it are no parameter's value.
    pub(super) text: String,
}

/// What counts as not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    Never,
    /// A cursor without a document.
    NoDocument,
    /// `value` is null.
    NullValue,
}

impl CommandTemplate {
    /// Takes an operation apart.
    ///
    /// # Errors
    /// What is wrong with it, with its name.
    pub(super) fn new(operation: &CommandOperation, config: &MongodbConfig) -> Result<Self, DriverError> {
        Self::unnamed(operation, config).map_err(|error| error.of(operation))
    }

    /// The same, without the name in the message.
    pub(super) fn unnamed(operation: &CommandOperation, config: &MongodbConfig) -> Result<Self, DriverError> {
        let Json::Object(mut members) = Json::parse(&operation.command)? else {
            return Err(DriverError::new("a command is a JSON object, such as `{\"ping\": 1}`"));
        };
        let Some((name, _)) = members.first() else {
            return Err(DriverError::new("the command is empty"));
        };
        let name = name.clone();
        add_defaults(&name, &mut members, config);
        let sequence = take_sequence(&name, &mut members, operation)?;
        let command = Json::Object(members);
        refuse_endless(&command)?;
        let acknowledged = !is_unacknowledged(&command);
        let shape = Shape {
            acknowledged,
            miss: miss(&name, &command),
            items: sequence
                .as_ref()
                .map_or(0, |s| s.rows.saturating_mul(s.items.len().try_into().unwrap_or(u32::MAX))),
            ordered: command.get("ordered") != Some(&Json::Bool(false)),
            counts_done: name == "insert",
            expect: expected(operation)?,
            batch_size: batch_size(&command),
            text: operation.command.clone(),
        };
        if shape.items > ITEMS_LIMIT {
            return Err(DriverError::new(format!(
                "{} documents in one command; servers take at most {ITEMS_LIMIT}",
                shape.items
            )));
        }
        let Json::Object(members) = &command else { unreachable!("it was one above") };
        let body = PartsBuilder::document(members, false, operation.parameters)?;
        let flags = if acknowledged { 0 } else { MORE_TO_COME };
        Ok(Self { request: RequestTemplate { flags, body, sequence }, shape })
    }
}

/// What a client adds to every command that does not say it itself.
fn add_defaults(name: &str, members: &mut Vec<(String, Json)>, config: &MongodbConfig) {
    let mut add = |key: &str, value: Option<Json>| {
        if let Some(value) = value
            && !members.iter().any(|(known, _)| known == key)
        {
            members.push((key.to_owned(), value));
        }
    };
    if name == "aggregate" {
        add("cursor", Some(Json::Object(Vec::new())));
    }
    if WRITES.contains(&name) {
        add("writeConcern", config.write_concern.as_ref().and_then(WriteConcern::document));
    }
    if READS.contains(&name) {
        let level = |level: &String| Json::Object(vec![("level".into(), Json::Text(level.clone()))]);
        add("readConcern", config.read_concern.as_ref().map(level));
    }
    if config.read_preference != ReadPreference::Primary {
        let mode = Json::Text(config.read_preference.name().to_owned());
        add("$readPreference", Some(Json::Object(vec![("mode".into(), mode)])));
    }
    add("$db", Some(Json::Text(config.database.clone())));
}

impl WriteConcern {
    /// `{"w": …, "j": …, "wtimeout": …}`; nothing if it says nothing.
    fn document(&self) -> Option<Json> {
        let w = self.w.as_ref().map(|w| match w.parse() {
            Ok(number) => Json::Integer(number),
            Err(_) => Json::Text(w.clone()),
        });
        let timeout_ms = self.timeout.map(|limit| i64::try_from(limit.as_millis()).unwrap_or(i64::MAX));
        let members: Vec<(String, Json)> =
            [("w", w), ("j", self.journal.map(Json::Bool)), ("wtimeout", timeout_ms.map(Json::Integer))]
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), value?)))
                .collect();
        (!members.is_empty()).then_some(Json::Object(members))
    }
}

/// Takes the documents of a write out of the command: they travel beside it.
fn take_sequence(
    name: &str,
    members: &mut Vec<(String, Json)>,
    operation: &CommandOperation,
) -> Result<Option<SequenceTemplate>, DriverError> {
    let key = match name {
        "insert" => "documents",
        "update" => "updates",
        "delete" => "deletes",
        _ if operation.rows > 1 => {
            return Err(DriverError::new(format!(
                "`rows` repeats documents of `insert`, `update` and `delete`; `{name}` has none"
            )));
        }
        _ => return Ok(None),
    };
    let place = members.iter().position(|(known, _)| known == key);
    let Some(Json::Array(items)) = place.map(|place| members.remove(place).1) else {
        return Err(DriverError::new(format!("`{name}` needs `{key}`, an array of documents")));
    };
    if items.is_empty() {
        return Err(DriverError::new(format!("`{key}` is empty")));
    }
    if operation.rows > 1 && items.len() > 1 {
        return Err(DriverError::new(format!(
            "`rows` repeats the only element of `{key}`, and there are {}",
            items.len()
        )));
    }
    let item = |item: &Json| sequence_item(item, name == "insert", operation.parameters);
    Ok(Some(SequenceTemplate {
        identifier: format!("{key}\0").into_bytes(),
        items: items.iter().map(item).collect::<Result<_, _>>()?,
        rows: operation.rows.max(1),
    }))
}

fn sequence_item(item: &Json, insert: bool, parameters: usize) -> Result<Item, DriverError> {
    match item {
        Json::Object(members) => {
            let with_id = insert && !members.iter().any(|(key, _)| key == "_id");
            Ok(Item::Parts(PartsBuilder::document(members, with_id, parameters)?))
        }
        other => match placeholder(other, parameters)? {
            Some((index, _)) => Ok(Item::Parameter { index, with_id: insert }),
            None => Err(DriverError::new("a document to write is a JSON object, or a parameter that is one")),
        },
    }
}

/// Cursors that have no end would be one operation for ever.
fn refuse_endless(command: &Json) -> Result<(), DriverError> {
    if command.get("tailable") == Some(&Json::Bool(true)) {
        return Err(DriverError::new("a tailable cursor has no end, so it cannot be an operation"));
    }
    if let Some(Json::Array(stages)) = command.get("pipeline")
        && stages.first().is_some_and(|stage| stage.get("$changeStream").is_some())
    {
        return Err(DriverError::new("a change stream has no end, so it cannot be an operation"));
    }
    Ok(())
}

fn is_unacknowledged(command: &Json) -> bool {
    command.get("writeConcern").and_then(|concern| concern.get("w")).is_some_and(|w| w.is_number(0))
}

fn miss(name: &str, command: &Json) -> Miss {
    let truth = |key: &str| match command.get(key) {
        Some(Json::Bool(value)) => *value,
        Some(other) => other.number().is_some_and(|number| number != 0.0),
        None => false,
    };
    match name {
        "find" => Miss::NoDocument,
        // With `upsert` there is no old document when a new one is made.
        "findAndModify" | "findandmodify" if !truth("upsert") => Miss::NullValue,
        _ => Miss::Never,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a count of documents; the server checks it")]
fn batch_size(command: &Json) -> Option<i64> {
    let given = command.get("batchSize").or_else(|| command.get("cursor")?.get("batchSize"));
    given.and_then(Json::number).filter(|size| *size >= 1.0).map(|size| size as i64)
}

/// The numbers of `expect`.
fn expected(operation: &CommandOperation) -> Result<Vec<(String, f64)>, DriverError> {
    let Some(text) = &operation.expect else { return Ok(Vec::new()) };
    let wrong =
        || DriverError::new("`expect` is a JSON object of numbers the reply must hold, such as `{\"n\": 1}`");
    let Json::Object(members) = Json::parse(text)? else { return Err(wrong()) };
    if members.is_empty() || members.len() > EXPECTED_LIMIT {
        return Err(wrong());
    }
    members.into_iter().map(|(key, value)| Ok((key, value.number().ok_or_else(wrong)?))).collect()
}
