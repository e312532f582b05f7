//! Commands as the thing under test: each execution timed, with what the kernel says it used.
//!
//! A trial executes its command until the measured time is at least the trial's length, at least
//! once. Time runs from just before the process is created until it has been waited for. `prepare`
//! and `conclude` run around every execution, outside the time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use weigh_results::model::{InstanceRecord, Replication, Trial, Window, histogram};

use super::interference::HostWatch;
use super::subject::{Subject, TrialRequest};
use super::wait::{self, Usage};
use crate::host::{Cancel, MARK};
use crate::plan::{ResolvedCommand, ResolvedPlan};
use crate::systems::SystemError;

/// Executes the commands of a plan.
pub struct CommandSubject {
    commands: Vec<ResolvedCommand>,
    setup: Vec<Vec<String>>,
    directory: PathBuf,
    marker: String,
    errors: File,
    running: Arc<AtomicI32>,
    watching: Arc<AtomicBool>,
    cancel: Cancel,
    warm: BTreeSet<usize>,
    cleaned: bool,
}

impl CommandSubject {
    /// Ready to execute the plan's commands in `directory` (unless a command names its own). Every
    /// process gets `WEIGH_RUN=run_id` in its environment, by which a killed run's left-overs are found.
    pub fn new(
        plan: &ResolvedPlan,
        directory: &Path,
        run_id: &str,
        cancel: Cancel,
    ) -> Result<CommandSubject, SystemError> {
        let commands: Vec<ResolvedCommand> =
            plan.variants.iter().filter_map(|variant| variant.command.clone()).collect();
        if commands.len() != plan.variants.len() {
            return Err(SystemError::new("a variant has no command".to_owned()));
        }
        let errors = tempfile::tempfile()
            .map_err(|error| SystemError::new("cannot make a temporary file".to_owned()).caused_by(error))?;
        let subject = CommandSubject {
            commands,
            setup: plan.variants.iter().map(|variant| variant.setup.clone()).collect(),
            directory: directory.to_owned(),
            marker: run_id.to_owned(),
            errors,
            running: Arc::new(AtomicI32::new(0)),
            watching: Arc::new(AtomicBool::new(true)),
            cancel,
            warm: BTreeSet::new(),
            cleaned: false,
        };
        subject.watch_for_cancel();
        Ok(subject)
    }

    /// A cancelled run must not wait for a long command: its process group is killed.
    fn watch_for_cancel(&self) {
        let (running, watching, cancel) = (self.running.clone(), self.watching.clone(), self.cancel.clone());
        std::thread::spawn(move || {
            while watching.load(Ordering::Acquire) {
                if cancel.sleep(Duration::from_millis(200)) {
                    let group = running.load(Ordering::Acquire);
                    if group > 0 {
                        // Gone already is as good as killed.
                        killpg(Pid::from_raw(group), Signal::SIGKILL).ok();
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        });
    }

    fn command(&self, text: &str, of: &ResolvedCommand) -> Result<Command, SystemError> {
        let mut command = if of.shell == "none" {
            let words = shell_words::split(text).map_err(|error| {
                SystemError::new(format!("cannot split `{text}` into words")).caused_by(error)
            })?;
            let (program, arguments) =
                words.split_first().ok_or_else(|| SystemError::new("a command is empty".to_owned()))?;
            let mut command = Command::new(program);
            command.args(arguments);
            command
        } else {
            let mut command = Command::new(&of.shell);
            command.arg("-c").arg(text);
            command
        };
        let errors = self.errors.try_clone().map_err(|error| {
            SystemError::new("cannot keep a command's errors".to_owned()).caused_by(error)
        })?;
        command
            .current_dir(of.directory.as_ref().unwrap_or(&self.directory))
            .env(MARK, &self.marker)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .process_group(0);
        Ok(command)
    }

    /// Runs a text to its end. `None` when cancelled meanwhile.
    fn execute(&mut self, text: &str, of: &ResolvedCommand) -> Result<Option<Execution>, SystemError> {
        let mut command = self.command(text, of)?;
        self.errors.set_len(0).and_then(|()| self.errors.seek(SeekFrom::Start(0))).map_err(|error| {
            SystemError::new("cannot keep a command's errors".to_owned()).caused_by(error)
        })?;
        let began = Instant::now();
        let child = command.spawn().map_err(|error| {
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            let mut failure = SystemError::new(format!("cannot start `{text}`")).caused_by(error);
            failure.missing = missing;
            failure
        })?;
        self.running.store(i32::try_from(child.id()).unwrap_or(0), Ordering::Release);
        let waited = wait::wait(child);
        let wall = began.elapsed();
        self.running.store(0, Ordering::Release);
        let used =
            waited.map_err(|error| SystemError::new(format!("cannot wait for `{text}`")).caused_by(error))?;
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        Ok(Some(Execution { wall, status: used.status, used }))
    }

    /// Runs a text that must succeed (setup, prepare, conclude, cleanup). `false` when cancelled.
    fn must_succeed(&mut self, what: &str, text: &str, of: &ResolvedCommand) -> Result<bool, SystemError> {
        let Some(done) = self.execute(text, of)? else { return Ok(false) };
        if done.status.success() {
            return Ok(true);
        }
        Err(self.failure(what, text, done.status))
    }

    fn failure(&mut self, what: &str, text: &str, status: ExitStatus) -> SystemError {
        let mut said = String::new();
        // The message is a courtesy: without it the error still names command and status.
        self.errors.seek(SeekFrom::Start(0)).and_then(|_| self.errors.read_to_string(&mut said)).ok();
        let lines: Vec<&str> = said.lines().collect();
        let mut error = SystemError::new(format!("{what} `{text}` ended with {status}"));
        error.log = lines[lines.len().saturating_sub(8)..].iter().map(|line| (*line).to_owned()).collect();
        error
    }

    /// One timed execution with its `prepare` and `conclude`. `None` when cancelled.
    fn timed(&mut self, of: &ResolvedCommand) -> Result<Option<Execution>, SystemError> {
        if let Some(prepare) = &of.prepare
            && !self.must_succeed("prepare", prepare, of)?
        {
            return Ok(None);
        }
        let Some(done) = self.execute(&of.run, of)? else { return Ok(None) };
        if !done.status.success() && !of.ignore_failure {
            let mut error = self.failure("command", &of.run, done.status);
            error
                .hints
                .push("add --ignore-failure (`ignore_failure = true`) to time it all the same".to_owned());
            return Err(error);
        }
        if let Some(conclude) = &of.conclude
            && !self.must_succeed("conclude", conclude, of)?
        {
            return Ok(None);
        }
        Ok(Some(done))
    }

    fn set_up(&mut self) -> Result<(), SystemError> {
        let mut done = BTreeSet::new();
        for (of, texts) in self.commands.clone().iter().zip(self.setup.clone()) {
            for text in texts {
                if done.insert(text.clone()) && !self.must_succeed("setup", &text, of)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn clean_up(&mut self) -> Result<(), SystemError> {
        if std::mem::replace(&mut self.cleaned, true) {
            return Ok(());
        }
        let mut done = BTreeSet::new();
        for of in self.commands.clone() {
            for text in &of.cleanup {
                if done.insert(text.clone()) {
                    self.must_succeed("cleanup", text, &of)?;
                }
            }
        }
        Ok(())
    }
}

impl Subject for CommandSubject {
    fn replication(&self) -> Replication {
        Replication::Round
    }

    fn settles(&self) -> bool {
        false
    }

    fn start_epoch(&mut self, _epoch: u32) -> Result<Vec<InstanceRecord>, SystemError> {
        self.set_up()?;
        Ok(Vec::new())
    }

    fn trial(&mut self, request: &TrialRequest) -> Result<Option<Trial>, SystemError> {
        let of = self.commands[request.slot.variant].clone();
        if self.warm.insert(request.slot.variant) {
            for _ in 0..of.warmup {
                if self.timed(&of)?.is_none() {
                    return Ok(None);
                }
            }
        }
        let mut trial = request.empty_trial();
        let watch = HostWatch::begin(&[]);
        let began = Instant::now();
        let mut tally = Tally::new()?;
        while tally.wall < request.measure || tally.count == 0 {
            let Some(done) = self.timed(&of)? else { return Ok(None) };
            tally.add(&done);
        }
        trial.interference = watch.end(tally.counters.get("command.cpu_us").copied().unwrap_or(0.0) / 1e6);
        tally.fill(&mut trial, began.elapsed())?;
        Ok(Some(trial))
    }

    fn stop(&mut self) -> Result<(), SystemError> {
        self.watching.store(false, Ordering::Release);
        if self.cancel.is_cancelled() {
            // Cleanup must run for an interrupted run too; its commands are not to be killed at once.
            self.cancel = Cancel::new()?;
        }
        self.clean_up()
    }
}

impl Drop for CommandSubject {
    fn drop(&mut self) {
        // Errors of a clean-up were reported by `stop`; here it is the last resort of an unwinding run.
        self.stop().ok();
    }
}

struct Execution {
    wall: Duration,
    status: ExitStatus,
    used: Usage,
}

/// Sums over the executions of a trial.
struct Tally {
    wall: Duration,
    count: u64,
    latency: Histogram<u64>,
    counters: BTreeMap<String, f64>,
    peak_bytes: f64,
    failures: BTreeMap<String, u64>,
}

impl Tally {
    fn new() -> Result<Tally, SystemError> {
        let latency = Histogram::new_with_bounds(1_000, 24 * 3_600 * 1_000_000_000, 3)
            .map_err(|error| SystemError::new("cannot make a histogram".to_owned()).caused_by(error))?;
        Ok(Tally {
            wall: Duration::ZERO,
            count: 0,
            latency,
            counters: BTreeMap::new(),
            peak_bytes: 0.0,
            failures: BTreeMap::new(),
        })
    }

    fn add(&mut self, done: &Execution) {
        self.wall += done.wall;
        self.count += 1;
        self.latency.saturating_record(u64::try_from(done.wall.as_nanos()).unwrap_or(u64::MAX));
        if !done.status.success() {
            *self.failures.entry(format!("ended with {} (timed all the same)", done.status)).or_default() +=
                1;
        }
        let used = &done.used;
        let (user, system) = (used.user.as_secs_f64() * 1e6, used.system.as_secs_f64() * 1e6);
        #[expect(clippy::cast_precision_loss, reason = "counters far below 2^52")]
        for (key, value) in [
            ("command.cpu_us", user + system),
            ("command.cpu_user_us", user),
            ("command.cpu_system_us", system),
            ("command.minor_faults", used.minor_faults as f64),
            ("command.major_faults", used.major_faults as f64),
            ("command.voluntary_switches", used.voluntary_switches as f64),
            ("command.involuntary_switches", used.involuntary_switches as f64),
        ] {
            *self.counters.entry(key.to_owned()).or_default() += value;
        }
        #[expect(clippy::cast_precision_loss, reason = "memory sizes are far below 2^52")]
        let peak = used.peak_memory_bytes as f64;
        self.peak_bytes = self.peak_bytes.max(peak);
    }

    fn fill(self, trial: &mut Trial, elapsed: Duration) -> Result<(), SystemError> {
        let window = Window { seconds: self.wall.as_secs_f64(), ops: self.count, counters: self.counters };
        trial.whole = Window { seconds: elapsed.as_secs_f64(), ..window.clone() };
        trial.measured = window;
        trial.errors = self.failures;
        trial.gauges.insert("command.peak_memory_bytes".to_owned(), self.peak_bytes);
        if let Some(floor) = own_peak_bytes() {
            trial.gauges.insert("command.peak_memory_floor_bytes".to_owned(), floor);
        }
        let text = histogram::encode(&self.latency)
            .map_err(|error| SystemError::new("cannot store latencies".to_owned()).caused_by(error))?;
        trial.latency = Some(text);
        Ok(())
    }
}

/// Our own peak memory. Between fork and exec a child is our image, and the kernel counts that towards the
/// child's peak: nothing below it can be told apart.
fn own_peak_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|kib| kib * 1024.0)
}
