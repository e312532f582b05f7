//! Redis and what speaks like it (Valkey, KeyDB, Dragonfly): RESP2 and RESP3, any command that has one reply.
//!
//! - [`RedisConfig`]: where, as whom, which database and protocol, and the operations; `build()` gives the
//!   [`RedisDriver`].
//! - `login.rs`: everything before the load, on a blocking socket: AUTH, HELLO, SELECT, and a PING to see that the
//!   server takes commands from us.
//! - [`RedisSession`]: questions one by one, for looking at a server.
//! - `command.rs`, `template.rs`: requests, rendered from a template per operation.
//! - `resp.rs`: one reply, parsed incrementally; `reply.rs`: what it means for the operation. `failure.rs`: error
//!   replies as messages. `client.rs` joins both directions for the engine.
//!
//! **What a reply means.** An error reply is an error, counted by its code word and message without values.
//! A null is a *miss* for the commands that say "there is none" that way (`command::MISSING_IS_NULL`: GET, HGET, LPOP,
//! ZSCORE, …, and XREAD without BLOCK); for every other command (SET … NX, blocking commands, scripts) it is a success.
//! Errors inside an array (a script's) are items that failed. `expect` is compared with a single value, byte by byte
//! as it stands on the wire; a miss is a miss all the same.
//!
//! Commands that never answer, answer more than once or change what the connection is (SUBSCRIBE, MONITOR, MULTI, …) are
//! refused. Redirections of a cluster are errors: they are not followed.

mod client;
mod command;
mod config;
mod failure;
mod login;
mod reply;
mod resp;
mod session;
mod template;

pub use config::{RedisConfig, RedisDriver, RespVersion};
pub use session::RedisSession;
