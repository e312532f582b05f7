//! `weigh load` as a user runs it, against real servers.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;

use crate::home::{Done, Home};
use crate::load_servers::{Metered, Server};

const SHORT: [&str; 6] = ["--quiet", "--duration", "400ms", "--warmup", "100ms", "--seed"];

/// A short load, quiet, as JSON.
fn load(url: &str, more: &[&str]) -> Value {
    let _others = ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let home = Home::new();
    let mut args = vec!["load", url, "--json"];
    args.extend(SHORT);
    args.extend(["7"]);
    args.extend(more);
    let done = home.run(&args);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{}", done.out);
    serde_json::from_str(&done.out).unwrap()
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no count: {value}"))
}

/// The server's count and ours, within 0.1 %; what was sent at the very end may be unanswered by one of the two.
#[track_caller]
fn agree(server: u64, report: &Value) {
    let ours = count(&report["operations_total"]);
    assert!(ours > 50, "{report}");
    assert_eq!(report["errors_total"], 0, "{}", report["errors"]);
    assert!(server.abs_diff(ours) * 1000 <= ours, "the server counts {server}, we count {ours}");
}

/// What must hold of every report.
#[track_caller]
fn sound(report: &Value) {
    let measured = count(&report["operations_measured"]);
    assert!(measured <= count(&report["operations_total"]));
    let response = &report["response"];
    let buckets: u64 = response["buckets"].as_array().unwrap().iter().map(|row| count(&row["count"])).sum();
    assert_eq!(buckets, count(&response["answered"]));
    let known: Vec<f64> = response["percentiles"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|found| {
            assert_eq!(found["value_s"].is_null(), !found["unknown_because"].is_null(), "{found}");
            assert!(found["value_s"].is_null() || count(&found["operations_beyond"]) >= 10, "{found}");
            found["value_s"].as_f64()
        })
        .collect();
    assert!(known.windows(2).all(|pair| pair[0] <= pair[1]) && !known.is_empty(), "{known:?}");
    let intervals = report["intervals"].as_array().unwrap();
    let operations: u64 = intervals.iter().map(|interval| count(&interval["operations"])).sum();
    assert_eq!(operations, count(&report["operations_total"]), "intervals add up");
    if let Some(schedule) = report["schedule"].as_object() {
        assert_eq!(count(&schedule["due"]), count(&schedule["sent"]) + count(&schedule["never_sent"]));
        assert_eq!(count(&report["response"]["answered"]), count(&report["service"]["answered"]));
    }
}

#[test]
fn http_counts_are_the_servers() {
    let server = Server::nginx();
    let before = server.nginx_requests();
    let report = load(&server.url, &["--clients", "10"]);
    sound(&report);
    agree(server.nginx_requests() - before - 1, &report);
    assert_eq!((&report["asked"]["system"], &report["schedule"]), (&"http".into(), &Value::Null));

    let before = server.nginx_requests();
    let report = load(&server.url, &["--clients", "10", "--rate", "1000/s"]);
    sound(&report);
    agree(server.nginx_requests() - before - 1, &report);
    let due = count(&report["schedule"]["due"]);
    assert!((395..=405).contains(&due), "{due} due in 400 ms at 1000/s");
}

#[test]
fn requests_are_made_of_the_flags() {
    let server = Server::nginx();
    let url = format!("{}/echo/$1", server.url);
    let args =
        ["-X", "post", "-H", "X-Id: id-$1", "-b", "{\"id\": $1}", "-p", "uniform:7..7", "--expect", "200"];
    let report = load(&url, &args);
    assert_eq!(report["errors_total"], 0, "{}", report["errors"]);
    assert_eq!(report["asked"]["operations"][0]["text"], "POST /echo/$1");
    let workload = "
[[operations]]
name = \"echo\"
weight = 3
request = \"GET /echo/$1\"
headers = { X-Id = \"id\" }
expect_body = \"GET /echo/5 id\"
parameters = [{ kind = \"uniform\", min = 5, max = 5 }]

[[operations]]
name = \"root\"
request = \"GET /\"
expect_length = 64
";
    std::fs::write(server.kept.file("mix.toml"), workload).unwrap();
    let report = load(&server.url, &["--workload", server.kept.file("mix.toml").to_str().unwrap()]);
    sound(&report);
    assert_eq!(report["errors_total"], 0, "{}", report["errors"]);
    let each: Vec<u64> = report["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|operation| count(&operation["operations_measured"]))
        .collect();
    let share = each[0] as f64 / (each[0] + each[1]) as f64;
    assert!((0.65..0.85).contains(&share), "weights 3 and 1: {each:?}");
}

#[test]
fn redis_counts_are_the_servers() {
    let server = Server::redis();
    server.tell("SET user:1 x\r\n", "+OK");
    let args = ["-o", "GET user:$1", "-p", "uniform:1..2", "--clients", "4", "--pipeline", "4"];
    let report = load(&server.url, &args);
    sound(&report);
    agree(server.redis_calls("get"), &report);
    let (misses, all) = (count(&report["misses"]) as f64, count(&report["operations_total"]) as f64);
    assert!((0.3..0.7).contains(&(misses / all)), "half of the keys are not there: {misses} of {all}");

    let report = load(&server.url, &["-o", "INCR n", "--rate", "500/s", "--arrivals", "poisson"]);
    sound(&report);
    agree(server.redis_calls("incr"), &report);
}

#[test]
fn memcached_counts_are_the_servers() {
    let server = Server::memcached();
    server.tell("set k1 0 0 1\r\nx\r\n", "STORED");
    let report = load(&server.url, &["-o", "get k$1", "-p", "uniform:1..1"]);
    sound(&report);
    agree(server.memcached_counter("cmd_get"), &report);
    assert_eq!(report["misses"], 0);
    let before = server.memcached_counter("cmd_get");
    let report = load(&server.url, &["-o", "get k$1", "-p", "choice:1,2", "--rate", "1000/s"]);
    sound(&report);
    agree(server.memcached_counter("cmd_get") - before, &report);
}

#[test]
fn postgres_counts_are_the_servers() {
    let server = Server::postgres();
    server.psql("CREATE TABLE t (id bigint PRIMARY KEY, name text)");
    let insert = "INSERT INTO t VALUES ($1, $2)";
    let report = load(&server.url, &["-o", insert, "-p", "sequence", "-p", "string:8", "--clients", "4"]);
    sound(&report);
    let rows: u64 = server.psql("SELECT count(*) FROM t").parse().unwrap();
    assert_eq!(rows, count(&report["operations_total"]), "{}", report["errors"]);
    let select = "SELECT name FROM t WHERE id = $1";
    let report = load(&server.url, &["-o", select, "-p", "uniform:1..50", "--rate", "500/s"]);
    sound(&report);
    assert_eq!(report["errors_total"], 0, "{}", report["errors"]);
    // A bare URL changes nothing and needs nothing.
    sound(&load(&server.url, &[]));
}

#[test]
fn mongodb_by_the_same_flags() {
    let server = Server::ferretdb();
    let insert = r#"{"insert": "t", "documents": [{"_id": "$1", "name": "$2"}]}"#;
    let report = load(&server.url, &["-o", insert, "-p", "sequence", "-p", "string:8", "--clients", "2"]);
    sound(&report);
    assert_eq!(report["errors_total"], 0, "{}", report["errors"]);
    let report = load(&server.url, &["--rate", "200/s", "--clients", "2"]);
    sound(&report);
    assert_eq!(report["errors_total"], 0, "{}", report["errors"]);
}

#[test]
fn tls_is_checked_unless_it_is_not_to_be() {
    let authority = crate::tls::Authority::new();
    let (_server, port) = Server::nginx_tls(&authority.right());
    let url = format!("https://localhost:{port}/");
    let refused = fails(&["load", &url, "--quiet"], 1);
    assert!(refused.contains("certificate"), "{refused}");
    let ca = authority.ca_file().to_str().unwrap();
    for more in [vec!["--ca", ca], vec!["--insecure"], vec!["--ca", ca, "--rate", "300/s"]] {
        let report = load(&url, &more);
        sound(&report);
        assert_eq!(report["errors_total"], 0, "{}", report["errors"]);
    }
    // The name is the URL's, whatever it is connected to.
    let place = format!("127.0.0.1:{port}");
    let report = load("https://localhost/", &["--ca", ca, "--connect-to", &place]);
    assert_eq!(report["errors_total"], 0, "{}", report["errors"]);
    let elsewhere = fails(&["load", "https://elsewhere/", "--ca", ca, "--connect-to", &place, "--quiet"], 1);
    assert!(elsewhere.contains("elsewhere"), "{elsewhere}");
    let missing = fails(&["load", &url, "--ca", "/nowhere.pem", "--quiet"], 2);
    assert!(missing.contains("/nowhere.pem"), "{missing}");
}

#[test]
fn a_number_of_operations_is_kept_exactly() {
    let server = Server::redis();
    let begun = Instant::now();
    let home = Home::new();
    let args = [
        "load",
        &server.url,
        "--json",
        "--quiet",
        "--operation",
        "INCR n",
        "--operations",
        "1000",
        "--warmup",
        "0s",
        "-d",
        "30s",
    ];
    let report = home.run(&args).json();
    assert!(begun.elapsed() < Duration::from_secs(15), "it waited for the end of the time");
    assert_eq!((&report["operations_measured"], &report["operations_total"]), (&1000.into(), &1000.into()));
    assert_eq!(server.redis_calls("incr"), 1000);
}

#[test]
fn a_server_killed_under_load_is_counted_and_survived() {
    let mut server = Server::redis();
    let home = Home::new();
    let args = [
        "load",
        &server.url,
        "--json",
        "--quiet",
        "--duration",
        "1500ms",
        "--warmup",
        "0s",
        "--rate",
        "500/s",
    ];
    let mut child = home.weigh(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(600));
    server.kept.crash();
    let begun = Instant::now();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let status = child.wait().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(status.code(), Some(0), "{text}");
    assert!(count(&report["errors_total"]) > 0 && count(&report["operations_measured"]) > 50);
    let due = count(&report["schedule"]["due"]);
    assert!((740..=760).contains(&due), "the schedule goes on: {due}");
    assert!(count(&report["response"]["unanswered"]) > 100, "{}", report["schedule"]);
    let kinds: Vec<&str> =
        report["doubts"].as_array().unwrap().iter().map(|doubt| doubt["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"rate_above_capacity"), "{kinds:?}");
}

#[test]
fn nothing_but_errors_is_a_failure() {
    let server = Server::nginx();
    let home = Home::new();
    let url = format!("{}/gone", server.url);
    let done = home.run(&["load", &url, "--quiet", "--duration", "200ms", "--warmup", "0s"]);
    assert_eq!((done.code, done.err.as_str()), (5, ""));
    assert!(done.out.contains("errors") && done.out.contains("404"), "{}", done.out);
    assert!(!done.out.contains("NaN") && !done.out.contains("inf"), "{}", done.out);
    // The same is right when it is what was asked for.
    let report = load(&url, &["--expect", "404"]);
    assert_eq!(report["errors_total"], 0, "{}", report["errors"]);
}

fn fails(args: &[&str], code: i32) -> String {
    Home::new().run(args).fails(code)
}

#[test]
fn a_refused_connection_is_one_clear_line() {
    let port = crate::kept::free_port();
    let error = fails(&["load", &format!("redis://me:secret@127.0.0.1:{port}"), "--quiet"], 1);
    assert!(error.contains(&format!("127.0.0.1:{port}")) && error.contains("refused"), "{error}");
    assert!(error.contains("hint: weigh load") && !error.contains("secret"), "{error}");
}

#[test]
fn mistakes_are_told_before_anything_is_sent() {
    for (args, part) in [
        (vec!["load", "nonsense"], "not a URL"),
        (vec!["load", "ftp://127.0.0.1/"], "ftp"),
        (vec!["load", "redis://127.0.0.1", "-o", "GET $1"], "$1"),
        (vec!["load", "redis://127.0.0.1", "-o", "GET k", "-p", "unifrom:1..2"], "uniform:1..1000"),
        (vec!["load", "redis://127.0.0.1", "-X", "POST"], "--method"),
        (vec!["load", "redis://127.0.0.1", "--rate", "fast"], "1000/s"),
        (vec!["load", "redis://127.0.0.1", "--workload", "missing.toml"], "missing.toml"),
        (vec!["load", "redis://127.0.0.1", "--find-capacity"], "--p99"),
        (vec!["load", "redis://127.0.0.1", "--clients", "0"], "--clients"),
    ] {
        let error = fails(&args, 2);
        assert!(error.contains(part), "{args:?}: {error}");
    }
}

#[test]
fn a_mistake_in_a_workload_file_has_its_place() {
    let home = Home::new();
    let path = home.path().join("mix.toml");
    std::fs::write(&path, "[[operations]]\nname = \"a\"\ncomand = \"GET k\"\n").unwrap();
    let done = home.run(&["load", "redis://127.0.0.1:1", "--workload", path.to_str().unwrap()]);
    let error = done.fails(2);
    assert!(error.contains("mix.toml:3:1") && error.contains("did you mean `command`"), "{error}");
}

#[test]
fn ctrl_c_prints_what_was_measured() {
    let server = Server::redis();
    let home = Home::new();
    let args = ["load", &server.url, "--duration", "60s", "--warmup", "0s"];
    let child = home.weigh(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let begun = Instant::now();
    let Done { code, out, err } = home.done(child.wait_with_output().unwrap());
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(code, 130, "{err}");
    assert!(out.contains("p50") && out.contains("the load was cut short"), "{out}");
    // Not a terminal: plain lines, one a second.
    assert!(err.lines().any(|line| line.contains("/s · p50")), "{err}");
    assert!(!err.contains('\u{1b}') && !out.contains('\u{1b}'), "{err}");
}

#[test]
fn an_hdr_log_adds_up_to_the_report() {
    let server = Server::nginx();
    let path = server.kept.file("latency.hlog");
    let more = ["--hlog", path.to_str().unwrap(), "--duration", "2200ms", "--rate", "300/s"];
    let report = load(&server.url, &more);
    let bytes = std::fs::read(&path).unwrap();
    let (mut answered, mut intervals) = (0, 0);
    for entry in IntervalLogIterator::new(&bytes) {
        if let LogEntry::Interval(found) = entry.unwrap() {
            answered += weigh_results::model::histogram::decode(found.encoded_histogram()).unwrap().len();
            intervals += 1;
        }
    }
    assert_eq!(answered, count(&report["response"]["answered"]));
    assert!((3..=5).contains(&intervals), "{intervals}");
    let unwritable = ["load", &server.url, "--hlog", "/nowhere/x.hlog", "--quiet"];
    assert!(fails(&unwritable, 1).contains("`/nowhere/x.hlog`"));
}

/// The other loads of these tests would be in the way of the one that is about time.
static ALONE: RwLock<()> = RwLock::new(());

#[test]
fn a_known_capacity_is_found() {
    let server = Metered::new(Duration::from_micros(500));
    let home = Home::new();
    let mut args = vec!["load", &server.url, "--clients", "50", "--threads", "1", "--json"];
    args.extend(["--find-capacity", "--p99", "100ms", "--duration", "700ms", "--warmup", "100ms"]);
    let (mut done, mut report);
    let mut attempts = 0;
    loop {
        let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
        done = home.run(&args);
        report = serde_json::from_str::<Value>(&done.out).unwrap();
        attempts += 1;
        // Judged on a machine that has time for it; on the last attempt whatever it was like.
        let waited =
            report["steps"].as_array().unwrap().iter().map(|step| step["client_wait"].as_f64().unwrap());
        if attempts == 4 || (waited.fold(0.0, f64::max) < 0.1 && report["limited_by"] != "client") {
            break;
        }
    }
    assert!(done.err.contains("a closed loop does") && done.err.contains("step 1: "), "{}", done.err);
    assert_eq!(done.code, 0, "{}{}", done.err, report["sentence"]);
    let (kept, failed) =
        (report["highest_pass_per_s"].as_f64().unwrap(), report["lowest_fail_per_s"].as_f64().unwrap());
    assert!((1_800.0..=2_200.0).contains(&kept), "{kept}: {}", done.err);
    assert!(failed > kept && failed / kept < 1.06, "{kept} to {failed}");
    assert!(server.answered.load(Ordering::Relaxed) > 5_000);
    assert!(report["sentence"].as_str().unwrap().contains("p99 stays within 100 ms"));
}

#[test]
fn a_page_is_readable_at_the_width_of_a_pipe() {
    let server = Server::redis();
    let home = Home::new();
    let args = ["load", &server.url, "--quiet", "--duration", "300ms", "--warmup", "0s"];
    let page = home.run(&args).ok();
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    for part in ["closed loop", "done ", "errors   none", "operations beyond", "█", "client "] {
        assert!(page.contains(part), "no `{part}`: {page}");
    }
}
