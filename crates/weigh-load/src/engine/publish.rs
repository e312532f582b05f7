//! What a load shows while it runs: every worker publishes its counts now and then, from its timer, and whoever
//! watches adds them up. Between publications this costs nothing, and a worker never waits for a watcher.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::Duration;

use hdrhistogram::Histogram;

use super::pace::add;
use super::recorder::{Messages, Recorder, latency_histogram};
use super::run::Shared;
use super::timeline::Timeline;
use super::usage;
use super::worker::Task;
use crate::error::LoadError;
use crate::report::LoadSnapshot;

/// What one worker showed last.
#[derive(Debug)]
pub(super) struct Published {
    at_ns: u64,
    operations: u64,
    errors: Messages,
    reconnects: u64,
    latency: Histogram<u64>,
    backlog: u64,
    cpu: Duration,
}

/// Where a worker publishes; empty until it does.
pub(super) type Board = Mutex<Option<Published>>;

/// One worker's side.
#[derive(Debug)]
pub(super) struct Publisher {
    shared: Arc<Shared>,
    worker: usize,
    every_ns: u64,
    due_ns: u64,
}

impl Publisher {
    /// The publisher of a worker. Does nothing if the load's limits do not ask for it.
    pub(super) fn new(task: &Task, timeline: &Timeline) -> Result<Self, LoadError> {
        let every_ns = timeline.publish_ns;
        if every_ns != u64::MAX {
            *lock(&task.shared.boards[task.worker]) = Some(Published::empty()?);
        }
        Ok(Self { shared: Arc::clone(&task.shared), worker: task.worker, every_ns, due_ns: every_ns })
    }

    /// When to publish next; `u64::MAX`: never.
    #[inline]
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Publishes. All workers do so at the same multiples of the interval.
    #[cold]
    pub(super) fn publish(&mut self, now_ns: u64, recorder: &Recorder, backlog: u64) {
        if self.every_ns == u64::MAX {
            return;
        }
        self.due_ns = (now_ns / self.every_ns + 1).saturating_mul(self.every_ns);
        // Somebody reads at this moment: next time.
        let board = match self.shared.boards[self.worker].try_lock() {
            Ok(board) => board,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        show(board, now_ns, recorder, backlog);
    }

    /// Publishes for the last time, waiting for a reader if there is one.
    #[cold]
    pub(super) fn finish(&self, now_ns: u64, recorder: &Recorder) {
        if self.every_ns != u64::MAX {
            show(lock(&self.shared.boards[self.worker]), now_ns, recorder, 0);
        }
    }
}

fn show(
    mut board: std::sync::MutexGuard<'_, Option<Published>>,
    now_ns: u64,
    recorder: &Recorder,
    backlog: u64,
) {
    let Some(published) = board.as_mut() else { return };
    published.at_ns = now_ns;
    published.operations = recorder.total;
    if published.errors.sum() != recorder.errors.sum() {
        published.errors.clone_from(&recorder.errors);
    }
    published.reconnects = recorder.reconnects;
    published.backlog = backlog;
    published.cpu = usage::cpu_of_this_thread();
    published.latency.reset();
    for latency in &recorder.latencies {
        // Histograms of one shape always add up.
        published.latency.add(latency).ok();
    }
}

impl Published {
    fn empty() -> Result<Self, LoadError> {
        Ok(Self {
            at_ns: 0,
            operations: 0,
            errors: Messages::default(),
            reconnects: 0,
            latency: latency_histogram()?,
            backlog: 0,
            cpu: Duration::ZERO,
        })
    }
}

/// Adds up what the workers showed last; `None` if nobody has shown anything.
pub(super) fn snapshot(boards: &[Board]) -> Option<LoadSnapshot> {
    let mut snapshot = LoadSnapshot {
        at: Duration::MAX,
        operations: 0,
        errors: 0,
        commonest_error: None,
        reconnects: 0,
        latency: latency_histogram().ok()?,
        backlog: 0,
        client_cpu: Duration::ZERO,
    };
    let mut errors = Messages::default();
    for board in boards {
        let board = lock(board);
        let published = board.as_ref().filter(|published| published.at_ns > 0)?;
        snapshot.at = snapshot.at.min(Duration::from_nanos(published.at_ns));
        snapshot.operations += published.operations;
        snapshot.errors += published.errors.sum();
        snapshot.reconnects += published.reconnects;
        snapshot.backlog += published.backlog;
        snapshot.client_cpu += published.cpu;
        add(&mut snapshot.latency, &published.latency).ok()?;
        for (message, count) in published.errors.map() {
            errors.add(message, *count);
        }
    }
    let commonest = errors.map().iter().max_by_key(|(_, count)| **count);
    snapshot.commonest_error = commonest.map(|(message, _)| message.clone());
    (!boards.is_empty()).then_some(snapshot)
}

/// A worker that panicked while it published has left nothing half done that matters.
fn lock(board: &Board) -> std::sync::MutexGuard<'_, Option<Published>> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}
