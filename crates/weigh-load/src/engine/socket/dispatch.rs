//! The open loop of a socket worker: which connection sends what is due, and when.
//!
//! What is due goes at once to the connection that has been idle longest, or, when none is, to one that has room in its
//! pipeline, in turn. When no connection has room it waits for the next reply, and the connection that brought it
//! sends as much of the backlog as it has room for.

use std::collections::VecDeque;

use super::connections::State;
use super::worker::SocketWorker;
use crate::engine::pace::Pace;

/// The schedule of a worker and the connections that can take from it.
pub(super) struct Open {
    pub(super) pace: Pace,
    /// Connections with nothing in flight, longest idle first. Entries may be out of date.
    idle: VecDeque<usize>,
    /// Connections with something in flight and room for more. Entries may be out of date.
    roomy: VecDeque<usize>,
    /// When the worker woke up last: whatever it finds then had happened before.
    woken_ns: u64,
}

impl Open {
    pub(super) fn new(pace: Pace, clients: usize) -> Self {
        Self {
            pace,
            idle: VecDeque::with_capacity(clients),
            roomy: VecDeque::with_capacity(clients),
            woken_ns: 0,
        }
    }

    /// When something can be sent: never, if no connection has room.
    #[inline]
    pub(super) fn wake_ns(&self) -> u64 {
        if self.idle.is_empty() && self.roomy.is_empty() { u64::MAX } else { self.pace.due_ns() }
    }

    /// Operations due by `now_ns` and not sent.
    pub(super) fn backlog_at(&mut self, now_ns: u64) -> u64 {
        self.pace.count_due(now_ns);
        self.pace.backlog()
    }
}

impl SocketWorker<'_> {
    /// The worker woke up.
    #[inline]
    pub(super) fn wake(&mut self) {
        if let Some(open) = &mut self.open {
            self.now_ns = self.timeline.now_ns();
            open.woken_ns = self.now_ns;
        }
    }

    /// Notes that a connection can take a request; `was_full`: it could not before.
    #[inline]
    pub(super) fn has_room(&mut self, index: usize, was_full: bool) {
        let Some(open) = &mut self.open else { return };
        let slot = &mut self.slots[index];
        let State::Open(link) = &slot.state else { return };
        if was_full {
            slot.free_ns = open.woken_ns;
        }
        if link.in_flight() == 0 {
            if !std::mem::replace(&mut slot.is_idle_queued, true) {
                open.idle.push_back(index);
            }
        } else if link.in_flight() < self.depth && !std::mem::replace(&mut slot.is_roomy_queued, true) {
            open.roomy.push_back(index);
        }
    }

    /// The connection that is next to send.
    fn take_free(&mut self) -> Option<usize> {
        let open = self.open.as_mut()?;
        while let Some(index) = open.idle.pop_front() {
            let slot = &mut self.slots[index];
            slot.is_idle_queued = false;
            if matches!(&slot.state, State::Open(link) if link.in_flight() == 0) {
                return Some(index);
            }
        }
        while let Some(index) = open.roomy.pop_front() {
            let slot = &mut self.slots[index];
            slot.is_roomy_queued = false;
            if matches!(&slot.state, State::Open(link) if link.in_flight() < self.depth) {
                return Some(index);
            }
        }
        None
    }

    /// Between two events: sends what has fallen due meanwhile.
    #[inline]
    pub(super) fn send_overdue(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.wake_ns() <= self.now_ns) {
            self.send_due();
        }
    }

    /// Sends everything that is due and finds a connection with room.
    #[inline]
    pub(super) fn send_due(&mut self) {
        if self.open.is_none() {
            return;
        }
        loop {
            self.now_ns = self.timeline.now_ns();
            let Some(open) = &mut self.open else { return };
            if open.backlog_at(self.now_ns) == 0 {
                return;
            }
            let Some(index) = self.take_free() else { return };
            self.send_backlog(index, 1);
        }
    }

    /// Sends at most `most` operations of the backlog on a connection, as of `now_ns`.
    pub(super) fn send_backlog(&mut self, index: usize, most: usize) {
        let Some(open) = &mut self.open else { return };
        let slot = &mut self.slots[index];
        let State::Open(link) = &mut slot.state else { return };
        open.pace.count_due(self.now_ns);
        let room = most.min(self.depth - link.in_flight());
        let mut launched = 0;
        while launched < room && open.pace.backlog() > 0 {
            if !link.has_waiting() {
                link.top_up(&mut slot.stream, 1);
            }
            link.launch(open.pace.take(), self.now_ns);
            launched += 1;
        }
        if launched == 0 {
            return;
        }
        let was_blocked = link.is_blocked();
        let result = link.hand_over();
        for intended_ns in link.newest_intended_ns(launched) {
            open.pace.sent(intended_ns, self.now_ns, slot.free_ns);
        }
        self.behind.push(index);
        self.handed_over(index, was_blocked, result);
        self.has_room(index, false);
    }
}
