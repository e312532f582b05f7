//! The SQLite system on real files.

use std::path::PathBuf;

use rusqlite::Connection;
use weigh_results::model::{Replication, Slot};

use super::stage::{Stage, plan, slot};

fn experiment(rest: &str) -> String {
    format!(
        "system = \"sqlite\"\n[workload]\nsetup = [\"CREATE TABLE t (id INTEGER PRIMARY KEY, payload TEXT)\"]\n\
         [[workload.operations]]\nname = \"insert\"\nsql = \"INSERT INTO t (payload) VALUES ('x')\"\n\
         [load]\nclients = 1\n{rest}"
    )
}

fn database(stage: &Stage, slot: Slot) -> PathBuf {
    let run = stage.changes.run_dir().unwrap();
    run.join(format!("v{}-{}/files/db", slot.variant, slot.copy))
}

fn inserts(stage: &Stage, slot: Slot, count: usize) {
    let connection = Connection::open(database(stage, slot)).unwrap();
    for _ in 0..count {
        connection.execute("INSERT INTO t (payload) VALUES (?1)", ["y"]).unwrap();
    }
}

fn rows(stage: &Stage, slot: Slot) -> i64 {
    let connection = Connection::open(database(stage, slot)).unwrap();
    connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
}

#[test]
fn every_trial_starts_from_the_same_bytes_with_its_pragmas() {
    let stage = Stage::new();
    let factors = "[factors]\n\"settings.journal_mode\" = [\"delete\", \"WAL\"]\n\
                   \"settings.synchronous\" = [\"FULL\", \"off\"]\n";
    let plan = plan(&experiment(factors)).unwrap();
    let mut system = stage.build(&plan).unwrap();
    assert_eq!(system.replication(), Replication::Round);
    let records = system.start_epoch(0).unwrap();
    assert_eq!(records.len(), 5);
    for (record, variant) in records.iter().zip(&plan.variants) {
        for name in ["journal_mode", "synchronous"] {
            assert_eq!(record.settings[name], variant.settings[name].to_text().to_lowercase());
        }
    }
    for index in 0..plan.variants.len() {
        for _ in 0..2 {
            system.enter(slot(index)).unwrap();
            assert_eq!(rows(&stage, slot(index)), 0);
            inserts(&stage, slot(index), 10);
            system.drain(slot(index)).unwrap();
            let log = database(&stage, slot(index)).with_file_name("db-wal");
            assert!(log.metadata().map_or(0, |data| data.len()) == 0, "the log is worked off");
            assert_eq!(rows(&stage, slot(index)), 10);
            system.leave(slot(index)).unwrap();
        }
    }
}

#[test]
fn the_debt_of_a_log_is_left_to_the_drain() {
    let stage = Stage::new();
    let plan = plan(&experiment("[factors]\n\"settings.journal_mode\" = [\"wal\", \"delete\"]\n")).unwrap();
    let mut system = stage.build(&plan).unwrap();
    system.start_epoch(0).unwrap();
    let driver = system.enter(slot(0)).unwrap();
    assert!(matches!(driver.connect(0).unwrap(), weigh_load::Connection::Inline(_)));
    let before = system.counters(slot(0)).unwrap();
    inserts(&stage, slot(0), 100);
    let log = database(&stage, slot(0)).with_file_name("db-wal");
    assert!(log.metadata().unwrap().len() > 100_000, "still there although the last client has gone");
    system.drain(slot(0)).unwrap();
    assert_eq!(log.metadata().unwrap().len(), 0);
    let used = weigh_collect::delta(&before, &system.counters(slot(0)).unwrap());
    assert!(used["server.write_calls"] >= 100.0 && used["server.cpu_us"] > 0.0, "{used:?}");
    system.leave(slot(0)).unwrap();
}

#[test]
fn page_size_is_set_before_the_first_table() {
    let stage = Stage::new();
    let plan = plan(&experiment("[factors]\n\"settings.page_size\" = [4096, 16384]\n")).unwrap();
    let mut system = stage.build(&plan).unwrap();
    let records = system.start_epoch(0).unwrap();
    let sizes: Vec<&str> = records.iter().map(|record| record.settings["page_size"].as_str()).collect();
    assert_eq!(sizes, ["4096", "16384", "4096"]);
}

#[test]
fn bad_values_and_impossible_combinations_are_refused() {
    let refused = |rest: &str| match plan(&experiment(rest)) {
        Err(message) => message,
        Ok(plan) => {
            Stage::new().build(&plan).and_then(|mut system| system.start_epoch(0)).unwrap_err().message
        }
    };
    let message = refused("[factors]\n\"settings.synchronous\" = [\"full\", \"often\"]\n");
    assert!(message.contains("`synchronous` cannot be `often`"), "{message}");
    // SQLite takes no page of 5000 bytes, and says nothing.
    let message = refused("[factors]\n\"settings.page_size\" = [4096, 5000]\n");
    assert!(message.contains("`page_size` is `4096` instead of `5000`"), "{message}");
    let message = refused("[settings]\nno_such = 1\n[factors]\n\"settings.page_size\" = [4096, 8192]\n");
    assert!(message.contains("no_such"), "{message}");
    let text = experiment("[settings]\nlocking_mode = \"exclusive\"\n[factors]\n\"settings.synchronous\" = [\"full\", \"off\"]\n")
        .replace("clients = 1", "clients = 2");
    let error = Stage::new().build(&plan(&text).unwrap()).map(|_| ()).unwrap_err();
    assert_eq!(error.message, "variant `full`: `locking_mode = exclusive` admits one client only");
}
