//! The built-in driver: speaks the protocol of the built-in server and checks every reply.
//!
//! [`BuiltInDriver`] makes connections whose requests are numbered; a reply with another number breaks the
//! connection, so that a reply can never be taken for a different request's. Where asked ([`Stamps`]), every reply
//! is stamped the moment the engine shows it to the driver: an independent reading of when it came.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use weigh_load::generator::Parameters;
use weigh_load::{Connection, Decoded, Driver, DriverError, Outcome, SocketClient};

use super::server::{BuiltInServer, MESSAGE_BYTES, nanoseconds};

/// When replies came, nanoseconds since the server's epoch, in order; one list per connection that has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamps(Arc<Mutex<Vec<Vec<u64>>>>);

impl Stamps {
    /// What has been collected, for loads of one client.
    pub(super) fn take(&self) -> Vec<u64> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).concat()
    }

    fn keep(&self, stamps: Vec<u64>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(stamps);
    }
}

/// Connects to a [`BuiltInServer`], in this process or another.
#[derive(Debug)]
pub(super) struct BuiltInDriver {
    address: SocketAddr,
    epoch: Instant,
    /// Where stamps go and how many to expect of each connection.
    stamps: Option<(Stamps, usize)>,
}

impl BuiltInDriver {
    pub(super) fn new(server: &BuiltInServer) -> BuiltInDriver {
        BuiltInDriver { address: server.address, epoch: server.epoch, stamps: None }
    }

    /// To a server of which only the address is known.
    pub(super) fn of_address(address: SocketAddr) -> BuiltInDriver {
        BuiltInDriver { address, epoch: Instant::now(), stamps: None }
    }

    /// Stamps replies; room is made for `expected` of each connection.
    pub(super) fn stamping(self, stamps: &Stamps, expected: usize) -> BuiltInDriver {
        BuiltInDriver { stamps: Some((stamps.clone(), expected)), ..self }
    }
}

impl Driver for BuiltInDriver {
    fn connect(&self, _client: usize) -> Result<Connection, DriverError> {
        let failed = |error| DriverError::caused("cannot connect to the built-in server", error);
        let stream = TcpStream::connect(self.address).map_err(failed)?;
        stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true)).map_err(failed)?;
        let stamping = self.stamps.clone().map(|(stamps, expected)| Stamping {
            epoch: self.epoch,
            kept: Vec::with_capacity(expected),
            stamps,
        });
        Ok(Connection::Socket(Box::new(BuiltInClient { stream, sent: 0, answered: 0, stamping })))
    }
}

struct Stamping {
    epoch: Instant,
    kept: Vec<u64>,
    stamps: Stamps,
}

struct BuiltInClient {
    stream: TcpStream,
    sent: u64,
    answered: u64,
    stamping: Option<Stamping>,
}

impl SocketClient for BuiltInClient {
    fn socket(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    fn encode(&mut self, _operation: usize, _parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sent.to_le_bytes());
        self.sent += 1;
    }

    fn decode(&mut self, received: &[u8]) -> Decoded {
        let Some(reply) = received.first_chunk::<MESSAGE_BYTES>() else { return Decoded::more(0) };
        if let Some(stamping) = &mut self.stamping {
            stamping.kept.push(nanoseconds(stamping.epoch.elapsed()));
        }
        let (number, expected) = (u64::from_le_bytes(*reply), self.answered);
        self.answered += 1;
        if number == expected {
            return Decoded::finished(MESSAGE_BYTES, Outcome::Success);
        }
        let message = format!("the reply to request {number} came where that to {expected} was due");
        Decoded::finished(MESSAGE_BYTES, Outcome::Broken(message))
    }
}

impl Drop for BuiltInClient {
    fn drop(&mut self) {
        if let Some(stamping) = &mut self.stamping {
            stamping.stamps.keep(std::mem::take(&mut stamping.kept));
        }
    }
}
