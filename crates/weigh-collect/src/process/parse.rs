//! The files of `/proc/PID`, as pure functions of their bytes.
//!
//! Formats are those of `proc(5)`; new kernels add fields at the end, which are passed over.

use serde::{Deserialize, Serialize};

use crate::error::ParseError;
use crate::text::{fields, key_and_value, keyed, lines, whole, whole_u32};

/// What we use of `/proc/PID/stat`. Times are in clock ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PidStat {
    /// Process id.
    pub pid: u32,
    /// Name of the executable, at most 15 bytes; may contain blanks and brackets.
    pub name: String,
    /// State: `R` running, `S` sleeping, `D` waiting for a disk, `T` stopped, `Z` exited but not
    /// collected, `X` dead.
    pub state: char,
    /// Parent's process id.
    pub parent: u32,
    /// Minor faults of all threads, ended ones too.
    pub minor_faults: u64,
    /// Minor faults of children that were waited for, and theirs.
    pub child_minor_faults: u64,
    /// Major faults of all threads.
    pub major_faults: u64,
    /// Major faults of children that were waited for.
    pub child_major_faults: u64,
    /// User CPU of all threads, ended ones too.
    pub user_ticks: u64,
    /// System CPU of all threads.
    pub system_ticks: u64,
    /// User CPU of children that were waited for.
    pub child_user_ticks: u64,
    /// System CPU of children that were waited for.
    pub child_system_ticks: u64,
    /// Threads now.
    pub threads: u32,
    /// Start, in clock ticks since boot. With the pid it identifies a process for good.
    pub start_ticks: u64,
    /// Resident pages, approximately.
    pub rss_pages: u64,
}

/// Reads `/proc/PID/stat`.
///
/// # Errors
/// If a field up to number 24 is missing or is not a number.
pub fn pid_stat(text: &[u8]) -> Result<PidStat, ParseError> {
    let missing = |missing| ParseError { format: "/proc/PID/stat", missing };
    // The name may itself contain brackets: it ends at the last one.
    let open = text.iter().position(|&byte| byte == b'(').ok_or(missing("("))?;
    let close = text.iter().rposition(|&byte| byte == b')').ok_or(missing(")"))?;
    let name = text.get(open + 1..close).ok_or(missing("name"))?;
    let mut rest = [b"".as_slice(); 22];
    for (slot, field) in rest.iter_mut().zip(fields(&text[close + 1..])) {
        *slot = field;
    }
    // Numbered as in proc(5), where the state is field 3.
    let number = |field: usize, name| whole(rest[field - 3]).ok_or(missing(name));
    Ok(PidStat {
        pid: whole_u32(text[..open].trim_ascii()).ok_or(missing("pid"))?,
        name: String::from_utf8_lossy(name).into_owned(),
        state: rest[0].first().map(|&byte| char::from(byte)).ok_or(missing("state"))?,
        parent: whole_u32(rest[1]).ok_or(missing("ppid"))?,
        minor_faults: number(10, "minflt")?,
        child_minor_faults: number(11, "cminflt")?,
        major_faults: number(12, "majflt")?,
        child_major_faults: number(13, "cmajflt")?,
        user_ticks: number(14, "utime")?,
        system_ticks: number(15, "stime")?,
        child_user_ticks: number(16, "cutime")?,
        child_system_ticks: number(17, "cstime")?,
        threads: whole_u32(rest[17]).ok_or(missing("num_threads"))?,
        start_ticks: number(22, "starttime")?,
        rss_pages: number(24, "rss")?,
    })
}

/// `/proc/PID/io`: what the process, its ended threads and the children it waited for have moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PidIo {
    /// Bytes returned by read calls of any kind, from the page cache, pipes and terminals too.
    pub read_chars_bytes: u64,
    /// Bytes passed to write calls of any kind.
    pub write_chars_bytes: u64,
    /// Read calls.
    pub read_calls: u64,
    /// Write calls.
    pub write_calls: u64,
    /// Bytes fetched from storage.
    pub read_bytes: u64,
    /// Bytes of page cache made dirty. The kernel's name for it is `write_bytes`, but where a file
    /// system keeps large folios the whole folio is counted each time one byte of it becomes dirty.
    pub dirtied_bytes: u64,
}

impl PidIo {
    /// Both together.
    pub fn plus(self, other: PidIo) -> PidIo {
        self.zip(other, u64::saturating_add)
    }

    /// `combine` of each pair of fields.
    pub(crate) fn zip(self, other: PidIo, combine: fn(u64, u64) -> u64) -> PidIo {
        PidIo {
            read_chars_bytes: combine(self.read_chars_bytes, other.read_chars_bytes),
            write_chars_bytes: combine(self.write_chars_bytes, other.write_chars_bytes),
            read_calls: combine(self.read_calls, other.read_calls),
            write_calls: combine(self.write_calls, other.write_calls),
            read_bytes: combine(self.read_bytes, other.read_bytes),
            dirtied_bytes: combine(self.dirtied_bytes, other.dirtied_bytes),
        }
    }
}

/// Reads `/proc/PID/io`.
///
/// # Errors
/// If one of the six counters is missing.
pub fn pid_io(text: &[u8]) -> Result<PidIo, ParseError> {
    let number = |key| keyed(text, key).ok_or(ParseError { format: "/proc/PID/io", missing: key });
    Ok(PidIo {
        read_chars_bytes: number("rchar")?,
        write_chars_bytes: number("wchar")?,
        read_calls: number("syscr")?,
        write_calls: number("syscw")?,
        read_bytes: number("read_bytes")?,
        dirtied_bytes: number("write_bytes")?,
    })
}

/// `/proc/PID/schedstat` or `/proc/PID/task/TID/schedstat`: one thread's dealings with the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedStat {
    /// Time on a CPU, nanoseconds; up to one timer tick behind for a thread that is running.
    pub run_ns: u64,
    /// Time ready to run but waiting for a CPU, nanoseconds.
    pub wait_ns: u64,
    /// Times it was put on a CPU.
    pub slices: u64,
}

/// Reads `/proc/PID/schedstat`.
///
/// # Errors
/// If there are not three numbers.
pub fn schedstat(text: &[u8]) -> Result<SchedStat, ParseError> {
    let mut numbers = fields(text).map(whole);
    let mut next =
        |missing| numbers.next().flatten().ok_or(ParseError { format: "/proc/PID/schedstat", missing });
    Ok(SchedStat { run_ns: next("run time")?, wait_ns: next("wait time")?, slices: next("time slices")? })
}

/// Context switches of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switches {
    /// The thread waited for something.
    pub voluntary: u64,
    /// The thread was made to give up its CPU.
    pub involuntary: u64,
}

/// Reads the context switches from `/proc/PID/status` or `/proc/PID/task/TID/status`.
///
/// # Errors
/// If either is missing.
pub fn switches(text: &[u8]) -> Result<Switches, ParseError> {
    // They are the last two lines of sixty, and this is the largest file of a sample: from the end.
    let mut found = Switches::default();
    let mut missing = 2;
    for line in text.rsplit(|&byte| byte == b'\n') {
        let Some((key, value)) = key_and_value(line) else { continue };
        let place = match key {
            b"voluntary_ctxt_switches" => &mut found.voluntary,
            b"nonvoluntary_ctxt_switches" => &mut found.involuntary,
            _ => continue,
        };
        let Some(number) = whole(value) else { break };
        *place = number;
        missing -= 1;
        if missing == 0 {
            return Ok(found);
        }
    }
    Err(ParseError { format: "/proc/PID/status", missing: "ctxt_switches" })
}

/// Proportional set size, bytes, from `/proc/PID/smaps_rollup`: memory in use, where a page shared by
/// n processes counts 1/n.
///
/// # Errors
/// If there is no `Pss` line.
pub fn pss_bytes(text: &[u8]) -> Result<u64, ParseError> {
    keyed(text, "Pss")
        .map(|kibibytes| kibibytes.saturating_mul(1024))
        .ok_or(ParseError { format: "/proc/PID/smaps_rollup", missing: "Pss" })
}

/// Process ids separated by blanks: `/proc/PID/task/TID/children`, `cgroup.procs`. What is not a
/// process id is passed over (`cgroup.procs` shows 0 for a process of an outer pid namespace).
pub fn pids(text: &[u8]) -> Vec<u32> {
    lines(text).flat_map(fields).filter_map(whole_u32).filter(|&pid| pid != 0).collect()
}
