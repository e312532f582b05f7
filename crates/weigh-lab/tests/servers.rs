//! Servers for the tests of systems at a URL, each in a temporary directory, none outliving its test.
//!
//! A small shell process starts the server and waits for the end of its input. That comes when the [`Kept`] is dropped and
//! also when the test process dies in any way: then the server is killed and the directory removed.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Arguments: directory, then the server's command line.
const KEEPER: &str = r#"
dir=$1; shift
cd "$dir"
"$@" >>"$dir/log" 2>&1 </dev/null &
server=$!
read word
kill -KILL $server 2>/dev/null
wait $server 2>/dev/null
rm -rf "$dir"
"#;

/// A running server.
pub(crate) struct Kept {
    pub(crate) port: u16,
    dir: PathBuf,
    keeper: Option<Child>,
}

impl Kept {
    /// Starts what `command` makes of a directory and a port, and waits until it takes connections.
    fn start(install: &str, command: impl Fn(&Path, u16) -> Vec<String>) -> Kept {
        let dir = tempfile::Builder::new().prefix("weigh-lab-").tempdir_in("/var/tmp").unwrap().keep();
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let command = command(&dir, port);
        let known =
            Command::new(&command[0]).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(known.is_ok(), "`{}` is not installed: {install}", command[0]);
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "sh"]).arg(&dir).args(&command).stdin(Stdio::piped());
        let kept = Kept { port, dir, keeper: Some(keeper.spawn().unwrap()) };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = std::fs::read_to_string(kept.dir.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(20), "{command:?}: {log}");
            std::thread::sleep(Duration::from_millis(5));
        }
        kept
    }

    /// Sends bytes and gives what comes back until `end`.
    pub(crate) fn ask(&self, request: &str, end: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let (mut all, mut chunk) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&all).contains(end) {
            let length = stream.read(&mut chunk).unwrap();
            assert!(length > 0, "{}", String::from_utf8_lossy(&all));
            all.extend_from_slice(&chunk[..length]);
        }
        String::from_utf8_lossy(&all).into_owned()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            keeper.wait().unwrap();
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// Redis, with more options.
pub(crate) fn redis(options: &[&str]) -> Kept {
    Kept::start("apt-get install redis-server", |dir, port| {
        let (port, dir) = (port.to_string(), dir.display().to_string());
        let mut all =
            words(&["redis-server", "--bind", "127.0.0.1", "--save", "", "--port", &port, "--dir", &dir]);
        all.extend(words(options));
        all
    })
}

/// memcached.
pub(crate) fn memcached() -> Kept {
    Kept::start("apt-get install memcached", |_, port| {
        let mut all = words(&["memcached", "-l", "127.0.0.1", "-U", "0", "-t", "1", "-p", &port.to_string()]);
        if nix::unistd::Uid::effective().is_root() {
            all.extend(words(&["-u", "nobody"]));
        }
        all
    })
}

/// nginx that answers 64 bytes at `/64`, an error at `/fails`, and says what it has counted at `/counters`.
pub(crate) fn nginx() -> Kept {
    const CONF: &str = r#"
daemon off;
master_process off;
pid DIR/pid;
error_log DIR/error.log warn;
events { worker_connections 1024; }
http {
    client_body_temp_path DIR/body;
    proxy_temp_path DIR/proxy;
    fastcgi_temp_path DIR/fastcgi;
    uwsgi_temp_path DIR/uwsgi;
    scgi_temp_path DIR/scgi;
    access_log off;
    keepalive_requests 1000000000;
    server {
        listen 127.0.0.1:PORT;
        location = /64 { return 200 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"; }
        location = /fails { return 500 "it went wrong"; }
        location = /counters { stub_status; }
        location /items/ { return 200 "$http_x_kind"; }
    }
}
"#;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let program = dirs.map(|dir| dir.join("nginx")).find(|program| program.exists());
    let program = program.expect("nginx is not installed: apt-get install nginx-light").display().to_string();
    Kept::start("apt-get install nginx-light", |dir, port| {
        let dir = dir.display().to_string();
        let conf = format!("{dir}/nginx.conf");
        std::fs::write(&conf, CONF.replace("DIR", &dir).replace("PORT", &port.to_string())).unwrap();
        words(&[&program, "-p", &dir, "-e", &format!("{dir}/error.log"), "-c", &conf])
    })
}

/// FerretDB, which speaks MongoDB's protocol. Built once.
pub(crate) fn ferretdb() -> Kept {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/ferretdb");
    let built = Command::new(&script).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let program = String::from_utf8(built.stdout).unwrap().trim().to_owned();
    Kept::start("scripts/ferretdb", |dir, port| {
        let dir = dir.display().to_string();
        words(&[
            &program,
            "--handler=sqlite",
            &format!("--sqlite-url=file:{dir}/"),
            &format!("--listen-addr=127.0.0.1:{port}"),
            "--debug-addr=-",
            "--telemetry=disable",
            &format!("--state-dir={dir}"),
        ])
    })
}
