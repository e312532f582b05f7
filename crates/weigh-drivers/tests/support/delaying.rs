//! A real server with a service time that is known exactly, whatever it speaks.
//!
//! [`Delaying`] stands between one client and the server. It hands a request on at once and the reply back at the moment when
//! the service time is over, spinning towards it, and writes down when it read the request and when it answered. The server has
//! answered long before. [`Stamping`] makes a driver's clients write down when each reply was decoded. Both together bound
//! every latency from both sides without the engine (`weigh selftest known-delays` explains how).

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use weigh_load::generator::Parameters;
use weigh_load::{Connection, Decoded, Driver, DriverError, SocketClient};

/// When a request was read and when its reply was written.
pub type Served = (Instant, Instant);

pub struct Delaying {
    pub port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<(Vec<Served>, Duration)>>,
}

impl Delaying {
    /// Before the server on a loopback port.
    pub fn new(upstream: u16, service: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            // The engine pins its worker to the last core.
            let mut first = CpuSet::new();
            first.set(0).and_then(|()| sched_setaffinity(Pid::from_raw(0), &first)).ok();
            let mut served = Vec::with_capacity(1 << 16);
            while !stopped.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((client, _)) => carry(client, upstream, service, &stopped, &mut served),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        thread::sleep(Duration::from_millis(1))
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            (served, waited())
        });
        Self { port, stop, thread: Some(thread) }
    }

    /// What it did, and how long it stood ready without a CPU.
    pub fn finish(mut self) -> (Vec<Served>, Duration) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Delaying {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// How long the calling thread has stood ready without a CPU (`schedstat`).
fn waited() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let wait_ns = text.split_ascii_whitespace().nth(1).and_then(|field| field.parse().ok());
    Duration::from_nanos(wait_ns.unwrap_or(0))
}

/// One connection, until one end closes it.
fn carry(
    mut client: TcpStream,
    upstream: u16,
    service: Duration,
    stop: &AtomicBool,
    served: &mut Vec<Served>,
) {
    let mut server = TcpStream::connect(("127.0.0.1", upstream)).unwrap();
    for socket in [&client, &server] {
        socket.set_nodelay(true).unwrap();
        socket.set_nonblocking(true).unwrap();
    }
    let mut buffer = vec![0; 64 << 10];
    // A client without a pipeline has one request under way; a farewell has no reply.
    let mut asked = VecDeque::new();
    let mut reply = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        match read(&mut client, &mut buffer) {
            Some(0) => return,
            Some(length) => {
                asked.push_back(Instant::now());
                server.write_all(&buffer[..length]).unwrap();
            }
            None => {}
        }
        match read(&mut server, &mut buffer) {
            Some(0) => return,
            Some(length) => reply.extend_from_slice(&buffer[..length]),
            None => {}
        }
        let is_due = asked.front().is_none_or(|asked: &Instant| asked.elapsed() >= service);
        if is_due && !reply.is_empty() {
            if let Some(asked) = asked.pop_front() {
                served.push((asked, Instant::now()));
            }
            if client.write_all(&reply).is_err() {
                return;
            }
            reply.clear();
        }
    }
}

/// What is there; 0 at the end, `None` when nothing is.
fn read(socket: &mut TcpStream, buffer: &mut [u8]) -> Option<usize> {
    match socket.read(buffer) {
        Ok(length) => Some(length),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => None,
        Err(_) => Some(0),
    }
}

/// A driver whose clients write down when each reply was complete.
pub struct Stamping {
    pub driver: Arc<dyn Driver>,
    pub stamps: Arc<Mutex<Vec<Instant>>>,
}

impl Driver for Stamping {
    fn connect(&self, client: usize) -> Result<Connection, DriverError> {
        let Connection::Socket(client) = self.driver.connect(client)? else { panic!("not a socket") };
        let kept = Vec::with_capacity(1 << 16);
        Ok(Connection::Socket(Box::new(Stamped { client, kept, stamps: Arc::clone(&self.stamps) })))
    }
}

struct Stamped {
    client: Box<dyn SocketClient>,
    kept: Vec<Instant>,
    stamps: Arc<Mutex<Vec<Instant>>>,
}

impl SocketClient for Stamped {
    fn socket(&self) -> std::os::fd::RawFd {
        self.client.socket()
    }

    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        self.client.encode(operation, parameters, out);
    }

    fn decode(&mut self, received: &[u8]) -> Decoded {
        let decoded = self.client.decode(received);
        if decoded.finished.is_some() {
            self.kept.push(Instant::now());
        }
        decoded
    }

    fn has_more(&self) -> bool {
        self.client.has_more()
    }
}

impl Drop for Stamped {
    fn drop(&mut self) {
        self.stamps.lock().unwrap().append(&mut self.kept);
    }
}
