//! A cache in front of a store: PostgreSQL with a private memcached or Redis before it.
//!
//! - [`describe`], [`build`]: PostgreSQL's own, unless the experiment says `system.cache` or `cached_as` somewhere; then the
//!   same with a cache ([`system`](self::system)). An operation with `cached_as` looks into the cache first, asks the
//!   store on a miss, and keeps the answer.
//! - [`cache`](self::cache): the private cache.
//!
//! Every variant of such an experiment, those without a cache included, is driven by the same blocking client
//! ([`weigh_drivers::cache_aside`]). One cache of each kind serves all slots that have one of that kind, and keeps what it
//! holds from trial to trial, as a live cache does; it is frozen while others are under load. The cost of a cache is in
//! `server.cpu_us`, and by itself in `cache.cpu_us`.

mod build;
mod cache;
mod system;

pub use build::{build, describe};
