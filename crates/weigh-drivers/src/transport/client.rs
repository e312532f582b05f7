//! The engine's view of a connection: a socket with a protocol's state beside it.

use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};

use weigh_load::generator::Parameters;
use weigh_load::{Decoded, Outcome, SocketClient};

use super::wire::Socket;

/// The state of one connection without its socket; see [`SocketClient`] for what each method must do.
pub(crate) trait Protocol: Send + 'static {
    /// Appends the request of `operation` to `out`. Must not allocate beyond `out`.
    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>);

    /// Consumes at most one complete reply. Bytes may arrive one at a time.
    fn decode(&mut self, received: &[u8]) -> Decoded;

    /// Whether the oldest operation in flight is finished without any bytes, because the server never answers its
    /// kind. [`decode`](Self::decode) is called with nothing then.
    fn has_more(&self) -> bool {
        false
    }

    /// Appends what must be sent now so that the operation being decoded can go on (a cursor's next batch). Asked
    /// after a `decode` that finished nothing. Only a protocol with one request in flight may use it, and not
    /// inside TLS: requests are sealed and numbered there ahead of the clock.
    fn follow_up(&mut self, _out: &mut Vec<u8>) {}

    /// Whether the server takes no more requests on this connection and said so (HTTP's `Connection: close`).
    fn is_spent(&self) -> bool {
        false
    }

    /// The server has closed its side: how the oldest operation in flight ends by that, if it does.
    fn closed(&mut self) -> Option<Outcome> {
        None
    }

    /// Sent when the connection is closed in good order, if the protocol has such a message.
    fn farewell(&self) -> &'static [u8] {
        b""
    }
}

/// A protocol on a bare socket.
pub(super) struct PlainClient<P: Protocol> {
    socket: Socket,
    protocol: P,
    /// What [`Protocol::follow_up`] asks to send.
    follow_up: Vec<u8>,
}

impl<P: Protocol> PlainClient<P> {
    pub(super) fn new(socket: Socket, protocol: P) -> Self {
        Self { socket, protocol, follow_up: Vec::new() }
    }

    /// Sends what was asked for: a few bytes that always fit into the socket, for nothing else is waiting there.
    #[cold]
    fn send_follow_up(&mut self, consumed: usize) -> Decoded {
        let sent = self.socket.write(&self.follow_up);
        let whole = sent.is_ok_and(|sent| sent == self.follow_up.len());
        self.follow_up.clear();
        if whole {
            return Decoded::more(consumed);
        }
        Decoded::finished(
            consumed,
            Outcome::Broken("the socket did not take what an operation goes on with".into()),
        )
    }
}

impl<P: Protocol> SocketClient for PlainClient<P> {
    fn socket(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    #[inline]
    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        self.protocol.encode(operation, parameters, out);
    }

    #[inline]
    fn decode(&mut self, received: &[u8]) -> Decoded {
        let decoded = self.protocol.decode(received);
        if decoded.finished.is_none() {
            self.protocol.follow_up(&mut self.follow_up);
            if !self.follow_up.is_empty() {
                return self.send_follow_up(decoded.consumed);
            }
        }
        decoded
    }

    #[inline]
    fn has_more(&self) -> bool {
        self.protocol.has_more()
    }

    fn is_spent(&self) -> bool {
        self.protocol.is_spent()
    }

    fn closed(&mut self) -> Option<Outcome> {
        self.protocol.closed()
    }
}

impl<P: Protocol> Drop for PlainClient<P> {
    fn drop(&mut self) {
        let farewell = self.protocol.farewell();
        if !farewell.is_empty() {
            // A broken or full socket is closed without it.
            self.socket.write_all(farewell).ok();
        }
    }
}
