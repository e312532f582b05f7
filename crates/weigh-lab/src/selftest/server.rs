//! The built-in server: answers after exactly known service times and writes down what it did.
//!
//! - [`BuiltInServer`]: one thread on a loopback port; [`ServerPlan`]: how long it takes for each request;
//!   [`ServerLog`]: what it answered and when, by its own reading of the clock.
//!
//! The protocol is as small as one can be: a request is a number of eight bytes, the reply is the same number.
//! It knows nothing of the engine, and it is what the engine is judged by: it must never leave anything out.

use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv};
use weigh_collect::OwnSample;

use super::cores;
use super::error::SelftestError;
use super::witness::excess;

/// Bytes of a request and of a reply.
pub(super) const MESSAGE_BYTES: usize = 8;

/// What a server is asked to do.
#[derive(Clone, Debug)]
pub(super) struct ServerPlan {
    /// Service times, in turn, from the first request on. Never empty.
    pub(super) delays: Vec<Duration>,
    /// Most requests whose times are written down; all are counted.
    pub(super) log_limit: usize,
    /// How it waits for requests.
    pub(super) waiting: Waiting,
}

/// How a server waits for requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// It looks again and again, so that it sees a request the moment it is there. Takes a whole core.
    Looking,
    /// It sleeps until the kernel wakes it.
    Sleeping,
}

impl Waiting {
    /// The exact way if there is a core for it besides the client's.
    pub(super) fn exact() -> Waiting {
        if cores::allowed().len() > 1 { Waiting::Looking } else { Waiting::Sleeping }
    }
}

/// One request, in nanoseconds of the clock that began with the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Served {
    /// When it was read.
    pub(super) received_ns: u64,
    /// When its reply was about to be written.
    pub(super) answered_ns: u64,
}

/// What a server did.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerLog {
    /// Requests answered.
    pub(super) answered: u64,
    /// The first of them, in the order they were answered.
    pub(super) served: Vec<Served>,
    /// How long its thread was ready but had no CPU, and over how long that was seen.
    pub(super) wait: Duration,
    pub(super) lived: Duration,
    /// Of a server that never sleeps: how long it was that a request would have waited too long for it.
    pub(super) stalled: Duration,
    /// Service times it was asked for.
    asked: Duration,
}

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub(super) struct BuiltInServer {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// What its times count from.
    pub(super) epoch: Instant,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<ServerLog>>>,
}

impl BuiltInServer {
    /// Starts one on a free loopback port, on the first core this process may use.
    ///
    /// # Errors
    /// When there is no port or no thread to be had.
    pub(super) fn start(plan: ServerPlan) -> Result<BuiltInServer, SelftestError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(SelftestError::system("opening a loopback port"))?;
        let address =
            listener.local_addr().map_err(SelftestError::system("asking for the address of a port"))?;
        let (epoch, stop) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("selftest-server".into())
            .spawn(move || {
                cores::pin_to_first();
                Serving::new(listener, plan, epoch).run(&stopped)
            })
            .map_err(SelftestError::system("starting the built-in server"))?;
        Ok(BuiltInServer { address, epoch, stop, thread: Some(thread) })
    }

    /// Stops it and takes its log.
    ///
    /// # Errors
    /// When it had failed meanwhile.
    pub(super) fn finish(mut self) -> Result<ServerLog, SelftestError> {
        self.stop.store(true, Ordering::Relaxed);
        let joined = self.thread.take().map(JoinHandle::join);
        match joined {
            Some(Ok(log)) => log.map_err(SelftestError::system("answering as the built-in server")),
            _ => Err(SelftestError::Server("the built-in server ended by itself".into())),
        }
    }
}

impl Drop for BuiltInServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Answers on `listener` at once, sleeping in between, until its process ends: the server of a process of its own.
pub(super) fn answer_for_ever(listener: TcpListener) -> io::Result<()> {
    let plan = ServerPlan { delays: vec![Duration::ZERO], log_limit: 0, waiting: Waiting::Sleeping };
    Serving::new(listener, plan, Instant::now()).run(&AtomicBool::new(false)).map(|_| ())
}

/// The state of the server's thread.
struct Serving {
    listener: TcpListener,
    plan: ServerPlan,
    epoch: Instant,
    clients: Vec<Client>,
    replies: Vec<u8>,
    log: ServerLog,
}

struct Client {
    stream: TcpStream,
    /// Bytes of a request that is not complete yet.
    begun: Vec<u8>,
}

impl Serving {
    fn new(listener: TcpListener, plan: ServerPlan, epoch: Instant) -> Serving {
        let log = ServerLog { served: Vec::with_capacity(plan.log_limit), ..ServerLog::default() };
        Serving { listener, plan, epoch, clients: Vec::new(), replies: Vec::with_capacity(4096), log }
    }

    fn run(mut self, stop: &AtomicBool) -> io::Result<ServerLog> {
        self.listener.set_nonblocking(true)?;
        let (begun, before) = (Instant::now(), OwnSample::current_thread().ok());
        let mut buffer = vec![0; 16 << 10];
        let mut before_turn = (begun, Duration::ZERO);
        while !stop.load(Ordering::Relaxed) {
            if self.plan.waiting == Waiting::Looking {
                let now = Instant::now();
                let asked = self.log.asked - before_turn.1;
                self.log.stalled += excess((now - before_turn.0).saturating_sub(asked));
                before_turn = (now, self.log.asked);
            }
            if self.plan.waiting == Waiting::Sleeping {
                self.sleep();
            }
            self.accept()?;
            let mut index = 0;
            while index < self.clients.len() {
                if self.serve(index, &mut buffer)? {
                    index += 1;
                } else {
                    self.clients.swap_remove(index);
                }
            }
        }
        let waited = before.zip(OwnSample::current_thread().ok());
        let wait_ns = waited.map_or(0, |(before, after)| after.wait_ns.saturating_sub(before.wait_ns));
        self.log.wait = Duration::from_nanos(wait_ns);
        self.log.lived = begun.elapsed();
        Ok(self.log)
    }

    /// Until a request or a client comes, or for a moment.
    fn sleep(&self) {
        let watched = self.clients.iter().map(|client| client.stream.as_fd());
        let mut waits: Vec<PollFd<'_>> = watched
            .chain([self.listener.as_fd()])
            .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
            .collect();
        // An interrupted wait is one that found nothing.
        poll(&mut waits, PollTimeout::from(20_u8)).ok();
    }

    /// Takes one new client, if there is one.
    fn accept(&mut self) -> io::Result<()> {
        match self.listener.accept() {
            Ok((stream, _)) => {
                stream.set_nodelay(true)?;
                // Requests are read without waiting; a reply always waits for room.
                stream.set_nonblocking(false)?;
                self.clients.push(Client { stream, begun: Vec::with_capacity(MESSAGE_BYTES) });
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Reads once and answers what is complete; `false` when the client has gone.
    fn serve(&mut self, index: usize, buffer: &mut [u8]) -> io::Result<bool> {
        let client = &mut self.clients[index];
        let length = match recv(client.stream.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(0) | Err(Errno::ECONNRESET) => return Ok(false),
            Ok(length) => length,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        let received_ns = nanoseconds(self.epoch.elapsed());
        client.begun.extend_from_slice(&buffer[..length]);
        let requests = client.begun.len() / MESSAGE_BYTES;
        for request in 0..requests {
            let number = &client.begun[request * MESSAGE_BYTES..][..MESSAGE_BYTES];
            self.replies.extend_from_slice(number);
            let delay = delay_of(&self.plan.delays, self.log.answered);
            if !delay.is_zero() {
                let due_ns = received_ns + nanoseconds(delay);
                self.log.asked += delay;
                while nanoseconds(self.epoch.elapsed()) < due_ns {
                    std::hint::spin_loop();
                }
            }
            self.log.answered += 1;
            if self.log.served.len() < self.plan.log_limit {
                let answered_ns = nanoseconds(self.epoch.elapsed());
                self.log.served.push(Served { received_ns, answered_ns });
            }
            if !delay.is_zero() || request + 1 == requests {
                if client.stream.write_all(&self.replies).is_err() {
                    return Ok(false);
                }
                self.replies.clear();
            }
        }
        client.begun.drain(..requests * MESSAGE_BYTES);
        Ok(true)
    }
}

/// The service time of request `number`, from 0.
pub(super) fn delay_of(delays: &[Duration], number: u64) -> Duration {
    let turn = usize::try_from(number % delays.len().max(1) as u64).unwrap_or(0);
    delays.get(turn).copied().unwrap_or_default()
}

/// A duration in nanoseconds, saturating after 584 years.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
