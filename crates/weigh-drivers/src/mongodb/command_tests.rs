//! Commands as they are sent, read back by the `bson` crate.

use bson::{Bson, Document, doc};
use weigh_load::Operation;
use weigh_load::generator::{GeneratorSpec, ParameterStream};

use super::command::{CommandTemplate, Miss};
use super::config::{MongodbConfig, ReadPreference, WriteConcern};
use super::object_id::ObjectIds;
use super::template::{Part, Scratch};
use crate::command::CommandOperation;
use crate::transport::Endpoint;

fn config() -> MongodbConfig {
    MongodbConfig {
        database: "shop".into(),
        ..MongodbConfig::new(Endpoint::Tcp { host: "h".into(), port: 1 })
    }
}

fn operation(command: &str, parameters: usize, rows: u32) -> CommandOperation {
    CommandOperation { name: "o".into(), command: command.into(), parameters, rows, expect: None }
}

/// A request, taken apart.
struct Sent {
    flags: u32,
    body: Document,
    sequence: Option<(String, Vec<Document>)>,
}

fn take_apart(message: &[u8]) -> Sent {
    let integer = |at: usize| i32::from_le_bytes(message[at..at + 4].try_into().unwrap());
    let length = |at: usize| usize::try_from(integer(at)).unwrap();
    assert_eq!(length(0), message.len());
    assert_eq!((integer(8), integer(12), message[20]), (0, 2013, 0));
    let body_end = 21 + length(21);
    let body = Document::from_reader(&message[21..body_end]).unwrap();
    let sequence = (body_end < message.len()).then(|| {
        assert_eq!(message[body_end], 1);
        assert_eq!(body_end + 1 + length(body_end + 1), message.len());
        let name_at = body_end + 5;
        let name_end = name_at + message[name_at..].iter().position(|byte| *byte == 0).unwrap();
        let mut rest = &message[name_end + 1..];
        let mut documents = Vec::new();
        while !rest.is_empty() {
            documents.push(Document::from_reader(&mut rest).unwrap());
        }
        (String::from_utf8(message[name_at..name_end].to_vec()).unwrap(), documents)
    });
    Sent { flags: integer(16).cast_unsigned(), body, sequence }
}

fn send_with(config: &MongodbConfig, operation: &CommandOperation, specs: Vec<GeneratorSpec>) -> Sent {
    let template = CommandTemplate::new(operation, config).unwrap();
    let operations = [Operation { name: "o".into(), weight: 1, parameters: specs }];
    let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
    let mut scratch = Scratch::new(ObjectIds::new().unwrap());
    let mut out = b"before".to_vec();
    template.request.encode(7, &mut stream.parameters(0), &mut scratch, &mut out);
    assert_eq!(scratch.fault, None);
    assert_eq!(out[6 + 4..6 + 8], 7_i32.to_le_bytes());
    take_apart(&out[6..])
}

fn send(command: &str, specs: Vec<GeneratorSpec>, rows: u32) -> Sent {
    send_with(&config(), &operation(command, specs.len(), rows), specs)
}

fn constant(value: i64) -> GeneratorSpec {
    GeneratorSpec::Uniform { min: value, max: value }
}

fn text(value: &str) -> GeneratorSpec {
    GeneratorSpec::Choice { values: vec![value.into()] }
}

#[test]
fn parameters_stand_where_the_command_says() {
    let sent = send(
        r#"{"find": "users", "filter": {"_id": "$1", "tag": {"$in": ["a", "$2", "x:$1:$2"]}, "$expr": "$$ROOT"}}"#,
        vec![constant(5), text("é")],
        1,
    );
    let filter = doc! {"_id": 5, "tag": {"$in": ["a", "é", "x:5:é"]}, "$expr": "$$ROOT"};
    assert_eq!(sent.body, doc! {"find": "users", "filter": filter, "$db": "shop"});
    assert!(sent.sequence.is_none() && sent.flags == 0);
}

#[test]
fn what_holds_no_parameter_is_one_piece() {
    let command = r#"{"find": "users", "filter": {"a": {"b": [1, {"c": 2}]}}, "limit": "$1"}"#;
    let template = CommandTemplate::new(&operation(command, 1, 1), &config()).unwrap();
    let kinds: Vec<_> = template.request.body.iter().map(std::mem::discriminant).collect();
    let bytes = || Part::Bytes(vec![]);
    let parameter = Part::Parameter { key: vec![], index: 0, kind: super::value::Kind::Plain };
    let expected = [Part::Open, bytes(), parameter, bytes(), Part::Close];
    assert_eq!(kinds, expected.iter().map(std::mem::discriminant).collect::<Vec<_>>());
}

#[test]
fn documents_travel_beside_and_get_an_id() {
    let sent = send(
        r#"{"insert": "c", "documents": [{"a": "$1"}, {"_id": 1, "a": 2}], "ordered": false}"#,
        vec![constant(1 << 40)],
        1,
    );
    assert_eq!(sent.body, doc! {"insert": "c", "ordered": false, "$db": "shop"});
    let (name, documents) = sent.sequence.unwrap();
    assert_eq!(name, "documents");
    assert_eq!(documents[0].keys().collect::<Vec<_>>(), ["_id", "a"]);
    assert!(matches!(documents[0].get("_id"), Some(Bson::ObjectId(_))));
    assert_eq!(documents[0].get("a"), Some(&Bson::Int64(1 << 40)));
    assert_eq!(documents[1], doc! {"_id": 1, "a": 2});
}

#[test]
fn rows_repeat_the_only_document_with_fresh_parameters() {
    let sequence = vec![GeneratorSpec::Sequence { start: 0 }];
    let sent =
        send(r#"{"update": "c", "updates": [{"q": {"_id": "$1"}, "u": {"$inc": {"n": 1}}}]}"#, sequence, 5);
    let (name, documents) = sent.sequence.unwrap();
    assert_eq!(name, "updates");
    let ids: Vec<i32> =
        documents.iter().map(|d| d.get_document("q").unwrap().get_i32("_id").unwrap()).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
}

#[test]
fn a_parameter_can_be_a_whole_document() {
    let sent = send(r#"{"insert": "c", "documents": ["$1"]}"#, vec![GeneratorSpec::Json { size: 200 }], 3);
    let documents = sent.sequence.unwrap().1;
    assert_eq!(documents.len(), 3);
    assert!(documents.iter().all(|d| d.keys().next().unwrap() == "_id" && d.get_document("address").is_ok()));
    assert_ne!(documents[0].get("_id"), documents[1].get("_id"));
    let sent = send(r#"{"insert": "c", "documents": ["$1"]}"#, vec![text(r#"{"a": 1, "_id": 2}"#)], 1);
    assert_eq!(sent.sequence.unwrap().1, [doc! {"a": 1, "_id": 2}]);
    let sent = send(r#"{"delete": "c", "deletes": ["$1"]}"#, vec![text(r#"{"q": {}, "limit": 1}"#)], 1);
    assert_eq!(sent.sequence.unwrap().1, [doc! {"q": {}, "limit": 1}]);
}

#[test]
fn a_whole_document_that_is_none_is_a_fault_and_still_a_message() {
    let operation = operation(r#"{"insert": "c", "documents": ["$1"]}"#, 1, 1);
    let template = CommandTemplate::new(&operation, &config()).unwrap();
    let operations = [Operation { name: "o".into(), weight: 1, parameters: vec![constant(1)] }];
    let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
    let mut scratch = Scratch::new(ObjectIds::new().unwrap());
    let mut out = Vec::new();
    template.request.encode(1, &mut stream.parameters(0), &mut scratch, &mut out);
    assert!(scratch.fault.unwrap().contains("no JSON object"));
    take_apart(&out);
}

#[test]
fn defaults_are_added_where_the_command_says_nothing() {
    let concern = WriteConcern {
        w: Some("2".into()),
        journal: Some(true),
        timeout: Some(std::time::Duration::from_millis(50)),
    };
    let config = MongodbConfig {
        write_concern: Some(concern),
        read_concern: Some("majority".into()),
        read_preference: ReadPreference::Secondary,
        ..config()
    };
    let body = |command: &str| send_with(&config, &operation(command, 0, 1), vec![]).body;
    let preference = doc! {"mode": "secondary"};
    assert_eq!(
        body(r#"{"delete": "c", "deletes": [{"q": {}, "limit": 0}]}"#),
        doc! {
            "delete": "c", "writeConcern": {"w": 2, "j": true, "wtimeout": 50}, "$readPreference": &preference,
            "$db": "shop"
        }
    );
    assert_eq!(
        body(r#"{"aggregate": "c", "pipeline": [], "$db": "other"}"#),
        doc! {
            "aggregate": "c", "pipeline": [], "$db": "other", "cursor": {}, "readConcern": {"level": "majority"},
            "$readPreference": &preference
        }
    );
    let own = body(r#"{"insert": "c", "documents": [{}], "writeConcern": {"w": "majority"}}"#);
    assert_eq!(own.get_document("writeConcern").unwrap(), &doc! {"w": "majority"});
}

#[test]
fn the_shape_of_a_reply_is_known_from_the_command() {
    let shape = |command: &str| CommandTemplate::new(&operation(command, 0, 1), &config()).unwrap().shape;
    assert_eq!(shape(r#"{"find": "c", "batchSize": 7}"#).miss, Miss::NoDocument);
    assert_eq!(shape(r#"{"find": "c", "batchSize": 7}"#).batch_size, Some(7));
    assert_eq!(
        shape(r#"{"aggregate": "c", "pipeline": [], "cursor": {"batchSize": 3}}"#).batch_size,
        Some(3)
    );
    assert_eq!(shape(r#"{"findAndModify": "c", "update": {}}"#).miss, Miss::NullValue);
    assert_eq!(shape(r#"{"findAndModify": "c", "update": {}, "upsert": true}"#).miss, Miss::Never);
    let unacknowledged = r#"{"insert": "c", "documents": [{}], "writeConcern": {"w": 0}}"#;
    assert!(!shape(unacknowledged).acknowledged);
    assert_eq!(send(unacknowledged, vec![], 1).flags, 2);
    let bulk = shape(r#"{"insert": "c", "documents": [{}, {}, {}], "ordered": false}"#);
    assert_eq!((bulk.items, bulk.ordered), (3, false));
}

#[test]
fn what_is_wrong_is_said_with_the_operations_name() {
    let refused = |command: &str, parameters, rows, expect: Option<&str>, expected: &str| {
        let operation =
            CommandOperation { expect: expect.map(Into::into), ..operation(command, parameters, rows) };
        let error = CommandTemplate::new(&operation, &config()).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("operation `o`: ") && text.contains(expected), "{command}: {text}");
    };
    refused("{", 0, 1, None, "not a JSON document");
    refused("[]", 0, 1, None, "a command is a JSON object");
    refused("{}", 0, 1, None, "empty");
    refused(r#"{"find": "$2"}"#, 1, 1, None, "`$2` is used and there are 1 parameters");
    refused(r#"{"find": "a$2"}"#, 1, 1, None, "`$2` is used and there are 1 parameters");
    refused(r#"{"insert": "c"}"#, 0, 1, None, "needs `documents`");
    refused(r#"{"insert": "c", "documents": []}"#, 0, 1, None, "`documents` is empty");
    refused(r#"{"insert": "c", "documents": [5]}"#, 0, 1, None, "a document to write");
    refused(r#"{"insert": "c", "documents": [{}, {}]}"#, 0, 2, None, "the only element of `documents`");
    refused(r#"{"insert": "c", "documents": [{}]}"#, 0, 100_001, None, "at most 100000");
    refused(r#"{"find": "c"}"#, 0, 2, None, "`find` has none");
    refused(r#"{"find": "c", "tailable": true}"#, 0, 1, None, "no end");
    refused(r#"{"aggregate": "c", "pipeline": [{"$changeStream": {}}]}"#, 0, 1, None, "no end");
    refused(r#"{"ping": 1}"#, 0, 1, Some(r#"{"n": "x"}"#), "object of numbers");
    refused(r#"{"ping": 1}"#, 0, 1, Some("{}"), "object of numbers");
    refused(r#"{"find": {"$oid": "x"}}"#, 0, 1, None, "`$oid`");
}
