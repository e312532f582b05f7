//! Processes that carry a run's mark in their environment.
//!
//! Commands under test are anybody's programs: they may fork, leave their process group and lose their parent.
//! What they inherit and rarely change is the environment, so a run's mark is looked for there.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::HostError;

/// The variable that holds the mark.
pub const MARK: &str = "WEIGH_RUN";

/// How long SIGKILL may take.
const KILL: Duration = Duration::from_secs(20);

/// Processes of any age with the mark of this run, ourselves excluded.
pub(super) fn marked(run_id: &str) -> Vec<i32> {
    let entry = format!("{MARK}={run_id}");
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .filter_map(|process| process.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != own && carries(*pid, entry.as_bytes()))
        .collect()
}

fn carries(pid: i32, entry: &[u8]) -> bool {
    // A process that is gone or is not ours to read carries nothing.
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|variable| variable == entry))
}

/// Kills every process with the mark, and those they start meanwhile.
///
/// # Errors
/// When some are still there after twenty seconds.
pub(super) fn stop(run_id: &str) -> Result<(), HostError> {
    let began = Instant::now();
    loop {
        let found = marked(run_id);
        if found.is_empty() {
            return Ok(());
        }
        if began.elapsed() > KILL {
            return Err(HostError::System {
                what: "ending a command's processes",
                source: std::io::Error::other(format!("still running: {found:?}")),
            });
        }
        for pid in found {
            // Gone already is as good as killed.
            kill(Pid::from_raw(pid), Signal::SIGKILL).ok();
        }
        sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn grandchildren_in_sessions_of_their_own_are_found_and_killed() {
        let run = format!("test-{}", std::process::id());
        let script = "setsid sleep 60 & setsid sleep 60 & exit 0";
        assert!(Command::new("sh").args(["-c", script]).env(MARK, &run).status().unwrap().success());
        let began = Instant::now();
        while marked(&run).len() < 2 {
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", marked(&run));
            sleep(Duration::from_millis(10));
        }
        stop(&run).unwrap();
        assert_eq!(marked(&run), Vec::<i32>::new());
    }
}
