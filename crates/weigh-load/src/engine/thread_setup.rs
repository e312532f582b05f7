//! What a worker asks of the operating system for its own thread. All of it is best effort.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::prctl;
use nix::unistd::Pid;

/// Timer wake-ups may be this late; the default is 50 µs.
const TIMER_SLACK_NS: u64 = 1000;

/// Prepares the calling thread: fine timers and, if asked, one core of its own.
pub(super) fn prepare(worker: usize, pin: bool) {
    prctl::set_timerslack(TIMER_SLACK_NS).ok();
    if pin {
        pin_to_core(worker).ok();
    }
}

/// Worker n takes the n-th allowed core from the end: the first cores see most interrupts.
fn pin_to_core(worker: usize) -> nix::Result<()> {
    let this_thread = Pid::from_raw(0);
    let allowed = sched_getaffinity(this_thread)?;
    let cores: Vec<usize> =
        (0..CpuSet::count()).filter(|core| allowed.is_set(*core).unwrap_or(false)).collect();
    let Some(core) = cores.len().checked_sub(1 + worker % cores.len().max(1)).map(|at| cores[at]) else {
        return Ok(());
    };
    let mut one = CpuSet::new();
    one.set(core)?;
    sched_setaffinity(this_thread, &one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_has_one_core() {
        let cores = std::thread::spawn(|| {
            prepare(0, true);
            let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
            (0..CpuSet::count()).filter(|core| allowed.is_set(*core).unwrap()).count()
        });
        assert_eq!(cores.join().unwrap(), 1);
    }
}
