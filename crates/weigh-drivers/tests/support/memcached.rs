//! A private memcached server.

use std::io::{Read, Write};
use std::net::TcpStream;

use nix::unistd::Uid;
use weigh_drivers::Endpoint;
use weigh_drivers::memcached::{MemcachedConfig, MemcachedDriver};

use super::kept::{Kept, free_port};
use super::keyvalue::{Call, commands};

const INSTALL: &str = "apt-get install memcached";

pub struct MemcachedServer {
    kept: Kept,
    pub port: u16,
    command: Vec<String>,
}

impl MemcachedServer {
    /// A server with these options besides the usual ones.
    pub fn new(options: &[&str]) -> Self {
        Self::under(&[], options, Kept::new())
    }

    /// The same, started by another program (`taskset -c 0`), in a directory that is there already.
    pub fn under(prefix: &[&str], options: &[&str], kept: Kept) -> Self {
        let port = free_port();
        let mut command: Vec<String> = prefix.iter().map(ToString::to_string).collect();
        command.extend(["memcached", "-l", "127.0.0.1", "-U", "0", "-t", "1", "-p"].map(Into::into));
        command.push(port.to_string());
        if Uid::effective().is_root() {
            command.extend(["-u".into(), "nobody".into()]);
        }
        command.extend(options.iter().map(ToString::to_string));
        let mut server = Self { kept, port, command };
        server.start();
        server
    }

    pub fn start(&mut self) {
        let port = self.port;
        self.kept.start(&self.command, INSTALL, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    pub fn crash(&mut self) {
        self.kept.crash();
    }

    pub fn tcp(&self) -> Endpoint {
        Endpoint::Tcp { host: "127.0.0.1".into(), port: self.port }
    }

    /// Sends requests and gives all replies.
    pub fn ask(&self, requests: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut replies = Vec::new();
        let mut sender = stream.try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                sender.write_all(requests).unwrap();
                sender.write_all(b"quit\r\n").unwrap();
            });
            stream.read_to_end(&mut replies).unwrap();
        });
        String::from_utf8_lossy(&replies).into_owned()
    }

    /// A counter of the server's.
    pub fn stat(&self, name: &str) -> u64 {
        let text = self.ask(b"stats\r\n");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")).map(str::trim));
        line.unwrap_or_else(|| panic!("no `{name}` in {text}")).parse().unwrap()
    }

    /// Our driver's config over TCP.
    pub fn config(&self, calls: &[Call]) -> MemcachedConfig {
        MemcachedConfig {
            endpoint: self.tcp(),
            tls: None,
            user: None,
            password: None,
            operations: commands(calls),
        }
    }

    pub fn driver(&self, calls: &[Call]) -> MemcachedDriver {
        self.config(calls).build().unwrap()
    }
}
