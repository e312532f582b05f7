//! Servers that are reached by URL and never started here: Redis, memcached, MongoDB, HTTP.
//!
//! - [`describe`], [`build`]: what the table of systems calls; `server` is the [`System`](super::System) they make.
//! - `admin`: a session of our own beside the load: version and counters; `redis`, `memcached`, `mongodb`: what each of
//!   them has to say; `set_up`: commands that make the data.
//! - `local`: the server's processes, where it runs on this host.
//!
//! Nothing is reconfigured, restarted, frozen or drained. Without `allow_writes = true` set-up commands are refused
//! before anything connects, and so is every operation whose command is not known to read.

mod admin;
mod build;
mod local;
mod memcached;
mod mongodb;
mod redis;
mod server;
mod set_up;

pub(super) use admin::{Admin, Identity, columns};
pub use build::{build, describe};
pub(super) use local::processes as processes_at;
pub(super) use memcached::Session as MemcachedAdmin;
pub(super) use mongodb::Session as MongodbAdmin;
pub(super) use redis::Session as RedisAdmin;
pub(super) use set_up::lines as execute_lines;
