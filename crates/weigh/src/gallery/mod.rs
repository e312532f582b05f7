//! The stored runs in the reader's browser: what `weigh open` serves.
//!
//! - [`serve`]: binds to loopback, answers until a signal ends it.
//! - [`Catalogue`]: the runs of the store with their verdicts, analysed once and remembered.
//! - `routes`, `gallery`, `trouble`: addresses to pages, files and errors; pages themselves are made in `weigh-results`.
//! - `guard`: who is answered at all, and the headers of every answer.
//!
//! It must never listen on anything but loopback, never join what a browser sends to a path (a run is looked up in
//! the store's own listing), and never change anything without a request from its own page that carries the token
//! of this process.

mod catalogue;
#[expect(clippy::module_inception, reason = "what all addresses share is the gallery itself")]
mod gallery;
mod guard;
mod routes;
mod server;
mod trouble;

pub(crate) use catalogue::Catalogue;
pub(crate) use server::{Listener, serve};
