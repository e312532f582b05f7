//! The whole tool against real servers: interruptions, kills, resumption, and the shipped experiments that show how trials
//! are run; the others are in `shipped.rs`.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::home::Home;

/// A home whose work directory a server's unprivileged user can reach.
pub fn home() -> Home {
    let home = Home::new();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    home
}

/// Runs an experiment with a budget of a few seconds, to its end.
fn tiny(home: &Home, experiment: &str, more: &[&str]) -> Value {
    let mut args = vec!["run", experiment, "--json", "--quiet", "--seed", "7"];
    args.extend(["--budget", "6s", "--trial", "150ms", "--settle", "50ms"]);
    args.extend(more);
    let done = home.run(&args);
    assert!([0, 4].contains(&done.code), "exit {}: {}{}", done.code, done.err, done.out);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert_clean(home);
    report
}

/// Nothing runs below the home any more, and its work root is empty.
pub fn assert_clean(home: &Home) {
    assert_eq!(running_below(home.path()), BTreeSet::new(), "processes survived");
    let left = left_in_work_root(home);
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Directories in the work roots (one root per user) of the home.
fn left_in_work_root(home: &Home) -> Vec<PathBuf> {
    let roots = entries(&home.path().join("work"));
    roots.iter().flat_map(|root| entries(root)).filter(|path| path.is_dir()).collect()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Processes whose working directory is below `dir`: a PostgreSQL runs in its data directory.
fn running_below(dir: &Path) -> BTreeSet<u32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir.join("work")))
        })
        .collect()
}

fn wait_until(what: &str, limit: Duration, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < limit, "{what} did not happen within {limit:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn variant<'a>(report: &'a Value, name: &str) -> &'a Value {
    let variants = report["variants"].as_array().unwrap();
    variants
        .iter()
        .find(|variant| variant["name"] == name)
        .unwrap_or_else(|| panic!("no `{name}`: {variants:?}"))
}

fn cost(report: &Value, name: &str, counter: &str) -> f64 {
    let costs = variant(report, name)["costs"].as_array().unwrap();
    let found = costs.iter().find(|cost| cost["counter"] == counter);
    found.unwrap_or_else(|| panic!("no `{counter}` in {costs:?}"))["per_op"].as_f64().unwrap()
}

#[test]
fn postgres_durability_shows_the_syncs_that_explain_it() {
    let home = home();
    let report = tiny(&home, "postgres/durability", &[]);
    assert!(cost(&report, "on", "postgres.wal_syncs") > 0.1);
    assert!(cost(&report, "off", "postgres.wal_syncs") < 0.5 * cost(&report, "on", "postgres.wal_syncs"));
    assert!(variant(&report, "on")["debt_s"].as_f64().is_some());
    assert!(report["instances"][0]["version"].as_str().unwrap().starts_with(char::is_numeric));
    assert!(report["rounds"].as_u64().unwrap() >= 5);
}

#[test]
fn postgres_open_loop_is_judged_by_response_times_at_its_rate() {
    let home = home();
    let report = tiny(&home, "postgres/open-loop", &["--budget", "20s", "--trial", "500ms"]);
    assert_eq!(report["plan"]["judge"]["decide"][0], "latency_p50");
    let p50 = |name: &str| variant(&report, name)["medians"]["latency_p50"].as_f64().unwrap();
    assert!(p50("off") < p50("on"), "not waiting for the disk is felt: {} against {}", p50("off"), p50("on"));
    let run = home.store().load("last").unwrap();
    for trial in &run.trials {
        let schedule = trial.schedule.as_ref().unwrap();
        // Poisson arrivals, 500 a second: six standard deviations.
        let expected = 500.0 * trial.measured.seconds;
        assert!((schedule.due as f64 - expected).abs() < 6.0 * expected.sqrt(), "{schedule:?}");
        assert_eq!(schedule.never_sent, 0);
        assert!(trial.service.is_some());
    }
}

#[test]
fn sqlite_durability_needs_nothing_installed() {
    let home = home();
    let report = tiny(&home, "sqlite/durability", &[]);
    assert_eq!(report["variants"].as_array().unwrap().len(), 6);
    let full = variant(&report, "WAL/FULL")["medians"]["throughput"].as_f64().unwrap();
    let off = variant(&report, "WAL/OFF")["medians"]["throughput"].as_f64().unwrap();
    assert!(off > full, "not waiting for the disk is faster: {off} against {full}");
}

#[test]
fn commands_compress_runs() {
    let home = home();
    let report = tiny(&home, "commands/compress", &[]);
    assert_eq!(report["plan"]["system"], "commands");
    assert!(variant(&report, "gzip -1")["gauges"]["command.peak_memory_bytes"].as_f64().unwrap() > 1e5);
}

/// Restart-level settings: an instance per slot, restarted in epochs, frozen while another is under load.
#[test]
fn a_frozen_variant_uses_no_cpu_during_somebody_elses_trial() {
    let home = home();
    let experiment = r#"
        question = "What does a larger buffer cost?"
        system = "postgres"
        settings.synchronous_commit = "off"
        factors."settings.shared_buffers" = ["16MB", "64MB"]
        [workload]
        setup = "CREATE TABLE t (v int)"
        operations = [{ name = "insert", sql = "INSERT INTO t VALUES (1)" }]
    "#;
    std::fs::write(home.path().join("buffers.toml"), experiment).unwrap();
    let report = tiny(&home, "buffers.toml", &[]);
    assert_eq!(report["sequences"][0]["replication"], "epoch");
    let run = home.store().load("last").unwrap();
    assert!(run.trials.len() >= 15, "{} trials", run.trials.len());
    for trial in &run.trials {
        let used_s = trial.interference.frozen_cpu_s;
        assert!(used_s < 0.001, "frozen instances used {used_s} s during {:?}", trial.slot);
        assert!(trial.whole.counters["server.cpu_us"] > 1_000.0, "the one under load did work");
    }
}

#[test]
fn flags_alone_make_an_experiment() {
    let home = home();
    std::fs::write(home.path().join("insert.sql"), "INSERT INTO t (v) VALUES (1);").unwrap();
    std::fs::write(home.path().join("setup.sql"), "CREATE TABLE t (v int);").unwrap();
    let done = home.run(&[
        "run",
        "--system",
        "postgres",
        "--set",
        "synchronous_commit=on,off,local",
        "--sql",
        "insert.sql",
        "--setup-sql",
        "setup.sql",
        "--clients",
        "4",
        "--budget",
        "6s",
        "--trial",
        "150ms",
        "--json",
        "--quiet",
    ]);
    assert!([0, 4].contains(&done.code), "{}", done.err);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    let names: Vec<&str> = report["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| variant["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["on", "off", "local"]);
    assert_clean(&home);
}

/// A run in the background that has recorded some rounds.
struct Background {
    home: Home,
    child: Child,
}

impl Background {
    fn start(experiment: &str) -> Background {
        let home = home();
        let mut command = home.weigh(&[
            "run", experiment, "--quiet", "--budget", "60s", "--trial", "200ms", "--settle", "50ms",
            "--seed", "3",
        ]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let background = Background { home, child };
        wait_until("the first rounds", Duration::from_secs(60), || background.rounds() >= 4);
        background
    }

    fn rounds(&self) -> usize {
        self.home.store().load("last").map_or(0, |run| run.rounds.len())
    }

    fn signal(&self, name: &str) {
        let status =
            Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    fn ended(&mut self) -> std::process::ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "weigh did not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn ctrl_c_and_sigterm_leave_a_clean_host_and_a_run_that_can_be_resumed() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut background = Background::start("postgres/durability");
        assert!(!running_below(background.home.path()).is_empty(), "a server is up");
        background.signal(signal);
        assert_eq!(background.ended().code(), Some(code));
        assert_clean(&background.home);
        let run = background.home.store().load("last").unwrap();
        assert!(run.rounds.len() >= 4 && run.finish.is_some());
    }
}

#[test]
fn after_kill_9_no_server_survives_and_resume_finishes_the_same_plan() {
    let mut background = Background::start("postgres/durability");
    let servers = running_below(background.home.path());
    assert!(!servers.is_empty(), "a server is up");
    background.signal("KILL");
    background.ended();
    wait_until("the end of every server", Duration::from_secs(20), || {
        running_below(background.home.path()).is_empty()
    });
    wait_until("the removal of the work directory", Duration::from_secs(20), || {
        left_in_work_root(&background.home).is_empty()
    });
    let before = background.home.store().load("last").unwrap();
    assert!(before.finish.is_none() && before.rounds.len() >= 4, "readable to the last finished round");

    let done = background.home.run(&["resume", "last", "--quiet", "--json"]);
    assert!([0, 4].contains(&done.code), "{}", done.err);
    let after = background.home.store().load("last").unwrap();
    assert_eq!(after.header, before.header, "the same plan and seed");
    assert_eq!(after.trials[..before.trials.len()], before.trials[..], "nothing measured is lost");
    assert!(after.rounds.len() > before.rounds.len() && after.finish.is_some());
    assert_clean(&background.home);
}

#[test]
fn after_kill_9_of_weigh_and_its_guard_the_next_run_clears_what_is_left() {
    let mut background = Background::start("postgres/durability");
    let guard = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .find(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            line.contains("__guard") && line.contains(&*background.home.path().to_string_lossy())
        })
        .expect("a guard is running");
    Command::new("kill").args(["-KILL", &guard.to_string()]).status().unwrap();
    background.signal("KILL");
    background.ended();
    let report = tiny(&background.home, "sqlite/durability", &[]);
    assert_eq!(report["plan"]["system"], "sqlite");
    assert_clean(&background.home);
}

#[test]
fn a_command_that_fails_ends_the_run_and_says_why() {
    let home = home();
    let done =
        home.run(&["commands", "true", "sh -c 'echo broken >&2; exit 3'", "--quiet", "--budget", "5s"]);
    assert_eq!(done.code, 1, "{}", done.out);
    assert!(done.err.contains("broken") && done.err.contains("exit status: 3"), "{}", done.err);
    assert!(done.err.contains("--ignore-failure"), "{}", done.err);
    let ignored = home.run(&[
        "commands",
        "true",
        "sh -c 'exit 3'",
        "--ignore-failure",
        "--quiet",
        "--budget",
        "3s",
        "--json",
    ]);
    assert!([0, 4].contains(&ignored.code), "{}", ignored.err);
}

#[test]
fn commands_run_their_setup_prepare_conclude_and_cleanup() {
    let home = home();
    let done = home.run(&[
        "commands",
        "cat f",
        "cat g",
        "--setup",
        "echo setup >>log; echo f >f; echo g >g",
        "--prepare",
        "echo prepare >>log",
        "--conclude",
        "echo conclude >>log",
        "--cleanup",
        "echo cleanup >>log",
        "--quiet",
        "--budget",
        "3s",
        "--json",
    ]);
    assert!([0, 4].contains(&done.code), "{}", done.err);
    let log = std::fs::read_to_string(home.path().join("log")).unwrap();
    let count = |word: &str| log.lines().filter(|line| *line == word).count();
    assert_eq!((count("setup"), count("cleanup")), (1, 1), "once each");
    assert!(log.starts_with("setup") && log.ends_with("cleanup\n"));
    assert!(count("prepare") >= 15 && count("prepare") == count("conclude"), "{} prepares", count("prepare"));
}

#[test]
fn a_clearly_slower_command_is_found_slower_and_a_twin_is_not() {
    let home = home();
    let spin = |n: u32| format!("i=0; while [ $i -lt {n} ]; do i=$((i+1)); done");
    let done = home.run(&[
        "commands",
        &spin(20_000),
        &spin(40_000),
        "--budget",
        "12s",
        "--trial",
        "50ms",
        "--json",
        "--quiet",
    ]);
    assert!([0, 4].contains(&done.code), "{}", done.err);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    let ratio = report["comparisons"][0]["ratio"]["estimate"].as_f64().unwrap();
    assert!((1.3..2.6).contains(&ratio), "{ratio}");
}

#[test]
fn a_server_of_the_users_own_is_not_written_to_without_permission() {
    let home = home();
    std::fs::write(home.path().join("w.sql"), "INSERT INTO t VALUES (1);").unwrap();
    let done = home.run(&[
        "run",
        "--system",
        "postgres",
        "--url",
        "postgres://nobody@127.0.0.1:1/x",
        "--set",
        "synchronous_commit=on,off",
        "--sql",
        "w.sql",
        "--setup",
        "CREATE TABLE t (v int)",
        "--budget",
        "3s",
        "--quiet",
    ]);
    assert!([1, 2].contains(&done.code), "{}{}", done.out, done.err);
    assert!(done.err.contains("allow_writes") || done.err.contains("--allow-writes"), "{}", done.err);
}

#[test]
fn a_port_nobody_listens_on_is_one_clear_error() {
    let home = home();
    std::fs::write(home.path().join("r.sql"), "SELECT 1;").unwrap();
    let done = home.run(&[
        "run",
        "--system",
        "postgres",
        "--url",
        "postgres://nobody@127.0.0.1:1/x",
        "--set",
        "work_mem=4MB,8MB",
        "--sql",
        "r.sql",
        "--budget",
        "3s",
        "--quiet",
    ]);
    assert!([1, 3].contains(&done.code), "{}{}", done.out, done.err);
    assert!(done.err.contains("127.0.0.1") && !done.err.contains("panicked"), "{}", done.err);
}
