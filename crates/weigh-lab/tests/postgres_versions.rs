//! PostgreSQL by version. One version is fetched (and then kept in the user's cache): the newest of a major that is
//! not the host's own.

use weigh_lab::systems;
use weigh_results::model::Replication;

use super::stage::{Stage, plan, slot};

fn experiment(versions: &str) -> String {
    format!(
        "system = \"postgres\"\n[workload]\nsetup = [\"CREATE TABLE t (id int)\"]\n\
         [[workload.operations]]\nname = \"insert\"\nsql = \"INSERT INTO t VALUES (1)\"\n\
         [settings]\nwork_mem = \"5MB\"\n[factors]\n\"system.version\" = [{versions}]\n"
    )
}

/// Majors to try: all of them with `WEIGH_TEST_ALL_VERSIONS`, else the host's own and another one.
fn majors() -> Vec<String> {
    if std::env::var_os("WEIGH_TEST_ALL_VERSIONS").is_some() {
        return ["10", "11", "12", "13", "14", "15", "16", "17", "18"].map(str::to_owned).to_vec();
    }
    let own = plan("system = \"postgres\"\n[[workload.operations]]\nname = \"read\"\nsql = \"SELECT 1\"\n[factors]\n\"load.clients\" = [1, 2]\n")
        .unwrap();
    let own = systems::describe(&own.experiment).unwrap().version;
    let own = own.split('.').next().unwrap().to_owned();
    let other = if own == "18" { "17" } else { "18" };
    vec![own, other.to_owned()]
}

#[test]
fn versions_are_instances_side_by_side_with_the_same_counters() {
    let majors = majors();
    let quoted: Vec<String> = majors.iter().map(|major| format!("\"{major}\"")).collect();
    let stage = Stage::new();
    let plan = plan(&experiment(&quoted.join(", "))).unwrap();
    let mut system = stage.build(&plan).unwrap();
    assert_eq!(system.replication(), Replication::Epoch);
    let records = system.start_epoch(0).unwrap();
    assert_eq!(records.len(), majors.len() + 1);
    for (index, major) in majors.iter().enumerate() {
        let record = records.iter().find(|record| record.slots == [slot(index)]).unwrap();
        assert!(record.version.starts_with(&format!("{major}.")), "{major}: {}", record.version);
        assert_eq!(record.settings["work_mem"], "5MB");
        system.enter(slot(index)).unwrap();
        let before = system.counters(slot(index)).unwrap();
        let pid = system.processes(slot(index))[0];
        let data = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
        let mut client = postgres::Config::new()
            .host_path(data.parent().unwrap().join("s"))
            .user("postgres")
            .connect(postgres::NoTls)
            .unwrap();
        for _ in 0..50 {
            client.execute("INSERT INTO t VALUES (1)", &[]).unwrap();
        }
        drop(client);
        system.drain(slot(index)).unwrap();
        let used = weigh_collect::delta(&before, &system.counters(slot(index)).unwrap());
        system.leave(slot(index)).unwrap();
        println!("{}: {used:?}", record.version);
        let number: u32 = major.parse().unwrap();
        assert!(used["postgres.wal_bytes"] > 50.0 * 50.0, "{major}: {used:?}");
        assert_eq!(used["postgres.rows_inserted"], 50.0, "{major}: {used:?}");
        assert!(used["postgres.checkpoint_buffers"] > 0.0, "{major}: {used:?}");
        assert!(used["postgres.buffers_allocated"] >= 0.0 && used["postgres.io_wait_us"] >= 0.0);
        if number >= 14 {
            assert!(used["postgres.wal_syncs"] >= 50.0, "{major}: {used:?}");
            assert!(used["postgres.wal_writes"] >= 50.0, "{major}: {used:?}");
            assert!(used["postgres.wal_records"] >= 100.0, "{major}: {used:?}");
        }
    }
}

#[test]
fn every_version_judges_the_settings_itself() {
    let majors = majors();
    let quoted: Vec<String> = majors.iter().map(|major| format!("\"{major}\"")).collect();
    let text = experiment(&quoted.join(", ")).replace("work_mem = \"5MB\"", "max_connections = \"0\"");
    let stage = Stage::new();
    let error = stage.build(&plan(&text).unwrap()).map(|_| ()).unwrap_err();
    assert!(error.message.starts_with("the server refuses the settings of variant"), "{}", error.message);
}
