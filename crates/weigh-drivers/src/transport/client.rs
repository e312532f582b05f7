//! The engine's view of a connection: a socket with a protocol's state beside it.

use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};

use weigh_load::generator::Parameters;
use weigh_load::{Decoded, SocketClient};

use super::wire::Socket;

/// The state of one connection without its socket; see [`SocketClient`] for what each method must do.
pub(crate) trait Protocol: Send + 'static {
    /// Appends the request of `operation` to `out`. Must not allocate beyond `out`.
    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>);

    /// Consumes at most one complete reply. Bytes may arrive one at a time.
    fn decode(&mut self, received: &[u8]) -> Decoded;

    /// Sent when the connection is closed in good order, if the protocol has such a message.
    fn farewell(&self) -> &'static [u8] {
        b""
    }
}

/// A protocol on a bare socket.
pub(super) struct PlainClient<P: Protocol> {
    pub(super) socket: Socket,
    pub(super) protocol: P,
}

impl<P: Protocol> SocketClient for PlainClient<P> {
    fn socket(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        self.protocol.encode(operation, parameters, out);
    }

    fn decode(&mut self, received: &[u8]) -> Decoded {
        self.protocol.decode(received)
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
