//! One TLS session: the handshake and the conversation before the load, then sealing and opening for it.

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, Stream};
use weigh_load::DriverError;

use super::certificate;
use super::connector::{TlsConnector, server_name};
use super::failure::Peer;
use crate::transport::wire::Socket;

/// Keys and buffers of one connection. Does no I/O of its own accord.
#[derive(Debug)]
pub(in crate::transport) struct TlsSession {
    connection: ClientConnection,
    peer: Peer,
}

impl TlsSession {
    /// Shakes hands on a blocking socket.
    ///
    /// # Errors
    /// What a user can do about it, see `failure.rs`; or the time limit.
    pub(in crate::transport) fn handshake(
        connector: &TlsConnector,
        socket: &mut Socket,
        limit: Duration,
        host: &str,
        alpn: &[&[u8]],
    ) -> Result<Self, DriverError> {
        let name = match &connector.server_name {
            Some(name) => name.clone(),
            None => server_name(host)?,
        };
        let peer = Peer { host: name.to_str().into_owned(), words: connector.words };
        let protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        let mut connection = ClientConnection::new_with_alpn(Arc::clone(&connector.config), name, protocols)
            .map_err(|error| DriverError::caused("TLS cannot be set up", error))?;
        // A request is sealed whole, however large it is.
        connection.set_buffer_limit(None);
        let mut session = Self { connection, peer };
        session.shake_hands(socket, limit)?;
        Ok(session)
    }

    fn shake_hands(&mut self, socket: &mut Socket, limit: Duration) -> Result<(), DriverError> {
        let begun = Instant::now();
        loop {
            self.flush(socket).map_err(|error| self.broke_off(error, limit))?;
            if !self.connection.is_handshaking() {
                return Ok(());
            }
            if begun.elapsed() > limit {
                return Err(self.broke_off(io::ErrorKind::TimedOut.into(), limit));
            }
            match self.connection.read_tls(socket) {
                Ok(0) => return Err(self.broke_off(io::ErrorKind::UnexpectedEof.into(), limit)),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.broke_off(error, limit)),
            }
            if let Err(error) = self.connection.process_new_packets() {
                // The server may get to know why; it does not matter if not.
                self.flush(socket).ok();
                return Err(self.peer.explain(&error));
            }
        }
    }

    fn flush(&mut self, socket: &mut Socket) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(socket)?;
        }
        Ok(())
    }

    fn broke_off(&self, error: io::Error, limit: Duration) -> DriverError {
        let host = &self.peer.host;
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                DriverError::new(format!(
                    "`{host}` closed the connection during the TLS handshake: does it speak TLS on this port?"
                ))
            }
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => DriverError::new(format!(
                "`{host}` did not finish the TLS handshake within {limit:?}: does it speak TLS on this port?"
            )),
            _ => DriverError::caused(format!("the TLS handshake with `{host}` broke off"), error),
        }
    }

    /// Reads on a blocking socket.
    ///
    /// # Errors
    /// The socket's, or what [`Peer::explain`] says.
    pub(in crate::transport) fn read(&mut self, socket: &mut Socket, buffer: &mut [u8]) -> io::Result<usize> {
        let read = Stream::new(&mut self.connection, socket).read(buffer);
        read.or_else(|error| match error.kind() {
            // Closed without saying so inside TLS; whoever reads knows if something is missing.
            io::ErrorKind::UnexpectedEof => Ok(0),
            _ => Err(self.explain(error)),
        })
    }

    /// Writes on a blocking socket.
    ///
    /// # Errors
    /// As [`TlsSession::read`].
    pub(in crate::transport) fn write(&mut self, socket: &mut Socket, bytes: &[u8]) -> io::Result<usize> {
        let mut stream = Stream::new(&mut self.connection, socket);
        let written = stream.write(bytes).and_then(|written| stream.flush().map(|()| written));
        written.map_err(|error| self.explain(error))
    }

    fn explain(&self, error: io::Error) -> io::Error {
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        tls.map(|tls| self.peer.io_error(tls)).unwrap_or(error)
    }

    /// See [`certificate::endpoint_digest`].
    pub(in crate::transport) fn endpoint_digest(&self) -> Option<Vec<u8>> {
        let chain = self.connection.peer_certificates()?;
        certificate::endpoint_digest(chain.first()?)
    }

    /// Appends `plain` to `out` as records, after whatever TLS itself has to say.
    pub(super) fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.connection.writer().write_all(plain)?;
        while self.connection.wants_write() {
            self.connection.write_tls(out)?;
        }
        Ok(())
    }

    /// Says goodbye inside TLS.
    pub(super) fn seal_goodbye(&mut self, farewell: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.connection.writer().write_all(farewell)?;
        self.connection.send_close_notify();
        while self.connection.wants_write() {
            self.connection.write_tls(out)?;
        }
        Ok(())
    }

    /// Takes received bytes and appends what they open to. What was opened before a failure is there all the
    /// same.
    ///
    /// # Errors
    /// Why the connection is unusable, in one line.
    pub(super) fn open(&mut self, mut received: &[u8], plain: &mut Vec<u8>) -> Result<Opened, String> {
        while !received.is_empty() {
            self.connection.read_tls(&mut received).map_err(|error| error.to_string())?;
            let processed = self.connection.process_new_packets();
            let drained = self.drain(plain);
            processed.map_err(|error| self.peer.one_line(&error))?;
            // Whatever comes behind a close means nothing.
            if drained? == Opened::Closed {
                return Ok(Opened::Closed);
            }
        }
        Ok(Opened::Open)
    }

    /// Moves what is decrypted into `plain`.
    ///
    /// # Errors
    /// As [`TlsSession::open`].
    pub(super) fn drain(&mut self, plain: &mut Vec<u8>) -> Result<Opened, String> {
        let mut reader = self.connection.reader();
        loop {
            match reader.fill_buf() {
                Ok([]) => return Ok(Opened::Closed),
                Ok(chunk) => {
                    plain.extend_from_slice(chunk);
                    let length = chunk.len();
                    reader.consume(length);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Opened::Open),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

/// What a session is after some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    /// More may come.
    Open,
    /// The server said that nothing more will come.
    Closed,
}
