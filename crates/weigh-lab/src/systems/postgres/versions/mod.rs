//! PostgreSQL by version: what is on the host, what was fetched before, what can be fetched.
//!
//! - [`matches`]: which version an asked one stands for.
//! - [`cached`]: what earlier runs have fetched, usable without a network.
//! - [`fetch`]: Maven Central's builds of every version since 9.6, checked against the published sum,
//!   unpacked aside and renamed into the cache in one step: a directory that is there is whole.
//!
//! Nothing here decides where else to look: that is [`Programs`](super::programs::Programs).

mod cache;
#[cfg(feature = "fetch")]
mod fetch;
#[cfg(not(feature = "fetch"))]
#[path = "no_fetch.rs"]
mod fetch;
mod release;
#[cfg(feature = "fetch")]
mod unpack;

pub(super) use cache::{cached, is_cached};
pub(super) use fetch::fetch;
pub(super) use release::matches;
