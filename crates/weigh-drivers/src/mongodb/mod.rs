//! MongoDB's protocol: any command as an OP_MSG, for `mongod` and everything that speaks like it.
//!
//! - [`MongodbConfig`]: where, as whom, and the operations; [`MongodbConfig::from_url`] takes a `mongodb://` URL,
//!   `build()` gives the [`MongodbDriver`]; [`MongodbConfig::session`] a [`MongodbSession`] for administration. [`Mechanism`], [`WriteConcern`] and [`ReadPreference`] are its parts.
//! - `dialogue.rs`, `login.rs`, `scram.rs`: everything before the load, on a blocking socket, with documents of `bson`.
//! - `json.rs`, `command.rs`, `template.rs`, `value.rs`, `embed.rs`, `object_id.rs`: a command's JSON text becomes a
//!   template of BSON bytes, and a request is its bytes with the parameters put in and the lengths patched.
//! - `fill.rs`: a set-up's `insert` that is sent many times over.
//! - `reply.rs`, `element.rs`, `state.rs`, `failure.rs`: replies, decoded incrementally. `client.rs` joins both for the
//!   engine.
//!
//! # What an operation is
//!
//! One command, a JSON object in relaxed extended JSON whose keys keep their order. The database (`$db`) is added unless
//! it is there. `documents`, `updates` and `deletes` travel as a document sequence, and a document to insert that has no
//! `_id` gets an ObjectId, as with every real client. An `aggregate` without `cursor` gets an empty one.
//!
//! - A string that is a parameter alone (`"$1"`) becomes its typed value: an integer an int32 if it fits and else an
//!   int64 (as with pymongo), bytes a binary, a text a string, and a text that is a JSON object (the generator `json`)
//!   an embedded document. `{"$numberLong": "$1"}`, `{"$numberDouble": "$1"}` and `{"$date": "$1"}` (of microseconds,
//!   the generator `time`) fix the type of an integer.
//! - A parameter inside a longer string (`"user:$1"`) is text; there `$$` stands for a dollar sign. All other strings
//!   are left alone (`"$field"`, `"$$ROOT"`).
//! - With `rows` above 1 the only element of `documents`, `updates` or `deletes` is repeated, each time with fresh
//!   parameters: a bulk, ordered or not as the command says.
//! - `expect` is a JSON object of numbers that must stand in the reply: `{"n": 1}`.
//!
//! # How it ends
//!
//! A result is read to its end: while the reply leaves a cursor open, the next batch is asked for within the same
//! operation (not inside TLS and not with a pipeline, where that breaks the connection with a message). A `find` or `findAndModify` (without `upsert`) that finds nothing is a miss. A command the server refuses, a
//! `writeConcernError`, and write errors of every item are an error; write errors of some items are item errors,
//! and what an ordered bulk did not attempt after one is counted among them: by the reply's own `n` for an insert,
//! because not every server stops where it should. A write with `w: 0` has no reply
//! and counts as soon as it is sent; a server that answers such requests all the same is refused when connecting.

mod client;
mod command;
#[cfg(test)]
mod command_tests;
mod config;
mod dialogue;
mod element;
mod embed;
mod failure;
mod fill;
mod json;
mod login;
mod message;
mod object_id;
mod reply;
#[cfg(test)]
mod reply_tests;
mod scram;
mod session;
mod state;
mod template;
mod url;
mod value;

pub use config::{Mechanism, MongodbConfig, MongodbDriver, ReadPreference, WriteConcern};
pub use session::MongodbSession;
