//! Connections of a socket worker that come, break, and are made again by a helper thread: a worker never blocks.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use super::link::{Link, describe};
use super::worker::SocketWorker;
use crate::driver::{Connection, DriverError};
use crate::generator::ParameterStream;

/// Pause before the first attempt to connect again; doubles up to the longest.
const FIRST_PAUSE_NS: u64 = 10_000_000;
const LONGEST_PAUSE_NS: u64 = 1_000_000_000;

const WRONG_KIND: &str = "the driver made an inline connection without saying that it blocks its thread";

const NO_SOCKET: &str = "the driver made a connection without a socket";

/// What became of a connection.
pub(super) enum State {
    Open(Link),
    /// To be connected at this time.
    Broken {
        retry_ns: u64,
    },
    /// A helper thread is at it.
    Connecting,
}

/// The place of one client.
pub(super) struct Slot {
    pub(super) number: usize,
    pub(super) stream: ParameterStream,
    pub(super) state: State,
    /// Attempts to connect since the last success of an operation.
    pub(super) attempts: u32,
    /// Since when it has had room for a request.
    pub(super) free_ns: u64,
    /// Whether an open loop's queues hold it.
    pub(super) is_idle_queued: bool,
    pub(super) is_roomy_queued: bool,
}

/// A connection made by a helper thread, for the slot at `index`.
pub(super) struct Made {
    index: usize,
    connection: Result<Connection, DriverError>,
}

impl Slot {
    fn new(number: usize, stream: ParameterStream) -> Self {
        Self {
            number,
            stream,
            state: State::Broken { retry_ns: 0 },
            attempts: 0,
            free_ns: 0,
            is_idle_queued: false,
            is_roomy_queued: false,
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        if let State::Open(link) = &self.state { link.in_flight() } else { 0 }
    }

    /// Intended starts of what is in flight.
    pub(super) fn intended_ns(&self) -> impl Iterator<Item = u64> {
        let link = if let State::Open(link) = &self.state { Some(link) } else { None };
        link.into_iter().flat_map(Link::intended_ns)
    }
}

impl SocketWorker<'_> {
    /// Takes the first connections.
    pub(super) fn adopt(&mut self, connections: Vec<Option<Connection>>) {
        for (index, (connection, &number)) in connections.into_iter().zip(&self.task.clients).enumerate() {
            self.slots.push(Slot::new(number, self.task.stream(number)));
            if let Some(connection) = connection {
                self.install(index, connection);
            }
        }
    }

    fn install(&mut self, index: usize, connection: Connection) {
        let Connection::Socket(client) = connection else { return self.broken(index, WRONG_KIND) };
        let Some(link) = Link::new(client, self.depth) else { return self.broken(index, NO_SOCKET) };
        let watched = self.event_loop.watch(link.socket(), index);
        let slot = &mut self.slots[index];
        slot.state = State::Open(link);
        slot.free_ns = self.now_ns;
        match watched {
            Ok(()) => {
                self.behind.push(index);
                self.has_room(index, false);
            }
            Err(error) => self.broken(index, &not_watched(error)),
        }
    }

    /// Watches a socket for replies, and for room too if asked.
    #[cold]
    pub(super) fn watch_room(&mut self, index: usize, room: bool) {
        let State::Open(link) = &self.slots[index].state else { return };
        if let Err(error) = self.event_loop.watch_room(link.socket(), index, room) {
            self.broken(index, &not_watched(error));
        }
    }

    /// Counts what was in flight (at least the break itself) and plans to connect again.
    #[cold]
    pub(super) fn broken(&mut self, index: usize, message: &str) {
        let slot = &mut self.slots[index];
        let mut lost = 1;
        if let State::Open(link) = &slot.state {
            lost = link.in_flight().max(1);
            self.event_loop.forget(link.socket());
        }
        self.recorder.failure(message, lost as u64);
        self.recorder.last_ns = self.now_ns;
        let retry_ns = self.now_ns.saturating_add(pause_ns(slot.attempts));
        slot.attempts = slot.attempts.saturating_add(1);
        slot.state = State::Broken { retry_ns };
    }

    /// The server takes no more requests on this connection: makes it again, at once if it brought anything, and
    /// counts no error. Requests sent behind its last reply are lost.
    #[cold]
    pub(super) fn spent(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if let State::Open(link) = &slot.state {
            let lost = link.in_flight() as u64;
            self.event_loop.forget(link.socket());
            if lost > 0 {
                self.recorder.failure("the server closed the connection before it answered", lost);
                self.recorder.last_ns = self.now_ns;
            }
        }
        let pause_ns = if slot.attempts == 0 { 0 } else { pause_ns(slot.attempts) };
        slot.attempts = slot.attempts.saturating_add(1);
        slot.state = State::Broken { retry_ns: self.now_ns.saturating_add(pause_ns) };
        if pause_ns == 0 && self.may_connect() {
            self.connect_again(index);
        }
    }

    /// Gives up a reply that is too late, or connects again.
    pub(super) fn check(&mut self, index: usize) {
        let limit_ns = self.timeline.reply_limit_ns;
        match &self.slots[index].state {
            State::Open(link)
                if link.oldest_ns().is_some_and(|ns| self.now_ns >= ns.saturating_add(limit_ns)) =>
            {
                self.broken(index, &format!("no reply within {:?}", Duration::from_nanos(limit_ns)));
            }
            State::Broken { retry_ns } if self.now_ns >= *retry_ns && self.may_connect() => {
                self.connect_again(index);
            }
            _ => {}
        }
    }

    /// After the window only an open loop has something left to send.
    fn may_connect(&self) -> bool {
        let backlog = self.open.as_ref().map_or(0, |open| open.pace.backlog());
        self.now_ns < self.timeline.measure_ends_ns || backlog > 0
    }

    fn connect_again(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let (driver, number) = (Arc::clone(&self.task.driver), slot.number);
        let (made, waker) = (self.made.0.clone(), self.event_loop.waker());
        let helper = move || {
            let connection = driver.connect(number);
            // The worker may be gone: then nobody wants the connection.
            if made.send(Made { index, connection }).is_ok() {
                waker.wake();
            }
        };
        slot.state = State::Connecting;
        if let Err(error) = thread::Builder::new().name("load-reconnect".into()).spawn(helper) {
            self.broken(index, &format!("starting a thread to connect again failed: {error}"));
        }
    }

    #[cold]
    pub(super) fn take_made(&mut self) {
        self.now_ns = self.timeline.now_ns();
        while let Ok(Made { index, connection }) = self.made.1.try_recv() {
            match connection {
                Ok(connection) => {
                    self.install(index, connection);
                    self.recorder.reconnects += u64::from(matches!(self.slots[index].state, State::Open(_)));
                }
                Err(error) => self.broken(index, &error.message),
            }
        }
    }
}

fn not_watched(error: Errno) -> String {
    format!("watching the socket failed: {}", describe(error))
}

/// How long to wait before connecting again, after so many attempts without a success.
fn pause_ns(attempts: u32) -> u64 {
    (FIRST_PAUSE_NS << attempts.min(10)).min(LONGEST_PAUSE_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest() {
        assert_eq!([0, 1, 2, 60].map(pause_ns).map(|ns| ns / 1_000_000), [10, 20, 40, 1000]);
    }
}
