//! What both kinds of worker share: their task, their connections, their report.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use super::arrivals::Place;
use super::inline_worker;
use super::recorder::Recorder;
use super::run::Shared;
use super::socket::{self, EventLoop};
use super::thread_setup;
use super::timeline::Timeline;
use super::usage::Spent;
use crate::driver::{Connection, Driver, DriverError};
use crate::error::LoadError;
use crate::generator::ParameterStream;
use crate::report::ScheduleReport;
use crate::spec::{LoadSpec, Schedule};

/// Everything one worker thread is given.
pub(super) struct Task {
    pub(super) worker: usize,
    pub(super) place: Place,
    /// Numbers of its clients.
    pub(super) clients: Vec<usize>,
    pub(super) spec: Arc<LoadSpec>,
    pub(super) driver: Arc<dyn Driver>,
    pub(super) shared: Arc<Shared>,
    /// Absent for clients that block their thread.
    pub(super) event_loop: Option<EventLoop>,
    /// Used once and dropped: the other end waits until every worker has hung up.
    pub(super) ready: Option<Sender<Ready>>,
    /// Gives the common start; hangs up when the load is called off.
    pub(super) go: Receiver<Timeline>,
}

/// How connecting went.
pub(super) struct Ready {
    pub(super) connected: usize,
    pub(super) first_error: Option<DriverError>,
}

/// What a worker found out.
#[derive(Debug)]
pub(super) struct WorkerReport {
    pub(super) recorder: Recorder,
    pub(super) spent: Spent,
    /// Of an open loop.
    pub(super) schedule: Option<ScheduleReport>,
    /// When its share of a limit was done; `None`: time ended it.
    pub(super) ended_ns: Option<u64>,
}

impl Task {
    /// Body of the worker's thread. `None` when the load was called off.
    pub(super) fn run(mut self) -> Option<Result<WorkerReport, LoadError>> {
        thread_setup::prepare(self.worker, self.spec.pin);
        let mut first_error = None;
        let mut messages = Vec::new();
        let mut connections = Vec::with_capacity(self.clients.len());
        for client in &self.clients {
            connections.push(self.driver.connect(*client).map_or_else(
                |error| {
                    messages.push(error.message.clone());
                    first_error.get_or_insert(error);
                    None
                },
                Some,
            ));
        }
        let connected = connections.iter().flatten().count();
        if let Some(ready) = self.ready.take() {
            // Fails only when the load was called off, which the next line finds out.
            ready.send(Ready { connected, first_error }).ok();
        }
        let timeline = self.go.recv().ok()?;
        Some(self.load(timeline, connections, &messages))
    }

    fn load(
        &mut self,
        timeline: Timeline,
        connections: Vec<Option<Connection>>,
        messages: &[String],
    ) -> Result<WorkerReport, LoadError> {
        let mut recorder =
            Recorder::new(timeline, self.spec.operations.len(), self.spec.schedule != Schedule::Closed)?;
        for message in messages {
            recorder.failure(message, 1);
        }
        if self.clients.contains(&0) {
            recorder.keep_first_calls();
        }
        match self.event_loop.take() {
            Some(event_loop) => socket::run(self, event_loop, timeline, recorder, connections),
            None => inline_worker::run(self, timeline, recorder, connections),
        }
    }

    /// How many of a limited number of operations are this worker's.
    pub(super) fn share_of_limit(&self) -> Option<u64> {
        self.spec.operations_limit.map(|limit| self.place.share_of(limit, self.spec.clients))
    }

    /// The parameter stream of a client.
    pub(super) fn stream(&self, client: usize) -> ParameterStream {
        let spec = &*self.spec;
        ParameterStream::new(&spec.operations, spec.seed, client, spec.clients, spec.trial_number)
    }
}
