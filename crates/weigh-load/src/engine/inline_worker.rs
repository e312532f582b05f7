//! The worker of clients that execute in its own thread (SQLite, a function call).
//!
//! A client that blocks has a thread of its own, and so in an open loop it has a schedule of its own: its share of the
//! arrivals. What is due while it is busy waits for it, whatever other clients do.

use std::thread;
use std::time::Duration;

use super::pace::Pace;
use super::publish::Publisher;
use super::recorder::{Recorder, Run};
use super::timeline::Timeline;
use super::usage::UsageProbe;
use super::worker::{Task, WorkerReport};
use crate::driver::{Connection, InlineClient, Outcome};
use crate::error::LoadError;
use crate::generator::ParameterStream;

/// Pause between two attempts to connect.
const RECONNECT_PAUSE_NS: u64 = 20_000_000;

/// Longest sleep: how late a cancel may be noticed.
const LONGEST_SLEEP_NS: u64 = 20_000_000;

const WRONG_KIND: &str = "the driver blocks its thread but made a socket connection";

struct Slot {
    number: usize,
    client: Option<Box<dyn InlineClient>>,
    stream: ParameterStream,
}

struct InlineWorker<'a> {
    task: &'a Task,
    timeline: Timeline,
    recorder: Recorder,
    probe: UsageProbe,
    publisher: Publisher,
    /// The schedule of an open loop.
    pace: Option<Pace>,
    /// Operations a closed loop may still begin in the measured window.
    left: u64,
    /// The time when the last operation ended, or when something else was done last.
    now_ns: u64,
    /// When to look at something else than operations.
    chores_ns: u64,
}

/// Runs the load until its end or a cancel, which takes effect between two operations.
pub(super) fn run(
    task: &Task,
    timeline: Timeline,
    recorder: Recorder,
    connections: Vec<Option<Connection>>,
) -> Result<WorkerReport, LoadError> {
    let mut worker = InlineWorker {
        probe: UsageProbe::new(&timeline),
        publisher: Publisher::new(task, &timeline)?,
        pace: Pace::new(&task.spec, &timeline, task.place)?,
        left: task.share_of_limit().unwrap_or(u64::MAX),
        now_ns: 0,
        chores_ns: 0,
        task,
        timeline,
        recorder,
    };
    let mut slots: Vec<Slot> = task
        .clients
        .iter()
        .zip(connections)
        .map(|(&number, connection)| Slot {
            number,
            client: connection.and_then(|c| inline(c, &mut worker.recorder)),
            stream: task.stream(number),
        })
        .collect();
    timeline.await_start();
    worker.now_ns = timeline.now_ns();
    while slots.iter_mut().all(|slot| worker.step(slot)) {}
    Ok(worker.finish())
}

impl InlineWorker<'_> {
    /// Does one thing: executes an operation, waits a little, or tries to connect. Says whether to go on.
    #[inline]
    fn step(&mut self, slot: &mut Slot) -> bool {
        if self.now_ns >= self.chores_ns {
            self.do_chores();
        }
        if let Some(pace) = &mut self.pace {
            pace.count_due(self.now_ns);
        }
        if self.is_over() {
            return false;
        }
        match &self.pace {
            _ if slot.client.is_none() => self.reconnect(slot),
            Some(pace) if pace.backlog() == 0 => self.sleep_until(pace.due_ns()),
            _ => self.execute(slot),
        }
        true
    }

    /// Executes the next operation and records it.
    #[inline]
    fn execute(&mut self, slot: &mut Slot) {
        let Some(client) = slot.client.as_deref_mut() else { return };
        let free_ns = self.now_ns;
        if self.pace.is_none() && free_ns >= self.timeline.measure_begins_ns {
            self.left -= 1;
        }
        let operation = slot.stream.choose();
        slot.stream.draw_ahead(operation);
        let sent_ns = self.timeline.now_ns();
        let intended_ns = self.pace.as_mut().map_or(sent_ns, |pace| {
            let intended_ns = pace.take();
            pace.sent(intended_ns, sent_ns, free_ns);
            intended_ns
        });
        let outcome = client.execute(operation, &mut slot.stream.parameters(operation));
        self.now_ns = self.timeline.now_ns();
        let run = Run { operation, intended_ns, sent_ns, count: 1 };
        if self.recorder.wants_first_calls() && slot.number == 0 && outcome.is_done() {
            self.recorder.first_call(&run, self.now_ns);
        }
        match outcome {
            Outcome::Success => self.recorder.success(&run, self.now_ns),
            other => {
                if matches!(other, Outcome::Broken(_)) {
                    slot.client = None;
                }
                self.recorder.unusual(&run, other, self.now_ns);
            }
        }
    }

    /// Whether the load is at its end.
    #[inline]
    fn is_over(&self) -> bool {
        if self.task.shared.is_cancelled() || self.has_sent_its_share() {
            return true;
        }
        if self.now_ns < self.timeline.measure_ends_ns {
            return false;
        }
        let backlog = self.pace.as_ref().map_or(0, Pace::backlog);
        backlog == 0 || self.now_ns >= self.timeline.drain_ends_ns
    }

    #[inline]
    fn has_sent_its_share(&self) -> bool {
        match &self.pace {
            Some(pace) => pace.all_sent() && self.task.spec.operations_limit.is_some(),
            None => self.left == 0,
        }
    }

    /// Samples and publishes if it is time.
    #[cold]
    fn do_chores(&mut self) {
        self.probe.tick(self.now_ns);
        if self.now_ns >= self.publisher.due_ns() {
            let now_ns = self.now_ns;
            let backlog = self.pace.as_mut().map_or(0, |pace| {
                pace.count_due(now_ns);
                pace.backlog()
            });
            self.publisher.publish(now_ns, &self.recorder, backlog);
        }
        self.chores_ns = self.probe.due_ns().min(self.publisher.due_ns());
    }

    /// Sleeps until `due_ns`, or a part of that time.
    #[cold]
    fn sleep_until(&mut self, due_ns: u64) {
        let now_ns = self.timeline.now_ns();
        let until_ns = due_ns.min(self.chores_ns).min(now_ns + LONGEST_SLEEP_NS);
        let until_ns = if now_ns < self.timeline.measure_ends_ns {
            until_ns.min(self.timeline.measure_ends_ns)
        } else {
            until_ns
        };
        thread::sleep(Duration::from_nanos(until_ns.saturating_sub(now_ns)));
        self.now_ns = self.timeline.now_ns();
    }

    #[cold]
    fn reconnect(&mut self, slot: &mut Slot) {
        thread::sleep(Duration::from_nanos(RECONNECT_PAUSE_NS));
        match self.task.driver.connect(slot.number) {
            Ok(connection) => {
                slot.client = inline(connection, &mut self.recorder);
                self.recorder.reconnects += u64::from(slot.client.is_some());
            }
            Err(error) => self.recorder.failure(&error.message, 1),
        }
        self.now_ns = self.timeline.now_ns();
    }

    fn finish(self) -> WorkerReport {
        let limited = !self.task.shared.is_cancelled() && self.has_sent_its_share();
        let ended_ns = limited.then_some(self.recorder.last_ns);
        self.publisher.finish(self.now_ns, &self.recorder);
        let schedule = self.pace.map(|pace| pace.finish(self.now_ns, std::iter::empty()));
        WorkerReport { spent: self.probe.finish(self.now_ns), recorder: self.recorder, schedule, ended_ns }
    }
}

fn inline(connection: Connection, recorder: &mut Recorder) -> Option<Box<dyn InlineClient>> {
    match connection {
        Connection::Inline(client) => Some(client),
        Connection::Socket(_) => {
            recorder.failure(WRONG_KIND, 1);
            None
        }
    }
}
