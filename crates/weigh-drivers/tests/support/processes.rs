//! The processes of a server: found by the port it listens on, made to stand still, and asked how long they waited.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Processes that hold the listening socket of a loopback port, and their descendants.
pub fn of_port(port: u16) -> BTreeSet<i32> {
    let inode = listening_inode(port).unwrap_or_else(|| panic!("nobody listens on port {port}"));
    let socket = format!("socket:[{inode}]");
    let all = all();
    let holds = |pid: &i32| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        descriptors
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .any(|link| link.as_os_str() == socket.as_str())
    };
    let mut found: BTreeSet<i32> = all.iter().map(|(pid, _)| *pid).filter(holds).collect();
    loop {
        let children: Vec<i32> = all
            .iter()
            .filter(|(pid, parent)| found.contains(parent) && !found.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if children.is_empty() {
            assert!(!found.is_empty(), "nobody holds {socket}");
            return found;
        }
        found.extend(children);
    }
}

/// Inode of the IPv4 socket that listens on the port (`/proc/net/tcp`, state 0A).
fn listening_inode(port: u16) -> Option<u64> {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let here = fields[1].ends_with(&format!(":{port:04X}")) && fields[3] == "0A";
        here.then(|| fields[9].parse().unwrap())
    })
}

/// Every process and its parent.
fn all() -> Vec<(i32, i32)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, stat(pid)?.1))).collect()
}

/// State and parent.
fn stat(pid: i32) -> Option<(char, i32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Stops every process of the port's server for `length`. Gives the moments around stopping and around going on.
pub fn stand_still(port: u16, length: Duration) -> [(Instant, Instant); 2] {
    let members = of_port(port);
    let signal = |signal| {
        let begun = Instant::now();
        members.iter().for_each(|pid| kill(Pid::from_raw(*pid), signal).unwrap());
        begun
    };
    let stopping = signal(Signal::SIGSTOP);
    let all_stopped = || members.iter().all(|pid| stat(*pid).is_some_and(|(state, _)| state == 'T'));
    while !all_stopped() {
        assert!(stopping.elapsed() < Duration::from_secs(5), "{members:?} do not stop");
    }
    let stopped = Instant::now();
    thread::sleep((stopping + length).saturating_duration_since(Instant::now()));
    // The kernel itself lets stopped processes go on when their process group is orphaned (a shell that ends).
    assert!(all_stopped(), "somebody else let {members:?} go on");
    let going = signal(Signal::SIGCONT);
    [(stopping, stopped), (going, Instant::now())]
}

/// How long each thread of the port's server has stood ready without a CPU (`schedstat`), since an earlier answer.
pub fn waits_since(port: u16, before: &[(u64, Duration)]) -> Vec<(u64, Duration)> {
    let mut waits = Vec::new();
    for pid in of_port(port) {
        for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else { continue };
            let Some(wait_ns) = text.split_ascii_whitespace().nth(1).and_then(|field| field.parse().ok())
            else {
                continue;
            };
            let id = task.file_name().to_string_lossy().parse().unwrap();
            let earlier =
                before.iter().find(|(known, _)| *known == id).map_or(Duration::ZERO, |(_, wait)| *wait);
            waits.push((id, Duration::from_nanos(wait_ns).saturating_sub(earlier)));
        }
    }
    waits
}
