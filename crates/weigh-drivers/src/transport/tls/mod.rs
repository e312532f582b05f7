//! TLS, by `rustls`.
//!
//! - [`TlsConfig`], [`Verify`]: what a user asks for; [`TlsWords`]: how that is spelled in a protocol's URLs.
//! - [`TlsConnector`]: the same with its files read, once per driver. `Wire::secure` makes a [`TlsSession`] of it.
//! - `client.rs`: the engine's connection: every request is sealed while it is encoded, ahead of the clock, and replies
//!   are opened as they arrive.
//! - `verifier.rs` checks certificates; `certificate.rs` reads their own words; `failure.rs` says what went wrong.
//!
//! Without the cargo feature `tls`, `absent.rs` stands in: asking for TLS is an error then, never plain text.
//! Nothing in here knows which protocol is inside.

mod config;

#[cfg(feature = "tls")]
mod certificate;
#[cfg(feature = "tls")]
mod client;
#[cfg(feature = "tls")]
mod connector;
#[cfg(feature = "tls")]
mod failure;
#[cfg(feature = "tls")]
mod session;
#[cfg(test)]
#[cfg(feature = "tls")]
mod tests;
#[cfg(feature = "tls")]
mod verifier;

#[cfg(not(feature = "tls"))]
mod absent;

pub(crate) use config::TlsWords;
pub use config::{TlsConfig, Verify};

#[cfg(feature = "tls")]
pub(super) use client::TlsClient;
#[cfg(feature = "tls")]
pub(crate) use connector::TlsConnector;
#[cfg(feature = "tls")]
pub use connector::rustls_config;
#[cfg(feature = "tls")]
pub(super) use session::TlsSession;

#[cfg(not(feature = "tls"))]
pub(crate) use absent::TlsConnector;
#[cfg(not(feature = "tls"))]
pub(super) use absent::{TlsClient, TlsSession};
