//! The things under test: one folder per system, one static table.
//!
//! - [`System`]: what a system does for the runner, trial by trial.
//! - [`describe`]: what a system says about itself before anything is started ([`SystemDescription`]).
//! - [`build`]: a resolved plan becomes a system, prepared to be started; [`BuildContext`] is what it needs.
//! - [`SystemError`]: what went wrong, with what to do next.
//! - [`postgres`], [`sqlite`], [`redis`], [`memcached`]: systems weigh starts, the last two with what `private` has for
//!   every server of one process; [`remote`]: servers that are reached by URL (Redis, memcached, MongoDB, HTTP).
//!   `docs/writing-a-system.md` says how to add one.
//! - [`drivers`]: URL + operations → a driver for the load engine.
//!
//! A system never writes to a server that weigh did not start, unless the experiment allows it, and
//! changes the host only through [`HostChanges`](crate::host::HostChanges).

pub mod cached;
pub mod description;
pub mod drivers;
mod error;
pub mod memcached;
pub mod mongodb;
mod operations;
pub mod postgres;
mod private;
pub mod redis;
pub mod remote;
mod slots;
pub mod sqlite;
mod system;
mod table;
mod writes;

pub use description::{Capability, Lack, SystemDescription};
pub use error::SystemError;
pub(crate) use error::{chain, shortened};
pub use system::{Counters, System};
pub use table::{BuildContext, build, describe, names};
pub(crate) use table::{example_url, needs_url, private_keys, text_kind};
pub(crate) use writes::writing_word;
