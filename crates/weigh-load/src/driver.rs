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

    /// Whether [`decode`](Self::decode) may finish the oldest operation without more bytes: true for a client that
    /// keeps received bytes of its own (TLS), or when that operation is one the server never answers. The engine
    /// then calls it with nothing, while something that was handed to the socket is in flight.
    fn has_more(&self) -> bool {
        false
    }

    /// Whether the server takes no more requests on this connection and said so (HTTP's `Connection: close`). Asked
    /// after operations were finished and after a close. The engine then sends nothing more on it, counts what is
    /// still in flight as failed, makes the connection again and counts a reconnect, and no error.
    fn is_spent(&self) -> bool {
        false
    }

    /// The server has closed its side: how the oldest operation in flight ends by that. A reply that lasts until the
    /// close is complete now; `Broken` gives the message for everything in flight; `None`: it says nothing. With
    /// nothing in flight and [`is_spent`](Self::is_spent) after it, the close is no error.
    fn closed(&mut self) -> Option<Outcome> {
        None
    }

    /// Decodes until the client wants more bytes; says how many of them are dealt with. Leave it as it is: it is a
    /// method so that the loop is compiled together with the client's own `decode`, without a call per reply.
    fn decode_all(&mut self, received: &[u8], replies: &mut Replies) -> usize {
        let mut used = 0;
        while used < received.len() || (replies.may_ask() && self.has_more()) {
            let decoded = self.decode(&received[used..]);
            used += decoded.consumed;
            let Some(outcome) = decoded.finished else { break };
            if !replies.add(outcome) {
                break;
            }
        }
        used
    }
}

/// The replies one call of [`SocketClient::decode_all`] found. Made and read by the engine.
#[derive(Debug, Default)]
pub struct Replies {
    pub(crate) finished: usize,
    /// Place among the finished, and outcome, of those that were not plain successes.
    pub(crate) unusual: Vec<(usize, Outcome)>,
    /// The connection is unusable, and why.
    pub(crate) broken: Option<String>,
    /// How many operations are in flight, and how many of them the socket has taken completely.
    in_flight: usize,
    handed_over: usize,
}

impl Replies {
    /// Forgets what was found; operations in flight from now on.
    pub(crate) fn reset(&mut self, in_flight: usize, handed_over: usize) {
        self.finished = 0;
        self.unusual.clear();
        self.broken = None;
        (self.in_flight, self.handed_over) = (in_flight, handed_over);
    }

    /// Whether there is an operation that could be finished without more bytes.
    #[inline]
    fn may_ask(&self) -> bool {
        self.finished < self.handed_over
    }

    /// Takes the outcome of the oldest operation; says whether to go on.
    #[inline]
    pub(crate) fn add(&mut self, outcome: Outcome) -> bool {
        if self.finished == self.in_flight {
            return self.unasked(outcome);
        }
        match outcome {
            Outcome::Success => self.finished += 1,
            other => return self.add_unusual(other),
        }
        true
    }

    /// Something came while nothing was asked. Why a server ends a session is worth more than that it was not asked.
    #[cold]
    fn unasked(&mut self, outcome: Outcome) -> bool {
        self.broken = Some(match outcome {
            Outcome::Broken(message) => message,
            _ => "the server sent a reply without a request".into(),
        });
        false
    }

    #[cold]
    fn add_unusual(&mut self, outcome: Outcome) -> bool {
        if let Outcome::Broken(message) = outcome {
            self.broken = Some(message);
            return false;
        }
        self.unusual.push((self.finished, outcome));
        self.finished += 1;
        true
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

impl Outcome {
    /// Whether the operation was done and is timed as a success.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self, Outcome::Success | Outcome::Miss | Outcome::Partial(_))
    }
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

    /// The same error, said of something: `operation `pay`: …`.
    #[must_use]
    pub fn of(self, what: impl std::fmt::Display) -> Self {
        Self { message: format!("{what}: {}", self.message), source: self.source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_by(outcome: Outcome) -> Option<String> {
        let mut replies = Replies::default();
        replies.reset(1, 1);
        assert!(replies.add(Outcome::Success));
        assert!(!replies.add(outcome));
        replies.broken
    }

    #[test]
    fn a_server_that_ends_a_session_unasked_is_quoted() {
        let reason = "57P01 terminating connection".to_owned();
        assert_eq!(broken_by(Outcome::Broken(reason.clone())), Some(reason));
        assert_eq!(broken_by(Outcome::Success).as_deref(), Some("the server sent a reply without a request"));
    }
}
