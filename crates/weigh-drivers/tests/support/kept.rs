//! A server in a temporary directory that cannot outlive the test.
//!
//! A small shell process starts the server and waits for the end of its input. That comes when the [`Kept`] is dropped
//! and also when the test process dies in any way: then the server is killed and the directory removed.

use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
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
# A browser's other processes end a moment after it, and write until then.
[ "$word" = keep ] || rm -rf "$dir" 2>/dev/null || { sleep 1; rm -rf "$dir"; }
"#;

pub struct Kept {
    pub dir: PathBuf,
    keeper: Option<Child>,
}

impl Kept {
    /// A directory, and nothing started.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("weigh-drivers-").tempdir_in("/var/tmp").unwrap().keep();
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).unwrap();
        Self { dir, keeper: None }
    }

    /// Starts the server and waits until it is `ready`.
    pub fn start(&mut self, command: &[String], install: &str, ready: impl Fn() -> bool) {
        let program = &command[0];
        let known =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(known.is_ok(), "`{program}` is not installed: {install}");
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "sh"]).arg(&self.dir).args(command).stdin(Stdio::piped());
        self.keeper = Some(keeper.spawn().unwrap());
        let begun = Instant::now();
        while !ready() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{command:?}: {}", self.log());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills the server; its files stay.
    pub fn crash(&mut self) {
        let mut keeper = self.keeper.take().unwrap();
        keeper.stdin.take().unwrap().write_all(b"keep\n").unwrap();
        keeper.wait().unwrap();
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.file("log")).unwrap_or_default()
    }
}

impl Drop for Kept {
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

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A path as an argument.
pub fn shown(path: &Path) -> String {
    path.display().to_string()
}
