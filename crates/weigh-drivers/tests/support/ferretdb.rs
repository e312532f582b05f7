//! A private FerretDB on SQLite; and `mongod`, where it is on the path.

use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::OnceLock;

use weigh_drivers::Endpoint;
use weigh_drivers::mongodb::{MongodbConfig, MongodbSession};

use super::kept::{Kept, free_port, shown};
use super::tls::Pair;

const INSTALL: &str = "build FerretDB with: scripts/ferretdb";

const VERSION: &str = "1.24.2";

/// A server that speaks MongoDB's protocol, killed with the test.
pub struct Server {
    kept: Kept,
    command: Vec<String>,
    pub port: u16,
}

/// One FerretDB for all tests of a process that do not harm it.
pub fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::ferretdb(&[]))
}

/// Every server there is: FerretDB, and `mongod` if it is installed.
pub fn servers() -> impl Iterator<Item = &'static Server> {
    static MONGOD: OnceLock<Option<Server>> = OnceLock::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = || std::env::split_paths(&path).any(|dir| dir.join("mongod").exists());
    let mongod = MONGOD.get_or_init(|| installed().then(Server::mongod));
    [shared()].into_iter().chain(mongod.as_ref())
}

impl Server {
    /// FerretDB with further arguments.
    pub fn ferretdb(arguments: &[String]) -> Self {
        Self::ferretdb_under(&[], arguments)
    }

    /// FerretDB started by another program (`taskset -c 0`).
    pub fn ferretdb_under(prefix: &[&str], arguments: &[String]) -> Self {
        assert!(program().exists(), "`{}` is missing: {INSTALL}", program().display());
        Self::start_new(|kept, port| {
            let data = kept.file("data");
            std::fs::create_dir(&data).unwrap();
            let mut command: Vec<String> = prefix.iter().map(ToString::to_string).collect();
            command.extend([
                shown(&program()),
                "--handler=sqlite".into(),
                // It may be killed, and nobody cuts the power: no syncs.
                format!("--sqlite-url=file:{}/?_pragma=synchronous(0)", data.display()),
                format!("--state-dir={}", kept.dir.display()),
                "--debug-addr=-".into(),
                "--telemetry=disable".into(),
                "--log-level=error".into(),
            ]);
            if !arguments.iter().any(|argument| argument.starts_with("--listen-tls=")) {
                command.push(format!("--listen-addr=127.0.0.1:{port}"));
            }
            command.extend(arguments.iter().map(|argument| argument.replace("{port}", &port.to_string())));
            command
        })
    }

    /// FerretDB that knows `weigh` with the password `sesame`.
    pub fn with_users() -> Self {
        Self::ferretdb(&[
            "--test-enable-new-auth".into(),
            "--setup-username=weigh".into(),
            "--setup-password=sesame".into(),
            "--setup-database=admin".into(),
        ])
    }

    /// FerretDB inside TLS.
    pub fn with_tls(pair: &Pair) -> Self {
        Self::ferretdb(&[
            "--listen-tls=127.0.0.1:{port}".into(),
            "--listen-addr=".into(),
            format!("--listen-tls-cert-file={}", pair.certificate.display()),
            format!("--listen-tls-key-file={}", pair.key.display()),
        ])
    }

    fn mongod() -> Self {
        Self::start_new(|kept, port| {
            let data = kept.file("data");
            std::fs::create_dir(&data).unwrap();
            vec![
                "mongod".into(),
                format!("--dbpath={}", data.display()),
                format!("--port={port}"),
                "--bind_ip=127.0.0.1".into(),
                "--nounixsocket".into(),
            ]
        })
    }

    fn start_new(command: impl FnOnce(&Kept, u16) -> Vec<String>) -> Self {
        let (kept, port) = (Kept::new(), free_port());
        let command = command(&kept, port);
        let mut server = Self { kept, command, port };
        server.start();
        server
    }

    /// Starts it and waits until it listens.
    pub fn start(&mut self) {
        let port = self.port;
        self.kept.start(&self.command, INSTALL, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    /// Kills the server; its files stay.
    pub fn crash(&mut self) {
        self.kept.crash();
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint::Tcp { host: "127.0.0.1".into(), port: self.port }
    }

    /// Our driver's config for a database of its own, without operations.
    pub fn config(&self, database: &str) -> MongodbConfig {
        MongodbConfig { database: database.into(), ..MongodbConfig::new(self.endpoint()) }
    }

    pub fn session(&self, database: &str) -> MongodbSession {
        self.config(database).session().unwrap()
    }

    /// Documents that match.
    pub fn count(&self, database: &str, collection: &str, query: &str) -> u64 {
        let command = format!(r#"{{"count": "{collection}", "query": {query}}}"#);
        number(&self.session(database).ask(&command).unwrap(), "n")
    }
}

/// The number behind `"name":` in a reply.
pub fn number(reply: &str, name: &str) -> u64 {
    let marker = format!("\"{name}\":");
    let at = reply.find(&marker).unwrap_or_else(|| panic!("no `{name}` in {reply}")) + marker.len();
    let digits: String = reply[at..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("`{name}` is no number in {reply}"))
}

fn program() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache =
        variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache"))).expect("a home");
    cache.join(format!("weigh/ferretdb-{VERSION}/ferretdb"))
}
