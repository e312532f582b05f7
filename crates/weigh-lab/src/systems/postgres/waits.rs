//! What clients wait for, by looking at them regularly.
//!
//! While an instance is under load, a thread asks `pg_stat_get_activity` every 50 ms what each busy client
//! backend waits for, and adds it to `postgres.wait.<type>.<event>_samples` (`postgres.wait.CPU.none_samples` for one that
//! waits for nothing). The names are the server's own. Of three kinds the time is estimated besides
//! ([`TIMED`]): each sample stands for the time since the one before. The thread has a connection of its own, asks
//! nothing while the instance is frozen, and costs every variant the same.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use postgres::{Client, Statement};

use super::client;
use crate::systems::{Counters, SystemError};

const INTERVAL: Duration = Duration::from_millis(50);

/// Known from the beginning, so that a trial in which one first occurs has a difference to show.
const USUAL: [(&str, &str); 16] = [
    ("CPU", "none"),
    ("Client", "ClientRead"),
    ("IO", "DataFileExtend"),
    ("IO", "DataFileRead"),
    ("IO", "DataFileWrite"),
    ("IO", "WALInitSync"),
    ("IO", "WALInitWrite"),
    ("IO", "WALSync"),
    ("IO", "WALWrite"),
    ("IPC", "SyncRep"),
    ("LWLock", "BufferContent"),
    ("LWLock", "LockManager"),
    ("LWLock", "WALInsert"),
    ("LWLock", "WALWrite"),
    ("Lock", "transactionid"),
    ("Lock", "tuple"),
];

/// Kinds whose waiting time all clients together is estimated, microseconds.
const TIMED: [(&str, &str); 3] =
    [("IO", "postgres.io_wait_us"), ("Lock", "postgres.lock_wait_us"), ("LWLock", "postgres.lwlock_wait_us")];

/// A sample stands for no more than this: the thread may have been kept waiting itself.
const LONGEST: Duration = Duration::from_millis(200);

const QUERY: &str = "SELECT coalesce(wait_event_type, 'CPU'), coalesce(wait_event, 'none'), count(*) \
                     FROM pg_stat_get_activity(NULL) \
                     WHERE state = 'active' AND pid <> pg_backend_pid() AND application_name <> 'weigh' \
                     AND backend_type = 'client backend' GROUP BY 1, 2";

/// The thread and what it has seen.
pub(super) struct Sampler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    mode: Mode,
    samples: BTreeMap<String, u64>,
    /// By key of [`TIMED`].
    waited: BTreeMap<&'static str, Duration>,
    last: Option<Instant>,
    connection: Client,
    statement: Statement,
    /// The connection broke: there is nothing more to see.
    broken: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Paused,
    Running,
    Ended,
}

impl Sampler {
    /// A paused sampler with a connection of its own.
    ///
    /// # Errors
    /// When the server refuses the query, or no thread can be started.
    pub(super) fn new(mut connection: Client) -> Result<Sampler, SystemError> {
        let statement = connection
            .prepare(QUERY)
            .map_err(|error| client::failed("cannot prepare the sampling of wait events", &error))?;
        let samples = USUAL.iter().map(|(kind, event)| (key(kind, event), 0)).collect();
        let waited = TIMED.iter().map(|(_, key)| (*key, Duration::ZERO)).collect();
        let state =
            State { mode: Mode::Paused, samples, waited, last: None, connection, statement, broken: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let theirs = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("wait events".to_owned()).spawn(move || theirs.run()).map_err(
                |error| SystemError::new("cannot start the sampling of wait events").caused_by(error),
            )?;
        Ok(Sampler { shared, thread: Some(thread) })
    }

    /// Samples from now on.
    pub(super) fn resume(&self) {
        self.shared.set(Mode::Running);
    }

    /// Stops sampling; no query is under way when this returns.
    pub(super) fn pause(&self) {
        self.shared.set(Mode::Paused);
    }

    /// What has been seen so far.
    pub(super) fn counters(&self) -> Counters {
        let state = self.shared.lock();
        #[expect(clippy::cast_precision_loss, reason = "sample counts are far below 2^52")]
        let samples = state.samples.iter().map(|(key, count)| (key.clone(), *count as f64));
        let waited = state.waited.iter().map(|(key, time)| ((*key).to_owned(), time.as_secs_f64() * 1e6));
        samples.chain(waited).collect()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.shared.set(Mode::Ended);
        if let Some(thread) = self.thread.take() {
            // A panic in it has nothing more to say than that samples are missing.
            thread.join().ok();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, mode: Mode) {
        // The lock is held during a query: having it means that none is under way.
        self.lock().mode = mode;
        self.changed.notify_all();
    }

    fn run(&self) {
        let mut state = self.lock();
        loop {
            state = match state.mode {
                Mode::Ended => return,
                Mode::Paused => {
                    state.last = None;
                    self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
                }
                Mode::Running => {
                    state.sample();
                    let waited = self.changed.wait_timeout(state, INTERVAL);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl State {
    fn sample(&mut self) {
        if self.broken {
            return;
        }
        match self.connection.query(&self.statement, &[]) {
            Ok(rows) => {
                let now = Instant::now();
                let since = self.last.replace(now).map_or(INTERVAL, |last| now - last).min(LONGEST);
                for row in rows {
                    let count = u64::try_from(row.get::<_, i64>(2)).unwrap_or_default();
                    let timed = TIMED.iter().find(|(kind, _)| *kind == row.get::<_, &str>(0));
                    if let Some(waited) = timed.and_then(|(_, key)| self.waited.get_mut(key)) {
                        *waited += since.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
                    }
                    *self.samples.entry(key(row.get(0), row.get(1))).or_default() += count;
                }
            }
            Err(_) => self.broken = true,
        }
    }
}

fn key(kind: &str, event: &str) -> String {
    format!("postgres.wait.{kind}.{event}_samples")
}
