//! The worker of socket connections: one thread, one event loop.
//!
//! Per operation there is one `recv`, one clock reading and one `send`, plus a share of one `epoll_wait`. The
//! clock reading after a complete reply is also the start of the next operation of that connection. Timers
//! come from a timer descriptor, so that waiting never needs a time-out argument and boundaries are met to the
//! microsecond. Broken connections are made again by a helper thread: a worker never blocks.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::link::{Finished, Link, READ_BUFFER_BYTES, Received, describe};
use super::recorder::Recorder;
use super::timeline::Timeline;
use super::usage::UsageProbe;
use super::worker::{Task, WorkerReport};
use crate::driver::{Connection, DriverError};
use crate::error::LoadError;
use crate::generator::ParameterStream;

const WAKE: Token = Token(usize::MAX);
const TIMER: Token = Token(usize::MAX - 1);
const EVENTS: usize = 1024;

/// How often reply limits and pending reconnects are looked at.
const TICK_NS: u64 = 50_000_000;

/// Pause before the first attempt to connect again; doubles up to the longest.
const FIRST_PAUSE_NS: u64 = 10_000_000;
const LONGEST_PAUSE_NS: u64 = 1_000_000_000;

const WRONG_KIND: &str = "the driver made an inline connection without saying that it blocks its thread";
const CANCELLED: &str = "no reply when the load was cancelled";

/// The event loop of a worker, made before its thread so that others can wake it.
pub(super) struct EventLoop {
    poll: Poll,
    waker: Arc<Waker>,
    timer: TimerFd,
}

impl EventLoop {
    pub(super) fn new() -> Result<Self, LoadError> {
        let poll = Poll::new().map_err(LoadError::system("making an event loop"))?;
        let waker =
            Waker::new(poll.registry(), WAKE).map_err(LoadError::system("making an event loop's waker"))?;
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)
                .map_err(LoadError::system("making a timer"))?;
        let descriptor = std::os::fd::AsFd::as_fd(&timer).as_raw_fd();
        poll.registry()
            .register(&mut SourceFd(&descriptor), TIMER, Interest::READABLE)
            .map_err(LoadError::system("watching a timer"))?;
        Ok(Self { poll, waker: Arc::new(waker), timer })
    }

    pub(super) fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }
}

enum State {
    Open(Link),
    /// To be connected at this time.
    Broken {
        retry_ns: u64,
    },
    /// A helper thread is at it.
    Connecting,
}

struct Slot {
    number: usize,
    stream: ParameterStream,
    state: State,
    /// Attempts to connect since the last success of an operation.
    attempts: u32,
}

/// A connection made by a helper thread, for the slot at `index`.
struct Arrival {
    index: usize,
    connection: Result<Connection, DriverError>,
}

struct SocketWorker<'a> {
    task: &'a Task,
    poll: Poll,
    waker: Arc<Waker>,
    timer: TimerFd,
    timeline: Timeline,
    recorder: Recorder,
    probe: UsageProbe,
    slots: Vec<Slot>,
    buffer: Vec<u8>,
    finished: Vec<Finished>,
    /// Slots with fewer requests encoded than the pipeline takes.
    behind: Vec<usize>,
    arrived: (Sender<Arrival>, Receiver<Arrival>),
    now_ns: u64,
    tick_ns: u64,
}

/// Runs the load until its end, until nothing is outstanding after it, or until a cancel.
pub(super) fn run(
    task: &Task,
    event_loop: EventLoop,
    timeline: Timeline,
    recorder: Recorder,
    connections: Vec<Option<Connection>>,
) -> Result<WorkerReport, LoadError> {
    let EventLoop { poll, waker, timer } = event_loop;
    let mut worker = SocketWorker {
        probe: UsageProbe::new(&timeline),
        slots: Vec::with_capacity(task.clients.len()),
        buffer: vec![0; READ_BUFFER_BYTES],
        finished: Vec::with_capacity(task.spec.pipeline),
        behind: Vec::with_capacity(task.clients.len()),
        arrived: mpsc::channel(),
        now_ns: 0,
        tick_ns: TICK_NS,
        task,
        poll,
        waker,
        timer,
        timeline,
        recorder,
    };
    worker.adopt(connections);
    thread::sleep(timeline.start.saturating_duration_since(Instant::now()));
    worker.work()?;
    worker.give_up_outstanding();
    let spent = worker.probe.finish(timeline.now_ns());
    Ok(WorkerReport { recorder: worker.recorder, spent })
}

impl SocketWorker<'_> {
    /// Takes the first connections and encodes their first requests.
    fn adopt(&mut self, connections: Vec<Option<Connection>>) {
        for (index, (connection, &number)) in connections.into_iter().zip(&self.task.clients).enumerate() {
            let stream = self.task.stream(number);
            self.slots.push(Slot { number, stream, state: State::Broken { retry_ns: 0 }, attempts: 0 });
            if let Some(connection) = connection {
                self.install(index, connection);
            }
        }
        self.encode_ahead();
    }

    fn work(&mut self) -> Result<(), LoadError> {
        let mut events = Events::with_capacity(EVENTS);
        for index in 0..self.slots.len() {
            self.now_ns = self.timeline.now_ns();
            self.send(index);
        }
        self.arm_timer();
        loop {
            self.encode_ahead();
            if self.is_over() {
                return Ok(());
            }
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                other => other.map_err(LoadError::system("waiting for events"))?,
            }
            for event in &events {
                match event.token() {
                    WAKE => self.take_arrivals(),
                    TIMER => self.tick(),
                    Token(index) => {
                        if event.is_writable() {
                            self.flush(index);
                        }
                        let closed = event.is_read_closed() || event.is_error();
                        if event.is_readable() || closed {
                            self.serve(index, closed);
                        }
                    }
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        if self.task.shared.is_cancelled() {
            return true;
        }
        self.now_ns >= self.timeline.measure_ends_ns
            && (self.now_ns >= self.timeline.drain_ends_ns || self.outstanding() == 0)
    }

    fn outstanding(&self) -> usize {
        self.slots
            .iter()
            .map(|slot| if let State::Open(link) = &slot.state { link.in_flight() } else { 0 })
            .sum()
    }

    /// Reads replies of a connection, sends what may be sent, records, in this order. Reads once unless that
    /// filled the buffer; a connection that was `closed` is read to its end, for there will be no other event.
    fn serve(&mut self, index: usize, closed: bool) {
        loop {
            let slot = &mut self.slots[index];
            let State::Open(link) = &mut slot.state else { return };
            let received = link.receive(&mut self.buffer, &mut self.finished);
            self.now_ns = self.timeline.now_ns();
            if !self.finished.is_empty() {
                if !matches!(received, Received::Broken(_)) {
                    self.send(index);
                }
                self.record(index);
            }
            self.probe.tick(self.now_ns);
            match received {
                Received::Full => {}
                Received::Some if closed => {}
                Received::Some | Received::Nothing => return,
                Received::Broken(message) => return self.broken(index, &message),
            }
        }
    }

    /// Sends as many requests as the pipeline takes, from `now_ns` on; nothing after the window.
    fn send(&mut self, index: usize) {
        if self.now_ns >= self.timeline.measure_ends_ns {
            return;
        }
        let State::Open(link) = &mut self.slots[index].state else { return };
        let intended_ns = self.task.spec.schedule.intended_ns(self.now_ns);
        let was_blocked = link.is_blocked();
        match link.send(self.task.spec.pipeline, intended_ns) {
            Ok(()) if link.is_blocked() && !was_blocked => self.watch(index, true),
            Ok(()) => {}
            Err(error) => self.broken(index, &describe(error)),
        }
        self.behind.push(index);
    }

    fn record(&mut self, index: usize) {
        for Finished { operation, intended_ns, error } in self.finished.drain(..) {
            match error {
                None => {
                    self.recorder.success(operation, intended_ns, self.now_ns);
                    self.slots[index].attempts = 0;
                }
                Some(message) => self.recorder.failure(&message, 1),
            }
        }
    }

    /// While replies are on their way: encodes what will be sent next. Room that opened when nothing was
    /// encoded is filled now.
    fn encode_ahead(&mut self) {
        let depth = self.task.spec.pipeline;
        while let Some(index) = self.behind.pop() {
            let slot = &mut self.slots[index];
            let State::Open(link) = &mut slot.state else { continue };
            link.top_up(&mut slot.stream, depth);
            // Before the common start nothing is in flight yet, and nothing may be sent.
            if self.now_ns > 0 && link.in_flight() < depth && self.now_ns < self.timeline.measure_ends_ns {
                self.now_ns = self.timeline.now_ns();
                self.send(index);
            }
        }
    }

    fn flush(&mut self, index: usize) {
        let State::Open(link) = &mut self.slots[index].state else { return };
        match link.flush() {
            Ok(()) if !link.is_blocked() => self.watch(index, false),
            Ok(()) => {}
            Err(error) => self.broken(index, &describe(error)),
        }
    }

    /// Watches a socket for replies, and for room too if asked.
    fn watch(&mut self, index: usize, room: bool) {
        let State::Open(link) = &self.slots[index].state else { return };
        let interest = if room { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let socket = link.socket();
        if let Err(error) = self.poll.registry().reregister(&mut SourceFd(&socket), Token(index), interest) {
            self.broken(index, &format!("watching the socket failed: {error}"));
        }
    }

    fn install(&mut self, index: usize, connection: Connection) {
        let Connection::Socket(client) = connection else { return self.broken(index, WRONG_KIND) };
        let link = Link::new(client, self.task.spec.pipeline);
        let socket = link.socket();
        self.slots[index].state = State::Open(link);
        match self.poll.registry().register(&mut SourceFd(&socket), Token(index), Interest::READABLE) {
            Ok(()) => self.behind.push(index),
            Err(error) => self.broken(index, &format!("watching the socket failed: {error}")),
        }
    }

    /// Counts what was in flight (at least the break itself) and plans to connect again.
    #[cold]
    fn broken(&mut self, index: usize, message: &str) {
        let slot = &mut self.slots[index];
        let mut lost = 1;
        if let State::Open(link) = &slot.state {
            lost = link.in_flight().max(1);
            let socket = link.socket();
            // Closing the socket would do; a failure here changes nothing.
            self.poll.registry().deregister(&mut SourceFd(&socket)).ok();
        }
        self.recorder.failure(message, lost as u64);
        let retry_ns = self.now_ns.saturating_add(pause_ns(slot.attempts));
        slot.attempts = slot.attempts.saturating_add(1);
        slot.state = State::Broken { retry_ns };
    }

    #[cold]
    fn tick(&mut self) {
        self.now_ns = self.timeline.now_ns();
        self.probe.tick(self.now_ns);
        if self.now_ns >= self.tick_ns {
            self.tick_ns = self.now_ns + TICK_NS;
            for index in 0..self.slots.len() {
                self.check(index);
            }
        }
        self.arm_timer();
    }

    /// Gives up a reply that is too late, or connects again.
    fn check(&mut self, index: usize) {
        let limit_ns = self.timeline.reply_limit_ns;
        match &self.slots[index].state {
            State::Open(link)
                if link.oldest_ns().is_some_and(|ns| self.now_ns >= ns.saturating_add(limit_ns)) =>
            {
                self.broken(index, &format!("no reply within {:?}", Duration::from_nanos(limit_ns)));
            }
            State::Broken { retry_ns }
                if self.now_ns >= *retry_ns && self.now_ns < self.timeline.measure_ends_ns =>
            {
                self.connect_again(index);
            }
            _ => {}
        }
    }

    fn arm_timer(&self) {
        let due_ns = self.tick_ns.min(self.probe.due_ns()).min(self.timeline.drain_ends_ns);
        // A zero time would disarm it.
        let wait = Duration::from_nanos(due_ns.saturating_sub(self.timeline.now_ns()).max(1));
        let expiration = Expiration::OneShot(TimeSpec::from_duration(wait));
        // Setting a valid time on an open timer cannot fail.
        self.timer.set(expiration, TimerSetTimeFlags::empty()).ok();
    }

    fn connect_again(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let (driver, number) = (Arc::clone(&self.task.driver), slot.number);
        let (arrived, waker) = (self.arrived.0.clone(), Arc::clone(&self.waker));
        let helper = move || {
            let connection = driver.connect(number);
            // The worker may be gone: then nobody wants the connection.
            if arrived.send(Arrival { index, connection }).is_ok() {
                waker.wake().ok();
            }
        };
        slot.state = State::Connecting;
        if let Err(error) = thread::Builder::new().name("load-reconnect".into()).spawn(helper) {
            self.broken(index, &format!("starting a thread to connect again failed: {error}"));
        }
    }

    #[cold]
    fn take_arrivals(&mut self) {
        self.now_ns = self.timeline.now_ns();
        while let Ok(Arrival { index, connection }) = self.arrived.1.try_recv() {
            match connection {
                Ok(connection) => {
                    self.install(index, connection);
                    self.recorder.reconnects += u64::from(matches!(self.slots[index].state, State::Open(_)));
                }
                Err(error) => self.broken(index, &error.message),
            }
        }
    }

    /// Counts what was never answered.
    fn give_up_outstanding(&mut self) {
        let outstanding = self.outstanding() as u64;
        if outstanding == 0 {
            return;
        }
        if self.task.shared.is_cancelled() {
            self.recorder.failure(CANCELLED, outstanding);
        } else {
            let drain_ns = self.timeline.drain_ends_ns - self.timeline.measure_ends_ns;
            let message = format!("no reply within {:?} of the end", Duration::from_nanos(drain_ns));
            self.recorder.failure(&message, outstanding);
        }
    }
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
