//! One connection of a socket worker: what is encoded, in flight, half written and half read.
//!
//! Requests are encoded ahead of the clock ([`Link::top_up`]), so that between a reply and the next request
//! there is only one clock reading and one `send`.

use std::collections::VecDeque;
use std::os::fd::RawFd;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};

use crate::driver::{Outcome, SocketClient};
use crate::generator::ParameterStream;

/// Bytes read at once; a reply that fills it is read on at once.
pub(super) const READ_BUFFER_BYTES: usize = 64 << 10;

/// A request that was handed to the socket.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    operation: usize,
    intended_ns: u64,
}

/// A request that is encoded and waits to be sent.
#[derive(Clone, Copy, Debug)]
struct Encoded {
    operation: usize,
    length: usize,
}

/// An operation whose reply is in.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) operation: usize,
    pub(super) intended_ns: u64,
    /// `None`: success.
    pub(super) error: Option<String>,
}

/// What a read brought.
#[derive(Debug, PartialEq)]
pub(super) enum Received {
    /// Nothing was there.
    Nothing,
    /// Less than the buffer holds: whatever comes later is a new event.
    Some,
    /// The read filled the buffer: there may be more.
    Full,
    /// The connection is unusable; operations finished before are reported all the same.
    Broken(String),
}

/// One open connection.
pub(super) struct Link {
    client: Box<dyn SocketClient>,
    in_flight: VecDeque<InFlight>,
    /// Bytes of the requests in `queue`, back to back.
    encoded: Vec<u8>,
    queue: VecDeque<Encoded>,
    /// What the socket did not take yet, from `unsent_from` on.
    unsent: Vec<u8>,
    unsent_from: usize,
    /// Received and not consumed by the client yet; empty unless a reply was cut in an awkward place.
    pending: Vec<u8>,
}

impl Link {
    pub(super) fn new(client: Box<dyn SocketClient>, depth: usize) -> Self {
        Self {
            client,
            in_flight: VecDeque::with_capacity(depth),
            encoded: Vec::with_capacity(4096),
            queue: VecDeque::with_capacity(depth),
            unsent: Vec::new(),
            unsent_from: 0,
            pending: Vec::new(),
        }
    }

    pub(super) fn socket(&self) -> RawFd {
        self.client.socket()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// When the oldest operation in flight was meant to start.
    pub(super) fn oldest_ns(&self) -> Option<u64> {
        self.in_flight.front().map(|oldest| oldest.intended_ns)
    }

    /// Whether the socket must be watched for room.
    pub(super) fn is_blocked(&self) -> bool {
        self.unsent_from < self.unsent.len()
    }

    /// Encodes requests until `depth` of them wait.
    pub(super) fn top_up(&mut self, stream: &mut ParameterStream, depth: usize) {
        while self.queue.len() < depth {
            let operation = stream.choose();
            let before = self.encoded.len();
            self.client.encode(operation, &mut stream.parameters(operation), &mut self.encoded);
            self.queue.push_back(Encoded { operation, length: self.encoded.len() - before });
        }
    }

    /// Sends waiting requests until `depth` are in flight, with one write. All of them count from `intended_ns`.
    ///
    /// # Errors
    /// The socket's; the connection is unusable then.
    pub(super) fn send(&mut self, depth: usize, intended_ns: u64) -> Result<(), Errno> {
        let mut length = 0;
        while self.in_flight.len() < depth
            && let Some(next) = self.queue.pop_front()
        {
            length += next.length;
            self.in_flight.push_back(InFlight { operation: next.operation, intended_ns });
        }
        if length == 0 {
            return Ok(());
        }
        let written =
            if self.is_blocked() { 0 } else { write(self.client.socket(), &self.encoded[..length])? };
        if written < length {
            self.unsent.extend_from_slice(&self.encoded[written..length]);
        }
        if length == self.encoded.len() {
            self.encoded.clear();
        } else {
            self.encoded.drain(..length);
        }
        Ok(())
    }

    /// Writes what the socket did not take before.
    ///
    /// # Errors
    /// The socket's; the connection is unusable then.
    pub(super) fn flush(&mut self) -> Result<(), Errno> {
        while self.is_blocked() {
            let written = write(self.client.socket(), &self.unsent[self.unsent_from..])?;
            if written == 0 {
                return Ok(());
            }
            self.unsent_from += written;
        }
        self.unsent.clear();
        self.unsent_from = 0;
        Ok(())
    }

    /// Reads once, decodes everything complete and appends what finished.
    pub(super) fn receive(&mut self, buffer: &mut [u8], finished: &mut Vec<Finished>) -> Received {
        let length = loop {
            match recv(self.client.socket(), buffer, MsgFlags::empty()) {
                Ok(0) => return Received::Broken("the server closed the connection".into()),
                Ok(length) => break length,
                Err(Errno::EAGAIN) => return Received::Nothing,
                Err(Errno::EINTR) => {}
                Err(error) => return Received::Broken(describe(error)),
            }
        };
        match self.digest(&buffer[..length], finished) {
            Err(message) => Received::Broken(message),
            Ok(()) if length == buffer.len() => Received::Full,
            Ok(()) => Received::Some,
        }
    }

    fn digest(&mut self, received: &[u8], finished: &mut Vec<Finished>) -> Result<(), String> {
        if self.pending.is_empty() {
            let used = decode_all(&mut *self.client, &mut self.in_flight, received, finished)?;
            self.pending.extend_from_slice(&received[used..]);
        } else {
            self.pending.extend_from_slice(received);
            let used = decode_all(&mut *self.client, &mut self.in_flight, &self.pending, finished)?;
            self.pending.drain(..used);
        }
        Ok(())
    }
}

/// Decodes until the client wants more bytes; says how many are dealt with.
fn decode_all(
    client: &mut dyn SocketClient,
    in_flight: &mut VecDeque<InFlight>,
    received: &[u8],
    finished: &mut Vec<Finished>,
) -> Result<usize, String> {
    let mut used = 0;
    while used < received.len() {
        let decoded = client.decode(&received[used..]);
        used += decoded.consumed;
        let error = match decoded.finished {
            None => break,
            Some(Outcome::Success | Outcome::Miss | Outcome::Partial(_)) => None,
            Some(Outcome::Error(message)) => Some(message),
            Some(Outcome::Broken(message)) => return Err(message),
        };
        let InFlight { operation, intended_ns } =
            in_flight.pop_front().ok_or_else(|| "the server sent a reply without a request".to_owned())?;
        finished.push(Finished { operation, intended_ns, error });
    }
    Ok(used)
}

/// One non-blocking write; 0 when the socket has no room.
fn write(socket: RawFd, bytes: &[u8]) -> Result<usize, Errno> {
    loop {
        match send(socket, bytes, MsgFlags::MSG_NOSIGNAL) {
            Err(Errno::EAGAIN) => return Ok(0),
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

/// A socket's error as a message.
pub(super) fn describe(error: Errno) -> String {
    error.desc().to_lowercase()
}
