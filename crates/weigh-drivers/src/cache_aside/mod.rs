//! A cache in front of a store, as applications use it: look there first, ask the store on a miss, keep what it said.
//!
//! - [`CacheAsideConfig`]: the store's driver, the cache if there is one, and per operation the key it is cached under
//!   ([`CachedOperation`]).
//! - [`CacheServer`]: memcached or Redis, and where; [`CacheSession`]: a session of our own with it.
//!
//! A client asks one server after the other and waits for each reply, so it is an inline one, with a thread of its own.
//! Without a cache the same client asks the store alone: what differs is the cache, never the style of the client. What is
//! kept is the first column of the first row; a store that has no row for a key has nothing to be kept.

mod client;
mod config;
mod reply;
mod session;

pub use config::{CacheAsideConfig, CacheAsideDriver, CacheServer, CachedOperation};
pub use session::CacheSession;
