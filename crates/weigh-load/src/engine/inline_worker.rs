//! The worker of clients that execute in its own thread (SQLite, a function call).

use std::thread;
use std::time::Duration;

use super::recorder::Recorder;
use super::timeline::Timeline;
use super::usage::UsageProbe;
use super::worker::{Task, WorkerReport};
use crate::driver::{Connection, InlineClient, Outcome};
use crate::generator::ParameterStream;

/// Pause between two attempts to connect; also how late a cancel may be noticed in one.
const RECONNECT_PAUSE: Duration = Duration::from_millis(20);

const WRONG_KIND: &str = "the driver blocks its thread but made a socket connection";

struct Slot {
    number: usize,
    client: Option<Box<dyn InlineClient>>,
    stream: ParameterStream,
}

/// Runs the load until its end or a cancel, which takes effect between two operations.
pub(super) fn run(
    task: &Task,
    timeline: Timeline,
    mut recorder: Recorder,
    connections: Vec<Option<Connection>>,
) -> WorkerReport {
    let mut probe = UsageProbe::new(&timeline);
    let mut slots: Vec<Slot> = task
        .clients
        .iter()
        .zip(connections)
        .map(|(&number, connection)| Slot {
            number,
            client: connection.and_then(|c| inline(c, &mut recorder)),
            stream: task.stream(number),
        })
        .collect();
    thread::sleep(timeline.start.saturating_duration_since(std::time::Instant::now()));
    let mut now_ns = timeline.now_ns();
    'load: loop {
        for slot in &mut slots {
            probe.tick(now_ns);
            if now_ns >= timeline.measure_ends_ns || task.shared.is_cancelled() {
                break 'load;
            }
            now_ns = match slot.client.as_deref_mut() {
                Some(client) => {
                    let operation = slot.stream.choose();
                    slot.stream.draw_ahead(operation);
                    let begun_ns = timeline.now_ns();
                    let intended_ns = task.spec.schedule.intended_ns(begun_ns);
                    let outcome = client.execute(operation, &mut slot.stream.parameters(operation));
                    let ended_ns = timeline.now_ns();
                    match outcome {
                        Outcome::Success | Outcome::Miss | Outcome::Partial(_) => {
                            recorder.success(operation, intended_ns, ended_ns)
                        }
                        Outcome::Error(message) => recorder.failure(&message, 1),
                        Outcome::Broken(message) => {
                            recorder.failure(&message, 1);
                            slot.client = None;
                        }
                    }
                    ended_ns
                }
                None => {
                    reconnect(task, slot, &mut recorder);
                    timeline.now_ns()
                }
            };
        }
    }
    let spent = probe.finish(now_ns);
    WorkerReport { recorder, spent }
}

#[cold]
fn reconnect(task: &Task, slot: &mut Slot, recorder: &mut Recorder) {
    thread::sleep(RECONNECT_PAUSE);
    match task.driver.connect(slot.number) {
        Ok(connection) => {
            slot.client = inline(connection, recorder);
            recorder.reconnects += u64::from(slot.client.is_some());
        }
        Err(error) => recorder.failure(&error.message, 1),
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
