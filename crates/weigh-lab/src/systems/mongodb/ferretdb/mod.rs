//! FerretDB 1: MongoDB's protocol on SQLite or PostgreSQL.
//!
//! - [`program`]: where it is, built from the Go module proxy once if need be (`scripts/ferretdb`, the one place that
//!   knows how).
//! - [`FerretDb`]: its [`Kind`](crate::systems::private::Kind) of private server.
//! - `settings`: its own options, and SQLite's pragmas; `sqlite`: checkpoints of its files; `cluster`: the private
//!   PostgreSQL it keeps its data in instead.

mod cluster;
mod kind;
mod program;
mod settings;
mod sqlite;

pub(super) use kind::FerretDb;
pub(super) use program::{VERSION, program};
pub(super) use settings::settings;
