//! The drivers against real systems: a private PostgreSQL cluster, and SQLite files.
#![allow(missing_docs, unreachable_pub, dead_code, clippy::unwrap_used)]

mod postgres_authentication;
mod postgres_failures;
mod postgres_load;
mod sqlite;
mod support;
