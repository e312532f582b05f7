//! GET and SET, one at a time, in the words of memcached and of Redis.
//!
//! Values are received and thrown away. Requests are built in a buffer that is kept, so nothing is allocated per
//! operation once it has grown.

use std::io::{self, Read, Write};

use weigh_load::DriverError;

use super::config::CacheServer;
use crate::transport::Wire;

/// A value longer than this is not a cache's.
const LONGEST: usize = 64 << 20;

/// A connection to a cache.
#[derive(Debug)]
pub struct CacheSession {
    wire: Wire,
    words: Words,
    request: Vec<u8>,
    received: Vec<u8>,
    chunk: Box<[u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    Memcached,
    Redis,
}

/// What a reply says so far.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    /// More bytes are needed.
    Short,
    /// So many bytes are a value, or an acknowledgement.
    Yes(usize),
    /// So many bytes say that there is none.
    No(usize),
    /// The server's words.
    Error(String),
}

impl CacheSession {
    /// Connects.
    ///
    /// # Errors
    /// Names the endpoint and the operating system's reason.
    pub fn open(server: &CacheServer) -> Result<CacheSession, DriverError> {
        let (endpoint, words) = match server {
            CacheServer::Memcached(endpoint) => (endpoint, Words::Memcached),
            CacheServer::Redis(endpoint) => (endpoint, Words::Redis),
        };
        let wire = Wire::connect(endpoint)?;
        let chunk = vec![0; 16 << 10].into_boxed_slice();
        Ok(CacheSession { wire, words, request: Vec::new(), received: Vec::new(), chunk })
    }

    /// Looks a key up; whether it is there.
    ///
    /// # Errors
    /// In the server's words; a connection that breaks.
    pub fn get(&mut self, key: &[u8]) -> Result<bool, DriverError> {
        self.request.clear();
        match self.words {
            Words::Memcached => {
                self.request.extend_from_slice(b"get ");
                self.request.extend_from_slice(key);
                self.request.extend_from_slice(b"\r\n");
            }
            Words::Redis => {
                self.request.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
                bulk(&mut self.request, key);
            }
        }
        self.exchange()
    }

    /// Keeps a value under a key.
    ///
    /// # Errors
    /// In the server's words; a connection that breaks.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), DriverError> {
        self.request.clear();
        match self.words {
            Words::Memcached => {
                self.request.extend_from_slice(b"set ");
                self.request.extend_from_slice(key);
                self.request.extend_from_slice(b" 0 0 ");
                self.request.extend_from_slice(itoa::Buffer::new().format(value.len()).as_bytes());
                self.request.extend_from_slice(b"\r\n");
                self.request.extend_from_slice(value);
                self.request.extend_from_slice(b"\r\n");
            }
            Words::Redis => {
                self.request.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
                bulk(&mut self.request, key);
                bulk(&mut self.request, value);
            }
        }
        self.exchange().map(|_| ())
    }

    /// Sends the request and waits for its reply.
    fn exchange(&mut self) -> Result<bool, DriverError> {
        self.wire.write_all(&self.request).map_err(broke)?;
        self.received.clear();
        loop {
            let reply = match self.words {
                Words::Memcached => memcached(&self.received),
                Words::Redis => redis(&self.received),
            };
            let (used, yes) = match reply {
                Reply::Short if self.received.len() <= LONGEST => {
                    self.more()?;
                    continue;
                }
                Reply::Short => return Err(malformed()),
                Reply::Error(text) => return Err(DriverError::new(text)),
                Reply::Yes(used) => (used, true),
                Reply::No(used) => (used, false),
            };
            return if used == self.received.len() { Ok(yes) } else { Err(malformed()) };
        }
    }

    fn more(&mut self) -> Result<(), DriverError> {
        match self.wire.read(&mut self.chunk) {
            Ok(0) => Err(DriverError::new("the server closed the connection")),
            Ok(length) => {
                self.received.extend_from_slice(&self.chunk[..length]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(broke(error)),
        }
    }
}

fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'$');
    out.extend_from_slice(itoa::Buffer::new().format(bytes.len()).as_bytes());
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// `VALUE key flags length`, the value, `END`; `END` alone; `STORED`.
fn memcached(received: &[u8]) -> Reply {
    const END: &[u8] = b"END\r\n";
    let Some(line) = line(received) else { return Reply::Short };
    match line {
        b"END" => Reply::No(END.len()),
        b"STORED" => Reply::Yes(line.len() + 2),
        _ if line.starts_with(b"VALUE ") => {
            let length = line.split(|byte| *byte == b' ').nth(3).and_then(number);
            let Some(length) = length else { return Reply::Error(text(line)) };
            let whole = line.len() + 2 + length + 2 + END.len();
            if received.len() < whole { Reply::Short } else { Reply::Yes(whole) }
        }
        _ => Reply::Error(text(line)),
    }
}

/// `$length` and the value; `$-1` or `_`; `+OK`; `-ERR …`.
fn redis(received: &[u8]) -> Reply {
    let Some(line) = line(received) else { return Reply::Short };
    let end = line.len() + 2;
    match line {
        b"$-1" | b"_" => Reply::No(end),
        [b'+', ..] => Reply::Yes(end),
        [b'$', digits @ ..] => match number(digits) {
            Some(length) if received.len() < end + length + 2 => Reply::Short,
            Some(length) => Reply::Yes(end + length + 2),
            None => Reply::Error(text(line)),
        },
        [b'-', words @ ..] => Reply::Error(text(words)),
        _ => Reply::Error(text(line)),
    }
}

/// The first line, without its end.
fn line(received: &[u8]) -> Option<&[u8]> {
    let end = received.windows(2).position(|pair| pair == b"\r\n")?;
    received.get(..end)
}

fn number(digits: &[u8]) -> Option<usize> {
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (number <= LONGEST).then_some(number)
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned()
}

fn malformed() -> DriverError {
    DriverError::new("the server's reply cannot be understood")
}

fn broke(error: io::Error) -> DriverError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => DriverError::new("no reply in time"),
        _ => DriverError::new(format!("the connection broke: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However it is cut, a reply is short until it is whole.
    fn check(parse: fn(&[u8]) -> Reply, bytes: &[u8], expected: &Reply) {
        for end in 0..bytes.len() {
            assert_eq!(parse(&bytes[..end]), Reply::Short, "{:?}", bytes[..end].escape_ascii().to_string());
        }
        assert_eq!(parse(bytes), *expected);
    }

    #[test]
    fn replies_of_both() {
        check(memcached, b"VALUE user:7 0 5\r\na\r\nbc\r\nEND\r\n", &Reply::Yes(30));
        check(memcached, b"END\r\n", &Reply::No(5));
        check(memcached, b"STORED\r\n", &Reply::Yes(8));
        check(
            memcached,
            b"SERVER_ERROR out of memory\r\n",
            &Reply::Error("SERVER_ERROR out of memory".into()),
        );
        check(redis, b"$5\r\na\r\nbc\r\n", &Reply::Yes(11));
        check(redis, b"$0\r\n\r\n", &Reply::Yes(6));
        check(redis, b"$-1\r\n", &Reply::No(5));
        check(redis, b"+OK\r\n", &Reply::Yes(5));
        check(redis, b"-OOM command not allowed\r\n", &Reply::Error("OOM command not allowed".into()));
        assert_eq!(redis(b":7\r\n"), Reply::Error(":7".into()));
    }
}
