//! What a protocol or an in-process system supplies to the engine.

use std::os::fd::RawFd;

use crate::generator::Parameters;

/// A configured protocol: makes connections. One value serves every worker thread of a trial.
pub trait Driver: Send + Sync {
    /// Opens connection number `client`, authenticates, prepares statements: everything that is not
    /// part of an operation. May block.
    ///
    /// # Errors
    /// A [`DriverError`] whose message is one line a user can act on.
    fn connect(&self, client: usize) -> Result<Connection, DriverError>;

    /// Whether its connections are [`Connection::Inline`]: an operation then blocks its thread, so every
    /// client gets a thread of its own. All connections of one driver are of the same kind.
    fn blocks_its_thread(&self) -> bool {
        false
    }
}

/// One open connection.
pub enum Connection {
    /// A socket run by the engine's event loop; it must be in non-blocking mode.
    Socket(Box<dyn SocketClient>),
    /// Executes in the worker's own thread (SQLite, a function call).
    Inline(Box<dyn InlineClient>),
}

/// Protocol state of one socket: encodes requests, decodes replies, does no I/O.
pub trait SocketClient: Send {
    /// The connected, non-blocking socket. Owned by the client, closed when it is dropped.
    fn socket(&self) -> RawFd;

    /// Appends the request of `operation` to `out`. Must not allocate beyond `out`. Requests are sent in the
    /// order they were encoded, some time later; the last ones may never be sent.
    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>);

    /// Looks at received bytes and consumes at most one complete reply. Called again with what is left, and
    /// with that and more once more has arrived. Bytes may arrive one at a time.
    fn decode(&mut self, received: &[u8]) -> Decoded;

    /// Whether [`decode`](Self::decode) may finish another operation without more bytes: true only for a client
    /// that keeps bytes of its own (TLS). The engine then calls it with nothing.
    fn has_more(&self) -> bool {
        false
    }
}

/// What [`SocketClient::decode`] found.
#[derive(Debug, PartialEq)]
pub struct Decoded {
    /// Bytes that are dealt with and will not be shown again.
    pub consumed: usize,
    /// The oldest operation in flight is finished.
    pub finished: Option<Outcome>,
}

/// An in-process client.
pub trait InlineClient: Send {
    /// Executes one operation and waits for it.
    fn execute(&mut self, operation: usize, parameters: &mut Parameters<'_>) -> Outcome;
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Done and validated.
    Success,
    /// Done and valid, and what was asked for was not there (a cache without the key). Timed as a success.
    Miss,
    /// Done, and some of its items failed (documents of an unordered bulk): messages and how many items each
    /// hit. Timed as a success.
    Partial(Vec<(String, u64)>),
    /// The system answered with an error (its message, shortened and without the parameters, so that
    /// equal failures count together). Counted and shown, never timed as a success.
    Error(String),
    /// The connection is unusable; the engine counts it and connects again.
    Broken(String),
}

impl Decoded {
    /// Nothing is finished; `consumed` bytes are dealt with.
    #[must_use]
    pub fn more(consumed: usize) -> Self {
        Self { consumed, finished: None }
    }

    /// The oldest operation in flight ended as `outcome`.
    #[must_use]
    pub fn finished(consumed: usize, outcome: Outcome) -> Self {
        Self { consumed, finished: Some(outcome) }
    }
}

/// Why a connection could not be made or prepared.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct DriverError {
    /// A lowercase fragment with the server's own words.
    pub message: String,
    /// The error below, if any.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl DriverError {
    /// An error without a source.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// An error with a source.
    #[must_use]
    pub fn caused(
        message: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { message: message.into(), source: Some(source.into()) }
    }
}
