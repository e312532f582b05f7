//! Ctrl-C, SIGTERM and SIGHUP as a flag that wakes sleepers.
//!
//! The first signal sets the flag; whoever waits through [`Cancel::sleep`] wakes at once and the run winds
//! down in order. A second one ends the process on the spot with 128 + its number; the guard then cleans up.

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::HostError;

/// Between two looks at the flag on behalf of work that cannot look itself.
const PATIENCE: Duration = Duration::from_millis(100);

/// Whether the run was told to stop. Clones share the flag.
#[derive(Clone, Debug)]
pub struct Cancel {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    flag: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
    /// Becomes readable when the flag is set, and stays so: nobody ever reads from it.
    wake: UnixStream,
    waker: UnixStream,
}

impl Cancel {
    /// A flag no signal sets, for tests and for callers with a signal handling of their own.
    ///
    /// # Errors
    /// When no file descriptors are left.
    pub fn new() -> Result<Cancel, HostError> {
        let (wake, waker) = UnixStream::pair().map_err(HostError::Signals)?;
        waker.set_nonblocking(true).map_err(HostError::Signals)?;
        let shared = Shared {
            flag: Arc::new(AtomicBool::new(false)),
            signal: Arc::new(AtomicUsize::new(0)),
            wake,
            waker,
        };
        Ok(Cancel { shared: Arc::new(shared) })
    }

    /// A flag set by SIGINT, SIGTERM and SIGHUP from now on. To be called once per process.
    ///
    /// # Errors
    /// When a handler cannot be installed.
    pub fn install() -> Result<Cancel, HostError> {
        let cancel = Cancel::new()?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            cancel.handle(signal).map_err(HostError::Signals)?;
        }
        Ok(cancel)
    }

    /// Actions run in the order of registration: the exit first, so that it sees the flag of an *earlier*
    /// signal only.
    fn handle(&self, signal: i32) -> std::io::Result<()> {
        let shared = &self.shared;
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&shared.flag))?;
        let number = usize::try_from(signal).unwrap_or_default();
        signal_hook::flag::register_usize(signal, Arc::clone(&shared.signal), number)?;
        signal_hook::flag::register(signal, Arc::clone(&shared.flag))?;
        signal_hook::low_level::pipe::register(signal, shared.waker.try_clone()?)?;
        Ok(())
    }

    /// Sets the flag as a signal would.
    pub fn trigger(&self) {
        self.shared.flag.store(true, Ordering::SeqCst);
        // A full pipe is readable already.
        (&self.shared.waker).write_all(b"x").ok();
    }

    /// Whether the run was told to stop.
    pub fn is_cancelled(&self) -> bool {
        self.shared.flag.load(Ordering::SeqCst)
    }

    /// The signal that did it, if it was one.
    pub fn signal(&self) -> Option<i32> {
        match self.shared.signal.load(Ordering::SeqCst) {
            0 => None,
            number => i32::try_from(number).ok(),
        }
    }

    /// Sleeps for `duration`, less if the run is told to stop meanwhile. Returns whether it was
    /// ([`Cancel::is_cancelled`]).
    pub fn sleep(&self, duration: Duration) -> bool {
        let deadline = Instant::now() + duration;
        while !self.is_cancelled() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            // Whole milliseconds by poll, the rest by a short sleep: no wait ends early.
            let millis = u16::try_from(left.as_millis()).unwrap_or(u16::MAX);
            if millis == 0 {
                std::thread::sleep(left);
                continue;
            }
            let mut waits = [PollFd::new(self.shared.wake.as_fd(), PollFlags::POLLIN)];
            // An interrupted poll is taken up again with what is left.
            poll(&mut waits, PollTimeout::from(millis)).ok();
        }
        self.is_cancelled()
    }

    /// Does `work`, which cannot look at the flag itself; once the run is told to stop, `interrupt` is
    /// called from another thread, several times a second, until the work has ended.
    pub fn during<T>(&self, work: impl FnOnce() -> T, interrupt: impl Fn() + Send) -> T {
        let (done, waiting) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // Ends at once when `done` is dropped, also by a panic.
                while waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    if self.is_cancelled() {
                        interrupt();
                    }
                }
            });
            let outcome = work();
            drop(done);
            outcome
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undisturbed_sleep_takes_its_time() {
        let cancel = Cancel::new().unwrap();
        let begin = Instant::now();
        assert!(!cancel.sleep(Duration::from_micros(20_500)));
        assert!(begin.elapsed() >= Duration::from_micros(20_500));
    }

    #[test]
    fn a_sleeper_wakes_at_once() {
        let cancel = Cancel::new().unwrap();
        let other = cancel.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            other.trigger();
        });
        let begin = Instant::now();
        assert!(cancel.sleep(Duration::from_secs(60)));
        assert!(begin.elapsed() < Duration::from_secs(30));
        thread.join().unwrap();
        assert!(cancel.sleep(Duration::from_secs(60)), "stays cancelled");
    }

    #[test]
    fn work_that_cannot_look_is_interrupted() {
        let cancel = Cancel::new().unwrap();
        let stop = AtomicBool::new(false);
        assert_eq!(cancel.during(|| 7, || stop.store(true, Ordering::SeqCst)), 7);
        assert!(!stop.load(Ordering::SeqCst));
        cancel.trigger();
        let work = || {
            while !stop.load(Ordering::SeqCst) {
                std::thread::yield_now()
            }
        };
        cancel.during(work, || stop.store(true, Ordering::SeqCst));
    }
}
