//! A private nginx in a temporary directory, and short HTTP loads.
//!
//! A small shell process starts the server and waits for the end of its input. That comes when the server is dropped
//! and also when the test process dies in any way: then the server is killed and the directory removed.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use weigh_drivers::ServerUrl;
use weigh_drivers::http::{HttpConfig, HttpOperation};
use weigh_load::generator::GeneratorSpec;
use weigh_load::{LoadError, LoadReport, LoadSpec, Operation, Schedule, start};

use super::load::ms;

const INSTALL: &str = "nginx is not installed: apt-get install nginx-light";

/// One process, so that one signal ends it. `DIR`, `PORT`, `TLS_PORT` and `EXTRA` are filled in.
const CONF: &str = r#"
daemon off;
master_process off;
pid DIR/pid;
error_log DIR/error.log warn;
events { worker_connections 2048; }
http {
    client_body_temp_path DIR/body;
    proxy_temp_path DIR/proxy;
    fastcgi_temp_path DIR/fastcgi;
    uwsgi_temp_path DIR/uwsgi;
    scgi_temp_path DIR/scgi;
    default_type text/plain;
    log_format plain '$status $request_method $host $request_uri';
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 3600s;
    client_max_body_size 64m;
    server_tokens off;

    server {
        listen 127.0.0.1:PORT backlog=1024 default_server;
        listen unix:DIR/socket;
        root DIR/files;
        location = /64 { return 200 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"; }
        location = /counters { stub_status; }
        location = /logged { access_log DIR/access.log plain; return 200 "logged"; }
        location /logged/ { access_log DIR/access.log plain; return 200 "$arg_n $http_x_id"; }
        location = /nothing { return 204; }
        location = /fails { return 500 "it went wrong"; }
        location = /busy { return 503; }
        location = /moved { return 301 /64; }
        location = /ten { keepalive_requests 10; return 200 "ten"; }
        location = /hasty { keepalive_timeout 60ms; return 200 "hasty"; }
        location /files/ { alias DIR/files/; }
        location /gzip/ { alias DIR/files/; gzip on; gzip_min_length 1; gzip_types *; }
        location /ssi/ { alias DIR/files/; ssi on; ssi_types *; }
        location /unframed/ { alias DIR/files/; ssi on; ssi_types *; chunked_transfer_encoding off; }
        location /put/ { alias DIR/put/; dav_methods PUT; access_log DIR/access.log plain; }
        location /secret/ { alias DIR/files/; auth_basic "secret"; auth_basic_user_file DIR/users; }
    }
    server {
        listen 127.0.0.1:PORT;
        server_name shop.example;
        return 200 "shop $host $http_host";
    }
    EXTRA
}
"#;

/// Arguments: directory, then the server's command line.
const KEEPER: &str = r#"
dir=$1; shift
exec 2>>"$dir/log"
"$@" >>"$dir/log" 2>&1 </dev/null &
server=$!
read word
kill -KILL $server 2>/dev/null
wait $server
[ "$word" = keep ] || rm -rf "$dir"
"#;

pub struct Nginx {
    dir: PathBuf,
    core: Option<&'static str>,
    pub port: u16,
    keeper: Option<Child>,
}

impl Nginx {
    pub fn new() -> Self {
        Self::with("", None)
    }

    /// With more of a configuration, and kept on a core.
    pub fn with(extra: &str, core: Option<&'static str>) -> Self {
        let dir = tempfile::Builder::new().prefix("weigh-nginx-").tempdir_in("/var/tmp").unwrap().keep();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        for name in ["files", "put"] {
            std::fs::create_dir(dir.join(name)).unwrap();
        }
        // `sesame`, in the clear: nginx knows `{PLAIN}`.
        std::fs::write(dir.join("users"), "me:{PLAIN}sesame\n").unwrap();
        let conf = CONF
            .replace("EXTRA", extra)
            .replace("DIR", dir.to_str().unwrap())
            .replace("PORT", &port.to_string());
        std::fs::write(dir.join("nginx.conf"), conf).unwrap();
        let mut nginx = Self { dir, core, port, keeper: None };
        nginx.start();
        nginx
    }

    /// Starts the server and waits until it answers.
    pub fn start(&mut self) {
        // A killed server leaves its socket behind and would not start beside it.
        std::fs::remove_file(self.dir.join("socket")).ok();
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "sh"]).arg(&self.dir);
        if let Some(core) = self.core {
            keeper.args(["taskset", "-c", core]);
        }
        keeper.arg(find_program().expect(INSTALL)).arg("-p").arg(&self.dir);
        keeper.arg("-e").arg(self.dir.join("error.log")).arg("-c").arg(self.dir.join("nginx.conf"));
        self.keeper = Some(keeper.stdin(Stdio::piped()).spawn().unwrap());
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{}", self.log());
            thread::sleep(ms(10));
        }
    }

    /// Kills the server; its files stay.
    pub fn crash(&mut self) {
        let mut keeper = self.keeper.take().unwrap();
        keeper.stdin.take().unwrap().write_all(b"keep\n").unwrap();
        keeper.wait().unwrap();
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.dir.join("files").join(name), content).unwrap();
    }

    fn log(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.dir.join(name)).unwrap_or_default();
        read("log") + &read("error.log")
    }

    /// How many times each line is in the access log.
    pub fn logged(&self) -> BTreeMap<String, u64> {
        let text = std::fs::read_to_string(self.dir.join("access.log")).unwrap_or_default();
        let mut lines = BTreeMap::new();
        for line in text.lines() {
            *lines.entry(line.to_owned()).or_default() += 1;
        }
        lines
    }

    /// The server's own count of requests, without this question.
    pub fn requests(&self) -> u64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(b"GET /counters HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        // ` accepted handled requests `
        let counts = text.lines().skip_while(|line| !line.starts_with("server accepts")).nth(1).unwrap();
        counts.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap() - 1
    }

    pub fn config(&self, path: &str) -> HttpConfig {
        config(&format!("http://127.0.0.1:{}{path}", self.port))
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        match self.keeper.take() {
            Some(mut keeper) => {
                drop(keeper.stdin.take());
                keeper.wait().unwrap();
            }
            None => drop(std::fs::remove_dir_all(&self.dir)),
        }
    }
}

/// Where `nginx` is: on the path, or where Debian puts it, which an ordinary user's path leaves out.
fn find_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    dirs.map(|dir| dir.join("nginx")).find(|path| path.exists())
}

pub fn config(url: &str) -> HttpConfig {
    HttpConfig::from_url(&ServerUrl::parse(url).unwrap()).unwrap()
}

/// One operation as its driver and as the engine see it.
pub type Work = (HttpOperation, Vec<GeneratorSpec>);

pub fn get(path: &str) -> HttpOperation {
    HttpOperation::new(format!("GET {path}"), "GET", path)
}

/// 300 ms of load.
pub fn http_spec(clients: usize, pipeline: usize, works: &[Work]) -> LoadSpec {
    let operations = works.iter().map(|(operation, parameters)| Operation {
        name: operation.name.clone(),
        weight: 1,
        parameters: parameters.clone(),
    });
    LoadSpec {
        clients,
        threads: 1,
        pipeline,
        settle: ms(50),
        measure: ms(250),
        schedule: Schedule::Closed,
        operations: operations.collect(),
        seed: 7,
        trial_number: 1,
        operations_limit: None,
        pin: false,
    }
}

/// The config with the operations, which are told how many parameters they have.
pub fn with(config: HttpConfig, works: &[Work]) -> HttpConfig {
    let operations = works
        .iter()
        .map(|(operation, parameters)| HttpOperation { parameters: parameters.len(), ..operation.clone() });
    HttpConfig { operations: operations.collect(), ..config }
}

pub fn run_http(
    config: HttpConfig,
    clients: usize,
    pipeline: usize,
    works: &[Work],
) -> Result<LoadReport, LoadError> {
    let driver = with(config, works).build().unwrap();
    start(&http_spec(clients, pipeline, works), Arc::new(driver))?.finish()
}
