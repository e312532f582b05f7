//! Starting, cancelling and finishing a load.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::arrivals::Place;
use super::merge::merge;
use super::publish::{self, Board};
use super::socket::{EventLoop, Waker};
use super::timeline::{Limits, Timeline, nanoseconds};
use super::worker::{Ready, Task, WorkerReport};
use crate::driver::{Driver, DriverError};
use crate::error::LoadError;
use crate::report::{LoadReport, LoadSnapshot};
use crate::spec::LoadSpec;

/// Between `begin` and the common start: enough for every worker to be waiting for it.
const LEAD: Duration = Duration::from_millis(2);

/// What all workers and cancel handles see.
#[derive(Debug, Default)]
pub(super) struct Shared {
    cancelled: AtomicBool,
    cancelled_at: OnceLock<Instant>,
    wakers: Vec<Waker>,
    /// One per worker.
    pub(super) boards: Vec<Board>,
}

impl Shared {
    #[inline]
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn cancel(&self) {
        self.cancelled_at.get_or_init(Instant::now);
        self.cancelled.store(true, Ordering::Relaxed);
        for waker in &self.wakers {
            waker.wake();
        }
    }
}

/// Ends a load early, from any thread.
#[derive(Clone, Debug)]
pub struct CancelHandle(Arc<Shared>);

impl CancelHandle {
    /// Ends the load at once: outstanding replies are not awaited. An operation that runs in the worker's own
    /// thread (SQLite) is finished first.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

/// A load under way. Dropping it cancels the load.
#[derive(Debug)]
pub struct RunningLoad {
    spec: Arc<LoadSpec>,
    timeline: Timeline,
    shared: Arc<Shared>,
    workers: Vec<Worker>,
}

/// A load whose clients are connected and prepared, and send nothing yet. Dropping it disconnects them.
///
/// What happens to the system between [`connect`] and [`ConnectedLoad::begin`] is not part of the load: the
/// place to read counters that must not include the cost of connecting.
#[derive(Debug)]
pub struct ConnectedLoad {
    spec: Arc<LoadSpec>,
    limits: Limits,
    shared: Arc<Shared>,
    starters: Vec<Sender<Timeline>>,
    workers: Vec<Worker>,
}

type Worker = JoinHandle<Option<Result<WorkerReport, LoadError>>>;

/// Connects all clients and starts the load; returns as soon as it runs.
///
/// # Errors
/// As for [`connect`].
pub fn start(spec: &LoadSpec, driver: Arc<dyn Driver>) -> Result<RunningLoad, LoadError> {
    Ok(connect(spec, driver, Limits::default())?.begin())
}

/// Connects all clients, in their worker threads, and sends nothing yet.
///
/// # Errors
/// An impossible spec, no connection at all, or a refusal of the operating system. If only some clients fail
/// to connect, their errors are counted and they keep trying during the load.
pub fn connect(spec: &LoadSpec, driver: Arc<dyn Driver>, limits: Limits) -> Result<ConnectedLoad, LoadError> {
    spec.validate()?;
    let spec = Arc::new(spec.clone());
    let blocking = driver.blocks_its_thread();
    let threads = if blocking { spec.clients } else { spec.threads.min(spec.clients) };
    let event_loops =
        (0..if blocking { 0 } else { threads }).map(|_| EventLoop::new()).collect::<Result<Vec<_>, _>>()?;
    let wakers = event_loops.iter().map(EventLoop::waker).collect();
    let shared = Arc::new(Shared {
        wakers,
        boards: (0..threads).map(|_| Board::default()).collect(),
        ..Shared::default()
    });
    let mut event_loops = event_loops.into_iter();

    let (ready, readiness) = mpsc::channel();
    let mut load =
        ConnectedLoad { spec, limits, shared, starters: Vec::new(), workers: Vec::with_capacity(threads) };
    for worker in 0..threads {
        let (starter, go) = mpsc::channel();
        let task = Task {
            worker,
            place: Place { worker, workers: threads },
            clients: (worker..load.spec.clients).step_by(threads).collect(),
            spec: Arc::clone(&load.spec),
            driver: Arc::clone(&driver),
            shared: Arc::clone(&load.shared),
            event_loop: event_loops.next(),
            ready: Some(ready.clone()),
            go,
        };
        let thread = thread::Builder::new().name(format!("load-{worker}")).spawn(|| task.run());
        load.workers.push(thread.map_err(LoadError::system("starting a worker thread"))?);
        load.starters.push(starter);
    }
    drop(ready);
    await_connections(&readiness, load.spec.clients)?;
    Ok(load)
}

/// Hears from every worker. On an error the caller drops the starters, and the workers end.
fn await_connections(readiness: &Receiver<Ready>, clients: usize) -> Result<(), LoadError> {
    let (mut connected, mut first_error) = (0, None);
    for ready in readiness {
        connected += ready.connected;
        first_error = first_error.or(ready.first_error);
    }
    if connected > 0 {
        return Ok(());
    }
    let source = first_error.unwrap_or_else(|| DriverError::new("no worker reported a connection"));
    Err(LoadError::Connect { clients, source })
}

impl ConnectedLoad {
    /// Gives all workers their common start, a moment from now.
    #[must_use]
    pub fn begin(self) -> RunningLoad {
        let Self { spec, limits, shared, starters, workers } = self;
        let timeline = Timeline::new(LEAD, &spec, &limits);
        for starter in &starters {
            // A worker that panicked has hung up; `finish` reports it.
            starter.send(timeline).ok();
        }
        RunningLoad { spec, timeline, shared, workers }
    }
}

impl RunningLoad {
    /// When all workers began to send.
    #[must_use]
    pub fn began(&self) -> Instant {
        self.timeline.start
    }

    /// When the measured window begins.
    #[must_use]
    pub fn measure_begins(&self) -> Instant {
        self.timeline.at(self.timeline.measure_begins_ns)
    }

    /// When the measured window ends, unless a limit of operations or a cancel ends it earlier.
    #[must_use]
    pub fn measure_ends(&self) -> Instant {
        self.timeline.at(self.timeline.measure_ends_ns)
    }

    /// Ends the load early, from any thread.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle(Arc::clone(&self.shared))
    }

    /// Whether every worker has ended, so that [`finish`](Self::finish) will not wait.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.workers.iter().all(JoinHandle::is_finished)
    }

    /// What the load has done so far, as of the workers' last publication; `None` before the first, and if
    /// [`Limits::publish_every`] is not set. Figures never decrease from one snapshot to the next.
    #[must_use]
    pub fn snapshot(&self) -> Option<LoadSnapshot> {
        publish::snapshot(&self.shared.boards)
    }

    /// Waits for the end of the load and says what it found. Replies still outstanding at the end of the
    /// window are awaited ([`Limits::drain`]); in a closed loop they count in `operations_total` only.
    ///
    /// # Errors
    /// [`LoadError::Panicked`] or a refusal of the operating system.
    pub fn finish(mut self) -> Result<LoadReport, LoadError> {
        let mut reports = Vec::with_capacity(self.workers.len());
        for (worker, thread) in self.workers.drain(..).enumerate() {
            let outcome = thread
                .join()
                .map_err(|panic| LoadError::Panicked { worker, message: panic_message(&*panic) })?;
            reports.extend(outcome.transpose()?);
        }
        let since_start = |at: &Instant| nanoseconds(at.saturating_duration_since(self.timeline.start));
        let cancelled_ns = self.shared.cancelled_at.get().map(since_start);
        merge(&self.spec, &self.timeline, cancelled_ns, &reports)
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        // After `finish` there is no worker left to hear it.
        if !self.workers.is_empty() {
            self.shared.cancel();
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
