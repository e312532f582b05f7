//! A private Redis server.

use std::process::Command;

use weigh_drivers::Endpoint;
use weigh_drivers::redis::{RedisConfig, RedisDriver, RespVersion};

use super::kept::{Kept, free_port, shown};
use super::keyvalue::{Call, commands};

const INSTALL: &str = "apt-get install redis-server";

pub struct RedisServer {
    kept: Kept,
    pub port: u16,
    command: Vec<String>,
}

impl RedisServer {
    /// A server with these options besides the usual ones.
    pub fn new(options: &[&str]) -> Self {
        Self::under(&[], options)
    }

    /// The same, started by another program (`taskset -c 0`).
    pub fn under(prefix: &[&str], options: &[&str]) -> Self {
        let (kept, port) = (Kept::new(), free_port());
        let mut command: Vec<String> = prefix.iter().map(ToString::to_string).collect();
        command.extend(
            ["redis-server", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"].map(Into::into),
        );
        command.extend(["--port".into(), port.to_string(), "--dir".into(), shown(&kept.dir)]);
        command.extend(["--unixsocket".into(), shown(&kept.file("socket"))]);
        command.extend(options.iter().map(ToString::to_string));
        let mut server = Self { kept, port, command };
        server.start();
        server
    }

    pub fn start(&mut self) {
        let socket = self.kept.file("socket");
        let ready = || {
            let pinged = Command::new("redis-cli").arg("-s").arg(&socket).arg("PING").output().unwrap();
            let text = String::from_utf8_lossy(&pinged.stdout);
            // A server that wants a password is ready too.
            text.contains("PONG") || text.contains("NOAUTH")
        };
        self.kept.start(&self.command, INSTALL, ready);
    }

    pub fn crash(&mut self) {
        self.kept.crash();
    }

    pub fn socket(&self) -> Endpoint {
        Endpoint::Unix(self.kept.file("socket"))
    }

    pub fn tcp(&self) -> Endpoint {
        Endpoint::Tcp { host: "127.0.0.1".into(), port: self.port }
    }

    /// What the ordinary client prints for a command.
    pub fn cli(&self, words: &[&str]) -> String {
        let output =
            Command::new("redis-cli").arg("-s").arg(self.kept.file("socket")).args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// How often a command was called, by the server's own count, and how often it failed.
    pub fn calls(&self, command: &str) -> (u64, u64) {
        let text = self.cli(&["INFO", "commandstats"]);
        let start = format!("cmdstat_{command}:");
        let Some(line) = text.lines().find_map(|line| line.strip_prefix(&start)) else { return (0, 0) };
        let field = |name: &str| {
            let found = line.trim_end().split(',').find_map(|field| field.strip_prefix(name));
            found.unwrap().parse().unwrap()
        };
        (field("calls="), field("failed_calls="))
    }

    /// Our driver's config over the unix socket.
    pub fn config(&self, calls: &[Call]) -> RedisConfig {
        RedisConfig {
            endpoint: self.socket(),
            tls: None,
            user: None,
            password: None,
            database: 0,
            protocol: RespVersion::Two,
            operations: commands(calls),
        }
    }

    pub fn driver(&self, calls: &[Call]) -> RedisDriver {
        self.config(calls).build().unwrap()
    }
}
