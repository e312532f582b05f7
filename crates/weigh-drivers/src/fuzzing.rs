//! The door for the fuzz targets in `fuzz/`: every parser of bytes that come from somewhere else.
//!
//! A target fails by a panic or a hang. Beyond that, each reply parser is held to what the engine relies on: it never
//! consumes more than it was shown, and replies mean the same however they are cut.
//!
//! Not part of the library: only with the cargo feature `fuzzing`.

use weigh_load::generator::{GeneratorSpec, ParameterStream};
use weigh_load::{Decoded, Operation, Outcome};

use crate::http::{HttpConfig, HttpExpect, HttpOperation};
use crate::memcached::MemcachedConfig;
use crate::mongodb::MongodbConfig;
use crate::postgres::{self, PostgresConfig};
use crate::redis::RedisConfig;
use crate::text::TextTemplate;
use crate::transport::{Protocol, ServerUrl};
use crate::{CommandOperation, TlsConfig};

/// Requests that are in flight when the bytes come.
const IN_FLIGHT: usize = 4;

/// Replies of PostgreSQL.
pub fn postgres(data: &[u8]) {
    check(data, 2, || Some(postgres::protocol_for_fuzzing()));
}

/// Replies of Redis.
pub fn redis(data: &[u8]) {
    let operations = commands(&[("GET k", Some("$1")), ("LRANGE k 0 -1", None)]);
    let config = ServerUrl::parse("redis://h").and_then(|url| RedisConfig::from_url(&url)).ok();
    let driver = config.and_then(|config| RedisConfig { operations, ..config }.build().ok());
    check(data, 2, || driver.as_ref().map(|driver| driver.protocol()));
}

/// Replies of memcached.
pub fn memcached(data: &[u8]) {
    let operations =
        commands(&[("get k", Some("$1")), ("set k v", None), ("mg k v", None), ("incr k 1", None)]);
    let count = operations.len();
    let config = ServerUrl::parse("memcached://h").and_then(|url| MemcachedConfig::from_url(&url)).ok();
    let driver = config.and_then(|config| MemcachedConfig { operations, ..config }.build().ok());
    check(data, count, || driver.as_ref().map(|driver| driver.protocol()));
}

/// Replies of HTTP servers.
pub fn http(data: &[u8]) {
    let expect = HttpExpect { body: Some("$1".into()), ..HttpExpect::default() };
    let drawn = HttpOperation { parameters: 1, expect, ..HttpOperation::new("drawn", "GET", "/") };
    let operations =
        vec![HttpOperation::new("get", "GET", "/"), HttpOperation::new("head", "HEAD", "/"), drawn];
    let count = operations.len();
    let config = ServerUrl::parse("http://h").and_then(|url| HttpConfig::from_url(&url)).ok();
    let driver = config.and_then(|config| HttpConfig { operations, ..config }.build().ok());
    check(data, count, || driver.as_ref().map(|driver| driver.protocol()));
}

/// Replies of MongoDB.
pub fn mongodb(data: &[u8]) {
    let find = r#"{"find": "c", "filter": {"_id": "$1"}}"#;
    let insert = r#"{"insert": "c", "documents": [{"_id": 1}]}"#;
    let operations = commands(&[(find, None), (insert, None)]);
    let config = ServerUrl::parse("mongodb://h/d").and_then(|url| MongodbConfig::from_url(&url)).ok();
    let driver = config.and_then(|config| MongodbConfig { operations, ..config }.build().ok());
    check(data, 2, || driver.as_ref().and_then(|driver| driver.protocol(true).ok()));
}

/// Texts with parameters.
pub fn text_template(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(template) = TextTemplate::parse(text, 2) {
        let mut out = Vec::new();
        with_parameters(1, |stream| template.render(stream.parameters(0).draw(), &mut out));
        assert!(template.literal().is_none_or(|literal| literal == out));
    }
}

/// URLs, as every driver reads them.
pub fn server_url(data: &[u8]) {
    let Some(url) = std::str::from_utf8(data).ok().and_then(|text| ServerUrl::parse(text).ok()) else {
        return;
    };
    assert!(!url.endpoint(1).to_string().is_empty());
    TlsConfig::from_options(&url).ok();
    PostgresConfig::from_url(&url).ok();
    RedisConfig::from_url(&url).ok();
    MemcachedConfig::from_url(&url).ok();
    HttpConfig::from_url(&url).ok();
    MongodbConfig::from_url(&url).ok();
}

fn commands(commands: &[(&str, Option<&str>)]) -> Vec<CommandOperation> {
    let operation = |(command, expect): &(&str, Option<&str>)| CommandOperation {
        name: "fuzz".into(),
        command: (*command).into(),
        parameters: 2,
        rows: 1,
        expect: expect.map(Into::into),
    };
    commands.iter().map(operation).collect()
}

/// Runs `use_stream` with so many operations of two parameters each.
fn with_parameters(operations: usize, use_stream: impl FnOnce(&mut ParameterStream)) {
    let parameters = vec![
        GeneratorSpec::Choice { values: vec!["value".into()] },
        GeneratorSpec::Uniform { min: 0, max: 9 },
    ];
    let operation = Operation { name: "fuzz".into(), weight: 1, parameters };
    let operations = vec![operation; operations];
    use_stream(&mut ParameterStream::new(&operations, 1, 0, 1, 0));
}

/// Shows the bytes behind the first to two parsers with the same requests in flight: to one at once, to the other
/// in pieces of a length the first byte gives. Both must find the same.
///
/// # Panics
/// When they do not, or when one breaks a rule of the engine: then the target has found something.
fn check<P: Protocol>(data: &[u8], operations: usize, parser: impl Fn() -> Option<P>) {
    let Some((first, bytes)) = data.split_first() else { return };
    let [whole, cut] = [bytes.len().max(1), usize::from(*first) % 64 + 1].map(|length| {
        let mut parser = parser().expect("the operations of a target make sense");
        let mut out = Vec::new();
        with_parameters(operations, |stream| {
            for number in 0..IN_FLIGHT {
                let operation = number % operations;
                parser.encode(operation, &mut stream.parameters(operation), &mut out);
            }
        });
        outcomes(&mut parser, bytes.chunks(length))
    });
    assert!(mean_the_same(&whole, &cut), "{whole:?} and {cut:?}");
}

/// Equal, but for when a broken connection is noticed and what of it is named first: that depends on how much is
/// there to look at.
fn mean_the_same(one: &[Outcome], other: &[Outcome]) -> bool {
    let is_broken = |outcome: &Outcome| matches!(outcome, Outcome::Broken(_));
    let replies =
        |outcomes: &[Outcome]| outcomes.iter().filter(|outcome| !is_broken(outcome)).cloned().collect();
    let [one, other]: [Vec<Outcome>; 2] = [one, other].map(replies);
    one == other
}

/// What the engine would see.
fn outcomes<'a>(parser: &mut impl Protocol, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Outcome> {
    let (mut pending, mut outcomes) = (Vec::new(), Vec::new());
    for piece in pieces {
        pending.extend_from_slice(piece);
        while outcomes.len() < IN_FLIGHT && (!pending.is_empty() || parser.has_more()) {
            let Decoded { consumed, finished } = parser.decode(&pending);
            pending.drain(..consumed);
            match finished {
                None => break,
                Some(broken @ Outcome::Broken(_)) => {
                    outcomes.push(broken);
                    return outcomes;
                }
                Some(outcome) => outcomes.push(outcome),
            }
        }
    }
    outcomes
}
