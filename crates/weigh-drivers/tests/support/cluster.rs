//! A private PostgreSQL cluster in a temporary directory.
//!
//! A small shell process starts the server and waits for the end of its input. That comes when the cluster is
//! dropped and also when the test process dies in any way: then the server is stopped and the directory removed.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::{Uid, User};
use postgres::{Client, NoTls};
use weigh_drivers::postgres::{PostgresConfig, socket_in};

use super::tls::Pair;

/// Log-ins of a cluster with TLS.
const HBA_TLS: &str = "\
local all all trust
hostnossl all never_tls 127.0.0.1/32 trust
hostssl all only_tls 127.0.0.1/32 scram-sha-256
hostssl all by_certificate 127.0.0.1/32 cert
hostssl all shows_certificate 127.0.0.1/32 trust clientcert=verify-ca
host all by_trust 127.0.0.1/32 trust
host all by_scram 127.0.0.1/32 scram-sha-256
";

const ROLES_TLS: &str = "
CREATE ROLE never_tls LOGIN;
CREATE ROLE by_certificate LOGIN;
CREATE ROLE shows_certificate LOGIN;
SET password_encryption = 'scram-sha-256';
CREATE ROLE only_tls LOGIN PASSWORD 'sesame';
";

const INSTALL: &str = "PostgreSQL is not installed: apt-get install postgresql";

const HBA: &str = "\
local all all trust
host all by_trust 127.0.0.1/32 trust
host all by_password 127.0.0.1/32 password
host all by_md5 127.0.0.1/32 md5
host all by_scram 127.0.0.1/32 scram-sha-256
";

const CONF: &str = "\
fsync = off
shared_buffers = 32MB
max_connections = 40
";

const ROLES: &str = "
CREATE ROLE by_trust LOGIN SUPERUSER;
SET password_encryption = 'md5';
CREATE ROLE by_md5 LOGIN PASSWORD 'sesame' SUPERUSER;
SET password_encryption = 'scram-sha-256';
CREATE ROLE by_scram LOGIN PASSWORD 'sesame' SUPERUSER;
CREATE ROLE by_password LOGIN PASSWORD 'sesame' SUPERUSER;
";

/// Arguments: directory, then the server's command line.
const KEEPER: &str = r#"
dir=$1; shift
"$@" >>"$dir/log" 2>&1 </dev/null &
server=$!
read word
kill -QUIT $server 2>/dev/null
wait $server
[ "$word" = keep ] || rm -rf "$dir"
"#;

pub struct Cluster {
    dir: PathBuf,
    programs: PathBuf,
    user: Option<User>,
    pub port: u16,
    keeper: Option<Child>,
}

/// One cluster for all tests of a process that do not harm it.
pub fn shared() -> &'static Cluster {
    static SHARED: OnceLock<Cluster> = OnceLock::new();
    SHARED.get_or_init(Cluster::new)
}

impl Cluster {
    fn stopped() -> Self {
        let programs = find_programs().expect(INSTALL);
        // The server refuses to run as root.
        let user = Uid::effective().is_root().then(|| {
            let known = |name| User::from_name(name).ok().flatten();
            known("postgres").or_else(|| known("nobody")).expect("a user to run the server as")
        });
        let dir = tempfile::Builder::new().prefix("weigh-drivers-").tempdir_in("/var/tmp").unwrap().keep();
        if let Some(user) = &user {
            std::os::unix::fs::chown(&dir, Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let cluster = Self { dir, programs, user, port, keeper: None };
        cluster.initialise();
        cluster
    }

    /// A running cluster.
    pub fn new() -> Self {
        let mut cluster = Self::stopped();
        cluster.start();
        cluster.client().batch_execute(ROLES).unwrap();
        cluster
    }

    /// A running cluster with `ssl = on`. `ca` signs its clients.
    pub fn with_tls(server: &Pair, ca: &Path) -> Self {
        let mut cluster = Self::stopped();
        cluster.place("ca.pem", ca);
        cluster.place_certificate(server);
        std::fs::write(cluster.data().join("pg_hba.conf"), HBA_TLS).unwrap();
        let conf = cluster.data().join("postgresql.conf");
        let text = std::fs::read_to_string(&conf).unwrap();
        std::fs::write(conf, text + "ssl = on\nssl_ca_file = 'ca.pem'\n").unwrap();
        cluster.start();
        cluster.client().batch_execute(&format!("{ROLES}{ROLES_TLS}")).unwrap();
        cluster
    }

    /// Puts a server certificate in place; a running server takes it after `pg_reload_conf()`.
    pub fn place_certificate(&self, server: &Pair) {
        self.place("server.crt", &server.certificate);
        self.place("server.key", &server.key);
    }

    /// Copies a file into the data directory, for nobody but the server.
    fn place(&self, name: &str, source: &Path) {
        use std::os::unix::fs::{OpenOptionsExt, chown};
        let path = self.data().join(name);
        std::fs::remove_file(&path).ok();
        let mut file =
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
        file.write_all(&std::fs::read(source).unwrap()).unwrap();
        if let Some(user) = &self.user {
            chown(&path, Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
        }
    }

    fn initialise(&self) {
        let data = self.data();
        let output = Command::new("sh")
            .args(["-c", "exec \"$@\"", "sh"])
            .args(self.as_user("initdb"))
            .args(["--no-sync", "--auth=trust", "--username=weigh", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(&data)
            .current_dir(&self.dir)
            .output()
            .unwrap();
        assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::write(data.join("pg_hba.conf"), HBA).unwrap();
        let conf = format!(
            "{CONF}port = {}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{}'\n",
            self.port,
            self.dir.display()
        );
        std::fs::write(data.join("postgresql.conf"), conf).unwrap();
    }

    fn as_user(&self, program: &str) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(user) = &self.user {
            words.extend([
                "setpriv".into(),
                format!("--reuid={}", user.uid),
                format!("--regid={}", user.gid),
            ]);
            words.push("--clear-groups".into());
        }
        words.push(self.programs.join(program).display().to_string());
        words
    }

    /// Starts the server and waits until it answers.
    pub fn start(&mut self) {
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .arg(&self.dir)
            .args(self.as_user("postgres"))
            .arg("-D")
            .arg(self.data())
            .current_dir(&self.dir)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        self.keeper = Some(keeper);
        let begun = Instant::now();
        while let Err(error) = self.try_client() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{error}: {}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops the server at once, without its consent; its files stay.
    pub fn crash(&mut self) {
        let mut keeper = self.keeper.take().unwrap();
        keeper.stdin.take().unwrap().write_all(b"keep\n").unwrap();
        keeper.wait().unwrap();
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    pub fn socket_dir(&self) -> &Path {
        &self.dir
    }

    /// A client program: beside the server's, or on the path.
    pub fn program(&self, name: &str) -> PathBuf {
        Some(self.programs.join(name)).filter(|path| path.exists()).unwrap_or_else(|| name.into())
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    fn try_client(&self) -> Result<Client, postgres::Error> {
        let mut config = Client::configure();
        config.host_path(&self.dir).port(self.port).user("weigh").dbname("postgres");
        config.connect(NoTls)
    }

    /// The ordinary client, for set-up and verification.
    pub fn client(&self) -> Client {
        self.try_client().unwrap_or_else(|error| panic!("{error}: {}", self.log()))
    }

    /// Our driver's config over the unix socket, without operations.
    pub fn config(&self) -> PostgresConfig {
        PostgresConfig {
            endpoint: socket_in(&self.dir, self.port),
            user: "weigh".into(),
            ..PostgresConfig::default()
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            keeper.wait().unwrap();
        }
    }
}

/// Where `postgres` is: on the path, or in Debian's place, the newest version first.
fn find_programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    candidates.extend(versions.into_iter().map(|(_, dir)| dir));
    candidates.into_iter().find(|dir| dir.join("initdb").exists() && dir.join("postgres").exists())
}
