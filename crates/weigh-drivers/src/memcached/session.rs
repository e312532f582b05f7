//! Questions one by one, for looking at a server, never for load.

use std::io::{self, Read, Write};

use weigh_load::DriverError;

use super::config::MemcachedConfig;
use super::login::log_in;
use crate::transport::{TlsConnector, Wire};

/// Longest reply that is read.
const LONGEST: usize = 4 << 20;

/// A logged-in connection that takes one question at a time.
#[derive(Debug)]
pub struct MemcachedSession {
    wire: Wire,
}

impl MemcachedConfig {
    /// Connects and logs in as the load does; the operations do not matter.
    ///
    /// # Errors
    /// As connecting for the load.
    pub fn session(&self) -> Result<MemcachedSession, DriverError> {
        let tls = self.tls.as_ref().map(TlsConnector::new).transpose()?;
        Ok(MemcachedSession { wire: log_in(self, tls.as_ref())? })
    }
}

impl MemcachedSession {
    /// `stats`, or one of its groups (`settings`, `items`): `name value` in each line.
    ///
    /// # Errors
    /// The server's words; a connection that breaks.
    pub fn stats(&mut self, group: &str) -> Result<String, DriverError> {
        let request = ["stats", group].join(" ");
        self.wire.write_all(format!("{}\r\n", request.trim_end()).as_bytes()).map_err(broke)?;
        let mut received = Vec::new();
        loop {
            if received.starts_with(b"END\r\n") || received.ends_with(b"\r\nEND\r\n") {
                return Ok(lines(&received));
            }
            let refused = !received.starts_with(b"STAT ") && received.ends_with(b"\r\n");
            if refused || received.len() > LONGEST {
                let text =
                    String::from_utf8_lossy(&received[..received.len().min(200)]).trim_end().to_owned();
                return Err(DriverError::new(text));
            }
            let mut chunk = [0; 16 << 10];
            match self.wire.read(&mut chunk) {
                Ok(0) => return Err(DriverError::new("the server closed the connection")),
                Ok(length) => received.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(broke(error)),
            }
        }
    }
}

/// Without the `STAT` before every line.
fn lines(received: &[u8]) -> String {
    let text = String::from_utf8_lossy(received);
    let stats = text.lines().filter_map(|line| line.strip_prefix("STAT "));
    stats.collect::<Vec<_>>().join("\n")
}

fn broke(error: io::Error) -> DriverError {
    DriverError::caused("the connection broke", error)
}
