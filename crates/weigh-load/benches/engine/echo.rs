//! A server that does as little as can be, and its protocol: requests of 16 bytes, replies of 4.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::thread;

use weigh_load::generator::{Parameters, Value};
use weigh_load::{Connection, Decoded, Driver, DriverError, Outcome, SocketClient};

pub const REQUEST_BYTES: usize = 16;
pub const REPLY_BYTES: usize = 4;
pub const REPLY: &[u8; REPLY_BYTES] = b"+ok\n";

/// A connection to a server thread of its own that answers whatever has come with one write.
pub fn connected() -> UnixStream {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let server = thread::Builder::new().name("echo".into());
    let serve = move || {
        let (mut buffer, mut pending) = (vec![0; 64 << 10], 0);
        let replies = REPLY.repeat(buffer.len() / REQUEST_BYTES + 1);
        while let Ok(length @ 1..) = theirs.read(&mut buffer) {
            pending += length;
            let requests = pending / REQUEST_BYTES;
            pending %= REQUEST_BYTES;
            if theirs.write_all(&replies[..requests * REPLY_BYTES]).is_err() {
                return;
            }
        }
    };
    server.spawn(serve).unwrap();
    ours
}

#[derive(Debug)]
pub struct EchoDriver;

impl Driver for EchoDriver {
    fn connect(&self, _client: usize) -> Result<Connection, DriverError> {
        let socket = connected();
        socket.set_nonblocking(true).map_err(|error| DriverError::caused("not non-blocking", error))?;
        Ok(Connection::Socket(Box::new(EchoClient(socket))))
    }
}

struct EchoClient(UnixStream);

impl SocketClient for EchoClient {
    fn socket(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    fn encode(&mut self, _operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        let mut request = *b"........-------\n";
        if let Some(Value::Integer(value)) = parameters.draw().get(0) {
            request[..8].copy_from_slice(&value.to_be_bytes());
        }
        out.extend_from_slice(&request);
    }

    fn decode(&mut self, received: &[u8]) -> Decoded {
        match received.first_chunk::<REPLY_BYTES>() {
            None => Decoded::more(0),
            Some(REPLY) => Decoded::finished(REPLY_BYTES, Outcome::Success),
            Some(_) => Decoded::finished(REPLY_BYTES, Outcome::Error("not ok".into())),
        }
    }
}
