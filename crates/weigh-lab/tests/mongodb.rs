//! Private servers that speak MongoDB's protocol: FerretDB on both of its back ends, for real; of `mongod` what can be
//! seen without one.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use weigh_results::model::{Run, Trial};

use super::remote::short;
use super::stage::{Stage, plan, slot};

const DUPLICATE: &str = "11000 E11000 duplicate key error";
const NOT_ATTEMPTED: &str = "not attempted: an ordered bulk stops at its first error";

/// An experiment on FerretDB with one operation.
fn experiment(system: &str, operation: &str, rest: &str) -> String {
    format!(
        "question = \"q\"\n{rest}\n[system]\nname = \"mongodb\"\nserver = \"ferretdb\"\n{system}\n\
         [[workload.operations]]\nname = \"it\"\n{operation}\n\
         [load]\ntrial = \"100ms\"\nsettle = \"20ms\"\n[judge]\nbudget = \"2s\"\nmetric = \"throughput\"\n"
    )
}

/// Two variants, where it does not matter which.
const TWO: &str = "[factors]\n\"load.clients\" = [1, 2]\n";

fn trials(run: &Run, variant: usize) -> impl Iterator<Item = &Trial> {
    run.trials.iter().filter(move |trial| trial.slot.variant == variant)
}

fn item_errors(run: &Run, variant: usize) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (message, count) in trials(run, variant).flat_map(|trial| &trial.item_errors) {
        *all.entry(message.clone()).or_default() += count;
    }
    all
}

fn per_op(run: &Run, variant: usize, counter: &str) -> f64 {
    let sum: f64 = trials(run, variant).filter_map(|trial| trial.whole.counters.get(counter)).sum();
    sum / trials(run, variant).map(|trial| trial.whole.ops).sum::<u64>() as f64
}

/// A trial is exactly one bulk of a thousand with three duplicates in it, on an empty collection.
#[test]
fn a_bulk_counts_for_what_it_stored_and_every_failure_is_told() {
    let operation = "command = '{\"insert\": \"c\", \"documents\": [{\"_id\": \"$1\"}], \"ordered\": {ordered}}'\n\
        parameters = [{ kind = \"repeats\", every = 300 }]\nrows = 1000\nitems = 1000";
    let text = experiment("", operation, "").replace("[load]\n", "[load]\noperations = 2\nclients = 1\n")
        + "[workload]\nsetup = ['{\"create\": \"c\"}']\nprepare = ['{\"drop\": \"c\"}', '{\"create\": \"c\"}']\n\
           [factors]\n\"vars.ordered\" = [\"true\", \"false\"]\n[workload.vars]\nordered = \"true\"\n";
    let (run, _) = short(&text);
    for trial in &run.trials {
        assert!(trial.errors.is_empty(), "{:?}", trial.errors);
        let told = |start: &str| -> u64 {
            let counts = trial.item_errors.iter().filter(|(message, _)| message.starts_with(start));
            counts.map(|(_, count)| count).sum()
        };
        // Two thousand documents: the 300th, the 600th, … the 1800th are duplicates.
        let stored = 2000 - told(DUPLICATE) - told(NOT_ATTEMPTED);
        assert_eq!(trial.whole.ops, stored, "{:?}", trial.item_errors);
        match trial.slot.variant {
            0 => assert!(told(DUPLICATE) >= 2 && told(NOT_ATTEMPTED) > 100, "{:?}", trial.item_errors),
            _ => assert_eq!((told(DUPLICATE), told(NOT_ATTEMPTED)), (6, 0), "{:?}", trial.item_errors),
        }
    }
    assert!(item_errors(&run, 1).len() == 1 && run.trials.len() > 10);
    let instance = &run.instances[0];
    assert!(instance.version.ends_with("(FerretDB 1.24.2)"), "{}", instance.version);
    assert_eq!(
        (instance.settings["process"].as_str(), instance.settings["backend"].as_str()),
        ("ferretdb", "SQLite")
    );
}

#[test]
fn what_ferretdb_cannot_do_is_refused_with_the_reason() {
    for (need, why) in [
        ("write concern", "FerretDB takes `w` and `j` and ignores them"),
        ("indexed reads", "scans the whole collection"),
        ("lock figures", "says nothing about locks"),
    ] {
        let text = experiment("", "command = '{\"ping\": 1}'", &format!("needs = [\"{need}\"]")) + TWO;
        let error = plan(&text).unwrap_err();
        assert!(error.contains(&format!("needs {need}: FerretDB")) && error.contains(why), "{error}");
        // What is known of it is known of no other server.
        let url = "[system]\nname = \"mongodb\"\nurl = \"mongodb://127.0.0.1:1/t\"\n";
        let text = text.replace("[system]\nname = \"mongodb\"\nserver = \"ferretdb\"\n", url);
        plan(&text).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn settings_of_sqlite_are_in_force() {
    let insert = "command = '{\"insert\": \"c\", \"documents\": [{\"a\": \"$1\"}]}'\nparameters = [{ kind = \"sequence\" }]";
    let text = experiment("", insert, "")
        + "[workload]\nsetup = ['{\"create\": \"c\"}']\n\
           [variants.synced]\n\"settings.sqlite.synchronous\" = \"full\"\n\
           [variants.unsynced]\n\"settings.sqlite.synchronous\" = \"off\"\n";
    let (run, _) = short(&text);
    let settings = |variant: usize| {
        let of = |instance: &&weigh_results::model::InstanceRecord| instance.slots[0].variant == variant;
        run.instances.iter().find(of).unwrap().settings["sqlite.synchronous"].clone()
    };
    assert_eq!((settings(0), settings(1)), ("full".to_owned(), "off".to_owned()));
    assert!(run.trials.iter().all(|trial| trial.errors.is_empty()));
    assert!(per_op(&run, 0, "server.cpu_us") > 10.0);
    if run.trials[0].whole.counters.contains_key("disk.flushes") {
        let (synced, unsynced) = (per_op(&run, 0, "disk.flushes"), per_op(&run, 1, "disk.flushes"));
        assert!(synced > 2.0 * unsynced, "{synced} against {unsynced}");
    }
}

#[test]
fn a_back_end_is_a_factor() {
    let find = "command = '{\"find\": \"c\", \"filter\": {\"_id\": \"u$1\"}}'\n\
        parameters = [{ kind = \"uniform\", min = 1, max = 150 }]";
    let text = experiment("", find, "")
        + "[workload]\nsetup = ['''{\"insert\": \"c\", \"documents\": [{\"_id\": \"u$1\"}], \"$times\": 150,\n\
           \"$parameters\": [{\"kind\": \"sequence\"}]}''']\n\
           [factors]\n\"system.backend\" = [\"sqlite\", \"postgres\"]\n";
    let (run, _) = short(&text);
    let backends: Vec<&str> =
        run.instances.iter().take(3).map(|instance| instance.settings["backend"].as_str()).collect();
    assert_eq!((backends.len(), backends[0]), (3, "SQLite"));
    assert!(backends[1].starts_with("PostgreSQL 1"), "{backends:?}");
    for trial in &run.trials {
        assert!(trial.errors.is_empty() && trial.misses == 0, "{:?} {}", trial.errors, trial.misses);
        assert!(trial.whole.ops > 0 && trial.whole.counters["server.cpu_us"] > 0.0);
    }
}

#[test]
fn wrong_texts_and_settings_are_named() {
    let refused = |text: &str| plan(&format!("{text}{TWO}")).unwrap_err();
    let ping = "command = '{\"ping\": 1}'";
    let error = refused(&(experiment("", ping, "") + "[settings]\n\"sqlite.synchronos\" = \"off\"\n"));
    assert!(
        error.contains("no setting `sqlite.synchronos`") && error.contains("sqlite.synchronous"),
        "{error}"
    );
    let error = refused(&(experiment("", ping, "") + "[settings]\n\"sqlite.synchronous\" = \"never\"\n"));
    assert!(error.contains("`normal`"), "{error}");
    let error = refused(&experiment("backend = \"mysql\"", ping, ""));
    assert!(error.contains("`sqlite` or `postgres`") || error.contains("`postgres`"), "{error}");

    let failing = |text: &str| {
        let plan = plan(&format!("{text}{TWO}")).unwrap_or_else(|error| panic!("{error}"));
        Stage::new().build(&plan).err().expect("the set-up fails").message
    };
    let set_up =
        |text: &str| failing(&(experiment("", ping, "") + &format!("[workload]\nsetup = ['{text}']\n")));
    assert_eq!(
        set_up("{\"nope\": 1}"),
        "set-up command 1 `{\"nope\": 1}` failed: no such command: 'nope' (59 CommandNotFound)"
    );
    assert_eq!(
        set_up("{\"insert\": \"c\", \"documents\": [{}], \"$times\": 0}"),
        "set-up command 1 `{\"insert\": \"c\", \"documents\": [{}], \"$times\": 0}` failed: \
         `$times` is a number of documents, 1 to 100000000"
    );
    let batch = experiment("", ping, "")
        + "[settings]\ntest-batch-size = \"1x\"\n[workload]\nsetup = ['{\"ping\": 1}']\n";
    let message = failing(&batch);
    assert!(message.contains("--test-batch-size: expected a valid 64 bit int but got \"1x\""), "{message}");
}

/// Every trial finds the collection as `prepare` leaves it, and none of it is in the trial's counters.
#[test]
fn prepare_runs_before_every_trial() {
    let insert = "command = '{\"insert\": \"c\", \"documents\": [{\"_id\": \"only\"}]}'";
    let text = experiment("", insert, "").replace("[load]\n", "[load]\noperations = 1\nclients = 1\n")
        + "[workload]\nsetup = ['{\"create\": \"c\"}']\nprepare = ['{\"delete\": \"c\", \"deletes\": [{\"q\": {}, \"limit\": 0}]}']\n\
           [variants.a]\n\"load.clients\" = 1\n[variants.b]\n\"load.clients\" = 1\n\"load.threads\" = 1\n";
    let (run, _) = short(&text);
    assert!(run.trials.len() > 10);
    for trial in &run.trials {
        assert!(trial.errors.is_empty(), "{:?}", trial.errors);
        assert_eq!(trial.whole.ops, 1);
        assert_eq!(trial.whole.counters["mongodb.insert_calls"], 1.0);
        assert_eq!(trial.whole.counters.get("mongodb.delete_calls").copied().unwrap_or(0.0), 0.0);
    }
}

#[test]
fn a_server_that_dies_is_named() {
    let text = experiment("", "command = '{\"ping\": 1}'", "") + "[factors]\n\"load.clients\" = [1, 2]\n";
    let plan = plan(&text).unwrap();
    let stage = Stage::new();
    let mut system = stage.build(&plan).unwrap();
    system.start_epoch(0).unwrap();
    system.enter(slot(0)).unwrap();
    let pids = system.processes(slot(0));
    assert_eq!(pids.len(), 1);
    let killed = std::process::Command::new("kill").arg("-9").arg(pids[0].to_string()).status().unwrap();
    assert!(killed.success());
    let error = system.counters(slot(0)).unwrap_err();
    assert_eq!(error.message, "the private FerretDB 1.24.2 on SQLite has ended (signal: 9 (SIGKILL))");
    system.stop().unwrap();
}

/// A directory with a `mongod` that says its version and does not start.
fn broken_mongod() -> tempfile::TempDir {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("mongod");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'db version v7.0.14'; exit 0; }\n\
        echo '{\"t\":{\"$date\":\"2024-01-01T00:00:00.000+00:00\"},\"s\":\"F\",\"c\":\"STORAGE\",\"msg\":\"Cannot start\",\"attr\":{\"error\":\"no room\"}}'\n\
        exit 100\n";
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

#[test]
fn mongod_is_taken_where_it_is_and_missing_where_it_is_asked_for() {
    let dir = broken_mongod();
    let text = format!(
        "question = \"q\"\nsystem = {{ name = \"mongodb\", bin_dir = \"{}\" }}\nneeds = [\"write concern\"]\n\
         [[workload.operations]]\nname = \"ping\"\ncommand = '{{\"ping\": 1}}'\n\
         [settings]\n\"storage.wiredTiger.engineConfig.cacheSizeGB\" = 0.25\n\"setParameter.ttlMonitorEnabled\" = false\n{TWO}",
        dir.path().display()
    );
    let plan_of = |text: &str| plan(text);
    let found = plan_of(&text).unwrap_or_else(|error| panic!("{error}"));
    let stage = Stage::new();
    let mut system = stage.build(&found).unwrap();
    let error = system.start_epoch(0).unwrap_err();
    assert!(
        error.message.ends_with("the private mongod 7.0.14 did not start: Cannot start: no room"),
        "{}",
        error.message
    );
    assert_eq!(error.log.len(), 1);
    let misspelt = text.replace("cacheSizeGB", "cacheSizeMB");
    let error = plan_of(&misspelt).unwrap_err();
    assert!(error.contains("cacheSizeGB"), "{error}");
    let nowhere = text
        .replace(&dir.path().display().to_string(), "/usr/share")
        .replace("bin_dir", "server = \"mongod\", bin_dir");
    let error = plan_of(&nowhere).unwrap_err();
    assert!(error.contains("`/usr/share` does not hold `mongod`"), "{error}");
}
