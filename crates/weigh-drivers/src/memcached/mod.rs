//! memcached over its text protocol, the meta commands among it.
//!
//! - [`MemcachedConfig`]: where, as whom and the operations; `build()` gives the [`MemcachedDriver`].
//! - [`MemcachedSession`]: a server's statistics, for looking at it.
//! - `command.rs`: the commands there are, their words and what their replies mean; `template.rs`: requests.
//! - `login.rs`: everything before the load. `reply.rs`: replies, decoded incrementally. `client.rs` joins both for
//!   the engine.
//!
//! | command | words |
//! |---|---|
//! | `get`, `gets` | KEY… |
//! | `gat`, `gats` | EXPTIME KEY… |
//! | `set`, `add`, `replace`, `append`, `prepend` | KEY VALUE, or KEY FLAGS EXPTIME VALUE |
//! | `delete` | KEY |
//! | `incr`, `decr` | KEY NUMBER |
//! | `touch` | KEY EXPTIME |
//! | `mg`, `md`, `ma` | KEY FLAG… |
//! | `ms` | KEY VALUE FLAG… |
//! | `mn`, `version`, `flush_all` | |
//!
//! Lengths of values are filled in. **A miss** is a key that was not there (`NOT_FOUND`, `EN`, `NF`, a `get` that brought
//! fewer values than it named keys), and a store whose condition did not hold (`NOT_STORED`, `NS`, `EX`). `expect` is
//! compared with every value that comes, or with the line of a reply that brings none.
//!
//! A key that the protocol cannot carry (empty, over 250 bytes, with blanks) is never sent: it would put the connection
//! out of step. `version` is sent in its place and the operation is an error.

mod client;
mod command;
mod config;
mod login;
mod reply;
mod session;
mod template;

pub use config::{MemcachedConfig, MemcachedDriver};
pub use session::MemcachedSession;
