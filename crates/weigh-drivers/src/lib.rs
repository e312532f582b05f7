//! Drivers: each speaks one protocol to a system for the load engine.
//!
//! - [`DRIVERS`]: the table of what is built in. A driver is a config struct with `build()`:
//!   [`postgres::PostgresConfig`], [`redis::RedisConfig`], [`memcached::MemcachedConfig`], [`http::HttpConfig`],
//!   [`mongodb::MongodbConfig`], [`sqlite::SqliteConfig`].
//! - [`cache_aside`]: a cache in front of a store, with the store's own driver behind it; in no table, for it is no system.
//! - [`SqlOperation`], [`CommandOperation`]: what the SQL drivers, and those of key-value and document stores, take as
//!   one operation.
//!
//! A driver connects, authenticates, applies session settings and reads them back, and prepares statements
//! while connecting; on the hot path it only encodes and decodes. It never creates tables or data, never
//! measures and never decides what counts: that is the engine's. How to add one: `docs/writing-a-driver.md`.

#[cfg(feature = "cache-aside")]
pub mod cache_aside;
mod command;
#[cfg(any(feature = "redis", feature = "memcached"))]
mod keyvalue;
#[cfg(all(test, any(feature = "http", feature = "memcached", feature = "postgres")))]
mod pieces;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod sql;
mod table;
mod text;
mod transport;

#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "memcached")]
pub mod memcached;
#[cfg(feature = "mongodb")]
pub mod mongodb;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use command::CommandOperation;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use sql::{SqlOperation, StatementError};
pub use table::{DRIVERS, DriverEntry, Kind, driver_of_scheme};
#[cfg(feature = "tls")]
pub use transport::rustls_config;
pub use transport::{Endpoint, ServerUrl, TlsConfig, Verify};
