//! One connection of a socket worker: what is encoded, in flight, half written and half read.
//!
//! Requests are encoded ahead of the clock ([`Link::top_up`]), so that between a reply and the next request
//! there is only one clock reading and one `send`. To send is to [`launch`](Link::launch) requests, each with its
//! intended start, and then to [`hand_over`](Link::hand_over) all of them with one write.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::descriptor::borrow;
use crate::driver::{Outcome, Replies, SocketClient};
use crate::engine::recorder::Run;
use crate::generator::ParameterStream;

/// Bytes read at once; a reply that fills it is read on at once.
pub(super) const READ_BUFFER_BYTES: usize = 64 << 10;

/// A request that is encoded, and since when it is in flight.
#[derive(Clone, Copy, Debug)]
struct Request {
    operation: usize,
    length: usize,
    intended_ns: u64,
    sent_ns: u64,
}

/// What a read brought. Operations that were finished before a break are reported all the same.
#[derive(Debug, PartialEq)]
pub(super) enum Received {
    /// Nothing was there.
    Nothing,
    /// Less than the buffer holds: whatever comes later is a new event.
    Some,
    /// The read filled the buffer: there may be more.
    Full,
    /// The connection is unusable.
    Broken(String),
    /// The server closed the connection in good order, or is about to.
    Spent,
}

/// One open connection.
pub(super) struct Link {
    client: Box<dyn SocketClient>,
    socket: BorrowedFd<'static>,
    /// In the order of sending: first those in flight, then those that wait to be sent.
    requests: VecDeque<Request>,
    in_flight: usize,
    /// In flight and not yet taken by the socket, at least not completely.
    held: usize,
    /// Bytes of the requests, from `handed_over` on of those that wait.
    encoded: Vec<u8>,
    handed_over: usize,
    /// Bytes of the requests launched since the last `hand_over`.
    launched: usize,
    /// What the socket did not take yet, from `unsent_from` on.
    unsent: Vec<u8>,
    unsent_from: usize,
    /// Received and not consumed by the client yet; empty unless a reply was cut in an awkward place.
    pending: Vec<u8>,
}

impl Link {
    /// The link of a client; `None` if it has no socket.
    pub(super) fn new(client: Box<dyn SocketClient>, depth: usize) -> Option<Self> {
        let socket = borrow(client.socket())?;
        Some(Self {
            socket,
            client,
            requests: VecDeque::with_capacity(2 * depth),
            in_flight: 0,
            held: 0,
            encoded: Vec::with_capacity(4096),
            handed_over: 0,
            launched: 0,
            unsent: Vec::new(),
            unsent_from: 0,
            pending: Vec::new(),
        })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket
    }

    #[inline]
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether a request waits to be sent.
    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        self.in_flight < self.requests.len()
    }

    /// When the oldest operation in flight was sent.
    pub(super) fn oldest_ns(&self) -> Option<u64> {
        self.in_flight_requests().next().map(|oldest| oldest.sent_ns)
    }

    /// Intended starts of what is in flight.
    pub(super) fn intended_ns(&self) -> impl Iterator<Item = u64> {
        self.in_flight_requests().map(|request| request.intended_ns)
    }

    /// Intended starts of the newest `count` in flight.
    pub(super) fn newest_intended_ns(&self, count: usize) -> impl Iterator<Item = u64> {
        self.requests.range(self.in_flight - count..self.in_flight).map(|request| request.intended_ns)
    }

    fn in_flight_requests(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter().take(self.in_flight)
    }

    /// Whether the socket must be watched for room.
    #[inline]
    pub(super) fn is_blocked(&self) -> bool {
        self.unsent_from < self.unsent.len()
    }

    /// Whether the oldest operation in flight may be finished without more bytes.
    #[inline]
    pub(super) fn has_more(&self) -> bool {
        self.in_flight > self.held && self.client.has_more()
    }

    /// Encodes requests until `depth` of them wait.
    pub(super) fn top_up(&mut self, stream: &mut ParameterStream, depth: usize) {
        while self.requests.len() - self.in_flight < depth {
            let operation = stream.choose();
            let before = self.encoded.len();
            self.client.encode(operation, &mut stream.parameters(operation), &mut self.encoded);
            let length = self.encoded.len() - before;
            self.requests.push_back(Request { operation, length, intended_ns: 0, sent_ns: 0 });
        }
    }

    /// The next waiting request is in flight from now on; says whether there was one.
    #[inline]
    pub(super) fn launch(&mut self, intended_ns: u64, sent_ns: u64) -> bool {
        let Some(request) = self.requests.get_mut(self.in_flight) else { return false };
        (request.intended_ns, request.sent_ns) = (intended_ns, sent_ns);
        self.launched += request.length;
        self.in_flight += 1;
        true
    }

    /// Hands the requests launched to the socket, with one write.
    ///
    /// # Errors
    /// The socket's; the connection is unusable then.
    pub(super) fn hand_over(&mut self) -> Result<(), Errno> {
        let length = std::mem::take(&mut self.launched);
        let bytes = &self.encoded[self.handed_over..][..length];
        let written = if self.is_blocked() { 0 } else { write(self.socket, bytes)? };
        if written < length {
            self.unsent.extend_from_slice(&bytes[written..]);
            self.held = self.count_held();
        }
        self.handed_over += length;
        if self.handed_over == self.encoded.len() {
            self.encoded.clear();
            self.handed_over = 0;
        } else if self.handed_over > self.encoded.len() / 2 {
            // What is moved is less than what was sent since the last time.
            self.encoded.drain(..self.handed_over);
            self.handed_over = 0;
        }
        Ok(())
    }

    /// How many of the newest requests in flight the unsent bytes belong to.
    #[cold]
    fn count_held(&self) -> usize {
        let mut left = self.unsent.len() - self.unsent_from;
        let mut held = 0;
        for request in self.requests.range(..self.in_flight).rev() {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(request.length);
            held += 1;
        }
        held
    }

    /// Writes what the socket did not take before.
    ///
    /// # Errors
    /// The socket's; the connection is unusable then.
    pub(super) fn flush(&mut self) -> Result<(), Errno> {
        while self.is_blocked() {
            let written = write(self.socket, &self.unsent[self.unsent_from..])?;
            if written == 0 {
                self.held = self.count_held();
                return Ok(());
            }
            self.unsent_from += written;
        }
        self.unsent.clear();
        self.unsent_from = 0;
        self.held = 0;
        Ok(())
    }

    /// Reads once and decodes everything complete.
    #[inline]
    pub(super) fn receive(&mut self, buffer: &mut [u8], replies: &mut Replies) -> Received {
        let length = loop {
            match recv(self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => return self.closed(replies),
                Ok((length, _)) => break length,
                Err(Errno::AGAIN) => return Received::Nothing,
                Err(Errno::INTR) => {}
                Err(error) => return Received::Broken(describe(error)),
            }
        };
        self.digest(&buffer[..length], replies);
        match replies.broken.take() {
            Some(message) => Received::Broken(message),
            None if replies.finished > 0 && self.client.is_spent() => Received::Spent,
            None if length == buffer.len() => Received::Full,
            None => Received::Some,
        }
    }

    /// The server has closed its side: asks the client what that means.
    #[cold]
    fn closed(&mut self, replies: &mut Replies) -> Received {
        replies.reset(self.in_flight, self.in_flight - self.held);
        if let Some(outcome) = self.client.closed()
            && self.in_flight > 0
        {
            replies.add(outcome);
        }
        match replies.broken.take() {
            Some(message) => Received::Broken(message),
            None if self.client.is_spent() && replies.finished == self.in_flight => Received::Spent,
            None => Received::Broken("the server closed the connection".into()),
        }
    }

    /// Decodes what has come; with nothing, what the client still holds or need not wait for.
    pub(super) fn digest(&mut self, received: &[u8], replies: &mut Replies) {
        replies.reset(self.in_flight, self.in_flight - self.held);
        if self.pending.is_empty() {
            let used = self.client.decode_all(received, replies);
            self.pending.extend_from_slice(&received[used..]);
        } else {
            self.pending.extend_from_slice(received);
            let used = self.client.decode_all(&self.pending, replies);
            self.pending.drain(..used);
        }
    }

    /// Takes the finished operations out of flight: plain successes as `runs`, of which those that were sent
    /// together count once, and the rest with their outcomes as `unusual`.
    pub(super) fn collect(
        &mut self,
        replies: &mut Replies,
        runs: &mut Vec<Run>,
        unusual: &mut Vec<(Run, Outcome)>,
    ) {
        let finished = std::mem::take(&mut replies.finished);
        self.in_flight -= finished;
        let mut outcomes = replies.unusual.drain(..).peekable();
        for place in 0..finished {
            let Some(Request { operation, intended_ns, sent_ns, .. }) = self.requests.pop_front() else {
                return;
            };
            let run = Run { operation, intended_ns, sent_ns, count: 1 };
            if let Some((_, outcome)) = outcomes.next_if(|(at, _)| *at == place) {
                unusual.push((run, outcome));
                continue;
            }
            match runs.last_mut() {
                Some(last) if run == (Run { count: 1, ..*last }) => last.count += 1,
                _ => runs.push(run),
            }
        }
    }
}

/// One non-blocking write; 0 when the socket has no room.
#[inline]
fn write(socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    loop {
        match send(socket, bytes, SendFlags::NOSIGNAL) {
            Err(Errno::AGAIN) => return Ok(0),
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// A socket's error as a message.
pub(super) fn describe(error: Errno) -> String {
    nix::errno::Errno::from_raw(error.raw_os_error()).desc().to_lowercase()
}
