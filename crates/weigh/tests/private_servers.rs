//! The shipped experiments on Redis, memcached and caches, each through the built binary with a budget of seconds.
//!
//! What is asserted is what an experiment exists to show, by counters where they show it.

use serde_json::Value;

use crate::home::Home;
use crate::lab::{assert_clean, home};

/// Runs a shipped experiment with a budget of a few seconds, to its end.
fn tiny(home: &Home, experiment: &str, budget: &str) -> Value {
    let args = ["run", experiment, "--json", "--quiet", "--seed", "7", "--budget", budget];
    let done = home.run(&[&args[..], &["--trial", "100ms", "--settle", "50ms"]].concat());
    assert!([0, 4].contains(&done.code), "exit {}: {}{}", done.code, done.err, done.out);
    assert_clean(home);
    serde_json::from_str(&done.out).unwrap()
}

fn per_operation(report: &Value, variant: &str, counter: &str) -> f64 {
    let variants = report["variants"].as_array().unwrap();
    let found = variants.iter().find(|known| known["name"] == variant);
    let costs = found.unwrap_or_else(|| panic!("no `{variant}`"))["costs"].as_array().unwrap();
    let cost = costs.iter().find(|cost| cost["counter"] == counter);
    cost.unwrap_or_else(|| panic!("no `{counter}` in {costs:?}"))["per_op"].as_f64().unwrap()
}

fn names(report: &Value) -> Vec<&str> {
    report["variants"].as_array().unwrap().iter().map(|variant| variant["name"].as_str().unwrap()).collect()
}

#[test]
fn redis_pays_for_durability_with_flushes() {
    let report = tiny(&home(), "redis/durability", "6s");
    assert_eq!(names(&report), ["always", "everysec", "no", "memory"]);
    // Several clients may share a flush; each operation writes its own lines.
    let (always, memory) =
        (per_operation(&report, "always", "disk.flushes"), per_operation(&report, "memory", "disk.flushes"));
    assert!(always > 0.1 && always > 3.0 * memory, "flushes per operation: {always} and {memory}");
    assert!(
        report["doubts"].as_array().unwrap().iter().all(|doubt| doubt["kind"] != "errors"),
        "{}",
        report["doubts"]
    );
}

#[test]
fn deeper_pipelines_cost_redis_fewer_reads() {
    let report = tiny(&home(), "redis/pipeline", "6s");
    assert_eq!(names(&report).len(), 7, "{:?}", names(&report));
    let first = names(&report)[0].to_owned();
    let last = names(&report)[6].to_owned();
    let reads = |variant: &str| per_operation(&report, variant, "redis.reads");
    assert!(reads(&first) > 0.9 && reads(&last) < 0.2, "{} and {}", reads(&first), reads(&last));
}

#[test]
fn memcached_runs_with_the_threads_that_are_asked_for() {
    let report = tiny(&home(), "memcached/threads", "6s");
    assert_eq!(names(&report), ["1 thread", "2 threads", "4 threads"]);
    let sets = per_operation(&report, "1 thread", "memcached.sets");
    assert!((0.05..0.15).contains(&sets), "one in ten is a write: {sets}");
}

#[test]
fn a_cache_in_front_of_postgres_has_the_hit_ratios_it_says() {
    let report = tiny(&home(), "postgres/cache", "10s");
    for (variant, expected) in [("memcached 50 %", 0.5), ("redis 50 %", 0.5), ("memcached 99 %", 0.01)] {
        let misses = per_operation(&report, variant, "cache.misses");
        // The first trial of all finds an empty cache.
        assert!((misses - expected).abs() < 0.12, "{variant}: {misses} misses in each operation");
        let both = misses + per_operation(&report, variant, "cache.hits");
        assert!((both - 1.0).abs() < 0.02, "{variant}: every operation looks once: {both}");
    }
    assert!(
        report["doubts"].as_array().unwrap().iter().all(|doubt| doubt["kind"] != "errors"),
        "{}",
        report["doubts"]
    );
}

#[test]
fn a_cache_pays_where_the_question_is_expensive() {
    let report = tiny(&home(), "postgres/cache-expensive", "6s");
    let cpu = |variant: &str| per_operation(&report, variant, "server.cpu_us");
    assert!(
        cpu("memcached 90 %") < 0.5 * cpu("direct"),
        "{} and {} us",
        cpu("memcached 90 %"),
        cpu("direct")
    );
}

#[test]
fn a_private_redis_is_started_by_flags_alone() {
    let home = home();
    let args = ["run", "--system", "redis", "--json", "--quiet", "--budget", "4s", "--trial", "100ms"];
    let more = ["--setup", "SET a 1", "--operation", "GET a", "--set", "appendfsync=no,everysec"];
    let done = home.run(&[&args[..], &more].concat());
    assert!([0, 4].contains(&done.code), "exit {}: {}{}", done.code, done.err, done.out);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert!(per_operation(&report, names(&report)[0], "redis.keyspace_hits") > 0.9);
    assert_clean(&home);
}
