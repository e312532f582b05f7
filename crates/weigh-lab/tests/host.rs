//! Changes to the host and their undo, with real processes, real kills and real control groups.
//!
//! A killed owner is this test binary started once more with a role in its environment ([`acts_a_role`]);
//! the guard program is a script that does the same.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weigh_lab::host::{
    Cancel, FreezeMethod, Freezer, HostChanges, ServerCommand, ServerProcess, User, WorkRoot, cpu_seconds,
    guard_main, start_ticks, sweep_in, unprivileged_user,
};

/// What a test works in: a state directory, a work root, a guard program.
struct Stage {
    dir: tempfile::TempDir,
}

impl Stage {
    fn new() -> Stage {
        // Below /var/tmp, which every user may enter.
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let script = dir.path().join("guard");
        let this = std::env::current_exe().unwrap();
        let text = format!(
            "#!/bin/sh\nexport WEIGH_TEST_ROLE=guard WEIGH_TEST_DIR=\"$2\"\n\
             exec '{}' --exact host::acts_a_role --test-threads 1\n",
            this.display()
        );
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        Stage { dir }
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn root(&self) -> WorkRoot {
        WorkRoot::open(&self.dir.path().join("work")).unwrap()
    }

    fn open(&self, run_id: &str) -> Arc<HostChanges> {
        HostChanges::open_in(&self.state(), run_id, self.root(), None).unwrap()
    }

    /// Starts this binary once more in a role; gives it and what it wrote to `told`.
    fn play(&self, role: &str) -> (Child, String) {
        let told = self.dir.path().join("told");
        fs::remove_file(&told).ok();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "host::acts_a_role", "--test-threads", "1"])
            .env("WEIGH_TEST_ROLE", role)
            .env("WEIGH_TEST_DIR", self.dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("the other process to be ready", || told.exists());
        (child, fs::read_to_string(&told).unwrap())
    }

    fn live(&self, run_id: &str) -> PathBuf {
        self.state().join("live").join(run_id)
    }
}

#[track_caller]
fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(30), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A server of a shell that runs `script`; the children it starts do not die with it.
fn server(changes: &HostChanges, name: &str, script: &str, with_cgroup: bool) -> ServerProcess {
    let user = unprivileged_user().unwrap();
    let dir = changes.run_dir().unwrap().join(name);
    changes.make_dir(&dir, Some(&user.clone().unwrap_or_else(User::own))).unwrap();
    let cgroup = if with_cgroup { changes.make_cgroup(name).unwrap() } else { None };
    let command = ServerCommand {
        program: PathBuf::from("/bin/sh"),
        args: ["-c", script].map(Into::into).to_vec(),
        env: Vec::new(),
        log: dir.join("log"),
        dir,
        user,
        cgroup,
        polite_signal: None,
    };
    command.start(changes).unwrap()
}

/// A shell with two busy children.
const BUSY: &str = "(while :; do :; done) & (while :; do :; done) & wait";
/// A shell with two sleeping children.
const IDLE: &str = "(while :; do sleep 1000; done) & (while :; do sleep 1000; done) & wait";

fn has_cgroups() -> bool {
    let stage = Stage::new();
    let changes = stage.open("probe");
    changes.make_cgroup("x").unwrap().is_some()
}

/// Not a test of its own: what the other processes of these tests do.
#[test]
fn acts_a_role() {
    let Ok(role) = std::env::var("WEIGH_TEST_ROLE") else { return };
    let dir = PathBuf::from(std::env::var_os("WEIGH_TEST_DIR").unwrap());
    match role.as_str() {
        "guard" => guard_main(&dir).unwrap(),
        "owner" => own(&dir, true),
        "owner without a guard" => own(&dir, false),
        "sleeper" => {
            let cancel = Cancel::install().unwrap();
            fs::write(dir.join("told"), "ready").unwrap();
            assert!(cancel.sleep(Duration::from_secs(60)));
            fs::write(dir.join("woken"), format!("{:?}", cancel.signal())).unwrap();
            // Does not wind down: only a second signal ends it.
            std::thread::sleep(Duration::from_secs(60));
        }
        other => panic!("no role `{other}`"),
    }
}

/// Starts one server that runs and one that is frozen, tells their processes, and waits to be killed.
fn own(dir: &Path, guarded: bool) {
    let root = WorkRoot::open(&dir.join("work")).unwrap();
    let guard = guarded.then(|| dir.join("guard"));
    let changes = HostChanges::open_in(&dir.join("state"), "killed", root, guard).unwrap();
    let running = server(&changes, "i0", IDLE, true);
    let frozen = server(&changes, "i1", BUSY, true);
    let stopped = server(&changes, "i2", BUSY, false);
    wait_for("children", || [&running, &frozen, &stopped].iter().all(|server| server.members().len() >= 3));
    Freezer::new(&frozen).freeze().unwrap();
    Freezer::new(&stopped).freeze().unwrap();
    let mut pids: BTreeSet<i32> = running.members();
    pids.extend(frozen.members());
    pids.extend(stopped.members());
    let text: Vec<String> = pids.iter().map(ToString::to_string).collect();
    fs::write(dir.join("told.new"), text.join(" ")).unwrap();
    fs::rename(dir.join("told.new"), dir.join("told")).unwrap();
    std::thread::sleep(Duration::from_secs(120));
}

fn pids(told: &str) -> Vec<i32> {
    told.split(' ').map(|pid| pid.parse().unwrap()).collect()
}

fn end(mut child: Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
    child.wait().unwrap();
}

fn run_groups(run_id: &str) -> usize {
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        .iter()
        .filter_map(|dir| fs::read_dir(dir).ok())
        .flat_map(|entries| entries.flatten())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&format!("weigh-{run_id}-")))
        .count()
}

#[test]
fn no_process_survives_the_kill_of_its_owner_and_the_guard_clears_the_rest() {
    let stage = Stage::new();
    let (owner, told) = stage.play("owner");
    let pids = pids(&told);
    assert!(pids.len() >= 9 && pids.iter().all(|pid| start_ticks(*pid).is_some()));
    assert!(stage.root().path().join("killed/i1").exists());
    end(owner, Signal::SIGKILL);
    wait_for("the guard", || !stage.live("killed").exists());
    assert_eq!(pids.iter().filter(|pid| start_ticks(**pid).is_some()).count(), 0);
    assert!(!stage.root().path().join("killed").exists());
    assert_eq!(run_groups("killed"), 0);
    assert!(sweep_in(&stage.state()).is_empty(), "nothing is left for the next run");
}

#[test]
fn the_next_run_clears_what_is_left_when_owner_and_guard_are_killed() {
    let stage = Stage::new();
    let (owner, told) = stage.play("owner without a guard");
    let pids = pids(&told);
    end(owner, Signal::SIGKILL);
    let alive = || pids.iter().filter(|pid| start_ticks(**pid).is_some()).count();
    assert!(stage.root().path().join("killed/i1").exists());
    let cleared = sweep_in(&stage.state());
    assert_eq!(cleared.len(), 1);
    let cleared = cleared[0].as_ref().unwrap();
    assert_eq!((cleared.run_id.as_str(), cleared.instances), ("killed", 3));
    assert_eq!(cleared.directories.len(), 4);
    assert_eq!(alive(), 0);
    assert!(!stage.root().path().join("killed").exists() && !stage.live("killed").exists());
    assert!(sweep_in(&stage.state()).is_empty());
}

#[test]
fn a_living_run_is_left_alone() {
    let stage = Stage::new();
    let changes = stage.open("alive");
    let server = server(&changes, "i0", IDLE, true);
    assert!(sweep_in(&stage.state()).is_empty());
    assert!(start_ticks(server.pid()).is_some());
    assert!(stage.live("alive").exists());
}

#[test]
fn a_run_cannot_be_opened_twice_and_keeps_what_it_kept() {
    let stage = Stage::new();
    let first = stage.open("twice");
    let error = HostChanges::open_in(&stage.state(), "twice", stage.root(), None).unwrap_err();
    assert_eq!(error.to_string(), format!("run `twice` is under way in process {}", std::process::id()));
    let kept = first.run_dir().unwrap();
    first.keep_directories().unwrap();
    drop(first);
    let second = stage.open("twice");
    let dir = second.run_dir().unwrap();
    assert_ne!(dir, kept);
    assert_eq!(second.run_dir().unwrap(), dir);
    drop(second);
    assert!(kept.exists() && !dir.exists());
}

#[test]
fn what_was_there_before_is_not_undone() {
    let stage = Stage::new();
    let changes = stage.open("before");
    let dir = changes.run_dir().unwrap().join("theirs");
    fs::create_dir(&dir).unwrap();
    assert!(changes.make_dir(&dir, None).is_err());
    changes.keep_directories().unwrap();
    drop(changes);
    assert!(dir.exists());
    let outside = stage.dir.path().join("outside");
    let changes = stage.open("before");
    assert!(changes.make_dir(&outside, None).is_err() && !outside.exists());
}

#[test]
fn a_panic_undoes_everything() {
    let stage = Stage::new();
    let outcome = std::panic::catch_unwind(|| {
        let changes = stage.open("panicked");
        let server = server(&changes, "i0", IDLE, true);
        std::panic::panic_any(server.pid());
    });
    let pid = *outcome.unwrap_err().downcast::<i32>().unwrap();
    assert_eq!(start_ticks(pid), None);
    assert!(!stage.root().path().join("panicked").exists());
    assert!(!stage.live("panicked").exists());
}

#[test]
fn kept_directories_stay_and_processes_do_not() {
    let stage = Stage::new();
    let changes = stage.open("kept");
    let server = server(&changes, "i0", IDLE, true);
    changes.keep_directories().unwrap();
    changes.undo_all().unwrap();
    assert_eq!(start_ticks(server.pid()), None);
    assert!(stage.root().path().join("kept/i0/log").exists());
    assert!(!stage.live("kept").exists());
}

#[test]
fn a_frozen_instance_uses_no_cpu_and_a_thawed_one_does() {
    let methods = if has_cgroups() { vec![true, false] } else { vec![false] };
    for with_cgroup in methods {
        let stage = Stage::new();
        let changes = stage.open("frozen");
        let server = server(&changes, "i0", BUSY, with_cgroup);
        wait_for("children", || server.members().len() == 3);
        let mut freezer = Freezer::new(&server);
        let expected = if with_cgroup { FreezeMethod::Cgroup } else { FreezeMethod::Signals };
        assert_eq!(freezer.method(), expected);
        for _ in 0..3 {
            freezer.freeze().unwrap();
            let before = (freezer.cpu_seconds(), cpu_seconds(server.members()));
            std::thread::sleep(Duration::from_millis(150));
            assert_eq!((freezer.cpu_seconds(), cpu_seconds(server.members())), before, "{expected:?}");
            freezer.thaw().unwrap();
            wait_for("CPU time", || freezer.cpu_seconds() > before.0 + 0.005);
        }
    }
}

#[test]
fn a_frozen_instance_can_be_killed() {
    let stage = Stage::new();
    let changes = stage.open("killed-frozen");
    for (name, with_cgroup) in [("i0", true), ("i1", false)] {
        let server = server(&changes, name, BUSY, with_cgroup);
        wait_for("children", || server.members().len() == 3);
        let members = server.members();
        Freezer::new(&server).freeze().unwrap();
        let begin = Instant::now();
        changes.undo(server.undo_id()).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(5));
        assert!(members.iter().all(|pid| start_ticks(*pid).is_none()));
    }
}

#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let stage = Stage::new();
    let changes = stage.open("threads");
    let server =
        std::thread::scope(|scope| scope.spawn(|| server(&changes, "i0", IDLE, false)).join().unwrap());
    std::thread::sleep(Duration::from_millis(100));
    assert!(start_ticks(server.pid()).is_some());
}

#[test]
fn servers_are_unprivileged_in_a_session_of_their_own() {
    let stage = Stage::new();
    let changes = stage.open("user");
    let mut server = server(&changes, "i0", "echo started; cat /proc/self/status; exit 7", true);
    let status = server.wait(Duration::from_secs(10)).unwrap().unwrap();
    assert_eq!(status.code(), Some(7));
    let log = server.log_tail(1000);
    assert_eq!(log[0], "started");
    let uid = log.iter().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    let uids: BTreeSet<u32> = uid.split_whitespace().map(|uid| uid.parse().unwrap()).collect();
    let expected = unprivileged_user().unwrap().unwrap_or_else(User::own).uid;
    assert_eq!(uids, BTreeSet::from([expected]));
    let groups = log.iter().find_map(|line| line.strip_prefix("Groups:")).unwrap();
    if unprivileged_user().unwrap().is_some() {
        assert_eq!(groups.split_whitespace().count(), 1, "no group of root's is left");
    }
    let session = log.iter().find_map(|line| line.strip_prefix("NSsid:")).unwrap();
    assert_eq!(session.trim(), server.pid().to_string());
}

#[test]
fn one_signal_wakes_and_the_second_ends() {
    let stage = Stage::new();
    let (mut child, _) = stage.play("sleeper");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    let woken = stage.dir.path().join("woken");
    wait_for("the sleeper", || fs::read_to_string(&woken).is_ok_and(|text| text == "Some(15)"));
    assert!(child.try_wait().unwrap().is_none(), "the first signal does not end it");
    kill(pid, Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
