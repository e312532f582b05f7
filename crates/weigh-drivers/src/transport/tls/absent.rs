//! What stands in for TLS where it is left out of the build: nothing of it can be made.

use std::io;
use std::time::Duration;

use weigh_load::{Connection, DriverError};

use super::config::{TlsConfig, TlsWords};
use crate::transport::client::Protocol;
use crate::transport::wire::Socket;

/// Cannot be made.
#[derive(Clone, Debug)]
pub(crate) enum TlsConnector {}

impl TlsConnector {
    /// # Errors
    /// Always.
    pub(crate) fn new(_: &TlsConfig) -> Result<Self, DriverError> {
        Err(DriverError::new("TLS is left out of this build: build it with the cargo feature `tls`"))
    }

    pub(crate) fn with_words(self, _: TlsWords) -> Self {
        self
    }
}

/// Cannot be made.
#[derive(Debug)]
pub(in crate::transport) enum TlsSession {}

impl TlsSession {
    pub(in crate::transport) fn handshake(
        connector: &TlsConnector,
        _: &mut Socket,
        _: Duration,
        _: &str,
        _: &[&[u8]],
    ) -> Result<Self, DriverError> {
        match *connector {}
    }

    pub(in crate::transport) fn read(&mut self, _: &mut Socket, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(in crate::transport) fn write(&mut self, _: &mut Socket, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(in crate::transport) fn endpoint_digest(&self) -> Option<Vec<u8>> {
        match *self {}
    }
}

/// Cannot be made.
pub(in crate::transport) enum TlsClient {}

impl TlsClient {
    pub(in crate::transport) fn connection<P: Protocol>(_: Socket, session: TlsSession, _: P) -> Connection {
        match session {}
    }
}
