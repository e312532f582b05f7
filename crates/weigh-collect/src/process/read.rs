//! Reads the processes of a tree once, in a state that belongs together.
//!
//! A child that is collected by its parent while we read can be counted twice, in itself and in the
//! parent that inherits its use, or not at all. Collecting a child always adds its minor faults to the
//! parent before the child disappears (`wait_task_zombie` in the kernel's `kernel/exit.c`), so the
//! parent's `cminflt` works like the sequence number of a seqlock: [`pass`] reads it before the children
//! and again at the end, and says [`Pass::settled`] only if it has not moved.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fs;
use std::path::Path;

use super::parse::{self, PidIo, PidStat};
use super::sample::{ProcessId, Thread};
use crate::error::{CollectError, ParseError};
use crate::source::{Reader, is_absent, is_refused};

/// One process as the files of `/proc` show it.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) stat: PidStat,
    pub(super) threads: BTreeMap<u32, Thread>,
    pub(super) io: Option<PidIo>,
    pub(super) pss_bytes: Option<u64>,
}

/// How descendants are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Descent {
    /// From `/proc/PID/task/TID/children`: costs nothing for the rest of the host.
    ChildrenFiles,
    /// From the parents of every process there is (`CONFIG_PROC_CHILDREN` is not set).
    Scan,
    /// Not at all: the caller lists every process.
    Off,
}

/// What this kernel offers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offers {
    pub(super) descent: Descent,
    schedstat: bool,
    io: bool,
}

impl Offers {
    pub(super) fn detect() -> Offers {
        let children = Path::new("/proc/thread-self/children").exists();
        Offers {
            descent: if children { Descent::ChildrenFiles } else { Descent::Scan },
            schedstat: Path::new("/proc/self/schedstat").exists(),
            io: Path::new("/proc/self/io").exists(),
        }
    }
}

/// A process to read; with a start, only if it is still that one.
pub(super) type Wanted = (u32, Option<u64>);

/// One reading of all processes.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) processes: BTreeMap<ProcessId, Raw>,
    /// Nobody collected one of them while they were read.
    pub(super) settled: bool,
}

/// Reads the wanted processes, parents before their children, and, unless that is off, all their
/// descendants. Whoever exits in between is left out.
///
/// # Errors
/// If a file of a living process cannot be read or understood.
pub(super) fn pass(
    reader: &mut Reader,
    offers: Offers,
    wanted: impl IntoIterator<Item = Wanted>,
    with_pss: bool,
) -> Result<Pass, CollectError> {
    let by_parent = match offers.descent {
        Descent::Scan => children_by_parent(reader)?,
        _ => HashMap::new(),
    };
    let mut processes = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut queue: VecDeque<Wanted> = wanted.into_iter().collect();
    let mut anyone_gone = false;
    let mut anyone_dying = false;
    while let Some((pid, start)) = queue.pop_front() {
        if seen.contains(&pid) {
            continue;
        }
        let Some(raw) = process(reader, offers, pid, with_pss)? else {
            anyone_gone = true;
            continue;
        };
        // Dead, but perhaps not yet in its parent's figures.
        if matches!(raw.stat.state, 'X' | 'x') {
            anyone_dying = true;
            continue;
        }
        if start.is_some_and(|start| start != raw.stat.start_ticks) {
            anyone_gone = true;
            continue;
        }
        seen.insert(pid);
        let children = match offers.descent {
            Descent::ChildrenFiles => children_of(reader, pid, &raw)?,
            Descent::Scan => by_parent.get(&pid).cloned().unwrap_or_default(),
            Descent::Off => Vec::new(),
        };
        queue.extend(children.into_iter().map(|child| (child, None)));
        processes.insert(ProcessId { pid, start_ticks: raw.stat.start_ticks }, raw);
    }
    let settled = !anyone_dying && settled(reader, &processes, anyone_gone)?;
    Ok(Pass { processes, settled })
}

/// Whether no parent among them has collected a child since its `stat` was read. Parents of nobody
/// that was read only matter if somebody was found gone.
fn settled(
    reader: &mut Reader,
    processes: &BTreeMap<ProcessId, Raw>,
    anyone_gone: bool,
) -> Result<bool, CollectError> {
    let parents: BTreeSet<u32> = processes.values().map(|raw| raw.stat.parent).collect();
    let concerned = |id: &ProcessId| anyone_gone || parents.contains(&id.pid);
    for (id, raw) in processes.iter().filter(|(id, _)| concerned(id)) {
        let now = unless_gone(reader.parsed(format!("/proc/{}/stat", id.pid), parse::pid_stat))?;
        let same = now.is_some_and(|now| {
            now.start_ticks == id.start_ticks && now.child_minor_faults == raw.stat.child_minor_faults
        });
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// One process, or `None` if it is gone.
fn process(
    reader: &mut Reader,
    offers: Offers,
    pid: u32,
    with_pss: bool,
) -> Result<Option<Raw>, CollectError> {
    let Some(stat) = unless_gone(reader.parsed(format!("/proc/{pid}/stat"), parse::pid_stat))? else {
        return Ok(None);
    };
    let io = match offers.io.then(|| reader.parsed(format!("/proc/{pid}/io"), parse::pid_io)) {
        None => None,
        Some(Err(CollectError::Read { source, .. })) if is_refused(&source) => None,
        Some(read) => match unless_gone(read)? {
            Some(io) => Some(io),
            None => return Ok(None),
        },
    };
    let pss_bytes = match with_pss {
        true => reader.optional(format!("/proc/{pid}/smaps_rollup"), parse::pss_bytes).unwrap_or(None),
        false => None,
    };
    let threads = threads(reader, offers, pid, stat.threads)?;
    Ok(Some(Raw { stat, threads, io, pss_bytes }))
}

/// Scheduler figures of every thread.
fn threads(
    reader: &mut Reader,
    offers: Offers,
    pid: u32,
    count: u32,
) -> Result<BTreeMap<u32, Thread>, CollectError> {
    // The files directly below `/proc/PID` show the main thread alone.
    if count == 1 {
        let main = thread(reader, offers, &format!("/proc/{pid}"))?;
        return Ok(main.map(|thread| (pid, thread)).into_iter().collect());
    }
    let mut threads = BTreeMap::new();
    for tid in thread_ids(pid)? {
        if let Some(thread) = thread(reader, offers, &format!("/proc/{pid}/task/{tid}"))? {
            threads.insert(tid, thread);
        }
    }
    Ok(threads)
}

/// One thread, or `None` if it is gone.
fn thread(reader: &mut Reader, offers: Offers, directory: &str) -> Result<Option<Thread>, CollectError> {
    let mut thread = Thread::default();
    if offers.schedstat {
        let path = format!("{directory}/schedstat");
        let Some(sched) = unless_gone(reader.parsed(path, parse::schedstat))? else { return Ok(None) };
        thread.sched = Some(sched);
    }
    let path = format!("{directory}/status");
    let Some(switches) = unless_gone(reader.parsed(path, parse::switches))? else { return Ok(None) };
    thread.switches = switches;
    Ok(Some(thread))
}

fn thread_ids(pid: u32) -> Result<Vec<u32>, CollectError> {
    numbered_entries(Path::new(&format!("/proc/{pid}/task")))
}

/// Children of every thread: each is listed below the thread that forked it.
fn children_of(reader: &mut Reader, pid: u32, raw: &Raw) -> Result<Vec<u32>, CollectError> {
    let mut children = Vec::new();
    for tid in raw.threads.keys() {
        let path = format!("/proc/{pid}/task/{tid}/children");
        let list = |text: &[u8]| Ok::<_, ParseError>(parse::pids(text));
        children.extend(unless_gone(reader.parsed(path, list))?.unwrap_or_default());
    }
    Ok(children)
}

fn children_by_parent(reader: &mut Reader) -> Result<HashMap<u32, Vec<u32>>, CollectError> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in numbered_entries(Path::new("/proc"))? {
        if let Some(stat) = unless_gone(reader.parsed(format!("/proc/{pid}/stat"), parse::pid_stat))? {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    Ok(children)
}

/// Process or thread ids that are the names of entries. Empty if the directory is gone.
fn numbered_entries(directory: &Path) -> Result<Vec<u32>, CollectError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(CollectError::read(directory, error)),
    };
    let name = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    Ok(entries.filter_map(|entry| entry.ok().and_then(name)).collect())
}

/// `None` in place of the error that says the process has exited.
fn unless_gone<T>(result: Result<T, CollectError>) -> Result<Option<T>, CollectError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(CollectError::Read { source, .. }) if is_absent(&source) => Ok(None),
        // A file of `/proc` opened just before its process ended reads as empty.
        Err(CollectError::Parse { path, .. }) if !path.exists() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Both ways to find descendants find the same ones: a shell, its child, and the child of that.
    #[test]
    fn both_descents_find_grandchildren() {
        let mut shell = Command::new("sh")
            .args(["-c", "sh -c 'sleep 60 & wait' & sleep 60 & wait"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let found = |descent| {
            let offers = Offers { descent, ..Offers::detect() };
            let wanted = vec![(shell.id(), None)];
            let pass = pass(&mut Reader::default(), offers, wanted, false).unwrap();
            pass.processes.into_keys().collect::<Vec<_>>()
        };
        let start = std::time::Instant::now();
        while found(Descent::Scan).len() < 4 && start.elapsed().as_secs() < 10 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let scanned = found(Descent::Scan);
        assert_eq!(scanned.len(), 4);
        if Offers::detect().descent == Descent::ChildrenFiles {
            assert_eq!(found(Descent::ChildrenFiles), scanned);
        }
        assert_eq!(found(Descent::Off).len(), 1);
        for id in scanned.into_iter().filter(|id| id.pid != shell.id()) {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(id.pid).unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        }
        shell.wait().unwrap();
    }
}
