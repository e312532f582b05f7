//! HTTP/1.1 with keep-alive: requests from templates, replies parsed incrementally and checked.
//!
//! - [`HttpConfig`]: where the server is, what every request carries, the [`HttpOperation`]s. `build()` gives an
//!   [`HttpDriver`].
//! - [`HttpExpect`], [`StatusExpect`]: what a reply must look like to count as done.
//!
//! Replies are framed as RFC 9112 says: by `Content-Length`, chunked with trailers, without a body (HEAD, 204, 304),
//! or by the end of the connection; interim replies (1xx) are passed over. Bodies are counted off as they arrive
//! and never kept. A connection that the server announces to close (`Connection: close`, HTTP/1.0, a reply without a
//! length) is made again and counted as a reconnect, not as an error.
//!
//! HTTP/2 is left out: the well-kept crate for it (`h2`) brings an asynchronous runtime's shape with it, which would
//! put a scheduler between the clock and the socket.
//!
//! Nothing in here follows redirects, keeps cookies or decompresses: what is sent is what the operation says.

mod body;
mod config;
mod head;
mod operation;
mod protocol;
mod recall;
mod reply;
mod syntax;
mod template;

pub use config::{HttpConfig, HttpDriver};
pub use operation::{HttpExpect, HttpOperation, StatusExpect};
