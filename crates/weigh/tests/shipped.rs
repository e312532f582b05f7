//! The shipped experiments, each through the built binary with a budget of seconds.
//!
//! What is asserted is what an experiment exists to show, by counters where they show it: counters are the same on a busy
//! machine, and speeds are not. Set-ups and factors that take long are made smaller in the experiment's own text.

use std::path::Path;

use serde_json::Value;

use crate::home::Home;
use crate::lab::{assert_clean, home};

/// A report of a run, with the home that holds its events.
struct Shown {
    home: Home,
    report: Value,
}

/// Runs a shipped experiment to its end, each `from` in its text replaced by `to`.
fn run(experiment: &str, replaced: &[(&str, &str)], more: &[&str]) -> Shown {
    let home = home();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../experiments/{experiment}.toml"));
    let mut name = experiment.to_owned();
    if !replaced.is_empty() {
        let mut text = std::fs::read_to_string(path).unwrap();
        for (from, to) in replaced {
            assert!(text.contains(from), "`{experiment}` has no `{from}`");
            text = text.replace(from, to);
        }
        name = format!("{}.toml", experiment.replace('/', "-"));
        std::fs::write(home.path().join(&name), text).unwrap();
    }
    let mut args = vec!["run", name.as_str(), "--json", "--quiet", "--seed", "7", "--budget", "4s"];
    args.extend(["--trial", "100ms", "--settle", "20ms"]);
    args.extend(more);
    let done = home.done(home.weigh_with_cache(&args).output().unwrap());
    assert!([0, 4].contains(&done.code), "exit {}: {}{}", done.code, done.err, done.out);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert_clean(&home);
    let shown = Shown { home, report };
    assert!(shown.report["rounds"].as_u64().unwrap() >= 5, "{}", shown.report["doubts"]);
    shown
}

impl Shown {
    fn variant(&self, name: &str) -> &Value {
        let variants = self.report["variants"].as_array().unwrap();
        let names = || variants.iter().map(|variant| variant["name"].as_str().unwrap()).collect::<Vec<_>>();
        variants
            .iter()
            .find(|variant| variant["name"] == name)
            .unwrap_or_else(|| panic!("no `{name}` in {:?}", names()))
    }

    fn cost(&self, name: &str, counter: &str) -> f64 {
        let costs = self.variant(name)["costs"].as_array().unwrap();
        let found = costs.iter().find(|cost| cost["counter"] == counter);
        found.unwrap_or_else(|| panic!("no `{counter}` of `{name}` in {costs:?}"))["per_op"].as_f64().unwrap()
    }

    fn median(&self, name: &str, metric: &str) -> f64 {
        self.variant(name)["medians"][metric].as_f64().unwrap()
    }

    /// `more` costs at least `times` what `less` costs.
    fn costs_more(&self, counter: &str, more: &str, less: &str, times: f64) {
        let (high, low) = (self.cost(more, counter), self.cost(less, counter));
        assert!(
            high >= times * low,
            "{counter}: `{more}` {high}, `{less}` {low}, expected {times} times more"
        );
    }

    fn no_errors(&self) {
        for variant in self.report["variants"].as_array().unwrap() {
            assert_eq!(variant["errors"], serde_json::json!({}), "{}", variant["name"]);
        }
    }
}

/// Whoever adds an experiment adds a test that runs it.
#[test]
fn every_shipped_experiment_is_run_by_a_test() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let sources = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let tests: String = sources
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let home = Home::new();
    let known = home.run(&["experiments", "--json"]).json();
    for experiment in known["experiments"].as_array().unwrap() {
        let name = experiment["name"].as_str().unwrap();
        assert!(tests.contains(&format!("\"{name}\"")), "no test runs `{name}`");
    }
}

#[test]
fn a_small_memory_is_read_into_again_and_again() {
    let shown = run("postgres/faulting", &[], &[]);
    for name in ["0 % writes", "100 % writes"] {
        assert!(shown.cost(name, "server.refaults") > 0.2, "a page that was there comes back");
        assert!(shown.cost(name, "server.read_bytes") > 1_000.0, "from the disk");
        assert!(shown.cost(name, "postgres.lock_wait_us") < 100.0, "and nobody waits for a lock");
    }
    let wal = |name| shown.cost(name, "postgres.wal_bytes");
    assert!(wal("25 % writes") < wal("75 % writes"), "the mix is what it says");
    shown.no_errors();
}

/// One that is on the host, and one that is fetched once.
#[test]
fn two_versions_run_side_by_side() {
    let two = [("[\"14\", \"16\", \"18\"]", "[\"15\", \"16\"]"), ("baseline = \"14\"", "baseline = \"15\"")];
    let fields = [("[field]\n\"16\"", "[field]\n\"15\""), ("\"18\" = ", "\"16\" = ")];
    let shown = run("postgres/versions", &[two, fields].concat(), &[]);
    let versions = shown.report["instances"].as_array().unwrap().iter();
    let versions: Vec<&str> = versions.map(|instance| instance["version"].as_str().unwrap()).collect();
    for major in ["15.", "16."] {
        assert!(versions.iter().any(|version| version.starts_with(major)), "{versions:?}");
    }
    assert!(shown.cost("15", "postgres.wal_bytes") > 100.0 && shown.cost("16", "postgres.wal_bytes") > 100.0);
    shown.no_errors();
}

#[test]
fn durability_settings_show_syncs_only_where_they_are_made() {
    // The method `fsync` is as `fdatasync`, but for the file's times.
    let fewer = [("[\"fdatasync\", \"open_datasync\", \"fsync\"]", "[\"fdatasync\", \"open_datasync\"]")];
    let shown = run("postgres/durability-settings", &fewer, &[]);
    let (synced, opened) = ("on/fdatasync/commit_delay=0", "on/open_datasync/commit_delay=0");
    assert!(shown.cost(synced, "postgres.wal_syncs") > 0.05);
    assert_eq!(shown.cost(opened, "postgres.wal_syncs"), 0.0, "the file waits by itself");
    shown.costs_more("postgres.wal_writes", opened, "off/open_datasync/commit_delay=0", 2.0);
    shown.no_errors();
}

#[test]
fn existence_is_answered_from_the_index_alone() {
    let shown = run("postgres/existence", &[], &[]);
    for test in ["EXISTS, 20 kB", "SELECT 1, 2 kB", "EXISTS, missing"] {
        assert_eq!(shown.cost(test, "postgres.rows_fetched_by_index"), 0.0, "`{test}` looks at the table");
    }
    // The row, and the pieces beside it.
    shown.costs_more("postgres.rows_fetched", "SELECT *, 20 kB", "SELECT kind, 20 kB", 5.0);
    shown.costs_more("postgres.rows_fetched", "SELECT *, 20 kB", "SELECT *, 2 kB", 5.0);
    assert!(shown.median("EXISTS, 20 kB", "latency_p50") < shown.median("SELECT *, 20 kB", "latency_p50"));
    shown.no_errors();
}

#[test]
fn a_growing_row_finds_room_on_its_page_where_there_is_some() {
    let shown = run("postgres/shape-grow", &[], &[]);
    let roomy = shown.cost("preallocated, fillfactor 70", "postgres.hot_updates");
    assert!(roomy > 0.9, "{roomy} of the updates touch no index");
    let full = shown.cost("preallocated", "postgres.hot_updates");
    assert!(full < roomy, "{full} where pages are full, {roomy} where they are not");
    shown.no_errors();
}

#[test]
fn long_names_take_room_on_the_disk() {
    let shown = run("postgres/shape-names", &[], &[]);
    shown.costs_more("postgres.data_grown_bytes", "long names", "short names", 1.3);
    shown.costs_more("postgres.data_grown_bytes", "short names", "columns", 1.2);
    shown.costs_more("postgres.wal_bytes", "long names", "columns", 1.5);
}

#[test]
fn a_column_beside_the_document_leaves_the_document_alone() {
    let shown = run("postgres/shape-set", &[], &[]);
    shown.costs_more("postgres.wal_bytes", "jsonb_set, 20 kB", "column, 20 kB", 5.0);
    shown.costs_more("postgres.wal_bytes", "whole document, 20 kB", "column, 20 kB", 5.0);
    shown.no_errors();
}

#[test]
fn a_covering_index_needs_a_vacuumed_table() {
    let shown = run("postgres/covered", &[("150000", "30000"), ("% 3000", "% 600"), ("2999", "599")], &[]);
    let fetched = |name: &str| shown.cost(name, "postgres.rows_fetched_by_index");
    assert!(fetched("index") > 40.0, "{} rows of fifty", fetched("index"));
    assert!(fetched("covering index, not vacuumed") > 40.0, "{}", fetched("covering index, not vacuumed"));
    assert_eq!(fetched("covering index"), 0.0);
    shown.no_errors();
}

#[test]
fn one_index_more_takes_room_and_log() {
    let shown = run("postgres/composite-key", &[], &[]);
    shown.costs_more("postgres.wal_records", "number, and an index", "(device, at)", 1.15);
    shown.costs_more("postgres.wal_bytes", "random UUID, and an index", "(device, at)", 1.2);
    shown.no_errors();
}

#[test]
fn dropping_a_day_leaves_no_log_and_no_dead_rows() {
    let shown = run("postgres/drop-day", &[("100000", "20000")], &[]);
    shown.costs_more("postgres.wal_bytes", "DELETE", "DROP", 5.0);
    shown.costs_more("postgres.wal_bytes", "DELETE", "TRUNCATE", 5.0);
    assert!(shown.cost("DELETE", "postgres.rows_deleted") > 0.99, "every row that counts was deleted");
    let run = shown.home.store().load("last").unwrap();
    assert!(run.trials.iter().all(|trial| trial.measured.ops == 20_000), "a trial is one operation");
    shown.no_errors();
}

#[test]
fn upserts_cost_what_has_to_be_kept() {
    // Half of the factors, and fewer rows.
    let smaller = [
        ("\"vars.table\" = [\"logged\", \"unlogged\"]\n", ""),
        ("\"settings.synchronous_commit\" = [\"on\", \"off\"]\n", ""),
        ("9999", "999"),
        ("% 20000", "% 2000"),
        ("batch=1/on/logged/indexes=0", "batch=1/indexes=0"),
    ];
    let shown = run("postgres/upsert", &smaller, &[]);
    shown.costs_more("postgres.wal_records", "batch=1/indexes=8", "batch=1/indexes=0", 2.0);
    shown.costs_more("postgres.wal_syncs", "batch=1/indexes=0", "batch=1000/indexes=0", 20.0);
    shown.no_errors();
}

#[test]
fn a_batch_of_upserts_shares_one_commit() {
    let fewer = [("[1, 3, 10, 30, 100, 300, 1000]", "[1, 10, 100]"), ("9999", "999"), ("% 20000", "% 2000")];
    let shown = run("postgres/upsert-batch", &fewer, &[]);
    shown.costs_more("postgres.commits", "batch=1", "batch=10", 5.0);
    shown.costs_more("postgres.commits", "batch=10", "batch=100", 5.0);
    let growth = &shown.report["growth"];
    assert_eq!(growth["factor"], "vars.batch");
    assert!(growth["curves"][0]["fit"]["exponent"]["estimate"].as_f64().unwrap() > 0.2, "{growth}");
    shown.no_errors();
}

#[test]
fn a_server_with_a_small_cache_writes_pages_again_and_again() {
    // An instance for every variant takes a while to start.
    let fewer = [
        ("\"settings.commit_delay\" = [0, 10000]\n", ""),
        ("\"settings.max_wal_size\" = [\"64MB\", \"4GB\"]\n", ""),
        ("16MB/commit_delay=0/64MB", "16MB"),
        ("\"256MB/commit_delay=10000/4GB\" =", "256MB ="),
    ];
    let shown = run("postgres/upsert-settings", &fewer, &["--trial", "300ms"]);
    shown.costs_more("postgres.backend_buffers", "16MB", "256MB", 1.5);
    shown.no_errors();
}

#[test]
fn checkpoints_that_come_too_often_write_whole_pages() {
    let shown = run("postgres/full-page-writes", &[("operations = 40000", "operations = 3000")], &[]);
    let (often, never) = ("64MB", "64MB, full_page_writes=off");
    assert!(shown.cost(often, "postgres.wal_full_page_images") > 0.3);
    assert_eq!(shown.cost(never, "postgres.wal_full_page_images"), 0.0);
    shown.costs_more("postgres.wal_bytes", often, never, 10.0);
    shown.no_errors();
}

#[test]
fn a_view_is_refreshed_while_the_table_keeps_no_index() {
    let often = [("weight = 19999", "weight = 500")];
    let shown = run("postgres/matview", &often, &["--trial", "300ms"]);
    shown.costs_more("postgres.wal_records", "8 live indexes", "no index, no view", 3.0);
    shown.costs_more("postgres.rows_returned", "refreshed view", "no index, no view", 3.0);
    shown.no_errors();
}

#[test]
fn a_loose_index_scan_does_not_grow_with_the_table() {
    // Ten million rows take half a minute to make.
    let smaller = [
        ("generate_series(1, 10000000)", "generate_series(1, 100000)"),
        ("generate_series(1, 1000000)", "generate_series(1, 10000)"),
        (
            "FROM generate_series(1, 100000) AS n\",\n    \"CREATE TABLE t1000000 ",
            "FROM generate_series(1, 1000) AS n\",\n    \"CREATE TABLE t1000000 ",
        ),
    ];
    let shown = run("postgres/distinct", &smaller, &["--trial", "150ms"]);
    let blocks = |name: &str| shown.cost(name, "postgres.blocks_hit");
    assert!(
        blocks("DISTINCT/rows=10000000") > 5.0 * blocks("DISTINCT/rows=1000000"),
        "a walk through everything"
    );
    let (loose, looser) = (blocks("loose index scan/rows=1000000"), blocks("loose index scan/rows=10000000"));
    assert!(looser < 2.0 * loose, "a look per value: {loose} blocks, {looser} in ten times the rows");
    let curves = shown.report["growth"]["curves"].as_array().unwrap();
    assert!(curves.len() >= 3, "one per method");
    shown.no_errors();
}

#[test]
fn a_planner_that_was_misled_walks_along_the_wrong_index() {
    let shown = run("postgres/match-sort", &[("200000", "20000"), ("max = 100000", "max = 10000")], &[]);
    let fetched = |name: &str| shown.cost(name, "postgres.rows_fetched_by_index");
    for right in ["default statistics", "told 10 values, ORDER BY id + 0", "told 10 values, unique"] {
        assert!(fetched(right) < 2.0, "`{right}` fetches {} rows", fetched(right));
    }
    assert_eq!(fetched("told 10 values, index (foo, id) with rest"), 0.0, "nothing has to be fetched");
    assert!(fetched("told 10 values") > 1000.0, "{} rows", fetched("told 10 values"));
    shown.no_errors();
}

#[test]
fn only_the_same_expression_uses_the_functional_index() {
    let shown = run("postgres/functional-index", &[], &[]);
    shown.costs_more("postgres.blocks_hit", "mac = ?/rows=100000", "mac = ?/rows=10000", 5.0);
    for used in ["lower(mac) = lower(?)/rows=100000", "unique mac, CHECK/rows=100000"] {
        assert!(shown.cost(used, "postgres.blocks_hit") < 10.0, "`{used}` uses its index");
    }
    shown.no_errors();
}

#[test]
fn a_duplicate_takes_its_batch_with_it_or_is_passed_over() {
    // Often enough to be seen in a tenth of a second.
    let shown = run("postgres/bulk-duplicates", &[("max = 100000", "max = 1000")], &[]);
    let errors = |name: &str| -> Vec<String> {
        shown.variant(name)["errors"].as_object().unwrap().keys().cloned().collect()
    };
    for refused in ["1000 rows", "1000 statements"] {
        assert!(errors(refused).iter().any(|error| error.contains("23505")), "{:?}", errors(refused));
    }
    let passed_over = "1000 rows, ON CONFLICT DO NOTHING";
    assert!(errors(passed_over).is_empty());
    let inserted = shown.cost(passed_over, "postgres.rows_inserted");
    assert!((0.99..1.0).contains(&inserted), "the server says how many: {inserted} per row");
    shown.costs_more("postgres.wal_syncs", "single", passed_over, 10.0);
}

#[test]
fn a_hot_row_waits_and_ten_of_them_wait_less() {
    let shown = run("postgres/hot-row", &[], &[]);
    let rate = |name: &str| shown.median(name, "throughput");
    assert!(rate("hot appended, 8 clients") > rate("hot, 8 clients"), "{}", shown.report["verdict_withheld"]);
    assert!(rate("hot in 10 rows, 8 clients") > rate("hot, 8 clients"));
    shown.no_errors();
}

#[test]
fn bulk_counts_rows_and_gains_from_batches() {
    let shown = run("postgres/bulk", &[], &[]);
    shown.costs_more("postgres.commits", "single", "100 rows", 20.0);
    shown.costs_more("postgres.commits", "100 rows", "10 x 100 rows", 5.0);
    assert!(shown.median("10 x 100 rows", "throughput") > 2.0 * shown.median("single", "throughput"));
    shown.no_errors();
}

#[test]
fn sqlite_existence_reads_no_overflow_pages() {
    let shown = run("sqlite/existence", &[], &[]);
    let p50 = |name: &str| shown.median(name, "latency_p50");
    assert!(p50("EXISTS, 20 kB") < p50("SELECT *, 20 kB"));
    shown.no_errors();
}

#[test]
fn sqlite_bulk_gains_where_commits_wait() {
    let shown = run("sqlite/bulk", &[("[1, 10, 100, 1000]", "[1, 10, 100]")], &[]);
    let rate = |name: &str| shown.median(name, "throughput");
    assert!(rate("DELETE/batch=100") > 3.0 * rate("DELETE/batch=1"));
    shown.no_errors();
}
