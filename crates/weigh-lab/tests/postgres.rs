//! The PostgreSQL system on real servers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use postgres::{Client, Config, NoTls};
use weigh_lab::systems::description::SettingContext;
use weigh_lab::systems::{self, System, SystemError};
use weigh_results::model::{Replication, Slot};

use super::stage::{Stage, plan, slot};

const TABLE: &str = "[workload]\nsetup = [\"CREATE TABLE t (id bigserial PRIMARY KEY, payload text)\", \
                     \"INSERT INTO t (payload) SELECT 'x' FROM generate_series(1, 1000)\"]\n";
const INSERT: &str =
    "[[workload.operations]]\nname = \"insert\"\nsql = \"INSERT INTO t (payload) VALUES ('y')\"\n";

fn experiment(rest: &str) -> String {
    format!("system = \"postgres\"\n{TABLE}{INSERT}{rest}")
}

/// The data directory of a running server.
fn data_dir(system: &dyn System, slot: Slot) -> PathBuf {
    let pid = system.processes(slot)[0];
    fs::read_link(format!("/proc/{pid}/cwd")).unwrap()
}

/// A client's connection to the server that serves `slot`.
fn connect(system: &dyn System, slot: Slot) -> Client {
    let socket_dir = data_dir(system, slot).parent().unwrap().join("s");
    Config::new().host_path(socket_dir).user("postgres").dbname("postgres").connect(NoTls).unwrap()
}

fn show(client: &mut Client, name: &str) -> String {
    client.query_one("SELECT current_setting($1)", &[&name]).unwrap().get(0)
}

/// Runs a trial of `count` inserts and gives the differences of the counters over it.
fn trial(system: &mut dyn System, slot: Slot, count: usize) -> BTreeMap<String, f64> {
    system.enter(slot).unwrap();
    let mut client = connect(system, slot);
    let insert = client.prepare("INSERT INTO t (payload) VALUES ('y')").unwrap();
    let before = system.counters(slot).unwrap();
    for _ in 0..count {
        client.execute(&insert, &[]).unwrap();
    }
    drop(client);
    system.drain(slot).unwrap();
    let after = system.counters(slot).unwrap();
    system.leave(slot).unwrap();
    weigh_collect::delta(&before, &after)
}

fn failure(text: &str) -> SystemError {
    let stage = Stage::new();
    let plan = plan(text).unwrap();
    let mut system = match stage.build(&plan) {
        Ok(system) => system,
        Err(error) => return error,
    };
    system.start_epoch(0).map(|_| ()).unwrap_err()
}

#[test]
fn every_setting_of_a_server_is_described() {
    let stage = Stage::new();
    let plan = plan(&experiment("[factors]\n\"settings.work_mem\" = [\"4MB\", \"8MB\"]\n")).unwrap();
    let mut system = stage.build(&plan).unwrap();
    let records = system.start_epoch(0).unwrap();
    let description = systems::describe(&plan.experiment).unwrap();
    assert_eq!(description.version, records[0].version);
    let mut client = connect(system.as_ref(), slot(0));
    let rows =
        client.query("SELECT name, context FROM pg_settings WHERE context <> 'internal'", &[]).unwrap();
    let known: BTreeMap<&str, SettingContext> =
        description.settings.iter().map(|setting| (setting.name.as_str(), setting.context)).collect();
    // Developers' options are hidden from `--describe-config`.
    let missing: Vec<String> = rows
        .iter()
        .map(|row| row.get(0))
        .filter(|name: &String| !known.contains_key(name.as_str()))
        .collect();
    assert!(missing.len() * 10 < rows.len(), "{missing:?}");
    for row in &rows {
        let (name, context): (&str, &str) = (row.get(0), row.get(1));
        if let Some(found) = known.get(name).filter(|found| **found != SettingContext::Fixed) {
            assert_eq!(*found == SettingContext::Restart, context == "postmaster", "{name}");
        }
    }
}

#[test]
fn session_settings_are_toggled_in_one_instance() {
    let stage = Stage::new();
    let plan = plan(&experiment("[factors]\n\"settings.synchronous_commit\" = [\"on\", \"off\"]\n")).unwrap();
    let mut system = stage.build(&plan).unwrap();
    assert_eq!(system.replication(), Replication::Round);
    let records = system.start_epoch(0).unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].slots.len(), 3, "two variants and the second copy of the baseline");
    assert_eq!(records[0].settings["shared_buffers"], "128MB");
    assert_eq!(records[0].settings["fsync"], "on");
    let used = trial(system.as_mut(), slot(0), 200);
    assert_eq!(used["postgres.rows_inserted"], 200.0, "{used:?}");
    assert!(used["postgres.commits"] >= 200.0 && used["postgres.commits"] < 260.0, "{used:?}");
    assert!(used["postgres.wal_syncs"] >= 200.0, "{used:?}");
    assert!(used["postgres.wal_bytes"] > 200.0 * 60.0, "{used:?}");
    assert!(used["server.cpu_us"] > 0.0 && used["disk.flushes"] > 0.0, "{used:?}");
    assert_eq!(system.frozen_cpu_s(slot(0)), 0.0, "nobody else is there");
    let driver = system.enter(slot(1)).unwrap();
    assert!(matches!(driver.connect(0).unwrap(), weigh_load::Connection::Socket(_)));
    system.leave(slot(1)).unwrap();
    system.stop().unwrap();
}

#[test]
fn reload_settings_are_in_force_while_entered_and_gone_afterwards() {
    let stage = Stage::new();
    let factors =
        "[factors]\n\"settings.fsync\" = [\"on\", \"off\"]\n\"settings.max_wal_size\" = [\"1GB\", \"2GB\"]\n";
    let plan = plan(&experiment(factors)).unwrap();
    let mut system = stage.build(&plan).unwrap();
    assert_eq!(system.replication(), Replication::Round);
    system.start_epoch(0).unwrap();
    let mut early = connect(system.as_ref(), slot(0));
    for round in 0..2 {
        for (index, variant) in plan.variants.iter().enumerate() {
            let begin = Instant::now();
            system.enter(slot(index)).unwrap();
            let mut client = connect(system.as_ref(), slot(index));
            assert_eq!(show(&mut client, "fsync"), variant.settings["fsync"].to_text(), "round {round}");
            assert_eq!(show(&mut client, "max_wal_size"), variant.settings["max_wal_size"].to_text());
            drop(client);
            system.drain(slot(index)).unwrap();
            system.leave(slot(index)).unwrap();
            assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        }
    }
    let mut client = connect(system.as_ref(), slot(0));
    assert_eq!(show(&mut client, "fsync"), "on");
    assert_eq!(show(&mut early, "max_wal_size"), "1GB");
}

#[test]
fn restart_settings_get_instances_of_their_own_from_the_same_bytes() {
    let stage = Stage::new();
    let plan = plan(&experiment("[factors]\n\"settings.shared_buffers\" = [\"64MB\", \"32MB\"]\n")).unwrap();
    let mut system = stage.build(&plan).unwrap();
    assert_eq!(system.replication(), Replication::Epoch);
    let records = system.start_epoch(0).unwrap();
    assert_eq!(records.len(), 3);
    let buffers: Vec<&str> =
        records.iter().map(|record| record.settings["shared_buffers"].as_str()).collect();
    assert_eq!(buffers, ["64MB", "32MB", "64MB"]);
    let copy = Slot { variant: 0, copy: 1 };
    let pids: Vec<u32> = [slot(0), slot(1), copy].iter().map(|slot| system.processes(*slot)[0]).collect();
    // Only the slot that is entered moves.
    let used = trial(system.as_mut(), slot(1), 50);
    assert_eq!(used["postgres.rows_inserted"], 50.0);
    let digest = table_files(&data_dir(system.as_ref(), slot(0)));
    assert!(!digest.is_empty());
    assert_eq!(digest, table_files(&data_dir(system.as_ref(), copy)), "same bytes");
    assert_ne!(digest, table_files(&data_dir(system.as_ref(), slot(1))), "the trial wrote");
    // The next epoch starts from the template's bytes again.
    let records = system.start_epoch(1).unwrap();
    assert_eq!(records[0].start, 2);
    assert_eq!(digest, table_files(&data_dir(system.as_ref(), slot(1))));
    assert!(pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()));
    system.stop().unwrap();
    assert!(system.processes(slot(0)).is_empty());
}

/// Contents of the user's tables and indexes, by path.
fn table_files(data: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for database in fs::read_dir(data.join("base")).unwrap().flatten() {
        for file in fs::read_dir(database.path()).unwrap().flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            // User objects are numbered from 16384 on.
            if name
                .split(['.', '_'])
                .next()
                .and_then(|number| number.parse().ok())
                .is_some_and(|n: u32| n >= 16_384)
            {
                let path = file.path().strip_prefix(data).unwrap().to_owned();
                found.insert(path, fs::read(file.path()).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_killed_server_leaves_nothing_in_memory() {
    let stage = Stage::new();
    let plan = plan(&experiment("[factors]\n\"settings.work_mem\" = [\"4MB\", \"8MB\"]\n")).unwrap();
    let mut system = stage.build(&plan).unwrap();
    system.start_epoch(0).unwrap();
    let pid = system.processes(slot(0))[0];
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    // One file is the postmaster's, another the statistics' and mapped by backends only.
    let mut client = connect(system.as_ref(), slot(0));
    let backend: i32 = client.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    let backend_maps = fs::read_to_string(format!("/proc/{backend}/maps")).unwrap();
    let files: std::collections::BTreeSet<&str> = backend_maps
        .lines()
        .filter_map(|line| line.find("/dev/shm/PostgreSQL.").map(|at| &line[at..]))
        .collect();
    assert!(files.len() >= 2, "{files:?}");
    let segment = maps.lines().find(|line| line.contains("/SYSV")).unwrap();
    let id = segment.split_ascii_whitespace().nth(4).unwrap().to_owned();
    let is_there = |id: &str| {
        let known = fs::read_to_string("/proc/sysvipc/shm").unwrap();
        known.lines().any(|line| line.split_ascii_whitespace().nth(1) == Some(id))
    };
    assert!(files.iter().all(|file| Path::new(file).exists()) && is_there(&id));
    // As the kernel does it when weigh is killed: the root only, and at once.
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap()),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
    // The rest notices and ends without tidying up.
    let begin = Instant::now();
    while weigh_lab::host::start_ticks(backend).is_some() {
        assert!(begin.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(is_there(&id), "killed, it leaves its segment behind");
    stage.changes.undo_all().unwrap();
    assert!(!files.iter().any(|file| Path::new(file).exists()) && !is_there(&id));
}

#[test]
fn a_frozen_server_with_a_running_query_uses_no_cpu() {
    let stage = Stage::new();
    let plan = plan(&experiment("[factors]\n\"settings.shared_buffers\" = [\"64MB\", \"32MB\"]\n")).unwrap();
    let mut system = stage.build(&plan).unwrap();
    system.start_epoch(0).unwrap();
    system.enter(slot(0)).unwrap();
    let mut client = connect(system.as_ref(), slot(0));
    let token = client.cancel_token();
    let thread = std::thread::spawn(move || {
        client.batch_execute("SELECT count(*) FROM generate_series(1, 1000000000000)").ok();
    });
    std::thread::sleep(Duration::from_millis(200));
    system.leave(slot(0)).unwrap();
    system.enter(slot(1)).unwrap();
    let before = system.frozen_cpu_s(slot(1));
    assert!(before > 0.1, "the query ran before it was frozen: {before}");
    let mut other = connect(system.as_ref(), slot(1));
    for _ in 0..200 {
        other.execute("INSERT INTO t (payload) VALUES ('y')", &[]).unwrap();
    }
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(system.frozen_cpu_s(slot(1)), before);
    drop(other);
    system.leave(slot(1)).unwrap();
    system.enter(slot(0)).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    // Seen from the other slot, this one is now among the others.
    assert!(system.frozen_cpu_s(slot(1)) > before + 0.05, "thawed, it goes on");
    token.cancel_query(NoTls).unwrap();
    thread.join().unwrap();
}

#[test]
fn wait_events_are_sampled_while_entered() {
    let stage = Stage::new();
    let plan = plan(&experiment("[factors]\n\"settings.synchronous_commit\" = [\"on\", \"off\"]\n")).unwrap();
    let mut system = stage.build(&plan).unwrap();
    system.start_epoch(0).unwrap();
    system.enter(slot(0)).unwrap();
    let mut client = connect(system.as_ref(), slot(0));
    let before = system.counters(slot(0)).unwrap();
    client.batch_execute("SELECT pg_sleep(0.5)").unwrap();
    let after = system.counters(slot(0)).unwrap();
    let slept = after["postgres.wait.Timeout.PgSleep_samples"];
    assert!((5.0..=11.0).contains(&slept), "{slept} samples of 50 ms in half a second");
    assert!(before.contains_key("postgres.wait.IO.WALSync_samples"));
    system.leave(slot(0)).unwrap();
    client.batch_execute("SELECT pg_sleep(0.3)").unwrap();
    let later = system.counters(slot(0)).unwrap();
    assert_eq!(later["postgres.wait.Timeout.PgSleep_samples"], slept);
}

#[test]
fn a_server_that_dies_is_named_with_its_last_words() {
    let stage = Stage::new();
    let plan = plan(&experiment("[factors]\n\"settings.work_mem\" = [\"4MB\", \"8MB\"]\n")).unwrap();
    let mut system = stage.build(&plan).unwrap();
    system.start_epoch(0).unwrap();
    system.enter(slot(0)).unwrap();
    // The crash of one backend is the end of the server: nothing recovers between two trials.
    let mut client = connect(system.as_ref(), slot(0));
    let backend: i32 = client.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(backend), nix::sys::signal::Signal::SIGSEGV).unwrap();
    let begin = Instant::now();
    let error = loop {
        match system.counters(slot(0)) {
            Err(error) => break error,
            Ok(_) => assert!(begin.elapsed() < Duration::from_secs(20)),
        }
    };
    assert!(error.message.starts_with("the private server has ended"), "{error}");
    assert!(error.log.iter().any(|line| line.contains("Segmentation fault")), "{:?}", error.log);
    system.stop().unwrap();
}

#[test]
fn a_bad_value_is_refused_in_the_servers_words() {
    let error =
        failure(&experiment("[factors]\n\"settings.synchronous_commit\" = [\"on\", \"sometimes\"]\n"));
    assert_eq!(
        error.message,
        "the server refuses the settings of variant `sometimes`: \
         invalid value for parameter \"synchronous_commit\": \"sometimes\""
    );
    assert!(error.hints.iter().any(|hint| hint.contains("remote_apply")), "{:?}", error.hints);
}

#[test]
fn a_failing_set_up_statement_is_named() {
    let text = format!(
        "system = \"postgres\"\n[workload]\nsetup = [\"CREATE TABLE t (id int)\", \"INSERT INTO u VALUES (1)\"]\n\
         {INSERT}[factors]\n\"settings.work_mem\" = [\"4MB\", \"8MB\"]\n"
    );
    let error = failure(&text);
    assert_eq!(
        error.message,
        "set-up statement 2 `INSERT INTO u VALUES (1)` failed: relation \"u\" does not exist"
    );
}

#[test]
fn a_server_that_does_not_start_says_why() {
    // Each value is fine by itself; the server finds out when it starts.
    let error = failure(&experiment(
        "[settings]\nmax_connections = 50\n[factors]\n\"settings.superuser_reserved_connections\" = [3, 60]\n",
    ));
    assert!(error.message.contains("did not start"), "{error}");
    assert!(error.message.contains("superuser_reserved_connections"), "{error}");
    assert!(!error.log.is_empty());
}

#[test]
fn a_setting_that_is_overridden_is_a_mismatch() {
    let text = format!(
        "system = \"postgres\"\n[workload]\nsetup = [\"ALTER DATABASE postgres SET work_mem = '7MB'\"]\n\
         {INSERT}[settings]\nwork_mem = \"4MB\"\n[factors]\n\"settings.jit\" = [\"on\", \"off\"]\n"
    );
    let error = failure(&text);
    assert_eq!(error.message, "`work_mem` is `7MB` instead of `4MB`: in force is what comes from `database`");
}

#[test]
fn a_work_directory_with_a_long_path_still_has_a_socket() {
    let long = tempfile::tempdir_in("/var/tmp").unwrap();
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(long.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let parent = long.path().join("d".repeat(90));
    fs::create_dir(&parent).unwrap();
    let stage = Stage::below(&parent);
    let plan = plan(&experiment("[factors]\n\"settings.work_mem\" = [\"4MB\", \"8MB\"]\n")).unwrap();
    let mut system = stage.build(&plan).unwrap();
    system.start_epoch(0).unwrap();
    assert!(data_dir(system.as_ref(), slot(0)).as_os_str().len() > 107);
    system.enter(slot(0)).unwrap();
    system.leave(slot(0)).unwrap();
}

#[test]
fn templates_differ_when_the_set_up_does() {
    let stage = Stage::new();
    let text = "system = \"postgres\"\n[workload]\nvars = { rows = 1 }\n\
         setup = [\"CREATE TABLE t AS SELECT g AS id FROM generate_series(1, {rows}) g\"]\n\
         [[workload.operations]]\nname = \"read\"\nsql = \"SELECT * FROM t\"\n[factors]\n\"vars.rows\" = [10, 20]\n";
    let plan = plan(text).unwrap();
    let mut system = stage.build(&plan).unwrap();
    assert_eq!(system.replication(), Replication::Epoch);
    system.start_epoch(0).unwrap();
    for (index, rows) in [(0, 10_i64), (1, 20)] {
        system.enter(slot(index)).unwrap();
        let mut client = connect(system.as_ref(), slot(index));
        assert_eq!(client.query_one("SELECT count(*) FROM t", &[]).unwrap().get::<_, i64>(0), rows);
        // A client says good-bye and waits for the answer: not to be tried on a frozen server.
        drop(client);
        system.leave(slot(index)).unwrap();
    }
}

#[test]
fn dropping_a_running_system_leaves_nothing() {
    let stage = Stage::new();
    let plan = plan(&experiment("[factors]\n\"settings.shared_buffers\" = [\"64MB\", \"32MB\"]\n")).unwrap();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut system = stage.build(&plan).unwrap();
        system.start_epoch(0).unwrap();
        std::panic::panic_any(system.processes(slot(0))[0]);
    }));
    let pid = *outcome.unwrap_err().downcast::<u32>().unwrap();
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    stage.changes.undo_all().unwrap();
    assert!(!stage.changes.work_root().path().join("test").exists());
}

#[test]
fn cancelling_ends_a_long_set_up() {
    let stage = Stage::new();
    let text = format!(
        "system = \"postgres\"\n[workload]\nsetup = [\"SELECT pg_sleep(600)\"]\n{INSERT}\
         [factors]\n\"settings.work_mem\" = [\"4MB\", \"8MB\"]\n"
    );
    let plan = plan(&text).unwrap();
    let cancel = stage.cancel.clone();
    let begin = Instant::now();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(5));
        cancel.trigger();
    });
    let error = stage.build(&plan).map(|_| ()).unwrap_err();
    assert_eq!(error.message, "interrupted");
    assert!(begin.elapsed() < Duration::from_secs(60));
    thread.join().unwrap();
}

/// A private server for the tests of URLs, used as if it were somebody else's.
struct Theirs {
    system: Box<dyn System>,
    url: String,
    _stage: Stage,
}

impl Theirs {
    fn start() -> Theirs {
        let stage = Stage::new();
        let plan = plan(&experiment("[factors]\n\"settings.work_mem\" = [\"4MB\", \"8MB\"]\n")).unwrap();
        let mut system = stage.build(&plan).unwrap();
        system.start_epoch(0).unwrap();
        let socket_dir = data_dir(system.as_ref(), slot(0)).parent().unwrap().join("s");
        let host = socket_dir.display().to_string().replace('/', "%2F");
        Theirs { url: format!("postgres://postgres@{host}:5432/postgres"), system, _stage: stage }
    }

    fn experiment(&self, extra: &str, operation: &str, rest: &str) -> String {
        format!(
            "[system]\nname = \"postgres\"\nurl = \"{}\"\n{extra}\n[[workload.operations]]\nname = \"op\"\n\
             sql = \"{operation}\"\n{rest}",
            self.url
        )
    }
}

#[test]
fn a_server_at_a_url_is_only_read_unless_allowed() {
    let theirs = Theirs::start();
    let stage = Stage::new();
    let factors = "[factors]\n\"settings.work_mem\" = [\"4MB\", \"8MB\"]\n";
    // The plan refuses what its text shows; the system does not rely on that.
    let refused = |text: &str| {
        let mut plan = plan(text).unwrap();
        plan.experiment.system.allow_writes = false;
        stage.build(&plan).map(|_| ()).unwrap_err()
    };
    let write = "INSERT INTO t (payload) VALUES ('z')";
    let error = refused(&theirs.experiment("allow_writes = true", write, factors));
    assert_eq!(
        error.message,
        "operation `op` may write (`INSERT`), and the server at `system.url` may not be written to"
    );
    assert!(error.hints[0].contains("allow_writes = true"));
    let setup = "allow_writes = true\n[workload]\nsetup = [\"CREATE TABLE n ()\"]";
    let error = refused(&theirs.experiment(setup, "SELECT 1", factors));
    assert!(error.message.starts_with("the set-up statement `CREATE TABLE n ()` may write"), "{error}");

    let restart = theirs.experiment("", "SELECT 1", "[factors]\n\"settings.fsync\" = [\"on\", \"off\"]\n");
    match plan(&restart) {
        Err(message) => assert!(message.contains("fsync"), "{message}"),
        Ok(plan) => {
            let error = stage.build(&plan).map(|_| ()).unwrap_err();
            assert!(error.message.starts_with("`settings.fsync` cannot be set in a session"), "{error}");
        }
    }

    let reads = plan(&theirs.experiment("", "SELECT count(*) FROM t", factors)).unwrap();
    let mut system = stage.build(&reads).unwrap();
    assert_eq!(system.replication(), Replication::Round);
    let records = system.start_epoch(0).unwrap();
    assert_eq!(records[0].settings["default_transaction_read_only"], "on");
    let driver = system.enter(slot(0)).unwrap();
    assert!(matches!(driver.connect(0).unwrap(), weigh_load::Connection::Socket(_)));
    assert!(system.counters(slot(0)).unwrap().contains_key("postgres.wal_bytes"));
    assert!(system.processes(slot(0)).is_empty());
    system.drain(slot(0)).unwrap();
    system.leave(slot(0)).unwrap();

    let writes = plan(&theirs.experiment("allow_writes = true", write, factors));
    let mut system = stage.build(&writes.unwrap()).unwrap();
    assert!(!system.start_epoch(0).unwrap()[0].settings.contains_key("default_transaction_read_only"));
    let driver = system.enter(slot(1)).unwrap();
    assert!(matches!(driver.connect(0).unwrap(), weigh_load::Connection::Socket(_)));
}

#[test]
fn a_wrong_password_is_one_clear_line() {
    let theirs = Theirs::start();
    let mut client = connect(theirs.system.as_ref(), slot(0));
    client.batch_execute("CREATE ROLE reader LOGIN PASSWORD 'right'").unwrap();
    let data = data_dir(theirs.system.as_ref(), slot(0));
    fs::write(data.join("pg_hba.conf"), "local all postgres trust\nlocal all reader scram-sha-256\n")
        .unwrap();
    client.batch_execute("SELECT pg_reload_conf()").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let with = |user: &str| {
        let section = weigh_lab::experiment::SystemSection {
            name: "postgres".to_owned(),
            url: Some(theirs.url.replace("postgres@", user)),
            ..Default::default()
        };
        systems::describe(&weigh_lab::experiment::Experiment::of_system(section))
    };
    let error = with("reader:wrong@").unwrap_err();
    assert!(error.message.starts_with("the password of `reader` is wrong for the server at `/"), "{error}");
    assert!(!format!("{error:?}").contains("wrong@"), "the URL's password is not repeated");
    assert!(with("reader:right@").is_ok());
    let error = with("reader@").unwrap_err();
    assert!(error.message.contains("asks for a password of `reader`"), "{error}");
    let section = weigh_lab::experiment::SystemSection {
        name: "postgres".to_owned(),
        url: Some("postgres://nobody@127.0.0.1:1/x".to_owned()),
        ..Default::default()
    };
    let error = systems::describe(&weigh_lab::experiment::Experiment::of_system(section)).unwrap_err();
    assert_eq!(error.message, "no connection to the server at `127.0.0.1:1/x`");
}
