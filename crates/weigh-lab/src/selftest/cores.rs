//! Which cores this process may use, and where the threads of the self-test go.
//!
//! The engine pins its workers from the last core downwards, so the built-in server takes the first: on two cores
//! they do not meet. All of it is best effort: where the kernel refuses, threads go where it puts them.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::prctl;
use nix::unistd::Pid;

const THIS_THREAD: Pid = Pid::from_raw(0);

/// Cores this thread may run on, by number.
pub(super) fn allowed() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(THIS_THREAD) else { return Vec::new() };
    (0..CpuSet::count()).filter(|core| set.is_set(*core).unwrap_or(false)).collect()
}

/// Keeps the calling thread on `core`; says whether it is there.
pub(super) fn pin_to(core: usize) -> bool {
    let mut one = CpuSet::new();
    one.set(core).and_then(|()| sched_setaffinity(THIS_THREAD, &one)).is_ok()
}

/// Keeps the calling thread on the first core it may use.
pub(super) fn pin_to_first() {
    if let Some(first) = allowed().first() {
        pin_to(*first);
    }
}

/// Wakes the calling thread from sleeps as precisely as the engine's workers are woken.
pub(super) fn fine_timers() {
    prctl::set_timerslack(1_000).ok();
}
