//! A connected socket while it still blocks: logging in, preparing.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use weigh_load::{Connection, DriverError};

use super::client::{PlainClient, Protocol};
use super::endpoint::Endpoint;
use super::tls::{TlsClient, TlsConnector, TlsSession};

/// A server that says nothing for this long while connecting is given up.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// A connected socket, plain or inside TLS. Reads and writes block, within a time limit each.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: Socket,
    limit: Duration,
    tls: Option<Box<TlsSession>>,
}

/// A socket of either kind.
#[derive(Debug)]
pub(in crate::transport) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Wire {
    /// Connects, with the usual limit.
    ///
    /// # Errors
    /// Names the endpoint and the operating system's reason.
    pub(crate) fn connect(endpoint: &Endpoint) -> Result<Self, DriverError> {
        Self::connect_within(endpoint, ANSWER_LIMIT)
    }

    /// Connects; connecting and every read and write may take as long as `limit`.
    ///
    /// # Errors
    /// As [`Wire::connect`].
    pub(crate) fn connect_within(endpoint: &Endpoint, limit: Duration) -> Result<Self, DriverError> {
        let refused = |error| DriverError::caused(format!("cannot connect to `{endpoint}`"), error);
        let socket = match endpoint {
            Endpoint::Unix(path) => Socket::Unix(UnixStream::connect(path).map_err(refused)?),
            Endpoint::Tcp { host, port } => Socket::Tcp(connect_tcp(host, *port, limit).map_err(refused)?),
        };
        socket.prepare(limit).map_err(|error| DriverError::caused("the socket cannot be set up", error))?;
        Ok(Self { socket, limit, tls: None })
    }

    /// Shakes hands: from here on everything goes through TLS. `host` is what the certificate must be made out to,
    /// `alpn` the protocols offered inside.
    ///
    /// # Errors
    /// What is wrong with the server's certificate, or with ours, and what to do about it; a server that does not
    /// speak TLS; the time limit.
    pub(crate) fn secure(
        mut self,
        connector: &TlsConnector,
        host: &str,
        alpn: &[&[u8]],
    ) -> Result<Self, DriverError> {
        let session = TlsSession::handshake(connector, &mut self.socket, self.limit, host, alpn)?;
        Ok(Self { tls: Some(Box::new(session)), ..self })
    }

    /// How long the server may take for an answer.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Sends all of a request while connecting.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) fn say(&mut self, request: &[u8]) -> Result<(), DriverError> {
        self.write_all(request).map_err(broke)
    }

    /// Waits for more of an answer while connecting and appends it to `received`.
    ///
    /// # Errors
    /// The server hung up or took longer than the limit; the connection broke.
    pub(crate) fn hear(&mut self, received: &mut impl Extend<u8>) -> Result<(), DriverError> {
        let mut chunk = [0; 4096];
        loop {
            match self.read(&mut chunk) {
                Ok(0) => return Err(DriverError::new("the server closed the connection while connecting")),
                Ok(length) => {
                    received.extend(chunk[..length].iter().copied());
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    let message = format!("the server did not answer within {:?}", self.limit);
                    return Err(DriverError::new(message));
                }
                Err(error) => return Err(broke(error)),
            }
        }
    }

    /// Whether everything goes through TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// The hash of the server's certificate that a log-in can be bound to (`tls-server-end-point`, RFC 5929); none
    /// without TLS, or when the certificate's algorithm leaves it open.
    pub(crate) fn endpoint_digest(&self) -> Option<Vec<u8>> {
        self.tls.as_ref()?.endpoint_digest()
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
        Ok(match self.tls {
            Some(session) => TlsClient::connection(self.socket, *session, protocol),
            None => Connection::Socket(Box::new(PlainClient::new(self.socket, protocol))),
        })
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(session) => session.read(&mut self.socket, buffer),
            None => self.socket.read(buffer),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(session) => session.write(&mut self.socket, bytes),
            None => self.socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

fn broke(error: io::Error) -> DriverError {
    DriverError::caused("the connection broke while connecting", error)
}

/// The first address of a name that answers.
fn connect_tcp(host: &str, port: u16, limit: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, limit) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Socket {
    /// Time limits for the dialogue, immediate sending for the load.
    fn prepare(&self, limit: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(limit))?;
                stream.set_write_timeout(Some(limit))
            }
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(limit))?;
                stream.set_write_timeout(Some(limit))
            }
        }
    }

    /// Ends both directions: whoever reads finds the end.
    #[cfg(feature = "tls")]
    pub(super) fn shut_down(&self) {
        let both = std::net::Shutdown::Both;
        // A connection that is gone already is as good.
        match self {
            Self::Unix(stream) => stream.shutdown(both).ok(),
            Self::Tcp(stream) => stream.shutdown(both).ok(),
        };
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
