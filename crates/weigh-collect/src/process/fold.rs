//! Carries a tree's sums across the ends of threads and processes.
//!
//! When a parent waits for an exited child, the kernel adds the child's CPU time and faults to the
//! parent's `c*` fields and its I/O to the parent's `io` (`wait_task_zombie`, `kernel/exit.c`). It does
//! not when the parent ignores `SIGCHLD`, or when the parent exited first and a process outside the tree
//! collects the child. Switches and waits are never inherited. So a process that is gone is either
//! *folded* (its nearest living ancestor's `cminflt` grew by at least the faults we last saw it with) or
//! *kept*: its last figures stay in the [`Ledger`].
//!
//! Nothing is counted twice, and the sum never goes back. What can be missing: the use of a kept process
//! after its last sample; and a process nobody in the tree collected, if its parent exited between the same
//! two samples and their ancestor inherited enough from others.

use std::collections::BTreeMap;

use super::parse::{PidIo, PidStat};
use super::read::Raw;
use super::sample::{ProcessId, ProcessSample, Thread, Usage};
use crate::source::{page_bytes, ticks_to_ns, ticks_to_us};

/// Processes by identity, as of one reading.
pub(super) type Processes = BTreeMap<ProcessId, ProcessSample>;

/// What a tree has used beyond what its living processes show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger {
    /// Last figures of processes nobody in the tree inherited.
    kept: Usage,
    /// Use from before its joining, of processes that joined while they were running.
    discount: Usage,
}

impl Ledger {
    pub(super) const EMPTY: Ledger = Ledger { kept: Usage::ZERO, discount: Usage::ZERO };

    /// The tree's sum.
    pub(super) fn total(&self, now: &Processes) -> Usage {
        let living = now.values().map(ProcessSample::total).fold(Usage::ZERO, Usage::plus);
        living.plus(self.kept).minus(self.discount)
    }

    /// Settles what became of the processes that were there `before` and are not `now`.
    pub(super) fn settle_gone(&mut self, before: &Processes, now: &mut Processes) {
        let mut estates: BTreeMap<ProcessId, Estate> = BTreeMap::new();
        for process in before.values().filter(|process| !now.contains_key(&process.id)) {
            let total = process.total();
            match nearest_living(process, before, now) {
                None => self.keep(total, false),
                Some((1, heir)) => estates.entry(heir).or_default().children.push(total),
                Some((_, heir)) => estates.entry(heir).or_default().descendants.push(total),
            }
        }
        for (heir, estate) in estates {
            if let (Some(before), Some(now)) = (before.get(&heir), now.get_mut(&heir)) {
                self.settle(&estate, before, now);
            }
        }
    }

    /// Decides who of those that are gone is in their living ancestor's figures.
    fn settle(&mut self, estate: &Estate, before: &ProcessSample, now: &mut ProcessSample) {
        let faults = |gone: &[Usage]| gone.iter().map(|one| one.minor_faults).fold(0, u64::saturating_add);
        let mut room = now.children.minor_faults.saturating_sub(before.children.minor_faults);
        let mut inherited_ns = 0u64;
        for gone in [&estate.children, &estate.descendants] {
            let needed = faults(gone);
            let all = needed <= room;
            for one in gone {
                // Children of a living parent are all folded or, if it ignores them, none is. Of their
                // own children, whom they may have outlived or not, those there is no room for are not.
                let one_fits = !std::ptr::eq(gone, &estate.children) && one.minor_faults <= room;
                self.keep(*one, all || one_fits);
                if all {
                    inherited_ns = inherited_ns.saturating_add(one.cpu_ns);
                }
            }
            if all {
                room -= needed;
            }
        }
        // Each one's scheduler time is finer than the ticks its parent inherits.
        let floor_ns = before.children.cpu_ns.saturating_add(inherited_ns);
        now.children.cpu_ns = now.children.cpu_ns.max(floor_ns);
    }

    /// Keeps what nobody inherited; switches and waits the kernel never hands on.
    fn keep(&mut self, total: Usage, folded: bool) {
        let lost = Usage {
            voluntary_switches: total.voluntary_switches,
            involuntary_switches: total.involuntary_switches,
            wait_ns: total.wait_ns,
            ..Usage::ZERO
        };
        self.kept = self.kept.plus(if folded { lost } else { total });
    }

    /// Takes note of what a process had used before it joined the tree.
    pub(super) fn discount(&mut self, joined: &ProcessSample) {
        self.discount = self.discount.plus(joined.total());
    }
}

/// Last figures of those gone since the last sample who have a living ancestor in common.
#[derive(Clone, Debug, Default)]
struct Estate {
    /// Its children.
    children: Vec<Usage>,
    /// Children of its children, and so on, whose parents are gone too.
    descendants: Vec<Usage>,
}

/// How far up, and who: the nearest ancestor that is still there.
fn nearest_living(
    process: &ProcessSample,
    before: &Processes,
    now: &Processes,
) -> Option<(usize, ProcessId)> {
    let mut parent = process.parent;
    // A parent's pid can be an outsider's, or be used again: never climb for ever.
    for depth in 1..=before.len() {
        let from = ProcessId { pid: parent, start_ticks: 0 };
        let (id, known) = before.range(from..).next().filter(|(id, _)| id.pid == parent)?;
        if now.contains_key(id) {
            return Some((depth, *id));
        }
        parent = known.parent;
    }
    None
}

/// What the files show now, joined with what was known of the same process before.
pub(super) fn carry_on(raw: Raw, before: Option<&ProcessSample>) -> ProcessSample {
    let Raw { stat, threads, io, pss_bytes } = raw;
    let running = threads.values().copied().map(thread_usage).fold(Usage::ZERO, Usage::plus);
    let ended = match before {
        Some(before) => before.ended.plus(ended_since(&before.threads, &threads)),
        None => ended_unseen(&stat, running),
    };
    let scheduled = running.plus(ended);
    let own = Usage {
        cpu_ns: scheduled.cpu_ns.max(ticks_to_ns(stat.user_ticks.saturating_add(stat.system_ticks))),
        user_us: ticks_to_us(stat.user_ticks),
        system_us: ticks_to_us(stat.system_ticks),
        minor_faults: stat.minor_faults,
        major_faults: stat.major_faults,
        io: io.or_else(|| io_withheld(&stat, before)),
        ..scheduled
    };
    let children_floor_ns = before.map_or(0, |before| before.children.cpu_ns);
    let children_ticks = stat.child_user_ticks.saturating_add(stat.child_system_ticks);
    let children = Usage {
        cpu_ns: ticks_to_ns(children_ticks).max(children_floor_ns),
        user_us: ticks_to_us(stat.child_user_ticks),
        system_us: ticks_to_us(stat.child_system_ticks),
        minor_faults: stat.child_minor_faults,
        major_faults: stat.child_major_faults,
        ..Usage::ZERO
    };
    ProcessSample {
        id: ProcessId { pid: stat.pid, start_ticks: stat.start_ticks },
        parent: stat.parent,
        name: stat.name,
        state: stat.state,
        own,
        children,
        rss_bytes: stat.rss_pages.saturating_mul(page_bytes()),
        pss_bytes,
        threads,
        ended,
    }
}

/// The I/O of a process that does not show it now. An ordinary user may not see it once the process has
/// exited; then what was seen before counts until its parent inherits the rest.
fn io_withheld(stat: &PidStat, before: Option<&ProcessSample>) -> Option<PidIo> {
    let exited = (stat.state == 'Z').then(PidIo::default);
    before.and_then(|before| before.own.io).or(exited)
}

fn thread_usage(thread: Thread) -> Usage {
    Usage {
        cpu_ns: thread.sched.map_or(0, |sched| sched.run_ns),
        voluntary_switches: thread.switches.voluntary,
        involuntary_switches: thread.switches.involuntary,
        wait_ns: thread.sched.map(|sched| sched.wait_ns),
        ..Usage::ZERO
    }
}

/// Last figures of threads that are gone, or whose id now belongs to a younger thread.
fn ended_since(before: &BTreeMap<u32, Thread>, now: &BTreeMap<u32, Thread>) -> Usage {
    let lives_on = |tid: &u32, old: &Thread| {
        now.get(tid).is_some_and(|new| {
            new.sched.map(|sched| sched.run_ns) >= old.sched.map(|sched| sched.run_ns)
                && new.switches.voluntary >= old.switches.voluntary
        })
    };
    before
        .iter()
        .filter(|(tid, old)| !lives_on(tid, old))
        .map(|(_, old)| thread_usage(*old))
        .fold(Usage::ZERO, Usage::plus)
}

/// CPU time of threads that ended before the process was first seen: what the ticks show beyond the
/// threads there are. Keeps later growth as fine as the scheduler's own figures.
fn ended_unseen(stat: &PidStat, running: Usage) -> Usage {
    // A running thread's own figure may be one timer tick behind; no timer is slower than 100 Hz.
    const BEHIND_NS: u64 = 10_000_000;
    let ticks_ns = ticks_to_ns(stat.user_ticks.saturating_add(stat.system_ticks));
    let shown_ns = running.cpu_ns.saturating_add(BEHIND_NS);
    Usage { cpu_ns: ticks_ns.saturating_sub(shown_ns), ..Usage::ZERO }
}
