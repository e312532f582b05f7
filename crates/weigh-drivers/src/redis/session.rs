//! Questions one by one, for looking at a server, never for load.

use std::io::{self, Read, Write};

use weigh_load::DriverError;

use super::config::RedisConfig;
use super::login::log_in;
use crate::transport::{TlsConnector, Wire};

/// Longest reply that is read: `INFO` of a server with thousands of clients' statistics is a few hundred kB.
const LONGEST: usize = 64 << 20;

/// A logged-in connection that takes one question at a time.
#[derive(Debug)]
pub struct RedisSession {
    wire: Wire,
    received: Vec<u8>,
}

impl RedisConfig {
    /// Connects and logs in as the load does; the operations do not matter.
    ///
    /// # Errors
    /// As connecting for the load.
    pub fn session(&self) -> Result<RedisSession, DriverError> {
        let tls = self.tls.as_ref().map(TlsConnector::new).transpose()?;
        Ok(RedisSession { wire: log_in(self, tls.as_ref())?, received: Vec::new() })
    }
}

impl RedisSession {
    /// Sends a command whose reply is a single value (`INFO`) and gives that as text; a null is
    /// empty.
    ///
    /// # Errors
    /// An error reply, in the server's words; a reply that is no single value; a connection that breaks.
    pub fn ask(&mut self, words: &[&str]) -> Result<String, DriverError> {
        self.send(words)?;
        self.value(words)
    }

    /// Sends a command whose reply is a list of single values (`CONFIG GET`) and gives them as text.
    ///
    /// # Errors
    /// As [`ask`](Self::ask); a reply that is no such list.
    pub fn ask_list(&mut self, words: &[&str]) -> Result<Vec<String>, DriverError> {
        self.send(words)?;
        let line = self.line()?;
        let text = line.get(1..).unwrap_or_default();
        // A map of RESP3 has two values in each entry.
        let values = match line.as_bytes().first() {
            Some(b'*' | b'~') => text.parse::<usize>().ok(),
            Some(b'%') => text.parse::<usize>().ok().and_then(|entries| entries.checked_mul(2)),
            Some(b'-') => return Err(DriverError::new(text)),
            _ => None,
        };
        let values = values.filter(|values| *values <= LONGEST).ok_or_else(malformed)?;
        (0..values).map(|_| self.value(words)).collect()
    }

    fn send(&mut self, words: &[&str]) -> Result<(), DriverError> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.wire.write_all(request.as_bytes()).map_err(broke)
    }

    /// One value of the reply to `words`.
    fn value(&mut self, words: &[&str]) -> Result<String, DriverError> {
        let line = self.line()?;
        let text = line.get(1..).unwrap_or_default();
        match line.as_bytes().first() {
            Some(b'-') => Err(DriverError::new(text)),
            Some(b'+' | b':' | b',' | b'#' | b'(') => Ok(text.to_owned()),
            Some(b'_') => Ok(String::new()),
            Some(b'$') => self.bulk(text),
            // Verbatim text begins with its kind: `txt:`.
            Some(b'=') => self.bulk(text)?.get(4..).map(str::to_owned).ok_or_else(malformed),
            Some(b'!') => Err(DriverError::new(self.bulk(text)?)),
            _ => Err(DriverError::new(format!("the reply to `{}` is no single value", words.join(" ")))),
        }
    }

    /// What stands behind a length.
    fn bulk(&mut self, length: &str) -> Result<String, DriverError> {
        if length == "-1" {
            return Ok(String::new());
        }
        let length = length.parse::<usize>().ok();
        let length = length.filter(|length| *length <= LONGEST).ok_or_else(malformed)?;
        while self.received.len() < length + 2 {
            self.more()?;
        }
        let text = String::from_utf8_lossy(&self.received[..length]).into_owned();
        self.received.drain(..length + 2);
        Ok(text)
    }

    /// Up to the next line end.
    fn line(&mut self) -> Result<String, DriverError> {
        let end = loop {
            match self.received.windows(2).position(|pair| pair == b"\r\n") {
                Some(end) => break end,
                None if self.received.len() > LONGEST => return Err(malformed()),
                None => self.more()?,
            }
        };
        let line = String::from_utf8_lossy(&self.received[..end]).into_owned();
        self.received.drain(..end + 2);
        Ok(line)
    }

    fn more(&mut self) -> Result<(), DriverError> {
        let mut chunk = [0; 16 << 10];
        match self.wire.read(&mut chunk) {
            Ok(0) => Err(DriverError::new("the server closed the connection")),
            Ok(length) => {
                self.received.extend_from_slice(&chunk[..length]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(broke(error)),
        }
    }
}

fn malformed() -> DriverError {
    DriverError::new("the server does not speak Redis's protocol")
}

fn broke(error: io::Error) -> DriverError {
    DriverError::caused("the connection broke", error)
}
