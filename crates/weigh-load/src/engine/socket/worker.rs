//! The loop of a socket worker: waits, reads replies, sends the next requests, records, in this order.
//!
//! The clock reading after complete replies is also the start of the operations that are sent in their place. In
//! an open loop it is one more: when they really were sent.

use std::sync::mpsc;
use std::time::Duration;

use rustix::io::Errno;

use super::connections::{Made, Slot, State};
use super::dispatch::Open;
use super::event_loop::{Event, EventLoop, Events};
use super::link::{READ_BUFFER_BYTES, Received, describe};
use crate::driver::{Connection, Outcome, Replies};
use crate::engine::pace::Pace;
use crate::engine::publish::Publisher;
use crate::engine::recorder::{Recorder, Run};
use crate::engine::timeline::Timeline;
use crate::engine::usage::UsageProbe;
use crate::engine::worker::{Task, WorkerReport};
use crate::error::LoadError;

/// How often reply limits and pending reconnects are looked at.
const TICK_NS: u64 = 50_000_000;

const CANCELLED: &str = "no reply when the load was cancelled";

/// One worker under way.
pub(super) struct SocketWorker<'a> {
    pub(super) task: &'a Task,
    pub(super) event_loop: EventLoop,
    pub(super) timeline: Timeline,
    pub(super) recorder: Recorder,
    probe: UsageProbe,
    publisher: Publisher,
    pub(super) slots: Vec<Slot>,
    /// Operations in flight per connection.
    pub(super) depth: usize,
    /// The schedule of an open loop.
    pub(super) open: Option<Open>,
    /// Operations a closed loop may still send in the measured window.
    left: u64,
    buffer: Vec<u8>,
    replies: Replies,
    runs: Vec<Run>,
    unusual: Vec<(Run, Outcome)>,
    /// Slots with fewer requests encoded than the pipeline takes.
    pub(super) behind: Vec<usize>,
    /// Slots whose client may finish operations without more bytes.
    pub(super) ready: Vec<usize>,
    serving: Vec<usize>,
    pub(super) made: (mpsc::Sender<Made>, mpsc::Receiver<Made>),
    pub(super) now_ns: u64,
    /// The common start is over.
    started: bool,
    tick_ns: u64,
}

/// Runs the load until its end, until nothing is outstanding after it, or until a cancel.
pub(in crate::engine) fn run(
    task: &Task,
    event_loop: EventLoop,
    timeline: Timeline,
    recorder: Recorder,
    connections: Vec<Option<Connection>>,
) -> Result<WorkerReport, LoadError> {
    let pace = Pace::new(&task.spec, &timeline, task.place)?;
    let mut worker = SocketWorker {
        probe: UsageProbe::new(&timeline),
        publisher: Publisher::new(task, &timeline)?,
        slots: Vec::with_capacity(task.clients.len()),
        depth: task.spec.pipeline,
        open: pace.map(|pace| Open::new(pace, task.clients.len())),
        left: task.share_of_limit().unwrap_or(u64::MAX),
        buffer: vec![0; READ_BUFFER_BYTES],
        replies: Replies::default(),
        runs: Vec::with_capacity(task.spec.pipeline),
        unusual: Vec::new(),
        behind: Vec::with_capacity(task.clients.len()),
        ready: Vec::with_capacity(task.clients.len()),
        serving: Vec::with_capacity(task.clients.len()),
        made: mpsc::channel(),
        now_ns: 0,
        started: false,
        tick_ns: TICK_NS,
        task,
        event_loop,
        timeline,
        recorder,
    };
    worker.adopt(connections);
    worker.encode_ahead();
    timeline.await_start();
    worker.work()?;
    Ok(worker.finish())
}

impl SocketWorker<'_> {
    fn work(&mut self) -> Result<(), LoadError> {
        let mut events = Events::new();
        self.started = true;
        for index in 0..self.slots.len() {
            self.now_ns = self.timeline.now_ns();
            self.send(index);
        }
        loop {
            self.encode_ahead();
            if self.is_over() {
                return Ok(());
            }
            self.arm_timer();
            let count = self.event_loop.wait(&mut events, !self.ready.is_empty())?;
            self.wake();
            for place in 0..count {
                match self.event_loop.event(&events, place) {
                    Event::Wake => self.take_made(),
                    Event::Timer => self.tick(),
                    Event::Socket { index, has_bytes, has_room, is_closed } => {
                        if has_room {
                            self.flush(index);
                        }
                        if has_bytes || is_closed {
                            self.serve(index, is_closed);
                        }
                        self.send_overdue();
                    }
                }
            }
            self.serve_ready();
            self.send_due();
        }
    }

    /// Whether nothing is left to do: after the window, or when the limit is reached, and nothing is outstanding.
    fn is_over(&self) -> bool {
        if self.task.shared.is_cancelled() {
            return true;
        }
        if self.now_ns < self.timeline.measure_ends_ns && !self.has_sent_its_share() {
            return false;
        }
        let backlog = self.open.as_ref().map_or(0, |open| open.pace.backlog());
        self.now_ns >= self.timeline.drain_ends_ns || (self.outstanding() == 0 && backlog == 0)
    }

    /// Whether the limit of operations, if there is one, forbids to send more.
    fn has_sent_its_share(&self) -> bool {
        let all_sent = match &self.open {
            Some(open) => open.pace.all_sent(),
            None => self.left == 0,
        };
        all_sent && self.task.spec.operations_limit.is_some()
    }

    fn outstanding(&self) -> usize {
        self.slots.iter().map(Slot::in_flight).sum()
    }

    /// Reads replies of a connection, sends what may be sent, records. Reads once unless that filled the buffer;
    /// a connection that was `closed` is read to its end, for there will be no other event.
    #[inline]
    fn serve(&mut self, index: usize, closed: bool) {
        loop {
            let State::Open(link) = &mut self.slots[index].state else { return };
            let received = link.receive(&mut self.buffer, &mut self.replies);
            self.now_ns = self.timeline.now_ns();
            self.settle(index, !matches!(received, Received::Broken(_) | Received::Spent));
            match received {
                Received::Full => {}
                Received::Some if closed => {}
                Received::Some | Received::Nothing => return,
                Received::Broken(message) => return self.broken(index, &message),
                Received::Spent => return self.spent(index),
            }
        }
    }

    /// Deals with the replies found: sends in their place, if the connection is usable, and records them.
    #[inline]
    fn settle(&mut self, index: usize, usable: bool) {
        if self.replies.finished == 0 {
            return;
        }
        let State::Open(link) = &mut self.slots[index].state else { return };
        let was_full = link.in_flight() >= self.depth;
        link.collect(&mut self.replies, &mut self.runs, &mut self.unusual);
        if usable {
            self.has_room(index, was_full);
            self.send(index);
        }
        self.record(index);
    }

    /// Finishes operations that need no bytes from the socket, once for every connection: one that never needs any
    /// must not starve the others.
    fn serve_ready(&mut self) {
        if self.ready.is_empty() {
            return;
        }
        std::mem::swap(&mut self.ready, &mut self.serving);
        while let Some(index) = self.serving.pop() {
            let State::Open(link) = &mut self.slots[index].state else { continue };
            link.digest(&[], &mut self.replies);
            let broken = self.replies.broken.take();
            self.now_ns = self.timeline.now_ns();
            self.settle(index, broken.is_none());
            if let Some(message) = broken {
                self.broken(index, &message);
            }
        }
    }

    /// Sends as many requests as there is room for, from `now_ns` on; nothing after the window.
    #[inline]
    pub(super) fn send(&mut self, index: usize) {
        if let Some(open) = &self.open {
            // What is due only now is for the connection that has been idle longest.
            return if open.pace.backlog() > 0 {
                self.send_backlog(index, usize::MAX)
            };
        }
        let State::Open(link) = &mut self.slots[index].state else { return };
        let mut room = self.depth - link.in_flight();
        if self.now_ns >= self.timeline.measure_begins_ns {
            if self.now_ns >= self.timeline.measure_ends_ns {
                return;
            }
            room = room.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        }
        let mut launched = 0;
        while launched < room && link.launch(self.now_ns, self.now_ns) {
            launched += 1;
        }
        if launched > 0 {
            if self.now_ns >= self.timeline.measure_begins_ns {
                self.left -= launched as u64;
            }
            let was_blocked = link.is_blocked();
            let result = link.hand_over();
            self.handed_over(index, was_blocked, result);
        }
        self.behind.push(index);
    }

    /// What follows from having handed bytes to a socket.
    #[inline]
    pub(super) fn handed_over(&mut self, index: usize, was_blocked: bool, result: Result<(), Errno>) {
        let State::Open(link) = &self.slots[index].state else { return };
        match result {
            Ok(()) => {
                if link.has_more() {
                    self.ready.push(index);
                }
                if link.is_blocked() != was_blocked {
                    self.watch_room(index, !was_blocked);
                }
            }
            Err(error) => self.broken(index, &describe(error)),
        }
    }

    fn flush(&mut self, index: usize) {
        let State::Open(link) = &mut self.slots[index].state else { return };
        let was_blocked = link.is_blocked();
        let result = link.flush();
        self.handed_over(index, was_blocked, result);
    }

    #[inline]
    fn record(&mut self, index: usize) {
        if self.recorder.wants_first_calls() && self.slots[index].number == 0 {
            self.record_first_calls();
        }
        if !self.runs.is_empty() {
            for run in &self.runs {
                self.recorder.success(run, self.now_ns);
            }
            self.runs.clear();
            self.slots[index].attempts = 0;
        }
        if !self.unusual.is_empty() {
            self.record_unusual(index);
        }
    }

    /// Misses and parts of one read come after its plain successes, in whichever order they were sent.
    #[cold]
    fn record_first_calls(&mut self) {
        let unusual = self.unusual.iter().filter(|(_, outcome)| outcome.is_done()).map(|(run, _)| run);
        for run in self.runs.iter().chain(unusual) {
            self.recorder.first_call(run, self.now_ns);
        }
    }

    #[cold]
    fn record_unusual(&mut self, index: usize) {
        for (run, outcome) in self.unusual.drain(..) {
            if !matches!(outcome, Outcome::Error(_)) {
                self.slots[index].attempts = 0;
            }
            self.recorder.unusual(&run, outcome, self.now_ns);
        }
    }

    /// While replies are on their way: encodes what will be sent next. Room of a closed loop that opened when
    /// nothing was encoded is filled now.
    #[inline]
    fn encode_ahead(&mut self) {
        while let Some(index) = self.behind.pop() {
            let slot = &mut self.slots[index];
            let State::Open(link) = &mut slot.state else { continue };
            link.top_up(&mut slot.stream, self.depth);
            if link.in_flight() < self.depth && self.started && self.open.is_none() {
                self.now_ns = self.timeline.now_ns();
                if self.may_send() {
                    self.send(index);
                }
            }
        }
    }

    /// Whether a closed loop may send at `now_ns`.
    fn may_send(&self) -> bool {
        self.now_ns < self.timeline.measure_begins_ns
            || (self.left > 0 && self.now_ns < self.timeline.measure_ends_ns)
    }

    #[cold]
    fn tick(&mut self) {
        self.now_ns = self.timeline.now_ns();
        self.probe.tick(self.now_ns);
        if self.now_ns >= self.publisher.due_ns() {
            let backlog = self.open.as_mut().map_or(0, |open| open.backlog_at(self.now_ns));
            self.publisher.publish(self.now_ns, &self.recorder, backlog);
        }
        if self.now_ns >= self.tick_ns {
            self.tick_ns = self.now_ns + TICK_NS;
            for index in 0..self.slots.len() {
                self.check(index);
            }
        }
    }

    #[inline]
    fn arm_timer(&mut self) {
        let boundary_ns = if self.now_ns < self.timeline.measure_ends_ns {
            self.timeline.measure_ends_ns
        } else {
            self.timeline.drain_ends_ns
        };
        let at_ns = self.tick_ns.min(self.probe.due_ns()).min(self.publisher.due_ns()).min(boundary_ns);
        let at_ns = at_ns.min(self.open.as_ref().map_or(u64::MAX, Open::wake_ns));
        self.event_loop.arm(&self.timeline, at_ns);
    }

    /// Closes the books: counts what was never answered.
    fn finish(mut self) -> WorkerReport {
        let cancelled = self.task.shared.is_cancelled();
        let outstanding = self.outstanding() as u64;
        if outstanding > 0 && cancelled {
            self.recorder.failure(CANCELLED, outstanding);
        } else if outstanding > 0 {
            let drain_ns = self.timeline.drain_ends_ns - self.timeline.measure_ends_ns;
            let message = format!("no reply within {:?} of the end", Duration::from_nanos(drain_ns));
            self.recorder.failure(&message, outstanding);
        }
        let limited = !cancelled && self.has_sent_its_share();
        let ended_ns = limited.then_some(self.recorder.last_ns);
        let now_ns = self.timeline.now_ns();
        self.publisher.finish(now_ns, &self.recorder);
        let in_flight = self.slots.iter().flat_map(Slot::intended_ns);
        let schedule = self.open.map(|open| open.pace.finish(now_ns, in_flight));
        WorkerReport { spent: self.probe.finish(now_ns), recorder: self.recorder, schedule, ended_ns }
    }
}
