//! A connected socket while it still blocks: logging in, preparing.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use weigh_load::{Connection, DriverError};

use super::client::{PlainClient, Protocol};
use super::endpoint::Endpoint;

/// A server that says nothing for this long while connecting is given up.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// A connected socket. Reads and writes block, at most [`ANSWER_LIMIT`] each.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: Socket,
}

/// A socket of either kind.
#[derive(Debug)]
pub(super) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Wire {
    /// Connects.
    ///
    /// # Errors
    /// Names the endpoint and the operating system's reason.
    pub(crate) fn connect(endpoint: &Endpoint) -> Result<Self, DriverError> {
        let refused = |error| DriverError::caused(format!("cannot connect to `{endpoint}`"), error);
        let socket = match endpoint {
            Endpoint::Unix(path) => Socket::Unix(UnixStream::connect(path).map_err(refused)?),
            Endpoint::Tcp { host, port } => Socket::Tcp(connect_tcp(host, *port).map_err(refused)?),
        };
        socket.prepare().map_err(|error| DriverError::caused("the socket cannot be set up", error))?;
        Ok(Self { socket })
    }

    /// Ends the blocking part: the engine's connection, speaking `protocol`. Everything the server has sent so far
    /// must have been read.
    ///
    /// # Errors
    /// The operating system's.
    pub(crate) fn into_connection<P: Protocol>(self, protocol: P) -> Result<Connection, DriverError> {
        self.socket
            .set_nonblocking()
            .map_err(|error| DriverError::caused("the socket cannot be made non-blocking", error))?;
        Ok(Connection::Socket(Box::new(PlainClient { socket: self.socket, protocol })))
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// The first address of a name that answers.
fn connect_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, ANSWER_LIMIT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Socket {
    /// Time limits for the dialogue, immediate sending for the load.
    fn prepare(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(ANSWER_LIMIT))?;
                stream.set_write_timeout(Some(ANSWER_LIMIT))
            }
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(ANSWER_LIMIT))?;
                stream.set_write_timeout(Some(ANSWER_LIMIT))
            }
        }
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_nonblocking(true),
            Self::Tcp(stream) => stream.set_nonblocking(true),
        }
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Unix(stream) => stream.as_raw_fd(),
            Self::Tcp(stream) => stream.as_raw_fd(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
