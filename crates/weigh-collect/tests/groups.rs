//! A real control group with a real process in it. Skipped, visibly, where we may not make one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weigh_collect::{CgroupFacts, CgroupSample, CollectError, ProcessTree};

use crate::roles::{Actor, until};

/// A group of this test's own, removed when dropped.
struct Group(PathBuf);

impl Group {
    fn below(parent: &Path, name: &str) -> Group {
        let directory = parent.join(format!("collect-test-{name}-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        Group(directory)
    }

    fn add(&self, pid: u32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        until("the group is empty", || fs::remove_dir(&self.0).is_ok());
    }
}

/// The hierarchies that count CPU time and that we may use: v2, and v1 with `cpuacct`.
fn writable() -> Vec<(&'static str, PathBuf)> {
    let facts = CgroupFacts::read().unwrap();
    let v2 = facts.v2.filter(|v2| v2.writable && v2.cpu_stat).map(|v2| ("v2", v2.own));
    let v1 = facts.v1.get("cpuacct").filter(|v1| v1.writable).map(|v1| ("v1", v1.own.clone()));
    let all: Vec<_> = v2.into_iter().chain(v1).collect();
    if all.is_empty() {
        eprintln!("skipped: no control group hierarchy we may write to");
    }
    all
}

#[test]
fn cpu_of_a_group() {
    for (name, parent) in writable() {
        let group = Group::below(&parent, &format!("cpu-{name}"));
        let mut actor = Actor::start("child 150");
        let began = actor.hear();
        group.add(actor.pid());
        let mut tree = ProcessTree::in_cgroup(&group.0);
        let before = tree.sample().unwrap();
        let group_before = CgroupSample::read(&group.0).unwrap().counters();
        assert_eq!(before.processes.len(), 1, "{name}");
        actor.go();
        let ended = actor.hear();
        let used = tree.sample().unwrap().delta(&before);
        let truth_us = (ended.cpu_ns - began.cpu_ns) as f64 / 1e3;
        // Exact although the child was never seen: the group counted it.
        let seen_us = used["server.cpu_us"];
        assert!((seen_us - truth_us).abs() < truth_us * 0.05, "{name}: saw {seen_us}, truth {truth_us}");
        let parts = used["server.cpu_user_us"] + used["server.cpu_system_us"];
        assert!((parts - truth_us).abs() < truth_us * 0.25 + 20_000.0, "{name}: {parts} of {truth_us}");
        let group_used =
            weigh_collect::delta(&group_before, &CgroupSample::read(&group.0).unwrap().counters());
        assert!((group_used["cgroup.cpu_us"] - truth_us).abs() < truth_us * 0.05, "{name}: {group_used:?}");
        drop(actor);
    }
}

#[test]
fn a_frozen_group_uses_nothing() {
    let Some((_, parent)) = writable().into_iter().find(|(name, _)| *name == "v2") else { return };
    let group = Group::below(&parent, "frozen");
    let mut actor = Actor::start("burn-for-ever");
    actor.hear();
    group.add(actor.pid());
    let mut tree = ProcessTree::in_cgroup(&group.0);
    fs::write(group.0.join("cgroup.freeze"), "1").unwrap();
    let frozen = || fs::read_to_string(group.0.join("cgroup.events")).unwrap().contains("frozen 1");
    until("the group is frozen", frozen);
    // It is called frozen a few microseconds before it leaves its CPU.
    std::thread::sleep(Duration::from_millis(20));
    let before = tree.sample().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let used = tree.sample().unwrap().delta(&before);
    assert_eq!(used["server.cpu_us"], 0.0);
    fs::write(group.0.join("cgroup.freeze"), "0").unwrap();
    drop(actor);
}

#[test]
fn a_process_moved_into_the_group_counts_from_then_on() {
    let Some((_, parent)) = writable().into_iter().find(|(name, _)| *name == "v2") else { return };
    let group = Group::below(&parent, "moved");
    let inner = Group::below(&group.0, "inner");
    let mut first = Actor::start("burn 0");
    first.hear();
    group.add(first.pid());
    let mut tree = ProcessTree::in_cgroup(&group.0);
    let before = tree.sample().unwrap();

    let mut second = Actor::start("burn 200");
    second.hear();
    second.go();
    second.hear();
    std::thread::sleep(Duration::from_millis(20));
    let alone = ProcessTree::of(&[second.pid()]).sample().unwrap();
    assert!(alone.total.minor_faults > 50);
    // It ran before this sample, which did not see it.
    tree.sample().unwrap();
    inner.add(second.pid());
    let after = tree.sample().unwrap();
    assert_eq!(after.processes.len(), 2, "groups below count");
    let used = after.delta(&before);
    assert!(used["server.minor_faults"] < 50.0, "its history is not this window's: {used:?}");
    assert!(used["server.cpu_us"] < 50_000.0, "{used:?}");
    drop((first, second));
    drop(inner);
}

#[test]
fn a_directory_that_is_no_group() {
    let directory = tempfile::tempdir().unwrap();
    let error = CgroupSample::read(directory.path()).unwrap_err();
    assert!(matches!(error, CollectError::NotACgroup { .. }));
    assert!(ProcessTree::in_cgroup(directory.path()).sample().is_err());
}
