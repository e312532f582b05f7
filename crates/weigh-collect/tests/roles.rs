//! Processes for the tests to watch: this test binary, started again in a role.
//!
//! A role tells its parent on stderr when it has done a step, with what it knows of its own use, and
//! waits on stdin before the next one. [`Actor`] is the parent's end of it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

const ROLE: &str = "COLLECT_TEST_ROLE";

/// Does nothing, unless this process was started by [`Actor::start`].
#[test]
fn play() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = role.split(' ').collect();
    match words.as_slice() {
        ["burn", ms] => steps(|| burn(cpu_time() + ms_of(ms))),
        ["burn-for-ever"] => {
            tell();
            burn(Duration::MAX);
        }
        ["burn-and-exit", ms] => burn(cpu_time() + ms_of(ms)),
        ["threads", count, ms] => steps(|| threads(count.parse().unwrap(), ms_of(ms))),
        ["write", path, mib] => steps(|| write(path, mib.parse().unwrap())),
        ["child", ms] => steps(|| assert!(actor(&format!("burn-and-exit {ms}")).status().unwrap().success())),
        ["churn", rounds] => steps(|| churn(rounds.parse().unwrap())),
        ["orphan", ms] => steps(|| drop(actor(&format!("burn-and-exit {ms}")).spawn().unwrap())),
        _ => panic!("no role `{role}`"),
    }
}

fn ms_of(word: &str) -> Duration {
    Duration::from_millis(word.parse().unwrap())
}

/// Ready; the step, when asked for; done; then the end, when asked for.
fn steps(mut step: impl FnMut()) {
    tell();
    listen();
    step();
    tell();
    listen();
}

/// Tells how much CPU time, in ns, this process and its collected children have used.
fn tell() {
    let mut own_and_children = cpu_time();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    for time in [usage.user_time(), usage.system_time()] {
        own_and_children += Duration::from_secs(u64::try_from(time.tv_sec()).unwrap())
            + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap());
    }
    let minor_faults = getrusage(UsageWho::RUSAGE_SELF).unwrap().minor_page_faults()
        + getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().minor_page_faults();
    // One write, whoever else writes to the same pipe.
    let line = format!("{} {minor_faults}\n", own_and_children.as_nanos());
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

fn listen() {
    let mut byte = [0];
    // The end of stdin is an order, too.
    let _read = std::io::stdin().read(&mut byte).unwrap();
}

fn cpu_time() -> Duration {
    Duration::from(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap())
}

fn thread_cpu_time() -> Duration {
    Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap())
}

fn burn(until: Duration) {
    let mut value = 1u64;
    while cpu_time() < until {
        for _ in 0..10_000 {
            value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
}

fn threads(count: u32, each: Duration) {
    let work = move || {
        let until = thread_cpu_time() + each;
        while thread_cpu_time() < until {
            std::hint::black_box((0..10_000u64).fold(1, |sum: u64, term| sum.wrapping_mul(31) ^ term));
        }
    };
    let all: Vec<_> = (0..count).map(|_| thread::spawn(work)).collect();
    for one in all {
        one.join().unwrap();
    }
}

fn write(path: &str, mib: usize) {
    let mut file = File::create(path).unwrap();
    for _ in 0..mib {
        file.write_all(&[7; 1 << 20]).unwrap();
    }
    file.sync_all().unwrap();
}

/// Many short children, three at a time, each collected.
fn churn(rounds: u32) {
    for round in 0..rounds {
        let children: Vec<Child> = (0..3)
            .map(|number| actor(&format!("burn-and-exit {}", (round * 3 + number) % 17)).spawn().unwrap())
            .collect();
        for mut child in children {
            child.wait().unwrap();
        }
    }
}

/// This test binary in a role. On the test's own thread, so that it has no more than it makes.
fn actor(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "roles::play", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// A process in a role, from its parent's side. Killed with all its descendants when dropped.
pub(crate) struct Actor {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stderr: BufReader<std::process::ChildStderr>,
}

/// What a role said about itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    pub(crate) cpu_ns: u64,
    pub(crate) minor_faults: u64,
}

impl Actor {
    pub(crate) fn start(role: &str) -> Actor {
        Actor::spawn(&mut actor(role))
    }

    pub(crate) fn spawn(command: &mut Command) -> Actor {
        let mut child =
            command.stdin(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
        let stdin = child.stdin.take();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Actor { child, stdin, stderr }
    }

    /// The same role, wrapped in a shell line in which `$ROLE` stands for it.
    pub(crate) fn in_shell(line: &str, role: &str) -> Actor {
        let exe = std::env::current_exe().unwrap();
        let exe = exe.to_str().unwrap();
        let role_command =
            format!("{ROLE}='{role}' '{exe}' --exact roles::play --nocapture --test-threads=1 >/dev/null");
        Actor::spawn(Command::new("sh").arg("-c").arg(line.replace("$ROLE", &role_command)))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has done a step.
    pub(crate) fn hear(&mut self) -> Said {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        let mut numbers =
            line.split_whitespace().map(|word| word.parse().unwrap_or_else(|_| panic!("{line}")));
        let mut number = || numbers.next().unwrap_or_else(|| panic!("said `{line}`"));
        Said { cpu_ns: number(), minor_faults: number() }
    }

    /// Tells it to do the next step.
    pub(crate) fn go(&mut self) {
        self.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.pid()).unwrap()), signal).unwrap();
    }

    /// Lets it go on to its end, and collects it.
    pub(crate) fn finish(&mut self) {
        self.stdin = None;
        self.child.wait().unwrap();
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        let group = Pid::from_raw(-i32::try_from(self.pid()).unwrap());
        // Nobody left in the group is what is wanted.
        let _gone = kill(group, Signal::SIGKILL);
        let _collected = self.child.wait();
    }
}

/// Waits until something holds, for at most ten seconds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}: not after ten seconds");
        thread::sleep(Duration::from_millis(2));
    }
}
