//! A small HTTP server that answers what a test wants: what no well-behaved server would.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use weigh_drivers::http::HttpConfig;

use super::load::ms;
use super::nginx::config;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// Number of its connection, and its own on that connection, from 0.
    pub connection: u64,
    pub number: u64,
    /// Request line and header fields.
    pub head: String,
    pub body: Vec<u8>,
}

/// What is answered.
pub enum Answer {
    Send(Vec<u8>),
    /// Byte by byte, each in a packet of its own.
    Bytewise(Vec<u8>),
    /// Then the connection is closed.
    Last(Vec<u8>),
    /// In pieces with a pause between them.
    Paused(Vec<Vec<u8>>),
    Nothing,
}

type Handler = dyn Fn(&Request) -> Answer + Send + Sync;

pub struct Httpd {
    pub port: u16,
    requests: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
}

impl Httpd {
    pub fn new(handler: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let httpd = Self {
            port: listener.local_addr().unwrap().port(),
            requests: Arc::default(),
            connections: Arc::default(),
            stopped: Arc::default(),
        };
        let (requests, connections) = (Arc::clone(&httpd.requests), Arc::clone(&httpd.connections));
        let (stopped, handler) =
            (Arc::clone(&httpd.stopped), Arc::<Handler>::from(Box::new(handler) as Box<_>));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let connection = connections.fetch_add(1, Ordering::SeqCst);
                let (requests, handler) = (Arc::clone(&requests), Arc::clone(&handler));
                // Ends with an error when the client goes; that is how tests end.
                thread::spawn(move || serve(stream.unwrap(), connection, &requests, &*handler).ok());
            }
        });
        httpd
    }

    /// The same answer to everything.
    pub fn always(reply: &'static str) -> Self {
        Self::new(move |_| Answer::Send(reply.into()))
    }

    /// Requests that came whole.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn config(&self) -> HttpConfig {
        config(&format!("http://127.0.0.1:{}/", self.port))
    }
}

impl Drop for Httpd {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn serve(
    mut stream: TcpStream,
    connection: u64,
    requests: &AtomicU64,
    handler: &Handler,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut pending = Vec::new();
    for number in 0.. {
        let Some((head, body)) = receive(&mut stream, &mut pending)? else { return Ok(()) };
        requests.fetch_add(1, Ordering::SeqCst);
        match handler(&Request { connection, number, head, body }) {
            Answer::Send(bytes) => stream.write_all(&bytes)?,
            Answer::Bytewise(bytes) => bytes.iter().try_for_each(|byte| stream.write_all(&[*byte]))?,
            Answer::Paused(pieces) => {
                for piece in pieces {
                    stream.write_all(&piece)?;
                    thread::sleep(ms(2));
                }
            }
            Answer::Nothing => {}
            Answer::Last(bytes) => {
                stream.write_all(&bytes)?;
                stream.shutdown(Shutdown::Write)?;
                // Reads what else was sent, so that the close is no reset that overtakes the reply.
                return std::io::copy(&mut stream, &mut std::io::sink()).map(drop);
            }
        }
    }
    Ok(())
}

/// The next request; `None` when the client has gone.
fn receive(stream: &mut TcpStream, pending: &mut Vec<u8>) -> std::io::Result<Option<(String, Vec<u8>)>> {
    loop {
        if let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&pending[..end]).into_owned();
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length:"));
            let length: usize = length.map_or(0, |text| text.trim().parse().unwrap());
            if pending.len() >= end + 4 + length {
                let body = pending[end + 4..end + 4 + length].to_vec();
                pending.drain(..end + 4 + length);
                return Ok(Some((head, body)));
            }
        }
        let mut buffer = [0; 16 << 10];
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            length => pending.extend_from_slice(&buffer[..length]),
        }
    }
}
