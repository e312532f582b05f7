//! Redis and Valkey: private servers of whatever version is on the host, or a server of the user's own.
//!
//! - [`describe`]: the directives of `redis.conf` with the moment a change comes into force, without a server.
//! - [`build`]: private servers ([`private`](super::private), of [`kind`](self::kind)), or a server at a URL
//!   ([`remote`](super::remote)).
//! - [`settings`](self::settings): the directives and their values; [`session`](self::session): `CONFIG SET`, `CONFIG
//!   GET`, waiting for rewrites and saves.
//!
//! Every start begins with an RDB file, also where the append-only file is on: Redis would start empty then, so it is
//! switched on after the start (`CONFIG SET appendonly yes`), and the first rewrite is awaited.

mod build;
mod kind;
mod session;
mod settings;

pub use build::{build, describe};
pub(in crate::systems) use kind::RedisKind;
