//! memcached: private servers of whatever version is on the host, or a server of the user's own.
//!
//! - [`describe`]: its options with their kinds, without a server. Every change takes a restart.
//! - [`build`]: private servers ([`private`](super::private), of [`kind`](self::kind)), or a server at a URL
//!   ([`remote`](super::remote)).
//! - [`options`](self::options): long options (`memory-limit`), those behind `-o` (`hot_lru_pct`), and their names and units
//!   in `stats settings`.
//!
//! It keeps nothing on disk: the set-up is executed after every start, and there is nothing to drain.

mod build;
mod kind;
mod options;

pub use build::{build, describe};
pub(in crate::systems) use kind::MemcachedKind;
