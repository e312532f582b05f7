//! `weigh open` as a process of its own, ended with the test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::home::Home;

pub struct Served {
    child: Child,
    /// `http://127.0.0.1:PORT/`, and the path that was asked for.
    pub address: String,
    pub port: u16,
}

/// An answer without a browser in between.
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Served {
    /// `weigh open` with more arguments, after it has said where it listens.
    pub fn start(home: &Home, args: &[&str]) -> Served {
        let args: Vec<&str> = ["open", "--no-browser"].iter().chain(args).copied().collect();
        let mut child = home.weigh(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().to_owned();
        let port = address.split(':').nth(2).and_then(|rest| rest.split('/').next()?.parse().ok());
        Served { child, port: port.unwrap_or_else(|| panic!("no address: `{line}`")), address }
    }

    pub fn root(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Sends bytes as they are; adds `Connection: close` and the empty line.
    pub fn raw(&self, head: &str, body: &str) -> Reply {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let length = format!("Content-Length: {}\r\n", body.len());
        write!(stream, "{head}Connection: close\r\n{length}\r\n{body}").unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        let reply = String::from_utf8_lossy(&reply).into_owned();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Reply { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    pub fn get(&self, path: &str) -> Reply {
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", self.port), "")
    }

    /// A form, as our own page sends it.
    pub fn post(&self, path: &str, form: &str) -> Reply {
        let host = format!("127.0.0.1:{}", self.port);
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\n"
        );
        self.raw(&head, form)
    }

    /// Sends a signal and gives the exit code.
    pub fn end(mut self, signal: &str) -> i32 {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
