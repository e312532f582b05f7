//! Trees of real processes: what they use is seen, exactly and once, whoever exits.

use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use weigh_collect::host::DiskSample;
use weigh_collect::{BlockDevice, CollectError, Counters, ProcessTree, TreeSample};

use crate::roles::{Actor, until};

const TICK_US: f64 = 10_000.0;

fn cpu_us(counters: &Counters) -> f64 {
    counters["server.cpu_us"]
}

#[track_caller]
fn close(what: &str, seen: f64, truth: f64, share: f64, slack: f64) {
    assert!((seen - truth).abs() <= truth * share + slack, "{what}: saw {seen}, truth {truth}");
}

/// Runs a role's one step between two samples. Gives the difference, and the CPU time and faults the role
/// says it had.
fn over_step(actor: &mut Actor, tree: &mut ProcessTree) -> (Counters, f64, f64) {
    let began = actor.hear();
    let before = tree.sample().unwrap();
    actor.go();
    let ended = actor.hear();
    let after = tree.sample().unwrap();
    let cpu_us = (ended.cpu_ns - began.cpu_ns) as f64 / 1e3;
    (after.delta(&before), cpu_us, (ended.minor_faults - began.minor_faults) as f64)
}

#[test]
fn cpu_of_a_burning_process() {
    let mut actor = Actor::start("burn 300");
    let mut tree = ProcessTree::of(&[actor.pid()]);
    let (used, truth_us, _) = over_step(&mut actor, &mut tree);
    assert!(truth_us >= 300_000.0);
    close("scheduler's time", cpu_us(&used), truth_us, 0.05, 0.0);
    let ticks_us = used["server.cpu_user_us"] + used["server.cpu_system_us"];
    close("clock ticks", ticks_us, truth_us, 0.0, 2.0 * TICK_US);
    assert!(used["server.cpu_user_us"] > used["server.cpu_system_us"]);
}

#[test]
fn cpu_of_threads_that_have_ended() {
    let mut actor = Actor::start("threads 3 100");
    let mut tree = ProcessTree::of(&[actor.pid()]);
    let (used, truth_us, _) = over_step(&mut actor, &mut tree);
    assert!(truth_us >= 300_000.0);
    // Nobody sampled while they lived: only the ticks of the whole process are left of them.
    close("ended threads", cpu_us(&used), truth_us, 0.0, 3.0 * TICK_US);
}

#[test]
fn threads_are_counted_one_by_one_while_they_live_and_after() {
    let mut actor = Actor::start("threads 3 150");
    let mut tree = ProcessTree::of(&[actor.pid()]);
    let began = actor.hear();
    let before = tree.sample().unwrap();
    actor.go();
    until("four threads", || tree.sample().unwrap().processes[0].threads() >= 4);
    let mut last = before.total.cpu_ns;
    let ended = loop {
        let now = tree.sample().unwrap();
        assert!(now.total.cpu_ns >= last, "went backwards");
        last = now.total.cpu_ns;
        if now.processes[0].threads() == before.processes[0].threads() {
            break actor.hear();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let used = tree.sample().unwrap().delta(&before);
    close("three threads", cpu_us(&used), (ended.cpu_ns - began.cpu_ns) as f64 / 1e3, 0.05, 0.0);
}

#[test]
fn a_child_that_was_never_seen_is_in_its_parent() {
    let mut actor = Actor::start("child 120");
    let mut tree = ProcessTree::of(&[actor.pid()]);
    let (used, truth_us, faults) = over_step(&mut actor, &mut tree);
    assert!(truth_us >= 120_000.0);
    close("inherited time", cpu_us(&used), truth_us, 0.0, 3.0 * TICK_US);
    close("inherited faults", used["server.minor_faults"], faults, 0.02, 20.0);
}

#[test]
fn the_sum_never_goes_back_and_counts_nobody_twice() {
    let mut actor = Actor::start("churn 40");
    let mut tree = ProcessTree::of(&[actor.pid()]);
    let began = actor.hear();
    let before = tree.sample().unwrap();
    actor.go();
    let (mut last, mut seen_max) = (before.counters(), 0);
    // Sampled at irregular moments of the children's lives, as fast as that goes.
    let start = Instant::now();
    let mut samples = 0;
    let done = std::thread::scope(|scope| {
        let ended = scope.spawn(|| actor.hear());
        while !ended.is_finished() {
            let now = tree.sample().unwrap();
            seen_max = seen_max.max(now.processes.len());
            let counters = now.counters();
            for (key, value) in &counters {
                assert!(*value >= last[key], "`{key}` went from {} to {value}", last[key]);
            }
            assert_eq!(counters.len(), last.len(), "a key came or went");
            last = counters;
            samples += 1;
        }
        ended.join().unwrap()
    });
    assert!(seen_max >= 3 && samples > 50, "{seen_max} processes in {samples} samples");
    assert!(start.elapsed() < Duration::from_secs(60));
    let used = tree.sample().unwrap().delta(&before);
    let truth_us = (done.cpu_ns - began.cpu_ns) as f64 / 1e3;
    close("time of 120 children", cpu_us(&used), truth_us, 0.02, 2.0 * TICK_US);
    let faults = (done.minor_faults - began.minor_faults) as f64;
    close("faults of 120 children", used["server.minor_faults"], faults, 0.01, 50.0);
}

#[test]
fn children_their_parent_ignores_are_kept() {
    // With SIGCHLD ignored the kernel hands nothing on: what was seen of the child must not be lost.
    let mut actor = Actor::in_shell("trap '' CHLD; $ROLE & read line; read line", "burn 150");
    let mut tree = ProcessTree::of(&[actor.pid()]);
    actor.hear();
    let before = tree.sample().unwrap();
    let child = before.processes.iter().find(|process| process.id.pid != actor.pid()).unwrap().id;
    // Its stdin is /dev/null, being in the background: it goes on, and exits, by itself.
    actor.hear();
    let mut last = before.clone();
    until("the child is gone", || {
        let now = tree.sample().unwrap();
        assert!(now.total.cpu_ns >= last.total.cpu_ns);
        last = now;
        last.processes.iter().all(|process| process.id != child)
    });
    assert!(last.total.cpu_ns >= 100_000_000, "{} ns of 150 ms are left", last.total.cpu_ns);
    assert!(last.total.minor_faults > 50);
}

#[test]
fn a_process_whose_parent_has_exited_stays_a_member() {
    let mut actor = Actor::start("orphan 300");
    let mut tree = ProcessTree::of(&[actor.pid()]);
    actor.hear();
    drop(tree.sample().unwrap());
    actor.go();
    actor.hear();
    let both = tree.sample().unwrap();
    assert_eq!(both.processes.len(), 2);
    actor.finish();
    let orphan = tree.sample().unwrap();
    assert_eq!(orphan.processes.len(), 1);
    assert_ne!(orphan.processes[0].id.pid, actor.pid());
    let mut last = orphan;
    until("the orphan is gone", || {
        let now = tree.sample().unwrap();
        assert!(now.total.cpu_ns >= last.total.cpu_ns);
        last = now;
        last.processes.is_empty()
    });
    // What it used after the last sample that saw it is lost, a few milliseconds.
    assert!(last.total.cpu_ns >= 250_000_000, "{} ns of 300 ms", last.total.cpu_ns);
    assert_eq!(last.gauges()["server.processes"], 0.0);
    assert_eq!(tree.sample().unwrap().total, last.total, "an empty tree keeps its sum");
}

#[test]
fn a_stopped_process_uses_nothing() {
    let mut actor = Actor::start("burn-for-ever");
    let mut tree = ProcessTree::of(&[actor.pid()]);
    actor.hear();
    let running = tree.sample().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let more = tree.sample().unwrap();
    assert!(more.total.cpu_ns > running.total.cpu_ns, "it burns");

    actor.signal(Signal::SIGSTOP);
    let stopped = |sample: &TreeSample| sample.processes.iter().all(|process| process.state == 'T');
    until("it is stopped", || stopped(&tree.sample().unwrap()));
    // It is called stopped a few microseconds before it leaves its CPU.
    std::thread::sleep(Duration::from_millis(20));
    let before = tree.sample().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let after = tree.sample().unwrap();
    let used = after.delta(&before);
    assert_eq!(cpu_us(&used), 0.0, "not a nanosecond");
    assert_eq!(used["server.wait_us"], 0.0, "and does not wait for a CPU");
    assert_eq!(used["server.minor_faults"], 0.0);

    actor.signal(Signal::SIGCONT);
    until("it burns again", || tree.sample().unwrap().total.cpu_ns > after.total.cpu_ns + 10_000_000);
}

#[test]
fn two_processes_on_one_cpu_wait_for_each_other() {
    let pinned = |role| {
        let exe = std::env::current_exe().unwrap();
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(exe);
        command.args(["--exact", "roles::play", "--nocapture", "--test-threads=1"]);
        command.env("COLLECT_TEST_ROLE", role).stdout(std::process::Stdio::null());
        Actor::spawn(&mut command)
    };
    let (mut one, mut two) = (pinned("burn-for-ever"), pinned("burn-for-ever"));
    one.hear();
    two.hear();
    let mut tree = ProcessTree::of(&[one.pid(), two.pid()]);
    let before = tree.sample().unwrap();
    std::thread::sleep(Duration::from_millis(400));
    let after = tree.sample().unwrap();
    // One of the two waits at any moment, whatever else the host does; figures lag by a time slice each.
    let share = after.wait_share(&before).unwrap();
    assert!(share > 0.8, "waited {share} of the window");
    assert!(after.delta(&before)["server.involuntary_switches"] >= 2.0);
}

#[test]
fn bytes_written_and_synced() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("file");
    let mut actor = Actor::start(&format!("write {} 8", path.display()));
    let mut tree = ProcessTree::of(&[actor.pid()]);
    let device = BlockDevice::below(directory.path()).unwrap();
    let disk = |device: &BlockDevice| DiskSample::read(device).unwrap().counters();
    let before = device.as_ref().map(disk);
    let (used, ..) = over_step(&mut actor, &mut tree);
    let eight_mib = f64::from(8 << 20);
    close("bytes passed to write", used["server.write_chars_bytes"], eight_mib, 0.01, 0.0);
    assert!(used["server.write_calls"] >= 8.0 && used["server.write_calls"] < 40.0);
    let Some((device, before)) = device.as_ref().zip(before) else {
        eprintln!("skipped: no block device below `{}`", directory.path().display());
        return;
    };
    close("page cache made dirty", used["server.dirtied_bytes"], eight_mib, 0.05, 0.0);
    let written = weigh_collect::delta(&before, &disk(device));
    assert!(written["disk.write_bytes"] >= eight_mib, "{written:?}");
    assert!(written["disk.writes"] >= 1.0 && written["disk.io_us"] >= 0.0);
}

#[test]
fn memory_is_a_gauge() {
    let mut actor = Actor::start("burn-for-ever");
    actor.hear();
    let mut tree = ProcessTree::of(&[actor.pid()]).with_pss(true);
    let gauges = tree.sample().unwrap().gauges();
    assert!(gauges["server.rss_bytes"] > 1e6);
    assert!(
        gauges["server.pss_bytes"] > 1e5 && gauges["server.pss_bytes"] <= gauges["server.rss_bytes"] * 1.2
    );
    let without = ProcessTree::of(&[actor.pid()]).sample().unwrap().gauges();
    assert!(!without.contains_key("server.pss_bytes"));
}

#[test]
fn a_root_that_never_was() {
    let mut actor = Actor::start("burn 0");
    actor.hear();
    let pid = actor.pid();
    actor.go();
    actor.finish();
    let error = ProcessTree::of(&[pid]).sample().unwrap_err();
    assert!(matches!(error, CollectError::NoProcess { pid: missing } if missing == pid));
    assert_eq!(error.to_string(), format!("no process `{pid}`"));
}

#[test]
fn thirty_processes_cost_less_than_three_milliseconds() {
    let mut shell = Command::new("sh");
    let actor =
        Actor::spawn(shell.args(["-c", "i=0; while [ $i -lt 29 ]; do sleep 600 & i=$((i+1)); done; wait"]));
    let mut tree = ProcessTree::of(&[actor.pid()]);
    until("thirty processes", || tree.sample().unwrap().processes.len() == 30);
    let time = || {
        let start = Instant::now();
        tree.sample().unwrap();
        start.elapsed()
    };
    // The shortest of many: the host is not ours alone.
    let shortest = std::iter::repeat_with(time).take(50).min().unwrap();
    assert!(shortest < Duration::from_millis(3), "{shortest:?}");
}
