//! What a worker's own thread costs: CPU by mode, and time spent waiting for a CPU.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::timeline::Timeline;

/// What the calling thread has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    at_ns: u64,
    user: Duration,
    system: Duration,
    wait: Duration,
}

/// What a thread used between two instants.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) user: Duration,
    pub(super) system: Duration,
    pub(super) wait: Duration,
    /// CPU time over elapsed time.
    pub(super) busy: f64,
}

/// Samples the thread that made it when the measured window begins and ends.
#[derive(Debug)]
pub(super) struct UsageProbe {
    /// Bound to the thread that opened it; absent on kernels without it, and then waits read as 0.
    schedstat: Option<File>,
    begin: Option<Usage>,
    end: Option<Usage>,
    /// When to sample next.
    due_ns: u64,
    measure_ends_ns: u64,
}

impl UsageProbe {
    /// Call it on the thread to be measured.
    pub(super) fn new(timeline: &Timeline) -> Self {
        Self {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            begin: None,
            end: None,
            due_ns: timeline.measure_begins_ns,
            measure_ends_ns: timeline.measure_ends_ns,
        }
    }

    /// When the next sample is due, `u64::MAX` after the last.
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Samples if it is time; one comparison otherwise. Call it at every event.
    #[inline]
    pub(super) fn tick(&mut self, now_ns: u64) {
        if now_ns >= self.due_ns {
            self.sample(now_ns);
        }
    }

    #[cold]
    fn sample(&mut self, now_ns: u64) {
        let usage = self.read(now_ns);
        if self.begin.is_none() {
            self.begin = Some(usage);
        }
        if now_ns >= self.measure_ends_ns {
            self.end = Some(usage);
            self.due_ns = u64::MAX;
        } else {
            self.due_ns = self.measure_ends_ns;
        }
    }

    /// What the window cost. A load cut short is sampled now.
    pub(super) fn finish(mut self, now_ns: u64) -> Spent {
        if self.end.is_none() {
            self.end = Some(self.read(now_ns));
        }
        let (Some(begin), Some(end)) = (self.begin, self.end) else { return Spent::default() };
        let (user, system) = (end.user.saturating_sub(begin.user), end.system.saturating_sub(begin.system));
        let elapsed = Duration::from_nanos(end.at_ns.saturating_sub(begin.at_ns));
        let busy = if elapsed.is_zero() { 0.0 } else { (user + system).div_duration_f64(elapsed) };
        Spent { user, system, wait: end.wait.saturating_sub(begin.wait), busy }
    }

    fn read(&self, at_ns: u64) -> Usage {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else {
            return Usage { at_ns, ..Usage::default() };
        };
        let wait = self.schedstat.as_ref().and_then(run_queue_wait).unwrap_or_default();
        Usage { at_ns, user: duration(usage.user_time()), system: duration(usage.system_time()), wait }
    }
}

/// CPU time of the calling thread since it began, user and system.
pub(super) fn cpu_of_this_thread() -> Duration {
    getrusage(UsageWho::RUSAGE_THREAD)
        .map_or(Duration::ZERO, |usage| duration(usage.user_time()) + duration(usage.system_time()))
}

/// Second field of `schedstat`: nanoseconds runnable but not running.
fn run_queue_wait(schedstat: &File) -> Option<Duration> {
    let mut text = [0; 96];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    let wait = std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().nth(1)?;
    Some(Duration::from_nanos(wait.parse().ok()?))
}

fn duration(time: TimeVal) -> Duration {
    let part = |n| u64::try_from(n).unwrap_or(0);
    Duration::from_secs(part(time.tv_sec())) + Duration::from_micros(part(time.tv_usec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_is_seen_as_busy() {
        let timeline = Timeline::of_ms(20, 120, false);
        let mut probe = UsageProbe::new(&timeline);
        while probe.due_ns() != u64::MAX {
            probe.tick(timeline.now_ns());
        }
        let spent = probe.finish(timeline.now_ns());
        let cpu = spent.user + spent.system;
        // Whatever else runs on the machine: CPU and waiting for it make up the window.
        let accounted = (cpu + spent.wait).as_secs_f64();
        assert!((0.08..0.3).contains(&accounted), "{spent:?}");
        assert!(spent.busy > 0.05, "{spent:?}");
    }
}
