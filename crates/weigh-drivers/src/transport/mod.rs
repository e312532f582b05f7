//! The way to a server: endpoints, sockets, TLS. Shared by every socket driver.
//!
//! - [`Endpoint`]: where a server listens; [`ServerUrl`]: what a URL says about a server; [`TlsConfig`].
//! - `Wire`: a connected socket, blocking and with a time limit: for logging in and preparing.
//! - `Protocol`: the state of one connection without its socket: what a driver writes.
//!   `Wire::into_connection` makes the engine's connection of both.
//! - `TlsConnector`: TLS as asked for, its files read once per driver; `Wire::secure` shakes hands with it.
//!
//! Nothing in here knows a protocol's bytes, and nothing is measured here.

mod client;
mod endpoint;
mod tls;
mod url;
mod wire;

pub(crate) use client::Protocol;
pub use endpoint::Endpoint;
#[cfg(feature = "tls")]
pub use tls::rustls_config;
pub use tls::{TlsConfig, Verify};
pub(crate) use tls::{TlsConnector, TlsWords};
pub use url::ServerUrl;
pub(crate) use wire::{ANSWER_LIMIT, Wire};
