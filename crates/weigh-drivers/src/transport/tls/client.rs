//! The engine's view of a connection inside TLS.

use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};

use weigh_load::generator::Parameters;
use weigh_load::{Connection, Decoded, Outcome, SocketClient};

use super::session::{Opened, TlsSession};
use crate::transport::client::Protocol;
use crate::transport::wire::Socket;

/// A protocol inside TLS.
///
/// Sealing and opening cost one allocation per record, in `rustls`; the buffers here are kept.
pub(in crate::transport) struct TlsClient<P: Protocol> {
    socket: Socket,
    session: Box<TlsSession>,
    protocol: P,
    /// A request before it is sealed.
    request: Vec<u8>,
    /// Opened and not consumed by the protocol yet, from `plain_from` on.
    plain: Vec<u8>,
    plain_from: usize,
    /// Requests without a reply. They are numbered inside TLS, so while there are any that may never be
    /// sent, nothing can be sent after them.
    unanswered: u64,
    /// Why nothing more will come; told once everything before it is consumed.
    failure: Option<String>,
    /// A reply ended, and there is more behind it.
    more: bool,
}

impl<P: Protocol> TlsClient<P> {
    /// The engine's connection, with what was opened and left unread so far.
    pub(in crate::transport) fn connection(
        socket: Socket,
        mut session: TlsSession,
        protocol: P,
    ) -> Connection {
        let mut plain = Vec::with_capacity(4096);
        let opened = session.drain(&mut plain);
        let mut client = Self {
            socket,
            session: Box::new(session),
            protocol,
            request: Vec::with_capacity(1024),
            plain,
            plain_from: 0,
            unanswered: 0,
            failure: None,
            more: false,
        };
        client.take(opened);
        Connection::Socket(Box::new(client))
    }

    fn unread(&self) -> &[u8] {
        &self.plain[self.plain_from..]
    }

    /// Opens what came in, behind what is not consumed yet.
    fn open(&mut self, received: &[u8]) {
        if self.plain_from > 0 {
            self.plain.drain(..self.plain_from);
            self.plain_from = 0;
        }
        let opened = self.session.open(received, &mut self.plain);
        self.take(opened);
    }

    fn take(&mut self, opened: Result<Opened, String>) {
        match opened {
            Ok(Opened::Open) => {}
            // The engine learns it from the socket, as it does without TLS.
            Ok(Opened::Closed) => self.socket.shut_down(),
            Err(failure) => {
                self.failure.get_or_insert(failure);
            }
        }
    }
}

impl<P: Protocol> SocketClient for TlsClient<P> {
    fn socket(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        self.request.clear();
        self.protocol.encode(operation, parameters, &mut self.request);
        self.unanswered += 1;
        if let Err(error) = self.session.seal(&self.request, out) {
            self.failure.get_or_insert_with(|| error.to_string());
        }
    }

    fn decode(&mut self, received: &[u8]) -> Decoded {
        if !received.is_empty() {
            self.open(received);
        }
        let decoded = if self.unread().is_empty() && !self.protocol.has_more() {
            Decoded::more(0)
        } else {
            self.protocol.decode(&self.plain[self.plain_from..])
        };
        self.plain_from += decoded.consumed;
        let finished = match decoded.finished {
            Some(outcome) => {
                self.unanswered = self.unanswered.saturating_sub(1);
                Some(outcome)
            }
            None => self.failure.take().map(Outcome::Broken),
        };
        self.more = finished.is_some() && (!self.unread().is_empty() || self.failure.is_some());
        Decoded { consumed: received.len(), finished }
    }

    fn has_more(&self) -> bool {
        self.more || self.protocol.has_more()
    }

    fn is_spent(&self) -> bool {
        self.protocol.is_spent()
    }

    fn closed(&mut self) -> Option<Outcome> {
        self.protocol.closed()
    }
}

impl<P: Protocol> Drop for TlsClient<P> {
    fn drop(&mut self) {
        if self.unanswered > 0 {
            return;
        }
        let mut goodbye = Vec::new();
        if self.session.seal_goodbye(self.protocol.farewell(), &mut goodbye).is_ok() {
            // A broken or full socket is closed without it.
            self.socket.write_all(&goodbye).ok();
        }
    }
}
