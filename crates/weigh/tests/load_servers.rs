//! Private servers for the tests of `weigh load`, in temporary directories; none outlives the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::kept::{Kept, free_port, shown};

/// A server of one of the protocols.
pub struct Server {
    pub kept: Kept,
    pub url: String,
    port: u16,
}

fn answers(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// Everything a server says to `request` until it closes, or until `until` has come.
fn ask(port: u16, request: &str, until: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let length = stream.read(&mut chunk).unwrap();
        text.extend_from_slice(&chunk[..length]);
        let shown = String::from_utf8_lossy(&text).into_owned();
        if length == 0 || (!until.is_empty() && shown.contains(until)) {
            return shown;
        }
    }
}

/// The number behind `name` in a server's own counters.
fn counter(text: &str, name: &str) -> u64 {
    let found = text.split(name).nth(1).unwrap_or_else(|| panic!("no `{name}`: {text}"));
    let digits: String =
        found.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

impl Server {
    pub fn nginx() -> Server {
        Server::nginx_with("")
    }

    /// With a second port that speaks TLS.
    pub fn nginx_tls(pair: &crate::tls::Pair) -> (Server, u16) {
        let port = free_port();
        let (certificate, key) = (shown(&pair.certificate), shown(&pair.key));
        let server = Server::nginx_with(&format!(
            "server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {certificate}; ssl_certificate_key {key};\n\
             location / {{ return 200 \"secret $host\"; }} }}"
        ));
        (server, port)
    }

    fn nginx_with(extra: &str) -> Server {
        let (mut kept, port) = (Kept::new(), free_port());
        let conf = r#"
daemon off;
master_process off;
pid DIR/pid;
error_log DIR/error.log warn;
events { worker_connections 1024; }
http {
    client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi;
    uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
    access_log off;
    keepalive_requests 1000000000;
    server {
        listen 127.0.0.1:PORT;
        location = / { return 200 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"; }
        location = /counters { stub_status; }
        location = /gone { return 404; }
        location /echo/ { return 200 "$request_method $uri $http_x_id"; }
    }
    EXTRA
}
"#;
        let conf =
            conf.replace("EXTRA", extra).replace("DIR", &shown(&kept.dir)).replace("PORT", &port.to_string());
        std::fs::write(kept.file("nginx.conf"), conf).unwrap();
        let command = words(&["nginx", "-p", &shown(&kept.dir), "-e", &shown(&kept.file("error.log"))]);
        let command = [command, words(&["-c", &shown(&kept.file("nginx.conf"))])].concat();
        kept.start(&command, "apt-get install nginx-light", || answers(port));
        Server { kept, url: format!("http://127.0.0.1:{port}"), port }
    }

    pub fn redis() -> Server {
        let (mut kept, port) = (Kept::new(), free_port());
        let command =
            words(&["redis-server", "--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        kept.start(&command, "apt-get install redis-server", || answers(port));
        Server { kept, url: format!("redis://127.0.0.1:{port}"), port }
    }

    pub fn memcached() -> Server {
        let (mut kept, port) = (Kept::new(), free_port());
        let command =
            words(&["memcached", "-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-u", "nobody"]);
        kept.start(&command, "apt-get install memcached", || answers(port));
        Server { kept, url: format!("memcached://127.0.0.1:{port}"), port }
    }

    pub fn ferretdb() -> Server {
        let (mut kept, port) = (Kept::new(), free_port());
        let program = ferretdb_program();
        let command = words(&[
            &program,
            "--handler=sqlite",
            &format!("--sqlite-url=file:{}/", kept.dir.display()),
            &format!("--listen-addr=127.0.0.1:{port}"),
            "--debug-addr=-",
            "--telemetry=disable",
            &format!("--state-dir={}", kept.dir.display()),
        ]);
        kept.start(&command, "scripts/ferretdb", || answers(port));
        Server { kept, url: format!("mongodb://127.0.0.1:{port}/test"), port }
    }

    /// PostgreSQL that trusts everybody; it refuses to run as root.
    pub fn postgres() -> Server {
        let (mut kept, port) = (Kept::new(), free_port());
        let programs = postgres_programs().expect("PostgreSQL is not installed: apt-get install postgresql");
        let data = kept.file("data");
        let initdb = words(&[
            &shown(&programs.join("initdb")),
            "--no-sync",
            "--auth=trust",
            "--username=weigh",
            "-D",
            &shown(&data),
        ]);
        let done = Command::new("sh")
            .args(["-c", "exec \"$@\"", "sh"])
            .args(unprivileged(&initdb))
            .current_dir(&kept.dir)
            .output()
            .unwrap();
        assert!(done.status.success(), "initdb: {}", String::from_utf8_lossy(&done.stderr));
        let socket = format!("unix_socket_directories={}", kept.dir.display());
        let server = words(&[
            &shown(&programs.join("postgres")),
            "-D",
            &shown(&data),
            "-p",
            &port.to_string(),
            "-h",
            "127.0.0.1",
            "-c",
            "fsync=off",
            "-c",
            &socket,
        ]);
        kept.start(&unprivileged(&server), "apt-get install postgresql", || answers(port));
        let server = Server { kept, url: format!("postgres://weigh@127.0.0.1:{port}/postgres"), port };
        let begun = Instant::now();
        while server.psql("SELECT 1").is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(20), "PostgreSQL does not answer");
            thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// What `psql` prints for a statement; empty when it fails.
    pub fn psql(&self, sql: &str) -> String {
        let psql = postgres_programs().unwrap().join("psql");
        let psql = if psql.exists() { psql } else { "psql".into() };
        let done = Command::new(psql).args(["-X", "-A", "-t", &self.url, "-c", sql]).output().unwrap();
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    /// nginx: requests so far, without those that ask this.
    pub fn nginx_requests(&self) -> u64 {
        let text = ask(self.port, "GET /counters HTTP/1.0\r\n\r\n", "");
        let line = text.lines().skip_while(|line| !line.starts_with("server accepts")).nth(1).unwrap();
        line.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap() - 1
    }

    /// Redis: calls of a command so far.
    pub fn redis_calls(&self, command: &str) -> u64 {
        let text = ask(self.port, "INFO commandstats\r\nPING\r\n", "+PONG");
        counter(&text, &format!("cmdstat_{command}:calls="))
    }

    /// memcached: a counter of `stats`.
    pub fn memcached_counter(&self, name: &str) -> u64 {
        counter(&ask(self.port, "stats\r\n", "END\r\n"), &format!("STAT {name} "))
    }

    /// Redis or memcached: one command, for its effect.
    pub fn tell(&self, command: &str, until: &str) {
        ask(self.port, command, until);
    }
}

fn unprivileged(command: &[String]) -> Vec<String> {
    let id = Command::new("id").arg("-u").output().unwrap();
    if String::from_utf8_lossy(&id.stdout).trim() != "0" {
        return command.to_vec();
    }
    let known = Command::new("id").arg("postgres").output().is_ok_and(|done| done.status.success());
    let user = if known { "postgres" } else { "nobody" };
    let mut words =
        words(&["setpriv", &format!("--reuid={user}"), "--regid=nogroup", "--clear-groups", "--"]);
    words.extend_from_slice(command);
    words
}

/// Where PostgreSQL's programs are: on the path, or in Debian's place, the newest version first.
fn postgres_programs() -> Option<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(versions.into_iter().map(|(_, dir)| dir));
    dirs.into_iter().find(|dir| dir.join("initdb").exists() && dir.join("postgres").exists())
}

/// Builds FerretDB where it is not there yet.
fn ferretdb_program() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/ferretdb");
    let done = Command::new(script).output().unwrap();
    assert!(done.status.success(), "scripts/ferretdb: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// An HTTP server of known capacity: it answers one request after another, each in exactly `each`, whatever the
/// number of connections.
pub struct Metered {
    pub url: String,
    pub answered: Arc<AtomicU64>,
}

impl Metered {
    pub fn new(each: Duration) -> Metered {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let answered = Arc::new(AtomicU64::new(0));
        let (free_at, count) = (Arc::new(Mutex::new(Instant::now())), Arc::clone(&answered));
        // Ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (free_at, count) = (Arc::clone(&free_at), Arc::clone(&count));
                thread::spawn(move || serve(&stream, &free_at, each, &count));
            }
        });
        Metered { url, answered }
    }
}

fn serve(stream: &TcpStream, free_at: &Mutex<Instant>, each: Duration, count: &AtomicU64) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if line != "\r\n" => continue,
            Ok(_) => {}
        }
        let mine = {
            let mut free_at = free_at.lock().unwrap();
            *free_at = (*free_at).max(Instant::now()) + each;
            *free_at
        };
        thread::sleep(mine.saturating_duration_since(Instant::now()));
        count.fetch_add(1, Ordering::Relaxed);
        if (&*stream).write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").is_err() {
            return;
        }
    }
}
