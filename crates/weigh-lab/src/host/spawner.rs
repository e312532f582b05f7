//! One thread that starts every server.
//!
//! The parent-death signal fires when the *thread* that forked ends, not the process. A server
//! started from a short-lived thread would be killed with it; so all are started by one thread that
//! lives as long as the process.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

type Job = (Command, Sender<io::Result<Child>>);

static SPAWNER: OnceLock<Mutex<Sender<Job>>> = OnceLock::new();

/// Starts `command` from the thread that never ends.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    let (reply, answer) = channel();
    let jobs = SPAWNER.get_or_init(|| Mutex::new(start_thread()));
    let sent = match jobs.lock() {
        Ok(jobs) => jobs.send((command, reply)).is_ok(),
        Err(_) => false,
    };
    if !sent {
        return Err(io::Error::other("the thread that starts servers is gone"));
    }
    answer.recv().map_err(|_| io::Error::other("the thread that starts servers is gone"))?
}

fn start_thread() -> Sender<Job> {
    let (jobs, queue) = channel::<Job>();
    let started = std::thread::Builder::new().name("spawner".to_owned()).spawn(move || {
        for (mut command, reply) in queue {
            // A requester that no longer waits loses the child; it still dies with this process.
            drop(reply.send(command.spawn()));
        }
    });
    // Without the thread the queue is closed, and every later request says so.
    drop(started);
    jobs
}
