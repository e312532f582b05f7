//! A thread that does nothing but wake up: what this machine does to anybody who wants to be on time.
//!
//! A hypervisor that takes a virtual CPU away for ten milliseconds says so in the steal time at best, and often not
//! at all. It delays this thread as it delays the engine's workers, on the same core and in the same moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::cores;
use super::error::SelftestError;

/// Between two wake-ups.
const SLEEP: Duration = Duration::from_micros(500);
/// Waiting longer than this is too long: half of what makes a start late.
const TOO_LONG: Duration = Duration::from_micros(500);

/// A witness that is under way. Dropping it stops it.
#[derive(Debug)]
pub(super) struct Witness {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<(Duration, Duration)>>,
}

impl Witness {
    /// Starts one on the last core this process may use, where the engine's first worker is.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(super) fn start() -> Result<Witness, SelftestError> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("selftest-witness".into())
            .spawn(move || sleep_until(&stopped))
            .map_err(SelftestError::system("starting a thread"))?;
        Ok(Witness { stop, thread: Some(thread) })
    }

    /// How long it was that somebody due at any moment would have waited too long, and over how long that was seen.
    pub(super) fn finish(mut self) -> (Duration, Duration) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn sleep_until(stopped: &AtomicBool) -> (Duration, Duration) {
    if let Some(last) = cores::allowed().last() {
        cores::pin_to(*last);
    }
    cores::fine_timers();
    let begun = Instant::now();
    let (mut before, mut stalled) = (begun, Duration::ZERO);
    while !stopped.load(Ordering::Relaxed) {
        std::thread::sleep(SLEEP);
        let now = Instant::now();
        stalled += excess((now - before).saturating_sub(SLEEP));
        before = now;
    }
    (stalled, begun.elapsed())
}

/// Of a thread that stood still for so long: how long it was that somebody due at that moment waits too long. Who is
/// due in the last 500 µs of it does not.
pub(super) fn excess(stood_still: Duration) -> Duration {
    stood_still.saturating_sub(TOO_LONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_due_at_the_end_of_a_stall_does_not_wait_long() {
        assert_eq!(excess(TOO_LONG), Duration::ZERO);
        assert_eq!(excess(Duration::from_millis(13)), Duration::from_micros(12_500));
    }

    #[test]
    fn a_witness_sees_the_time_it_was_there() {
        let begun = Instant::now();
        let witness = Witness::start().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let (stalled, seen) = witness.finish();
        assert!(stalled < seen && seen >= Duration::from_millis(30) && seen <= begun.elapsed());
    }
}
