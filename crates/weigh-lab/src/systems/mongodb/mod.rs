//! MongoDB: private servers that speak its protocol, or a server of the user's own.
//!
//! - [`describe`], [`build`]: what the table of systems calls. With a URL they are those of [`remote`](super::remote).
//! - `make`: which program serves a variant: `mongod` where there is one, else FerretDB 1.
//! - `mongod`: MongoDB's own server; settings are the keys of its configuration file.
//! - `ferretdb`: FerretDB 1 on SQLite or PostgreSQL, built once from the Go module proxy.
//! - `session`: what both have in common: commands, set-up texts, counters.
//!
//! FerretDB is no MongoDB: what it cannot do is in [`SystemDescription::lacks`](super::SystemDescription::lacks), with the
//! reason, and an experiment that needs it is refused. Nothing here pretends.

mod build;
mod describe;
mod ferretdb;
mod make;
mod mongod;
mod session;

pub use build::build;
pub use describe::describe;
