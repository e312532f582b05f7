//! PostgreSQL: private clusters of whatever version is on the host, or a server of the user's own.
//!
//! - [`describe`]: every setting with the moment a change of it comes into force, without a server.
//! - [`build`]: a private cluster ([`private`](self::private)) or a server at a URL
//!   ([`remote`](self::remote)).
//! - [`design`](self::design): one instance toggled in place, or one per slot; which setting goes where.
//! - [`versions`](self::versions): which version an experiment means, fetched where the host has none.
//! - [`readback`](self::readback): what was asked compared with what is in force, in the server's units.
//! - [`counters`](self::counters), [`waits`](self::waits): what the server counted, and what its clients waited for.
//!
//! A server at a URL is never reconfigured, never checkpointed and, unless the experiment allows it,
//! never written to.

mod build;
mod client;
mod cluster;
mod conf;
mod counters;
mod describe;
mod design;
mod drive;
mod execute;
mod instance;
mod private;
mod programs;
mod readback;
mod remote;
mod running;
mod statements;
mod value;
mod versions;
mod waits;
mod warm;

pub use build::build;
pub use describe::describe;
pub(super) use drive::by_url;
pub(super) use programs::Programs;
