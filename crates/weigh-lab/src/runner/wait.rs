//! Waiting for one child with what it used: `wait4(2)`, which std does not offer.
//!
//! The only unsafe code of the runner. It must be called at most once per child, and the child must
//! not be waited for otherwise.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use nix::libc;

/// What a child and the descendants it waited for have used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) status: ExitStatus,
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    /// Peak resident memory of the largest single process, bytes.
    pub(crate) peak_memory_bytes: u64,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
}

/// Waits for the child to end.
pub(crate) fn wait(child: Child) -> io::Result<Usage> {
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    // Closed as std does, so that a child reading its input ends.
    drop(child);
    let (status, usage) = wait4(pid)?;
    let time = |value: libc::timeval| {
        Duration::from_secs(u64::try_from(value.tv_sec).unwrap_or(0))
            + Duration::from_micros(u64::try_from(value.tv_usec).unwrap_or(0))
    };
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    Ok(Usage {
        status: ExitStatus::from_raw(status),
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        peak_memory_bytes: count(usage.ru_maxrss) * 1024,
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    })
}

#[expect(unsafe_code, reason = "wait4 fills two plain structures that live on this stack")]
fn wait4(pid: i32) -> io::Result<(i32, libc::rusage)> {
    loop {
        let mut status = 0;
        // SAFETY: `rusage` is plain old data for which all zeroes is a valid value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live, writable values of the right type.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if waited == pid {
            return Ok((status, usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn status_and_usage_are_the_childs_own() {
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 7";
        let usage = wait(Command::new("sh").args(["-c", script]).spawn().unwrap()).unwrap();
        assert_eq!(usage.status.code(), Some(7));
        assert!(usage.user + usage.system > Duration::from_millis(2), "{usage:?}");
        assert!(usage.peak_memory_bytes > 100_000 && usage.minor_faults > 10, "{usage:?}");
    }
}
