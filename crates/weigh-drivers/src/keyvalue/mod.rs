//! What the drivers of key-value stores share: commands as words, lengths in front of texts, expected values.
//!
//! - [`words_of`]: an operation's words, quoted as in redis-cli; [`Word`]: one of them, ready to be rendered.
//! - [`LengthField`]: the decimal length that stands before a text, filled in when the text is there.
//! - [`open`]: a connection, with TLS if asked; [`take_options`]: the options of a URL.
//! - [`LastRequest`]: the last request of an operation, changed into the next one.
//! - [`Body`]: a value that is coming in.
//! - [`InFlight`]: which operations wait for replies, and what each reply must be.
//!
//! Nothing in here knows a protocol, and nothing allocates per operation.

mod body;
mod in_flight;
mod last_request;
mod length;
mod open;
mod word;

pub(crate) use body::Body;
pub(crate) use in_flight::{Expectation, InFlight};
pub(crate) use last_request::LastRequest;
pub(crate) use length::LengthField;
pub(crate) use open::{open, take_options};
pub(crate) use word::{Word, words_of};
