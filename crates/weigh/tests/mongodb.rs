//! The shipped experiments about MongoDB's protocol, on FerretDB, through the built binary; and FerretDB's own building,
//! where it cannot be built.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::home::{Done, Home};
use crate::lab::{assert_clean, home};

/// The smallest experiment there is.
const PING: &str = "system = { name = \"mongodb\", server = \"ferretdb\" }\n\
    [[workload.operations]]\nname = \"ping\"\ncommand = '{\"ping\": 1}'\n\
    [factors]\n\"load.clients\" = [1, 2]\n";

/// A shipped experiment on FerretDB, whatever else this host has, each `from` in its text replaced by `to`.
fn run(home: &Home, experiment: &str, replaced: &[(&str, &str)]) -> Done {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../experiments/{experiment}.toml"));
    let mut text = std::fs::read_to_string(path).unwrap();
    let ferretdb = ("system = \"mongodb\"", "system = { name = \"mongodb\", server = \"ferretdb\" }");
    for (from, to) in [ferretdb].iter().chain(replaced) {
        assert!(text.contains(from), "`{experiment}` has no `{from}`");
        text = text.replace(from, to);
    }
    std::fs::write(home.path().join("it.toml"), text).unwrap();
    let args = ["run", "it.toml", "--json", "--quiet", "--seed", "7", "--budget", "3s"];
    let args = [&args[..], &["--trial", "100ms", "--settle", "20ms"]].concat();
    // FerretDB is where `scripts/setup` has put it.
    home.done(home.weigh_with_cache(&args).output().unwrap())
}

fn report(home: &Home, experiment: &str, replaced: &[(&str, &str)]) -> Value {
    let done = run(home, experiment, replaced);
    assert!([0, 4].contains(&done.code), "exit {}: {}{}", done.code, done.err, done.out);
    assert_clean(home);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert!(report["rounds"].as_u64().unwrap() >= 5, "{}", report["doubts"]);
    for variant in report["variants"].as_array().unwrap() {
        // A duplicate that is inserted alone fails alone.
        let mut errors = variant["errors"].as_object().unwrap().keys();
        assert!(
            errors.all(|error| error.starts_with("11000 ")),
            "{}: {}",
            variant["name"],
            variant["errors"]
        );
    }
    report
}

fn variant<'a>(report: &'a Value, name: &str) -> &'a Value {
    let variants = report["variants"].as_array().unwrap();
    variants.iter().find(|variant| variant["name"] == name).unwrap_or_else(|| panic!("no `{name}`"))
}

fn cost(report: &Value, name: &str, counter: &str) -> f64 {
    let costs = variant(report, name)["costs"].as_array().unwrap();
    let found = costs.iter().find(|cost| cost["counter"] == counter);
    found.unwrap_or_else(|| panic!("no `{counter}` in {costs:?}"))["per_op"].as_f64().unwrap()
}

/// Items that failed, by how their messages begin.
fn failed(report: &Value, name: &str, start: &str) -> u64 {
    let items = variant(report, name)["item_errors"].as_object().unwrap();
    items
        .iter()
        .filter(|(message, _)| message.starts_with(start))
        .map(|(_, count)| count.as_u64().unwrap())
        .sum()
}

#[test]
fn a_bulk_gains_and_every_failure_is_told() {
    let home = home();
    let report = report(&home, "mongodb/bulk", &[("every = 1700", "every = 170")]);
    let (duplicate, left) = ("11000 E11000 duplicate key error", "not attempted: ");
    for name in ["ordered bulk", "unordered bulk", "unordered bulk of 100"] {
        assert!(failed(&report, name, duplicate) > 0, "{}", variant(&report, name)["item_errors"]);
        assert!(cost(&report, name, "mongodb.insert_calls") < 0.1);
    }
    assert!(failed(&report, "ordered bulk", left) > failed(&report, "ordered bulk", duplicate));
    assert_eq!(failed(&report, "unordered bulk", left), 0);
    // Nothing but the duplicates is missing: one in 170, give or take what a trial's end cuts off.
    let run = home.store().load("last").unwrap();
    let of = |name: &str| run.header.plan.variants.iter().position(|variant| variant.name == name).unwrap();
    let unordered = run.trials.iter().filter(|trial| trial.slot.variant == of("unordered bulk"));
    for trial in unordered {
        let failed: u64 = trial.item_errors.values().sum();
        let sent = trial.whole.ops + failed;
        assert_eq!((sent % 1000, failed), (0, sent / 170), "{:?}", trial.item_errors);
    }
    let shown = home.run(&["show", "last"]);
    let lines = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(lines.contains("11000 E11000 duplicate key error"), "{}", shown.out);
    assert!(lines.contains("not attempted: an ordered bulk"), "{}", shown.out);
}

#[test]
fn what_only_mongod_can_answer_is_refused_with_the_reason() {
    for (experiment, need, why) in [
        ("mongodb/durability", "write concern", "FerretDB takes `w` and `j` and ignores them"),
        ("mongodb/match-sort", "indexed reads", "FerretDB on SQLite scans the whole collection"),
    ] {
        let home = home();
        let done = run(&home, experiment, &[]);
        assert_eq!(done.code, 2, "{}", done.err);
        assert!(done.err.contains(&format!("needs {need}: {why}")), "{}", done.err);
        assert!(done.err.contains(&format!("needs = [\"{need}\"]")), "{}", done.err);
    }
}

#[test]
fn long_names_are_written_and_hot_documents_updated() {
    let home = home();
    let names = report(&home, "mongodb/names", &[]);
    let written = |name: &str| cost(&names, name, "server.write_chars_bytes");
    assert!(
        written("long names") > 1.5 * written("short names"),
        "{} {}",
        written("long names"),
        written("short names")
    );
    let hot = report(&home, "mongodb/hot-document", &[]);
    for variant in hot["variants"].as_array().unwrap() {
        let calls = cost(&hot, variant["name"].as_str().unwrap(), "mongodb.update_calls");
        assert!((calls - 1.0).abs() < 0.01, "{}: {calls}", variant["name"]);
    }
    let instance = &hot["instances"][0];
    assert!(instance["version"].as_str().unwrap().contains("FerretDB 1.24.2"), "{instance}");
}

#[test]
fn upserts_share_the_way_to_the_server() {
    let home = home();
    let upsert = report(&home, "mongodb/upsert", &[]);
    for (name, calls) in [("single", 1.0), ("ordered, 10", 0.1), ("unordered, 40", 0.025)] {
        let seen = cost(&upsert, name, "mongodb.update_calls");
        assert!((seen / calls - 1.0).abs() < 0.05, "{name}: {seen} commands for an upsert");
    }
}

#[test]
fn documents_are_found_and_changed() {
    let home = home();
    let existence = report(&home, "mongodb/existence", &[]);
    assert_eq!(existence["variants"].as_array().unwrap().len(), 9);
    let calls = |name: &str, counter: &str| cost(&existence, name, counter);
    assert!(
        calls("count, 20 kB", "mongodb.count_calls") > 0.99
            && calls("key, 2 kB", "mongodb.find_calls") > 0.99
    );
    assert!(calls("fetch, 20 kB", "server.cpu_us") > calls("fetch, 0.2 kB", "server.cpu_us"));
    let shape = report(&home, "mongodb/shape", &[]);
    assert!(cost(&shape, "grow", "mongodb.update_calls") > 0.99);
}

/// An empty cache, and a proxy that is not there.
#[test]
fn ferretdb_that_cannot_be_built_is_one_clear_line() {
    let home = home();
    std::fs::write(home.path().join("ping.toml"), PING).unwrap();
    let mut command = home.weigh(&["run", "ping.toml", "--budget", "2s"]);
    command.env("GOPROXY", "http://127.0.0.1:1").env("GOSUMDB", "off");
    let done = home.done(command.output().unwrap());
    assert_eq!(done.code, 3, "{}{}", done.err, done.out);
    assert!(done.err.contains("cannot build FerretDB 1.24.2: fetching "), "{}", done.err);
    assert!(done.err.contains("install Go 1.24 or later and try again"), "{}", done.err);
    assert_clean(&home);
}

/// A proxy that takes connections and says nothing: the build goes on until it is interrupted.
#[test]
fn building_ferretdb_is_interrupted_at_once() {
    let home = home();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::write(home.path().join("ping.toml"), PING).unwrap();
    let mut command = home.weigh(&["run", "ping.toml", "--budget", "2s"]);
    command.env("GOPROXY", format!("http://{}", silent.local_addr().unwrap())).env("GOSUMDB", "off");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The client of the proxy is Go's, or what fetches Go.
    let (connection, _) = silent.accept().unwrap();
    let interrupted = Instant::now();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let done = home.done(child.wait_with_output().unwrap());
    assert!(interrupted.elapsed() < Duration::from_secs(20), "{:?}", interrupted.elapsed());
    assert_eq!(done.code, 130, "{}{}", done.err, done.out);
    assert!(done.err.contains("interrupted"), "{}", done.err);
    drop(connection);
    assert_clean(&home);
}
