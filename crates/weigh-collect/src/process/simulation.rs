//! Random lives of random trees, of which the truth is known, against what the samples make of them.
//!
//! Plays the kernel's part as `kernel/exit.c` has it: what a thread leaves to its process, what a child
//! leaves to the parent that waits for it, and what is lost when nobody waits.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::fold::{Ledger, Processes, carry_on};
use super::parse::{PidIo, PidStat, SchedStat, Switches};
use super::read::Raw;
use super::sample::{ProcessId, Thread, Usage};

const TICK_NS: u64 = 10_000_000;
const ROOT: u32 = 100;

/// What can happen between two samples; numbers choose among the processes there are.
#[derive(Clone, Debug)]
enum Step {
    /// A thread runs for so many ns, with so many faults and bytes.
    Run(usize, usize, u64, u64),
    /// A new process; whether it ignores its own children's ends.
    Fork(usize, bool),
    /// One more thread.
    Thread(usize),
    /// A thread other than the main one ends.
    ThreadEnds(usize),
    /// A process exits. Its parent collects it, unless it ignores that; its own children are handed to
    /// a process outside the tree.
    Exit(usize),
    Sample,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = prop_oneof![
        6 => (0usize..50, 0usize..4, 0u64..40_000_000, 0u64..90).prop_map(|(p, t, ns, n)| Step::Run(p, t, ns, n)),
        3 => (0usize..50, prop::bool::weighted(0.2)).prop_map(|(p, ignores)| Step::Fork(p, ignores)),
        1 => (0usize..50).prop_map(Step::Thread),
        1 => (0usize..50).prop_map(Step::ThreadEnds),
        2 => (0usize..50).prop_map(Step::Exit),
        4 => Just(Step::Sample),
    ];
    vec(one, 1..120)
}

#[derive(Clone, Debug, Default)]
struct Process {
    parent: u32,
    ignores_children: bool,
    threads: BTreeMap<u32, u64>,
    ended_threads_ns: u64,
    children_ns: u64,
    faults: u64,
    child_faults: u64,
    bytes: u64,
}

impl Process {
    fn own_ns(&self) -> u64 {
        self.threads.values().sum::<u64>() + self.ended_threads_ns
    }

    fn raw(&self, pid: u32) -> Raw {
        let threads = self.threads.iter().map(|(tid, run_ns)| {
            let sched = Some(SchedStat { run_ns: *run_ns, wait_ns: run_ns / 2, slices: 1 });
            (*tid, Thread { sched, switches: Switches { voluntary: run_ns / 1_000_000, involuntary: 0 } })
        });
        Raw {
            stat: PidStat {
                pid,
                name: String::new(),
                state: 'S',
                parent: self.parent,
                minor_faults: self.faults,
                child_minor_faults: self.child_faults,
                major_faults: 0,
                child_major_faults: 0,
                user_ticks: self.own_ns() / TICK_NS,
                system_ticks: 0,
                child_user_ticks: self.children_ns / TICK_NS,
                child_system_ticks: 0,
                threads: u32::try_from(self.threads.len()).unwrap(),
                start_ticks: u64::from(pid),
                rss_pages: 1,
            },
            threads: threads.collect(),
            io: Some(PidIo { dirtied_bytes: self.bytes, ..PidIo::default() }),
            pss_bytes: None,
        }
    }
}

/// The kernel's side, and the truth.
#[derive(Debug)]
struct World {
    processes: BTreeMap<u32, Process>,
    next: u32,
    truth_ns: u64,
    truth_faults: u64,
    truth_bytes: u64,
    /// Used by processes that were lost, after the last sample that saw them or those they collected.
    unseen_ns: u64,
    unseen_faults: u64,
    unseen_bytes: u64,
    /// At the last sample: use of each process and of the children it waited for.
    seen: BTreeMap<u32, Process>,
    lost: u64,
    /// Parents, at the last sample, of those lost since.
    lost_below: Vec<u32>,
    /// A process was lost and its parent is gone too, both since the last sample: nobody can tell
    /// whether it was collected.
    ambiguous: bool,
}

impl World {
    fn new() -> World {
        let root = Process { parent: 1, threads: [(ROOT, 0)].into(), faults: 1, ..Process::default() };
        World {
            processes: [(ROOT, root)].into(),
            next: ROOT + 1,
            truth_ns: 0,
            truth_faults: 1,
            truth_bytes: 0,
            unseen_ns: 0,
            unseen_faults: 0,
            unseen_bytes: 0,
            seen: BTreeMap::new(),
            lost: 0,
            lost_below: Vec::new(),
            ambiguous: false,
        }
    }

    fn nth(&self, number: usize) -> u32 {
        *self.processes.keys().nth(number % self.processes.len()).unwrap()
    }

    fn play(&mut self, step: &Step) {
        match *step {
            Step::Run(process, thread, ns, number) => {
                let pid = self.nth(process);
                let process = self.processes.get_mut(&pid).unwrap();
                let place = thread % process.threads.len();
                *process.threads.values_mut().nth(place).unwrap() += ns;
                process.faults += number;
                process.bytes += number * 4096;
                self.truth_ns += ns;
                self.truth_faults += number;
                self.truth_bytes += number * 4096;
            }
            Step::Fork(parent, ignores_children) => {
                let parent = self.nth(parent);
                let pid = self.id();
                // No process gets by without a fault.
                let (threads, faults) = ([(pid, 0)].into(), 1);
                let child = Process { parent, ignores_children, threads, faults, ..Process::default() };
                self.processes.insert(pid, child);
                self.truth_faults += 1;
            }
            Step::Thread(process) => {
                let (pid, tid) = (self.nth(process), self.id());
                self.processes.get_mut(&pid).unwrap().threads.insert(tid, 0);
            }
            Step::ThreadEnds(process) => {
                let pid = self.nth(process);
                let process = self.processes.get_mut(&pid).unwrap();
                if process.threads.len() > 1 {
                    process.ended_threads_ns += process.threads.pop_last().unwrap().1;
                }
            }
            Step::Exit(process) => self.exit(self.nth(process)),
            Step::Sample => {}
        }
    }

    fn exit(&mut self, pid: u32) {
        // Somebody must be left to choose from.
        if pid == ROOT {
            return;
        }
        let gone = self.processes.remove(&pid).unwrap();
        for orphan in self.processes.values_mut().filter(|process| process.parent == pid) {
            orphan.parent = 1;
        }
        match self.processes.get_mut(&gone.parent) {
            Some(parent) if !parent.ignores_children => {
                parent.children_ns += gone.own_ns() + gone.children_ns;
                parent.child_faults += gone.faults + gone.child_faults;
                parent.bytes += gone.bytes;
            }
            _ => {
                let seen = self.seen.get(&pid).cloned().unwrap_or_default();
                self.unseen_ns += (gone.own_ns() + gone.children_ns) - (seen.own_ns() + seen.children_ns);
                self.unseen_faults += (gone.faults + gone.child_faults) - (seen.faults + seen.child_faults);
                self.unseen_bytes += gone.bytes - seen.bytes;
                self.lost += 1;
                self.lost_below.extend((seen.parent > 1).then_some(seen.parent));
            }
        }
    }

    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }
}

/// The collector's side: what `ProcessTree::sample` does with one reading.
#[derive(Debug)]
struct Watcher {
    known: Processes,
    ledger: Ledger,
}

impl Watcher {
    fn sample(&mut self, world: &mut World) -> Usage {
        let mut now = Processes::new();
        for (pid, process) in &world.processes {
            let id = ProcessId { pid: *pid, start_ticks: u64::from(*pid) };
            now.insert(id, carry_on(process.raw(*pid), self.known.get(&id)));
        }
        self.ledger.settle_gone(&self.known, &mut now);
        let total = self.ledger.total(&now);
        self.known = now;
        let parent_is_gone = |parent: u32| !world.processes.contains_key(&parent);
        world.ambiguous |= world.lost_below.drain(..).any(parent_is_gone);
        world.seen = world.processes.clone();
        total
    }
}

/// Plays the steps, sampling where they say so, and checks each sum against the last and the truth.
fn check(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut world = World::new();
    let mut watcher = Watcher { known: Processes::new(), ledger: Ledger::EMPTY };
    let mut last = watcher.sample(&mut world);
    for step in steps.iter().chain([&Step::Sample]) {
        world.play(step);
        if !matches!(step, Step::Sample) {
            continue;
        }
        let raw = watcher.sample(&mut world);
        let now = raw.at_least(last);
        let bytes = now.io.unwrap().dirtied_bytes;
        prop_assert!(now.cpu_ns <= world.truth_ns, "{now:?} {world:?}");
        prop_assert!(now.minor_faults <= world.truth_faults, "{now:?} {world:?}");
        prop_assert!(bytes <= world.truth_bytes, "{now:?} {world:?}");
        if world.ambiguous {
            last = now;
            continue;
        }
        prop_assert_eq!(raw, now, "went backwards");
        // Two figures in ticks for each process that is or was lost: its own, and its children's.
        let rounding_ns = 2 * TICK_NS * (world.processes.len() as u64 + world.lost);
        prop_assert!(now.cpu_ns + world.unseen_ns + rounding_ns >= world.truth_ns, "{now:?} {world:?}");
        prop_assert!(now.minor_faults + world.unseen_faults >= world.truth_faults, "{now:?} {world:?}");
        prop_assert!(bytes + world.unseen_bytes >= world.truth_bytes, "{now:?} {world:?}");
        last = now;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 5_000, ..ProptestConfig::default() })]

    /// Whoever exits, and whoever collects them or does not: nothing is counted twice, nothing goes
    /// backwards, and nothing is missing but what a lost process used after it was last seen.
    #[test]
    fn random_lives(steps in steps()) {
        check(&steps)?;
    }
}
