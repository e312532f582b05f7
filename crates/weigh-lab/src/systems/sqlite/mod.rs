//! SQLite, embedded: needs nothing installed, and no process of its own.
//!
//! - [`describe`]: the pragmas an experiment may set ([`pragmas`](self::pragmas)).
//! - [`build`]: a database file per slot ([`embedded`](self::embedded)).
//!
//! The unit of replication is the round: there is no process whose start could differ, and every trial
//! starts from the same bytes (a fresh copy of the template, written out before the clock runs) as long
//! as the template is small; a large one is copied once per run.

mod build;
mod drive;
mod embedded;
mod pragmas;
mod template;

pub use build::{build, describe};
