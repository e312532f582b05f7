//! SQLite, embedded: every client is a connection of its own in a thread of its own.
//!
//! - [`SqliteConfig`]: file, pragmas, operations; `build()` gives the [`SqliteDriver`].
//! - `pragma.rs`: pragmas applied and read back. `client.rs`: prepared statements, transactions.
//!
//! Several statements or repetitions run as one transaction: `BEGIN IMMEDIATE` if any of them writes (a deferred
//! one fails at its first write when another connection wrote in between), else `BEGIN`. What another connection
//! has locked is awaited for [`SqliteConfig::busy_timeout`]; after that `database is locked` is an error reply.

mod client;
mod config;
mod pragma;

pub use config::{DEFAULT_BUSY_TIMEOUT, SqliteConfig, SqliteDriver};
