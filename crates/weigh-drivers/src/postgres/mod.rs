//! PostgreSQL over the extended protocol, with prepared statements.
//!
//! - [`PostgresConfig`]: where, as whom, with which session settings, and the operations; `build()` gives the
//!   [`PostgresDriver`].
//! - `dialogue.rs`, `startup.rs`, `settings.rs`, `prepare.rs`: everything before the load, on a blocking socket,
//!   with the messages of `postgres-protocol`.
//! - `template.rs`, `parameter.rs`: requests, encoded by hand from a template per statement.
//! - `reply.rs`: replies, decoded incrementally. `client.rs` joins both for the engine.
//!
//! **One operation is one flight**: Bind and Execute for every statement and repetition, then one Sync. The
//! protocol makes everything up to a Sync one transaction, committed at the Sync; if a statement fails the server
//! skips the rest and rolls back all of it. So several statements need no `BEGIN` and `COMMIT` messages, and an
//! operation that leaves a transaction open of its own (`BEGIN` without `COMMIT`) is refused.
//!
//! TLS is negotiated as libpq does ([`Encryption`]); GSSAPI is not spoken. [`PostgresConfig::from_url`] reads what
//! `psql` reads.

mod client;
mod config;
mod dialogue;
mod failure;
mod parameter;
mod password_file;
mod prepare;
mod reply;
mod settings;
mod startup;
mod template;
mod url;

pub use config::{ChannelBinding, Encryption, PostgresConfig, PostgresDriver, socket_in};

#[cfg(feature = "fuzzing")]
pub(crate) use client::protocol_for_fuzzing;
