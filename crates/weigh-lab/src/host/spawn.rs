//! Starting servers and tools.
//!
//! A [`ServerCommand`] becomes a [`ServerProcess`] in a session of its own, in its cgroup, as an unprivileged
//! user when weigh is root, killed by the kernel when weigh dies, its output in a log file. Its undo is
//! registered before it is started. [`run_tool`] runs a program like `initdb` to its end.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::sys::{BeforeExec, User, before_exec};
use super::undo::{Instance, Undo, send};
use super::{HostChanges, HostError, MemoryGroup, SharedMemory, UndoId, process, spawner};

/// What starts a server.
#[derive(Clone, Debug)]
pub struct ServerCommand {
    /// The program; symbolic links are resolved.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its environment beside `PATH`, `LC_ALL=C` and `HOME` (the instance's directory): weigh's own is not
    /// passed on, so that a stray `PGPORT` cannot change what is measured.
    pub env: Vec<(OsString, OsString)>,
    /// The instance's directory: its working directory, and the mark by which orphans are found.
    pub dir: PathBuf,
    /// Where standard output and error go; appended to.
    pub log: PathBuf,
    /// Who runs it; `None`: the user weigh runs as.
    pub user: Option<User>,
    /// Its cgroup, from [`HostChanges::make_cgroup`].
    pub cgroup: Option<PathBuf>,
    /// Signal after which it cleans up and ends at once, sent before SIGKILL when it has to go.
    pub polite_signal: Option<Signal>,
}

impl ServerCommand {
    /// Starts it.
    ///
    /// # Errors
    /// When its log cannot be opened or the program not executed.
    pub fn start(&self, changes: &HostChanges) -> Result<ServerProcess, HostError> {
        self.start_limited(changes, None)
    }

    /// Starts it in a group that limits its memory, too.
    ///
    /// # Errors
    /// As [`ServerCommand::start`].
    pub fn start_limited(
        &self,
        changes: &HostChanges,
        memory: Option<&MemoryGroup>,
    ) -> Result<ServerProcess, HostError> {
        let program = resolve(&self.program)?;
        let none = SharedMemory::default();
        let undo = changes.register(self.undo(&program, None, none.clone()))?;
        match self.spawn(&program, memory) {
            Ok(child) => {
                let pid = i32::try_from(child.id()).unwrap_or(i32::MAX);
                let start_ticks = process::stat(pid).map_or(0, |stat| stat.start_ticks);
                changes.amend(undo, self.undo(&program, Some((pid, start_ticks)), none))?;
                let programs = vec![program];
                let command = self.clone();
                let memory = SharedMemory::default();
                Ok(ServerProcess { child, pid, start_ticks, undo, programs, command, memory })
            }
            Err(error) => {
                changes.undo(undo)?;
                Err(error)
            }
        }
    }

    fn spawn(&self, program: &Path, memory: Option<&MemoryGroup>) -> Result<Child, HostError> {
        let open = |path: &Path| OpenOptions::new().append(true).create(true).open(path);
        let log = open(&self.log).map_err(|error| HostError::path("open", &self.log, error))?;
        let error_log = log.try_clone().map_err(|error| HostError::path("open", &self.log, error))?;
        let mut command = Command::new(program);
        environment(&mut command, &self.dir, &self.env);
        command
            .args(&self.args)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::from(log))
            .stderr(Stdio::from(error_log));
        let steps = BeforeExec {
            new_session: true,
            cgroups: self.cgroup.iter().cloned().chain(memory.map(|group| group.path().to_owned())).collect(),
            user: self.user.clone(),
            die_with_parent: true,
        };
        before_exec(&mut command, steps);
        call_by_name(&mut command, &self.program, program);
        spawner::spawn(command).map_err(|source| HostError::Spawn { program: program.to_owned(), source })
    }

    fn undo(&self, program: &Path, root: Option<(i32, u64)>, shared_memory: SharedMemory) -> Undo {
        Undo::StopProcesses {
            root,
            dir: self.dir.clone(),
            programs: vec![program.to_owned()],
            cgroup: self.cgroup.clone(),
            polite_signal: self.polite_signal.map(|signal| signal as i32),
            shared_memory,
            boot_id: process::boot_id(),
        }
    }
}

fn resolve(program: &Path) -> Result<PathBuf, HostError> {
    program.canonicalize().map_err(|source| HostError::Spawn { program: program.to_owned(), source })
}

fn environment(command: &mut Command, home: &Path, extra: &[(OsString, OsString)]) {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    command.env_clear().env("PATH", path).env("LC_ALL", "C").env("HOME", home);
    command.envs(extra.iter().map(|(name, value)| (name, value)));
}

/// A server that was started. Dropping it does not stop it; its undo does.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    pid: i32,
    start_ticks: u64,
    undo: UndoId,
    /// The one program, without symbolic links.
    programs: Vec<PathBuf>,
    command: ServerCommand,
    memory: SharedMemory,
}

impl ServerProcess {
    /// Pid of the root process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Its start, clock ticks since boot.
    pub fn start_ticks(&self) -> u64 {
        self.start_ticks
    }

    /// What stops it.
    pub fn undo_id(&self) -> UndoId {
        self.undo
    }

    /// Its cgroup, if it has one.
    pub fn cgroup(&self) -> Option<&Path> {
        self.command.cgroup.as_deref()
    }

    /// The instance's directory.
    pub fn dir(&self) -> &Path {
        &self.command.dir
    }

    /// The program, without symbolic links.
    pub fn program(&self) -> &Path {
        &self.programs[0]
    }

    /// Every living process of the instance.
    pub fn members(&self) -> BTreeSet<i32> {
        let root = Some((self.pid, self.start_ticks));
        Instance { root, dir: self.dir(), programs: &self.programs, cgroup: self.cgroup() }.members()
    }

    /// Writes down the shared memory the instance's processes have mapped by now, so that it can be removed
    /// should the server be killed. Takes a few ms; to be called while it starts, once it is ready, and
    /// now and then afterwards if the server may ask for more.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn note_shared_memory(&mut self, changes: &HostChanges) -> Result<(), HostError> {
        let mut memory = self.memory.clone();
        memory.merge(SharedMemory::of(self.members()));
        if memory != self.memory {
            let root = Some((self.pid, self.start_ticks));
            changes.amend(self.undo, self.command.undo(&self.programs[0], root, memory.clone()))?;
            self.memory = memory;
        }
        Ok(())
    }

    /// How the root ended, `None` while it runs.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, HostError> {
        self.child
            .try_wait()
            .map_err(|source| HostError::System { what: "asking for a server's state", source })
    }

    /// Sends a signal to the root.
    pub fn signal(&self, signal: Signal) {
        if process::is_alive(self.pid, self.start_ticks) {
            send(self.pid, signal);
        }
    }

    /// Waits until the root has ended; `None` when it has not within `limit`.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>, HostError> {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(Some(status));
            }
            if begin.elapsed() > limit {
                return Ok(None);
            }
            sleep(Duration::from_millis(2));
        }
    }

    /// The last `lines` lines of its log.
    pub fn log_tail(&self, lines: usize) -> Vec<String> {
        log_tail(&self.command.log, lines)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Leaves no zombie behind if it has ended.
        self.child.try_wait().ok();
    }
}

/// The last `lines` lines of a file; nothing if it cannot be read.
pub(crate) fn log_tail(path: &Path, lines: usize) -> Vec<String> {
    let bytes = fs::read(path).unwrap_or_default();
    let from = bytes.len().saturating_sub(64 << 10);
    last_lines(&String::from_utf8_lossy(&bytes[from..]), lines)
}

fn last_lines(text: &str, lines: usize) -> Vec<String> {
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| (*line).to_owned()).collect()
}

/// What a tool printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs `program` to its end in directory `dir` as `user` and gives what it printed. For programs that make
/// nothing that outlives them.
///
/// # Errors
/// [`HostError::Tool`] with its last lines when it fails.
pub fn run_tool(
    program: &Path,
    args: &[OsString],
    dir: &Path,
    user: Option<&User>,
) -> Result<ToolOutput, HostError> {
    finish(start_tool(program, args, dir, user, None)?, resolve(program)?)
}

/// A program that starts others while it runs (`initdb`), and what has to be ended with it.
#[derive(Clone, Debug)]
pub struct Tool<'a> {
    /// The program.
    pub program: &'a Path,
    /// The programs it starts.
    pub starts: &'a [PathBuf],
    /// Its arguments.
    pub args: &'a [OsString],
    /// Where it runs: a directory of its own.
    pub dir: &'a Path,
    /// Who runs it; `None`: the user weigh runs as.
    pub user: Option<&'a User>,
}

impl Tool<'_> {
    /// Runs it to its end, registered meanwhile.
    ///
    /// # Errors
    /// As [`run_tool`].
    pub fn run(&self, changes: &HostChanges) -> Result<ToolOutput, HostError> {
        let program = resolve(self.program)?;
        let cgroup = changes.make_cgroup("tool")?;
        let mut programs = vec![program.clone()];
        for started in self.starts {
            programs.push(resolve(started)?);
        }
        let id = changes.register(Undo::StopProcesses {
            root: None,
            dir: self.dir.to_owned(),
            programs,
            cgroup: cgroup.clone(),
            polite_signal: None,
            shared_memory: SharedMemory::default(),
            boot_id: process::boot_id(),
        })?;
        let output = start_tool(self.program, self.args, self.dir, self.user, cgroup.clone())
            .and_then(|child| finish(child, program));
        changes.undo(id)?;
        cgroup.map_or(Ok(()), |group| changes.remove_cgroup(&group))?;
        output
    }
}

fn start_tool(
    called: &Path,
    args: &[OsString],
    dir: &Path,
    user: Option<&User>,
    cgroup: Option<PathBuf>,
) -> Result<Child, HostError> {
    let program = resolve(called)?;
    let mut command = Command::new(&program);
    environment(&mut command, dir, &[]);
    command.args(args).current_dir(dir);
    call_by_name(&mut command, called, &program);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let steps = BeforeExec {
        new_session: true,
        cgroups: cgroup.into_iter().collect(),
        user: user.cloned(),
        die_with_parent: true,
    };
    before_exec(&mut command, steps);
    spawner::spawn(command).map_err(|source| HostError::Spawn { program, source })
}

/// One program may be several, by the name it is called (`redis-server` is a link to `redis-check-rdb`).
fn call_by_name(command: &mut Command, called: &Path, program: &Path) {
    if let Some(name) = called.file_name().filter(|name| Some(*name) != program.file_name()) {
        command.arg0(name);
    }
}

fn finish(child: Child, program: PathBuf) -> Result<ToolOutput, HostError> {
    let output = match child.wait_with_output() {
        Ok(output) => output,
        Err(source) => return Err(HostError::Spawn { program, source }),
    };
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok(ToolOutput { stdout, stderr });
    }
    let log = last_lines(if stderr.trim().is_empty() { &stdout } else { &stderr }, 10);
    Err(HostError::Tool { program, status: describe(output.status), log })
}

/// How a process ended, in words: `exit status: 1`, `SIGKILL`.
pub(crate) fn describe(status: ExitStatus) -> String {
    match status.signal().and_then(|number| Signal::try_from(number).ok()) {
        Some(signal) => signal.to_string(),
        None => status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn a_tool_gives_its_output_and_a_failure_its_last_lines() {
        let dir = Path::new("/");
        let fine = run_tool(Path::new("/bin/sh"), &args(&["-c", "echo out; echo err >&2"]), dir, None);
        assert_eq!(fine.unwrap(), ToolOutput { stdout: "out\n".into(), stderr: "err\n".into() });
        let failed = run_tool(Path::new("/bin/sh"), &args(&["-c", "echo why >&2; exit 3"]), dir, None);
        match failed.unwrap_err() {
            HostError::Tool { status, log, .. } => {
                assert_eq!((status.as_str(), log), ("exit status: 3", vec!["why".to_owned()]));
            }
            other => panic!("{other}"),
        }
        assert!(matches!(run_tool(Path::new("/not/there"), &[], dir, None), Err(HostError::Spawn { .. })));
    }

    #[test]
    fn the_environment_is_not_passed_on() {
        let output = run_tool(Path::new("/usr/bin/env"), &[], Path::new("/"), None).unwrap();
        let names: BTreeSet<&str> =
            output.stdout.lines().filter_map(|l| Some(l.split_once('=')?.0)).collect();
        assert_eq!(names, BTreeSet::from(["HOME", "LC_ALL", "PATH"]));
    }
}
