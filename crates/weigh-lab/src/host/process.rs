//! Who is who in `/proc`: identities that survive the reuse of a pid, and the members of an instance.
//!
//! A process is named by its pid *and* its start time ([`start_ticks`]). [`members`] finds everything
//! that belongs to an instance: the root, its descendants, and processes of the same programs whose
//! working directory is inside the instance's directory. The last rule is what finds a PostgreSQL
//! backend whose postmaster is gone: backends make sessions of their own, so process groups do not
//! reach them.
//!
//! Only reads; never signals.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What `/proc/PID/stat` says, as far as it is needed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// One letter: `R`, `S`, `D`, `T`, `Z`, …
    pub(crate) state: char,
    /// Parent.
    pub(crate) parent: i32,
    /// Start, clock ticks since boot.
    pub(crate) start_ticks: u64,
}

/// Reads `/proc/PID/stat`; `None` when there is no such process.
pub(crate) fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The command in field 2 may hold spaces and parentheses: fields are counted from the last `)`.
fn parse_stat(text: &str) -> Option<Stat> {
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    // Field 22 of the line; fields 3 and 4 are taken.
    let start_ticks = fields.nth(17)?.parse().ok()?;
    Some(Stat { state, parent, start_ticks })
}

/// Start time of a living process, clock ticks since boot; `None` for a dead one and for a zombie.
pub fn start_ticks(pid: i32) -> Option<u64> {
    stat(pid).filter(|stat| stat.state != 'Z' && stat.state != 'X').map(|stat| stat.start_ticks)
}

/// Whether exactly this process, not a later one with its pid, is alive.
pub(crate) fn is_alive(pid: i32, started: u64) -> bool {
    start_ticks(pid) == Some(started)
}

/// Identity of this boot of the kernel: pids and start times mean nothing in another one.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Identity of the pid namespace this process lives in (`pid:[4026531836]`).
pub(crate) fn pid_namespace() -> String {
    fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default()
}

fn all() -> BTreeMap<i32, Stat> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| Some((pid, stat(pid)?)))
        .filter(|(_, stat)| stat.state != 'Z' && stat.state != 'X')
        .collect()
}

/// Every living process of an instance: the root (if it is still the one started at `started`), its
/// descendants, and processes running one of `programs` whose working directory is inside `dir`.
///
/// `programs` keeps a reader's own shell that looks around in `dir` out of the set.
pub fn members(root_pid: Option<(i32, u64)>, dir: &Path, programs: &[PathBuf]) -> BTreeSet<i32> {
    let processes = all();
    let mut found: BTreeSet<i32> = BTreeSet::new();
    if let Some((pid, started)) = root_pid
        && processes.get(&pid).is_some_and(|stat| stat.start_ticks == started)
    {
        found.insert(pid);
    }
    found.extend(processes.keys().copied().filter(|pid| lives_in(*pid, dir) && runs(*pid, programs)));
    // A child is found when its parent is, whatever the order of pids.
    loop {
        let before = found.len();
        let children: Vec<i32> = processes
            .iter()
            .filter(|(pid, stat)| found.contains(&stat.parent) && !found.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        found.extend(children);
        if found.len() == before {
            break;
        }
    }
    found.remove(&own_pid());
    found.remove(&1);
    found
}

/// This process's pid, as the kernel's type.
pub(crate) fn own_pid() -> i32 {
    nix::unistd::getpid().as_raw()
}

fn lives_in(pid: i32, dir: &Path) -> bool {
    link(pid, "cwd").is_some_and(|cwd| cwd.starts_with(dir))
}

fn runs(pid: i32, programs: &[PathBuf]) -> bool {
    link(pid, "exe").is_some_and(|exe| programs.contains(&exe))
}

/// The kernel appends ` (deleted)` to the path of what has been removed meanwhile.
fn link(pid: i32, name: &str) -> Option<PathBuf> {
    let target = fs::read_link(format!("/proc/{pid}/{name}")).ok()?;
    match target.to_str().and_then(|text| text.strip_suffix(" (deleted)")) {
        Some(stripped) => Some(PathBuf::from(stripped)),
        None => Some(target),
    }
}

/// CPU time used so far by these processes, all threads, seconds (nanosecond resolution:
/// `/proc/PID/task/*/schedstat`, first figure).
pub fn cpu_seconds(pids: impl IntoIterator<Item = i32>) -> f64 {
    let nanoseconds: u64 = pids.into_iter().map(cpu_nanoseconds).sum();
    nanoseconds as f64 / 1e9
}

fn cpu_nanoseconds(pid: i32) -> u64 {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok())
        .sum()
}

/// Whether every one of these processes is stopped (`T`) or gone.
pub(crate) fn all_stopped(pids: &BTreeSet<i32>) -> bool {
    pids.iter().all(|pid| thread_states(*pid).into_iter().all(|state| matches!(state, 'T' | 't' | 'Z' | 'X')))
}

/// Whether none of these processes is stopped.
pub(crate) fn none_stopped(pids: &BTreeSet<i32>) -> bool {
    pids.iter().all(|pid| !thread_states(*pid).into_iter().any(|state| state == 'T'))
}

fn thread_states(pid: i32) -> Vec<char> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("stat")).ok())
        .filter_map(|text| parse_stat(&text))
        .map(|stat| stat.state)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_parentheses_does_not_shift_the_fields() {
        // Captured from Linux 6.18, command changed by prctl to `a) (b c`.
        let line = "4242 (a) (b c) S 17 4242 4242 0 -1 4194560 95 0 0 0 1 2 0 0 20 0 1 0 987654 \
                    2424832 222 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0";
        assert_eq!(parse_stat(line), Some(Stat { state: 'S', parent: 17, start_ticks: 987_654 }));
    }

    #[test]
    fn this_process_is_alive_and_another_start_time_is_not_it() {
        let pid = own_pid();
        let started = start_ticks(pid).unwrap();
        assert!(is_alive(pid, started));
        assert!(!is_alive(pid, started + 1));
        assert_eq!(start_ticks(i32::MAX), None);
    }

    #[test]
    fn cpu_time_of_this_process_grows() {
        let before = cpu_seconds([own_pid()]);
        let mut sum = 0_u64;
        while cpu_seconds([own_pid()]) - before < 0.01 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
        assert!(cpu_seconds([own_pid()]) > before);
    }
}
