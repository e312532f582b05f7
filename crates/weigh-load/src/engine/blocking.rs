//! A socket client driven synchronously: one request, then its reply, in the caller's thread.
//!
//! For inline clients that ask several servers in turn (a cache, then the store behind it). What a client on the event
//! loop does in one pass takes a blocking `recv` here; that is also how the libraries of most applications work.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::socket::descriptor;
use crate::driver::{Connection, DriverError, Outcome, SocketClient};
use crate::generator::Parameters;

/// Read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// A connection that waits for every reply.
pub struct BlockingClient {
    client: Box<dyn SocketClient>,
    socket: BorrowedFd<'static>,
    request: Vec<u8>,
    /// What has come; the first `reply_bytes` of it belong to the last reply.
    received: Vec<u8>,
    reply_bytes: usize,
    chunk: Box<[u8]>,
}

impl BlockingClient {
    /// Takes a connection off the event loop. A reply later than `limit` breaks it.
    ///
    /// # Errors
    /// A connection that has no socket, or one that cannot be made to block.
    pub fn new(connection: Connection, limit: Duration) -> Result<BlockingClient, DriverError> {
        let Connection::Socket(client) = connection else {
            return Err(DriverError::new("only a client with a socket can be driven one reply at a time"));
        };
        let socket = descriptor::borrow(client.socket())
            .ok_or_else(|| DriverError::new("the client has no open socket"))?;
        ioctl_fionbio(socket, false)
            .and_then(|()| set_socket_timeout(socket, Timeout::Recv, Some(limit)))
            .map_err(|error| DriverError::caused("the socket cannot be made to block", error))?;
        let (request, received) = (Vec::new(), Vec::new());
        let chunk = vec![0; CHUNK_BYTES].into_boxed_slice();
        Ok(BlockingClient { client, socket, request, received, reply_bytes: 0, chunk })
    }

    /// Executes one operation and waits for its end.
    pub fn execute(&mut self, operation: usize, parameters: &mut Parameters<'_>) -> Outcome {
        self.received.drain(..self.reply_bytes);
        self.reply_bytes = 0;
        self.request.clear();
        self.client.encode(operation, parameters, &mut self.request);
        if let Err(error) = self.send() {
            return Outcome::Broken(error.to_string());
        }
        loop {
            let decoded = self.client.decode(&self.received[self.reply_bytes..]);
            self.reply_bytes += decoded.consumed;
            if let Some(outcome) = decoded.finished {
                return outcome;
            }
            match self.receive() {
                Ok(0) => return self.closed(),
                Ok(_) => {}
                Err(Errno::AGAIN) => return Outcome::Broken("no reply in time".into()),
                Err(error) => return Outcome::Broken(error.to_string()),
            }
        }
    }

    /// The bytes of the last reply, as they came.
    #[must_use]
    pub fn reply(&self) -> &[u8] {
        &self.received[..self.reply_bytes]
    }

    fn send(&mut self) -> Result<(), Errno> {
        let mut sent = 0;
        while sent < self.request.len() {
            match send(self.socket, &self.request[sent..], SendFlags::NOSIGNAL) {
                Ok(length) => sent += length,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<usize, Errno> {
        loop {
            match recv(self.socket, &mut *self.chunk, RecvFlags::empty()) {
                Ok((length, _)) => {
                    self.received.extend_from_slice(&self.chunk[..length]);
                    return Ok(length);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The server has closed its side: perhaps that ends the reply.
    #[cold]
    fn closed(&mut self) -> Outcome {
        self.client.closed().unwrap_or_else(|| Outcome::Broken("the server closed the connection".into()))
    }
}
