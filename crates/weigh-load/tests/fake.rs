//! A protocol as simple as can be (fixed-size requests, 4-byte replies) and servers that misbehave on order.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use weigh_load::generator::{GeneratorSpec, Parameters, Value};
use weigh_load::{
    Connection, Decoded, Driver, DriverError, LoadSpec, Operation, Outcome, Schedule, SocketClient,
};

pub const REPLY_BYTES: usize = 4;

/// What a server does with its n-th request (from 1).
#[derive(Clone, Copy, Debug)]
pub enum Behaviour {
    Answer,
    AnswerAfter(Duration),
    /// Replies byte by byte.
    AnswerInPieces,
    /// Every n-th reply is an error.
    ErrorEvery(u64),
    /// Answers n requests and then nothing.
    StuckAfter(u64),
    /// Answers n requests of a connection, then closes it.
    CloseAfter(u64),
    /// Answers n requests of a connection, then sends half a reply and closes it at once.
    HalfAndCloseAfter(u64),
    /// Never reads.
    Deaf,
    /// Answers at once, but for one stretch of time after the first request of all: whatever is asked then is answered
    /// at its end.
    StallBetween(Duration, Duration),
    /// Takes requests of operation 1 without ever answering them.
    SilentOnOne,
}

/// How the client's side treats bytes and operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Manner {
    Plain,
    /// Consumes whatever it is shown at once and finishes operations from its own store, as TLS does.
    Hoarding,
    /// Knows that operation 1 is never answered.
    NoReplyToOne,
}

#[derive(Debug)]
pub struct FakeDriver {
    pub behaviour: Behaviour,
    pub manner: Manner,
    pub request_bytes: usize,
    /// When requests were received, over all connections.
    pub received: Arc<Mutex<Vec<Instant>>>,
    /// Requests that were answered without error, over all connections.
    pub answered: Arc<AtomicU64>,
    pub connects: AtomicUsize,
    /// The first so many connects are refused.
    pub refuse_first: usize,
    /// Connects after the first so many are refused.
    pub refuse_after: usize,
}

impl FakeDriver {
    pub fn new(behaviour: Behaviour) -> Self {
        Self {
            behaviour,
            manner: Manner::Plain,
            request_bytes: 16,
            received: Arc::default(),
            answered: Arc::default(),
            connects: AtomicUsize::new(0),
            refuse_first: 0,
            refuse_after: usize::MAX,
        }
    }

    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::SeqCst)
    }
}

impl Driver for FakeDriver {
    fn connect(&self, client: usize) -> Result<Connection, DriverError> {
        let number = self.connects.fetch_add(1, Ordering::SeqCst);
        if number < self.refuse_first || number >= self.refuse_after {
            return Err(DriverError::new("connection refused by the fake"));
        }
        let (ours, theirs) = UnixStream::pair().map_err(|e| DriverError::caused("no pair", e))?;
        ours.set_nonblocking(true).map_err(|e| DriverError::caused("not non-blocking", e))?;
        let (behaviour, size) = (self.behaviour, self.request_bytes);
        let (answered, received) = (Arc::clone(&self.answered), Arc::clone(&self.received));
        thread::spawn(move || serve(theirs, behaviour, size, &answered, &received));
        Ok(Connection::Socket(Box::new(FakeClient {
            socket: ours,
            size,
            client,
            manner: self.manner,
            stored: Vec::new(),
            expected: VecDeque::new(),
        })))
    }
}

/// Notes the time and says when the first request of all came.
fn note(all: &Mutex<Vec<Instant>>, received: Instant) -> Instant {
    let mut all = all.lock().unwrap();
    all.push(received);
    all[0]
}

fn serve(
    mut socket: UnixStream,
    behaviour: Behaviour,
    size: usize,
    answered: &AtomicU64,
    all: &Mutex<Vec<Instant>>,
) {
    let mut request = vec![0; size];
    for number in 1.. {
        if matches!(behaviour, Behaviour::Deaf) {
            thread::sleep(Duration::from_secs(60));
            return;
        }
        if socket.read_exact(&mut request).is_err() {
            return;
        }
        let received = Instant::now();
        let reply: &[u8; REPLY_BYTES] = match behaviour {
            Behaviour::ErrorEvery(n) if number % n == 0 => b"-bad",
            _ => b"+ok\n",
        };
        let answers = !matches!(behaviour, Behaviour::StuckAfter(n) | Behaviour::CloseAfter(n)
            | Behaviour::HalfAndCloseAfter(n) if number > n);
        if answers && reply[0] == b'+' {
            // Before the client can know.
            answered.fetch_add(1, Ordering::SeqCst);
        }
        let written = match behaviour {
            Behaviour::StuckAfter(n) if number > n => {
                // Keeps the socket open until the client closes it.
                socket.read_to_end(&mut Vec::new()).ok();
                return;
            }
            Behaviour::CloseAfter(n) if number > n => return,
            Behaviour::HalfAndCloseAfter(n) if number > n => {
                socket.write_all(b"+").ok();
                return;
            }
            Behaviour::AnswerAfter(delay) => {
                thread::sleep(delay.saturating_sub(received.elapsed()));
                socket.write_all(reply)
            }
            Behaviour::StallBetween(from, to) => {
                let since = received - note(all, received);
                if since >= from {
                    thread::sleep(to.saturating_sub(since));
                }
                socket.write_all(reply)
            }
            Behaviour::SilentOnOne if request[0] == 1 => continue,
            Behaviour::AnswerInPieces => reply.iter().try_for_each(|byte| socket.write_all(&[*byte])),
            _ => socket.write_all(reply),
        };
        if written.is_err() {
            return;
        }
    }
}

struct FakeClient {
    socket: UnixStream,
    size: usize,
    client: usize,
    manner: Manner,
    /// Received and not made into replies.
    stored: Vec<u8>,
    /// Operations encoded and not finished, in order.
    expected: VecDeque<usize>,
}

impl FakeClient {
    fn expects_nothing(&self) -> bool {
        self.manner == Manner::NoReplyToOne && self.expected.front() == Some(&1)
    }
}

impl SocketClient for FakeClient {
    fn socket(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        let before = out.len();
        out.push(operation as u8);
        out.push(self.client as u8);
        if let Some(Value::Integer(value)) = parameters.draw().get(0) {
            out.extend_from_slice(&value.to_be_bytes());
        }
        out.resize(before + self.size, b'.');
        if self.manner == Manner::NoReplyToOne {
            self.expected.push_back(operation);
        }
    }

    fn has_more(&self) -> bool {
        self.expects_nothing() || self.stored.len() >= REPLY_BYTES
    }

    fn decode(&mut self, received: &[u8]) -> Decoded {
        if self.expects_nothing() {
            self.expected.pop_front();
            return Decoded::finished(0, Outcome::Success);
        }
        if self.manner == Manner::Hoarding {
            self.stored.extend_from_slice(received);
            if self.stored.len() < REPLY_BYTES {
                return Decoded::more(received.len());
            }
            assert_eq!(self.stored.drain(..REPLY_BYTES).next(), Some(b'+'));
            return Decoded::finished(received.len(), Outcome::Success);
        }
        if received.len() < REPLY_BYTES {
            return Decoded::more(0);
        }
        let outcome = match received[0] {
            b'+' => Outcome::Success,
            b'-' => Outcome::Error(String::from_utf8_lossy(&received[1..REPLY_BYTES]).into_owned()),
            other => Outcome::Broken(format!("unexpected byte {other}")),
        };
        self.expected.pop_front();
        Decoded::finished(REPLY_BYTES, outcome)
    }
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn spec(clients: usize, threads: usize, pipeline: usize) -> LoadSpec {
    LoadSpec {
        clients,
        threads,
        pipeline,
        settle: ms(100),
        measure: ms(300),
        schedule: Schedule::Closed,
        operations: vec![
            Operation {
                name: "one".into(),
                weight: 3,
                parameters: vec![GeneratorSpec::Uniform { min: 1, max: 1000 }],
            },
            Operation { name: "two".into(), weight: 1, parameters: vec![] },
        ],
        seed: 1,
        trial_number: 0,
        operations_limit: None,
        pin: false,
    }
}

/// Upper limits on time can fail because the machine is busy with something else: one of three tries must hold.
pub fn one_of_three(check: impl Fn() -> Result<(), String>) {
    let failures: Vec<String> = (0..3).map_while(|_| check().err()).collect();
    assert!(failures.len() < 3, "{failures:?}");
}
