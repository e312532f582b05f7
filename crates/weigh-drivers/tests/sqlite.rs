//! SQLite files under load.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use weigh_drivers::sqlite::{DEFAULT_BUSY_TIMEOUT, SqliteConfig};
use weigh_load::generator::GeneratorSpec;
use weigh_load::{LoadError, LoadReport, start};

use crate::support::load::{Work, chain, ms, sequence, spec, work};

struct Database {
    dir: tempfile::TempDir,
}

impl Database {
    fn new(setup: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("weigh-sqlite-").tempdir_in("/var/tmp").unwrap();
        let database = Self { dir };
        database.open().execute_batch(setup).unwrap();
        database
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("test.db")
    }

    fn open(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn count(&self, sql: &str) -> u64 {
        let count: i64 = self.open().query_row(sql, [], |row| row.get(0)).unwrap();
        u64::try_from(count).unwrap()
    }

    fn config(&self, pragmas: &[(&str, &str)]) -> SqliteConfig {
        config(&self.path(), pragmas)
    }
}

fn config(path: &Path, pragmas: &[(&str, &str)]) -> SqliteConfig {
    SqliteConfig {
        path: path.into(),
        pragmas: pragmas.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        busy_timeout: DEFAULT_BUSY_TIMEOUT,
        operations: vec![],
    }
}

fn run(config: SqliteConfig, clients: usize, work: &[Work]) -> Result<LoadReport, LoadError> {
    let operations = work.iter().map(|w| w.sql.clone()).collect();
    let driver = SqliteConfig { operations, ..config }.build().unwrap();
    start(&spec(clients, 1, work), Arc::new(driver))?.finish()
}

#[test]
fn every_acknowledged_insert_is_in_the_table_once() {
    for (mode, clients) in [("delete", 1), ("wal", 1), ("wal", 3)] {
        let database = Database::new("CREATE TABLE log (id INTEGER PRIMARY KEY, note TEXT, raw BLOB)");
        let insert = work(
            "insert",
            &["INSERT INTO log VALUES ($1, $2, $3)"],
            vec![sequence(), GeneratorSpec::String { size: 40 }, GeneratorSpec::Bytes { size: 10 }],
            1,
        );
        let pragmas = [("journal_mode", mode), ("synchronous", "off"), ("cache_size", "-4000")];
        let report = run(database.config(&pragmas), clients, &[insert]).unwrap();
        assert!(report.errors.is_empty(), "{mode}: {:?}", report.errors);
        assert!(report.operations_measured > 10, "{mode}");
        let good =
            "SELECT count(*) FROM log WHERE length(note) = 40 AND length(raw) = 10 AND typeof(raw) = 'blob'";
        assert_eq!(report.operations_total, database.count(good), "{mode} {clients}");
    }
}

#[test]
fn several_statements_and_repetitions_are_one_transaction() {
    let database = Database::new(
        "CREATE TABLE n (id INTEGER PRIMARY KEY, n INTEGER CHECK (n < 1000)); INSERT INTO n VALUES (1, 0);
         CREATE TABLE h (id INTEGER PRIMARY KEY, d INTEGER)",
    );
    let draw = GeneratorSpec::Uniform { min: 0, max: 9 };
    let sql =
        ["UPDATE n SET n = (n + $2) % 1005", "INSERT INTO h (d, id) VALUES ($2, $1)", "SELECT * FROM n"];
    let pragmas = [("journal_mode", "wal"), ("synchronous", "off")];
    let report = run(database.config(&pragmas), 2, &[work("add", &sql, vec![sequence(), draw], 4)]).unwrap();
    let message = "CHECK constraint failed: n < 1000";
    assert!(report.errors.keys().all(|known| known == message), "{:?}", report.errors);
    assert!(report.operations_total > 10);
    assert_eq!(database.count("SELECT count(*) FROM h"), 4 * report.operations_total);
}

#[test]
fn error_replies_are_counted_and_not_timed() {
    let database = Database::new("CREATE TABLE u (id INTEGER PRIMARY KEY)");
    let draw = GeneratorSpec::Uniform { min: 1, max: 500 };
    let pragmas = [("journal_mode", "wal"), ("synchronous", "off")];
    let report =
        run(database.config(&pragmas), 1, &[work("insert", &["INSERT INTO u VALUES ($1)"], vec![draw], 1)])
            .unwrap();
    assert!(report.errors["UNIQUE constraint failed: u.id"] > 10, "{:?}", report.errors);
    assert_eq!(report.operations_total, database.count("SELECT count(*) FROM u"));
    assert_eq!(report.latency.len(), report.operations_measured);
}

#[test]
fn a_lock_that_is_not_given_up_is_an_error_after_the_timeout() {
    let database = Database::new("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    let holder = database.open();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let slow = SqliteConfig { busy_timeout: Duration::from_millis(30), ..database.config(&[]) };
    let insert = [work("insert", &["INSERT INTO t VALUES ($1)"], vec![sequence()], 2)];
    // Preparing reads the schema, which the lock forbids.
    let text = chain(&run(slow.clone(), 1, &insert).unwrap_err());
    assert!(text.contains("database is locked"), "{text}");
    holder.execute_batch("COMMIT; BEGIN IMMEDIATE").unwrap();
    let report = run(slow, 2, &insert).unwrap();
    assert!(report.errors["database is locked"] >= 4, "{:?}", report.errors);
    assert_eq!((report.operations_total, report.reconnects), (0, 0));
}

#[test]
fn what_cannot_be_is_said_in_a_line() {
    let database = Database::new("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    let one = [work("one", &["SELECT 1"], vec![], 1)];
    let text = |config, work: &[Work]| {
        chain(&run(config, 1, work).unwrap_err()).replace("none of 1 clients could connect: ", "")
    };
    assert_eq!(
        text(database.config(&[("page_size", "16384")]), &one),
        "pragma `page_size` is `4096` in force, not `16384` as asked"
    );
    let missing = config(Path::new("/var/tmp/no-such.db"), &[]);
    assert!(
        text(missing, &one).starts_with("cannot open `/var/tmp/no-such.db`: unable to open database file")
    );
    let bad = [work("read", &["SELECT * FROM nowhere"], vec![], 1)];
    assert!(
        text(database.config(&[]), &bad).starts_with("operation `read`, statement 1: no such table: nowhere")
    );
    let question = [work("read", &["SELECT ?"], vec![sequence()], 1)];
    assert!(text(database.config(&[]), &question).ends_with("parameters are written `$1`, `$2`, …"));
}

#[test]
fn an_operation_that_leaves_a_transaction_open_is_refused() {
    let database = Database::new("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    let report = run(database.config(&[]), 1, &[work("begin", &["BEGIN"], vec![], 1)]).unwrap();
    assert!(report.errors["the operation left a transaction open"] >= 2, "{:?}", report.errors);
    assert_eq!(report.operations_total, 0);
    assert!(report.measured >= ms(250));
}
