//! The server that is made to stand still.
//!
//! [`Victim::start`] starts a real server of whichever kind is installed, or a process of our own that answers like the
//! built-in server ([`answer_as_child`]), in a directory of its own and through [`crate::host`], so that it is
//! gone whatever happens. Only what was started here is ever stopped.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use weigh_drivers::http::{HttpConfig, HttpOperation};
use weigh_drivers::memcached::MemcachedConfig;
use weigh_drivers::redis::RedisConfig;
use weigh_drivers::{CommandOperation, ServerUrl};
use weigh_load::stall::Stall;
use weigh_load::{Driver, DriverError};

use super::client::BuiltInDriver;
use super::error::SelftestError;
use super::run::Stage;
use super::server::answer_for_ever;
use crate::host::{Freezer, ServerCommand, ServerProcess, User, unprivileged_user};

/// A server that does not answer within this time is given up.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// How to start a server of our own: a program that calls [`answer_as_child`], and its arguments before the port.
#[derive(Clone, Debug)]
pub struct ServerProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// Answers on a loopback port like the built-in server, until the process ends.
///
/// # Errors
/// When the port cannot be had, or the kernel refuses to go on.
pub fn answer_as_child(port: u16) -> Result<(), SelftestError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(SelftestError::system("opening a loopback port"))?;
    answer_for_ever(listener).map_err(SelftestError::system("answering"))
}

/// A kind of server that may be installed.
struct Kind {
    /// Its program.
    program: &'static str,
    /// Its arguments; `PORT` and `DIR` are filled in.
    args: &'static [&'static str],
    /// The file `conf` in its directory, filled in likewise; empty: none.
    conf: &'static str,
    /// What is asked of it: something it answers at once.
    driver: fn(url: &str) -> Result<Arc<dyn Driver>, DriverError>,
}

/// The kinds, the lightest first.
static KINDS: &[Kind] = &[
    Kind {
        program: "redis-server",
        args: &["--bind", "127.0.0.1", "--port", "PORT", "--save", "", "--dir", "DIR"],
        conf: "",
        driver: |url| {
            let config = RedisConfig::from_url(&ServerUrl::parse(&format!("redis://{url}"))?)?;
            Ok(Arc::new(RedisConfig { operations: vec![command("PING")], ..config }.build()?))
        },
    },
    Kind {
        program: "memcached",
        args: &["-l", "127.0.0.1", "-p", "PORT", "-U", "0", "-t", "1"],
        conf: "",
        driver: |url| {
            let config = MemcachedConfig::from_url(&ServerUrl::parse(&format!("memcached://{url}"))?)?;
            Ok(Arc::new(MemcachedConfig { operations: vec![command("get k")], ..config }.build()?))
        },
    },
    Kind {
        program: "nginx",
        args: &["-p", "DIR", "-e", "DIR/error.log", "-c", "DIR/conf"],
        conf: NGINX,
        driver: |url| {
            let config = HttpConfig::from_url(&ServerUrl::parse(&format!("http://{url}/"))?)?;
            Ok(Arc::new(
                HttpConfig { operations: vec![HttpOperation::new("ask", "GET", "/")], ..config }.build()?,
            ))
        },
    },
];

/// One process, everything below its directory.
const NGINX: &str = "\
daemon off;
master_process off;
pid DIR/pid;
events {}
http {
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path DIR/body;
    proxy_temp_path DIR/proxy;
    fastcgi_temp_path DIR/fastcgi;
    uwsgi_temp_path DIR/uwsgi;
    scgi_temp_path DIR/scgi;
    server { listen 127.0.0.1:PORT; return 200 ok; }
}
";

fn command(text: &str) -> CommandOperation {
    CommandOperation { name: "ask".into(), command: text.into(), rows: 1, ..CommandOperation::default() }
}

/// A server under way.
pub(super) struct Victim {
    /// What it is (`redis-server`).
    pub(super) name: String,
    process: ServerProcess,
    pub(super) driver: Arc<dyn Driver>,
    freezer: Freezer,
}

impl Victim {
    /// Starts one and waits until it answers.
    ///
    /// # Errors
    /// When nothing can be started or it does not answer.
    pub(super) fn start(stage: &Stage<'_>) -> Result<Victim, SelftestError> {
        let installed = KINDS.iter().find_map(|kind| Some((kind, find_program(kind.program)?)));
        match (installed, stage.own_server) {
            (Some((kind, program)), _) => Victim::of_kind(stage, kind, program),
            (None, Some(own)) => Victim::own(stage, own),
            (None, None) => Err(SelftestError::Server(
                "no server that could be made to stand still is installed; install `redis-server`".into(),
            )),
        }
    }

    fn of_kind(stage: &Stage<'_>, kind: &Kind, program: PathBuf) -> Result<Victim, SelftestError> {
        let port = free_port()?;
        let driver = (kind.driver)(&format!("127.0.0.1:{port}"))
            .map_err(|error| SelftestError::Server(format!("no driver for `{}`: {error}", kind.program)))?;
        // As an unprivileged user where that is possible.
        let root = stage.changes.work_root();
        let user = unprivileged_user()?.filter(|user| root.check_reachable(user).is_ok());
        let dir = new_dir(stage, user.as_ref())?;
        let filled =
            |text: &str| text.replace("DIR", &dir.to_string_lossy()).replace("PORT", &port.to_string());
        if !kind.conf.is_empty() {
            std::fs::write(dir.join("conf"), filled(kind.conf))
                .map_err(SelftestError::system("writing a server's configuration"))?;
        }
        let args = kind.args.iter().map(|arg| filled(arg).into()).collect();
        let command = ServerCommand { program, args, user, ..command_in(dir.clone()) };
        Victim::spawn(stage, kind.program.to_owned(), &command, driver)
    }

    fn own(stage: &Stage<'_>, own: &ServerProgram) -> Result<Victim, SelftestError> {
        let port = free_port()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let args = own.args.iter().cloned().chain([port.to_string().into()]).collect();
        let base = command_in(new_dir(stage, None)?);
        let command = ServerCommand { program: own.program.clone(), args, ..base };
        let driver = Arc::new(BuiltInDriver::of_address(address));
        Victim::spawn(stage, "a server process of our own".into(), &command, driver)
    }

    fn spawn(
        stage: &Stage<'_>,
        name: String,
        command: &ServerCommand,
        driver: Arc<dyn Driver>,
    ) -> Result<Victim, SelftestError> {
        let process = command.start(stage.changes)?;
        let freezer = Freezer::new(&process);
        let mut victim = Victim { name, process, driver, freezer };
        match victim.await_answer(stage) {
            Ok(()) => Ok(victim),
            Err(error) => {
                victim.end(stage)?;
                Err(error)
            }
        }
    }

    fn await_answer(&mut self, stage: &Stage<'_>) -> Result<(), SelftestError> {
        let begun = Instant::now();
        loop {
            let Err(error) = self.driver.connect(0) else { return Ok(()) };
            let ended = self.process.try_wait()?;
            if ended.is_some() || begun.elapsed() > READY_WITHIN {
                let log = self.process.log_tail(3).join("; ");
                return Err(SelftestError::Server(format!("{} does not answer: {error}: {log}", self.name)));
            }
            if stage.cancel.sleep(Duration::from_millis(10)) {
                return Err(SelftestError::Cancelled);
            }
        }
    }

    /// Stops every process of the server at `from`, for `length`, and says when that was.
    ///
    /// # Errors
    /// When they do not stop, or the self-test was told to: they go on in either case.
    pub(super) fn stand_still(
        &mut self,
        stage: &Stage<'_>,
        from: Instant,
        length: Duration,
    ) -> Result<Stall, SelftestError> {
        stage.cancel.sleep(from.saturating_duration_since(Instant::now()));
        let before = Instant::now();
        let frozen = self.freezer.freeze();
        let after = Instant::now();
        if frozen.is_ok() {
            stage.cancel.sleep((before + length).saturating_duration_since(Instant::now()));
        }
        let thawing = Instant::now();
        let thawed = self.freezer.thaw();
        let went_on = (thawing, Instant::now());
        frozen.and(thawed)?;
        if stage.cancel.is_cancelled() {
            return Err(SelftestError::Cancelled);
        }
        Ok(Stall { stopped: (before, after), went_on })
    }

    /// Ends it.
    ///
    /// # Errors
    /// When it does not end.
    pub(super) fn end(self, stage: &Stage<'_>) -> Result<(), SelftestError> {
        stage.changes.undo(self.process.undo_id())?;
        Ok(())
    }
}

/// A new directory of the run's.
fn new_dir(stage: &Stage<'_>, user: Option<&User>) -> Result<PathBuf, SelftestError> {
    let run_dir = stage.changes.run_dir()?;
    let free = (1..).map(|number| run_dir.join(format!("server{number}"))).find(|dir| !dir.exists());
    let dir = free.unwrap_or(run_dir);
    stage.changes.make_dir(&dir, user)?;
    Ok(dir)
}

/// A command that says nothing yet but where it runs.
fn command_in(dir: PathBuf) -> ServerCommand {
    ServerCommand {
        program: PathBuf::new(),
        args: Vec::new(),
        env: Vec::new(),
        log: dir.join("log"),
        dir,
        user: None,
        cgroup: None,
        polite_signal: Some(Signal::SIGTERM),
    }
}

/// A program on the path, or in the directories that only root has on it.
fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let also = ["/usr/local/sbin", "/usr/sbin", "/usr/local/bin", "/usr/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(also).map(|dir| dir.join(name)).find(|path| path.is_file())
}

fn free_port() -> Result<u16, SelftestError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let port = listener.and_then(|listener| listener.local_addr()).map(|address| address.port());
    port.map_err(SelftestError::system("finding a free loopback port"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::host::{Cancel, HostChanges, WorkRoot};

    /// Every kind that is installed starts, answers, and stands still for as long as asked.
    #[test]
    fn every_kind_that_is_installed_can_be_made_to_stand_still() {
        let parent = tempfile::Builder::new().prefix("weigh-").tempdir_in("/var/tmp").unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(parent.path(), open).unwrap();
        let root = WorkRoot::open(parent.path()).unwrap();
        let changes = HostChanges::open_in(&parent.path().join("state"), "test", root, None).unwrap();
        let cancel = Cancel::new().unwrap();
        let stage = Stage { cancel: &cancel, changes: &changes, own_server: None, clock_source: "" };
        let installed = KINDS.iter().filter_map(|kind| Some((kind, find_program(kind.program)?)));
        for (kind, program) in installed {
            let mut victim = Victim::of_kind(&stage, kind, program).unwrap();
            let length = Duration::from_millis(60);
            let stall = victim.stand_still(&stage, Instant::now(), length).unwrap();
            let (shortest, longest) = stall.length();
            assert!(longest >= length && shortest <= longest, "{}: {stall:?}", kind.program);
            victim.driver.connect(0).unwrap();
            let pid = victim.process.pid();
            victim.end(&stage).unwrap();
            assert!(!Path::new(&format!("/proc/{pid}/cwd")).exists(), "{} is gone", kind.program);
        }
        changes.undo_all().unwrap();
    }
}
