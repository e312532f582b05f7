//! What a socket worker waits with: epoll, a waker for other threads, a timer.
//!
//! Events are edge-triggered: one for every time something arrives, none for what is known already. Timers come from a
//! timer descriptor set to an absolute time: boundaries and intended starts are met to the microsecond, however
//! long the wait, which a time-out argument in milliseconds cannot do.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use crate::engine::timeline::Timeline;
use crate::error::LoadError;

const WAKE: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
const EVENTS: usize = 1024;

const NO_TIME: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Something happened.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// Another thread woke the loop.
    Wake,
    /// The timer expired.
    Timer,
    /// To the socket with this index.
    Socket {
        index: usize,
        has_bytes: bool,
        has_room: bool,
        /// The other side will send nothing more, or the connection is broken.
        is_closed: bool,
    },
}

/// Wakes an event loop, from any thread.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Waker(Arc<OwnedFd>);

impl Waker {
    pub(in crate::engine) fn wake(&self) {
        // Fails only when four thousand million wake-ups were never heard.
        rustix::io::write(&self.0, &1_u64.to_ne_bytes()).ok();
    }
}

/// The event loop of a worker, made before its thread so that others can wake it.
pub(in crate::engine) struct EventLoop {
    epoll: OwnedFd,
    waker: Waker,
    timer: OwnedFd,
    /// When the timer expires, if it is set.
    armed_ns: Option<u64>,
}

/// Room for what one wait brings; stays in the thread that made it.
pub(super) struct Events(Vec<epoll::Event>);

impl Events {
    pub(super) fn new() -> Self {
        let none = epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        Self(vec![none; EVENTS])
    }
}

impl EventLoop {
    /// # Errors
    /// The operating system's.
    pub(in crate::engine) fn new() -> Result<Self, LoadError> {
        let failed = LoadError::system;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed("making an event loop"))?;
        let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(failed("making an event loop's waker"))?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .map_err(failed("making a timer"))?;
        for (source, data) in [(&waker, WAKE), (&timer, TIMER)] {
            epoll::add(&epoll, source, epoll::EventData::new_u64(data), replies())
                .map_err(failed("watching a timer"))?;
        }
        Ok(Self { epoll, waker: Waker(Arc::new(waker)), timer, armed_ns: None })
    }

    pub(in crate::engine) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Has the timer expire at `at_ns`; at once if that is past.
    #[inline]
    pub(super) fn arm(&mut self, timeline: &Timeline, at_ns: u64) {
        if self.armed_ns != Some(at_ns) {
            self.armed_ns = Some(at_ns);
            let clock_ns = timeline.clock_at(at_ns);
            let at = Timespec {
                tv_sec: (clock_ns / 1_000_000_000).cast_signed(),
                tv_nsec: (clock_ns % 1_000_000_000).cast_signed(),
            };
            let once = Itimerspec { it_interval: NO_TIME, it_value: at };
            // Setting a valid time on an open timer cannot fail.
            timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once).ok();
        }
    }

    /// Waits for events, or only looks; says how many there are.
    #[inline]
    pub(super) fn wait(&self, events: &mut Events, only_look: bool) -> Result<usize, LoadError> {
        match epoll::wait(&self.epoll, events.0.as_mut_slice(), only_look.then_some(&NO_TIME)) {
            Err(Errno::INTR) => Ok(0),
            other => other.map_err(LoadError::system("waiting for events")),
        }
    }

    /// Event number `place` of those a [`wait`](Self::wait) brought.
    #[inline]
    pub(super) fn event(&mut self, events: &Events, place: usize) -> Event {
        let epoll::Event { flags, data } = events.0[place];
        match data.u64() {
            WAKE => Event::Wake,
            TIMER => {
                self.armed_ns = None;
                Event::Timer
            }
            index => {
                use epoll::EventFlags;
                Event::Socket {
                    index: usize::try_from(index).unwrap_or(usize::MAX),
                    has_bytes: flags.contains(EventFlags::IN),
                    has_room: flags.contains(EventFlags::OUT),
                    is_closed: flags.intersects(EventFlags::HUP | EventFlags::RDHUP | EventFlags::ERR),
                }
            }
        }
    }

    /// Watches a socket for replies.
    pub(super) fn watch(&self, socket: BorrowedFd<'_>, index: usize) -> Result<(), Errno> {
        epoll::add(&self.epoll, socket, epoll::EventData::new_u64(index as u64), replies())
    }

    /// Watches it for replies, and for room too if asked.
    pub(super) fn watch_room(&self, socket: BorrowedFd<'_>, index: usize, room: bool) -> Result<(), Errno> {
        let flags = if room { replies() | epoll::EventFlags::OUT } else { replies() };
        epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(index as u64), flags)
    }

    /// Watches it no longer.
    pub(super) fn forget(&self, socket: BorrowedFd<'_>) {
        // Closing the socket would do; a failure here changes nothing.
        epoll::delete(self.epoll.as_fd(), socket).ok();
    }
}

fn replies() -> epoll::EventFlags {
    epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET
}
