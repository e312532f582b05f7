//! What happens around a trial on a private PostgreSQL: what it begins with, cold and warm starts, limited memory,
//! versions side by side.

use std::path::Path;

use postgres::{Client, Config, NoTls};
use weigh_lab::host::{HostChanges, WorkRoot};
use weigh_lab::systems::System;
use weigh_results::model::{Replication, Slot};

use super::stage::{Stage, plan, slot};

/// About 40 MB of rows that nothing makes shorter.
const TABLE: &str = "[workload]\nsetup = [\"CREATE TABLE t (id int PRIMARY KEY, payload text)\", \
                     \"INSERT INTO t SELECT n, repeat(md5(n::text), 30) FROM generate_series(1, 40000) AS n\"]\n";
const TABLE_BYTES: f64 = 40e6;
const READ: &str = "[[workload.operations]]\nname = \"read\"\nsql = \"SELECT payload FROM t WHERE id = 1\"\n";

fn connect(system: &dyn System, slot: Slot) -> Client {
    let pid = system.processes(slot)[0];
    let data = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
    let socket_dir = data.parent().unwrap().join("s");
    Config::new().host_path(socket_dir).user("postgres").dbname("postgres").connect(NoTls).unwrap()
}

/// A trial that reads the whole table `times` times; gives what the system counted over it.
fn scanned(system: &mut dyn System, slot: Slot, times: usize) -> weigh_lab::systems::Counters {
    system.enter(slot).unwrap();
    let mut client = connect(system, slot);
    let before = system.counters(slot).unwrap();
    for _ in 0..times {
        let row = client.query_one("SELECT count(*), sum(length(payload)) FROM t", &[]).unwrap();
        assert_eq!(row.get::<_, i64>(0), 40_000);
    }
    drop(client);
    system.drain(slot).unwrap();
    let after = system.counters(slot).unwrap();
    system.leave(slot).unwrap();
    weigh_collect::delta(&before, &after)
}

#[test]
fn every_trial_begins_with_what_it_is_prepared_with() {
    let stage = Stage::new();
    let text = "system = \"postgres\"\n[workload]\nsetup = [\"CREATE TABLE t (id int)\"]\n\
                prepare = [\"TRUNCATE t\", \"INSERT INTO t SELECT generate_series(1, 5000); SET work_mem = '1MB'\"]\n\
                [[workload.operations]]\nname = \"insert\"\nsql = \"INSERT INTO t VALUES (1)\"\n\
                [factors]\n\"settings.synchronous_commit\" = [\"on\", \"off\"]\n";
    let plan = plan(text).unwrap();
    let mut system = stage.build(&plan).unwrap();
    system.start_epoch(0).unwrap();
    for number in [slot(0), slot(1), slot(0)] {
        system.enter(number).unwrap();
        let before = system.counters(number).unwrap();
        let mut client = connect(system.as_ref(), number);
        let rows: i64 = client.query_one("SELECT count(*) FROM t", &[]).unwrap().get(0);
        assert_eq!(rows, 5000, "the rows of the trial before are gone");
        client.execute("INSERT INTO t VALUES (1)", &[]).unwrap();
        drop(client);
        system.drain(number).unwrap();
        let used = weigh_collect::delta(&before, &system.counters(number).unwrap());
        assert_eq!(used["postgres.rows_inserted"], 1.0, "what it began with is not counted");
        assert!(used["postgres.wal_bytes"] < 100e3, "nor what it wrote: {used:?}");
        system.leave(number).unwrap();
    }
}

#[test]
fn what_cannot_be_prepared_is_named() {
    for system in ["postgres", "sqlite"] {
        let stage = Stage::new();
        let text = format!(
            "system = \"{system}\"\n[workload]\nsetup = [\"CREATE TABLE t (id int)\"]\n\
             prepare = [\"DELETE FROM t\", \"DROP TABLE missing\"]\n\
             [[workload.operations]]\nname = \"read\"\nsql = \"SELECT id FROM t\"\n[factors]\n\"load.clients\" = [1, 2]\n"
        );
        let plan = plan(&text).unwrap();
        let mut built = stage.build(&plan).unwrap();
        built.start_epoch(0).unwrap();
        let error = built.enter(slot(0)).map(|_| ()).unwrap_err();
        let text = format!("{error}: {:?}", error.source);
        assert!(text.contains("`prepare` statement 2 `DROP TABLE missing` failed"), "{text}");
        assert!(text.contains("missing"), "{text}");
    }
}

#[test]
fn an_embedded_database_is_prepared_before_every_trial() {
    let stage = Stage::new();
    let text = "system = \"sqlite\"\n[workload]\nsetup = [\"CREATE TABLE t (id int)\"]\n\
                prepare = [\"INSERT INTO t VALUES (1)\", \"INSERT INTO t VALUES (2)\"]\n\
                [[workload.operations]]\nname = \"read\"\nsql = \"SELECT id FROM t\"\n\
                [settings]\njournal_mode = \"wal\"\n[factors]\n\"load.clients\" = [1, 2]\n";
    let mut system = stage.build(&plan(text).unwrap()).unwrap();
    system.start_epoch(0).unwrap();
    for _ in 0..2 {
        system.enter(slot(0)).unwrap();
        let files = stage.changes.run_dir().unwrap().join("v0-0/files");
        let entries: Vec<_> =
            std::fs::read_dir(&files).unwrap().flatten().map(|entry| entry.path()).collect();
        let database = entries
            .iter()
            .find(|path| {
                !path.to_string_lossy().ends_with("-wal") && !path.to_string_lossy().ends_with("-shm")
            })
            .unwrap();
        let rows: i64 = rusqlite::Connection::open(database)
            .unwrap()
            .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows, 2, "a fresh copy, prepared once");
        system.leave(slot(0)).unwrap();
    }
}

#[test]
fn cold_starts_read_from_the_disk_and_warm_ones_do_not() {
    let stage = Stage::new();
    let text = format!(
        "system = \"postgres\"\n{TABLE}{READ}[settings]\nautovacuum = \"off\"\n\
         [factors]\n\"system.start\" = [\"cold\", \"warm\"]\n"
    );
    let plan = plan(&text).unwrap();
    let mut system = stage.build(&plan).unwrap();
    assert_eq!(system.replication(), Replication::Round, "one instance, restarted for the cold ones");
    system.start_epoch(0).unwrap();
    let mut seen = Vec::new();
    for number in [0, 1, 0, 1] {
        let used = scanned(system.as_mut(), slot(number), 1);
        let blocks = used["postgres.blocks_read"] * 8192.0;
        match number {
            0 => {
                assert!(used["server.read_bytes"] > TABLE_BYTES, "{used:?}");
                assert!(blocks > TABLE_BYTES, "{used:?}");
            }
            _ => {
                assert!(used["server.read_bytes"] < TABLE_BYTES / 50.0, "{used:?}");
                assert!(blocks < TABLE_BYTES / 50.0, "everything is in the server's buffers: {used:?}");
            }
        }
        seen.push(used["server.read_bytes"]);
    }
    println!("read from the disk, cold and warm in turn: {seen:?}");
}

#[test]
fn what_does_not_fit_cannot_start_warm() {
    let stage = Stage::new();
    if !can_limit(&stage) {
        return;
    }
    let text = format!(
        "system = {{ name = \"postgres\", memory = \"32MB\", start = \"warm\" }}\n{TABLE}{READ}\
         [settings]\nshared_buffers = \"8MB\"\n[factors]\n\"load.clients\" = [1, 2]\n"
    );
    let mut system = stage.build(&plan(&text).unwrap()).unwrap();
    system.start_epoch(0).unwrap();
    let error = system.enter(slot(0)).map(|_| ()).unwrap_err();
    assert!(error.message.contains("it cannot start warm"), "{}", error.message);
}

/// Root on a host whose kernel has the controller; said where it is not so.
fn can_limit(stage: &Stage) -> bool {
    match stage.changes.make_memory_group("probe", 64 << 20) {
        Ok(group) => {
            stage.changes.remove_cgroup(group.path()).unwrap();
            true
        }
        Err(error) => {
            println!("skipped: {error}");
            false
        }
    }
}

#[test]
fn limited_memory_makes_a_server_read_again_what_does_not_fit() {
    let stage = Stage::new();
    if !can_limit(&stage) {
        return;
    }
    let text = format!(
        "system = \"postgres\"\n{TABLE}{READ}[settings]\nshared_buffers = \"8MB\"\nautovacuum = \"off\"\n\
         [factors]\n\"system.memory\" = [\"32MB\", \"1GB\"]\n"
    );
    let plan = plan(&text).unwrap();
    assert!(plan.plan.columns.iter().any(|column| column.counter == "server.major_faults"));
    let mut system = stage.build(&plan).unwrap();
    assert_eq!(system.start_epoch(0).unwrap().len(), 3, "an instance per limit");
    for number in [0, 1] {
        scanned(system.as_mut(), slot(number), 1);
    }
    let (limited, free) = (scanned(system.as_mut(), slot(0), 3), scanned(system.as_mut(), slot(1), 3));
    assert!(limited["server.refaults"] * 4096.0 > TABLE_BYTES, "{limited:?}");
    assert!(limited["server.read_bytes"] > 2.0 * TABLE_BYTES, "{limited:?}");
    // Other tests read and forget files at the same time.
    assert!(free["server.refaults"] * 4096.0 < TABLE_BYTES / 10.0, "{free:?}");
    assert!(free["server.read_bytes"] < TABLE_BYTES / 10.0, "{free:?}");
    let groups = memory_groups();
    assert_eq!(groups.len(), 3, "{groups:?}");
    system.stop().unwrap();
    assert!(memory_groups().is_empty(), "groups are removed: {:?}", memory_groups());
}

/// The limited groups of this process's tests that are there now.
fn memory_groups() -> Vec<std::path::PathBuf> {
    let mine = "weigh-test-i";
    let pid = format!("-{}-", std::process::id());
    let mut found = Vec::new();
    let mut dirs = vec![Path::new("/sys/fs/cgroup").to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let limited = ["memory.limit_in_bytes", "memory.max"].map(|file| {
                    std::fs::read_to_string(entry.path().join(file))
                        .ok()
                        .and_then(|text| text.trim().parse::<u64>().ok())
                });
                let small = limited.into_iter().flatten().any(|bytes| bytes == 32 << 20 || bytes == 1 << 30);
                if name.starts_with(mine) && name.contains(&pid) && small {
                    found.push(entry.path());
                }
                dirs.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn buffers_that_do_not_fit_into_the_memory_are_refused() {
    let stage = Stage::new();
    if !can_limit(&stage) {
        return;
    }
    let text = format!(
        "system = {{ name = \"postgres\", memory = \"64MB\" }}\n{TABLE}{READ}[factors]\n\"load.clients\" = [1, 2]\n"
    );
    let error = stage.build(&plan(&text).unwrap()).map(|_| ()).unwrap_err();
    assert_eq!(
        error.message,
        "variant `clients=1`: `shared_buffers` of 128 MiB does not fit into `system.memory` of 64 MiB"
    );
    assert!(!error.hints.is_empty());
}

#[test]
fn a_memory_limit_goes_with_its_run() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let root = WorkRoot::open(dir.path()).unwrap();
    let changes = HostChanges::open_in(&dir.path().join("state"), "limit", root, None).unwrap();
    let Ok(group) = changes.make_memory_group("one", 64 << 20) else { return };
    assert!(group.path().exists());
    // Somebody who would use more is ended by the kernel.
    let script = "echo $$ > \"$1\"/cgroup.procs && exec head -c 200M /dev/zero | tail -c 190M > /dev/null";
    std::process::Command::new("sh").args(["-c", script, "sh"]).arg(group.path()).status().unwrap();
    assert!(group.killed() > 0, "the limit is in force");
    let path = group.path().to_owned();
    drop(changes);
    assert!(!path.exists());
}
