//! What the client says happened is what the server did.

use std::fmt::Write;

use postgres::Client;
use weigh_drivers::postgres::PostgresConfig;
use weigh_load::generator::GeneratorSpec;

use crate::support::cluster::shared;
use crate::support::load::{chain, run, sequence, work};

fn count(client: &mut Client, sql: &str) -> u64 {
    let count: i64 = client.query_one(sql, &[]).unwrap().get(0);
    u64::try_from(count).unwrap()
}

#[test]
fn every_acknowledged_insert_is_in_the_table_once() {
    let mut client = shared().client();
    for (clients, pipeline) in [(1, 1), (4, 1), (3, 8)] {
        client
            .batch_execute("DROP TABLE IF EXISTS log; CREATE TABLE log (id bigint PRIMARY KEY, note text)")
            .unwrap();
        let insert = work(
            "insert",
            &["INSERT INTO log VALUES ($1, $2)"],
            vec![sequence(), GeneratorSpec::String { size: 40 }],
            1,
        );
        let report = run(shared().config(), clients, pipeline, &[insert]).unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert!(report.operations_measured > 50);
        assert_eq!(
            report.operations_total,
            count(&mut client, "SELECT count(*) FROM log"),
            "{clients} x {pipeline}"
        );
    }
}

#[test]
fn error_replies_are_counted_and_not_timed() {
    let mut client = shared().client();
    client.batch_execute("DROP TABLE IF EXISTS u; CREATE TABLE u (id int PRIMARY KEY, n int)").unwrap();
    let draw = GeneratorSpec::Uniform { min: 1, max: 3000 };
    let insert = work("insert", &["INSERT INTO u VALUES ($1, 1)"], vec![draw], 1);
    let report = run(shared().config(), 2, 2, &[insert]).unwrap();
    let message = "23505 duplicate key value violates unique constraint \"u_pkey\"";
    assert_eq!(report.errors.keys().collect::<Vec<_>>(), [message]);
    assert!(report.errors[message] > 10);
    assert_eq!(report.operations_total, count(&mut client, "SELECT count(*) FROM u"));
    assert_eq!(report.latency.len(), report.operations_measured);
    assert_eq!(report.reconnects, 0);
}

#[test]
fn values_in_error_messages_do_not_multiply_them() {
    let words = GeneratorSpec::Choice { values: (0..50).map(|n| format!("x{n}")).collect() };
    let bad = work("bad", &["SELECT $1::int"], vec![words], 1);
    let report = run(shared().config(), 1, 1, &[bad]).unwrap();
    let messages: Vec<_> = report.errors.keys().collect();
    assert_eq!(messages, ["22P02 invalid input syntax for type integer: \"…\""]);
    assert_eq!(report.operations_total, 0);
}

#[test]
fn several_statements_and_repetitions_are_one_transaction() {
    let mut client = shared().client();
    client
        .batch_execute(
            "DROP TABLE IF EXISTS account, history;
             CREATE TABLE account (id int PRIMARY KEY, n bigint NOT NULL);
             INSERT INTO account SELECT i, 0 FROM generate_series(1, 10) i;
             CREATE TABLE history (id bigint PRIMARY KEY, account int, xid xid8 DEFAULT pg_current_xact_id());",
        )
        .unwrap();
    let pay = work(
        "pay",
        &["UPDATE account SET n = n + 1 WHERE id = $2", "INSERT INTO history (account, id) VALUES ($2, $1)"],
        vec![sequence(), GeneratorSpec::Uniform { min: 1, max: 10 }],
        5,
    );
    // One client: with five random rows in each transaction, more would deadlock now and then.
    let report = run(shared().config(), 1, 1, &[pay]).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let total = report.operations_total;
    assert!(total > 20);
    assert_eq!(count(&mut client, "SELECT count(*) FROM history"), total * 5);
    assert_eq!(count(&mut client, "SELECT sum(n)::bigint FROM account"), total * 5);
    assert_eq!(count(&mut client, "SELECT count(DISTINCT xid) FROM history"), total);
    let unequal =
        "SELECT count(*) FROM account a WHERE n <> (SELECT count(*) FROM history WHERE account = a.id)";
    assert_eq!(count(&mut client, unequal), 0);
}

#[test]
fn a_failed_transaction_leaves_nothing_and_the_next_one_works() {
    let mut client = shared().client();
    client.batch_execute("DROP TABLE IF EXISTS f; CREATE TABLE f (id bigint, n int CHECK (n < 3))").unwrap();
    let sql = ["INSERT INTO f VALUES ($1, 0)", "INSERT INTO f VALUES ($1, $2)"];
    let draw = GeneratorSpec::Uniform { min: 0, max: 3 };
    let report = run(shared().config(), 2, 3, &[work("two", &sql, vec![sequence(), draw], 1)]).unwrap();
    let message = "23514 new row for relation \"f\" violates check constraint \"f_n_check\"";
    let failed = report.errors[message];
    assert_eq!(report.errors.len(), 1, "{:?}", report.errors);
    assert!(failed > 10 && report.operations_total > failed);
    assert_eq!(count(&mut client, "SELECT count(*) FROM f"), 2 * report.operations_total);
    assert_eq!(count(&mut client, "SELECT count(DISTINCT id) FROM f"), report.operations_total);
}

#[test]
fn an_operation_that_leaves_a_transaction_open_is_refused() {
    let report = run(shared().config(), 1, 1, &[work("begin", &["BEGIN"], vec![], 1)]).unwrap();
    assert!(report.errors["the operation left a transaction open"] >= 1);
    assert_eq!(report.operations_total, 0);
}

#[test]
fn a_large_transaction_is_sent_and_answered_in_parts() {
    let mut client = shared().client();
    client.batch_execute("DROP TABLE IF EXISTS bulk; CREATE TABLE bulk (id bigint, t text)").unwrap();
    let insert = work(
        "bulk",
        &["INSERT INTO bulk VALUES ($1, $2)"],
        vec![sequence(), GeneratorSpec::String { size: 200 }],
        5000,
    );
    let report = run(shared().config(), 2, 1, &[insert]).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert!(report.operations_total >= 2);
    assert_eq!(count(&mut client, "SELECT count(*) FROM bulk"), 5000 * report.operations_total);
}

#[test]
fn large_results_are_passed_over() {
    let rows = work("rows", &["SELECT i, repeat('x', 500) FROM generate_series(1, 2000) i"], vec![], 1);
    let report = run(shared().config(), 2, 2, &[rows]).unwrap();
    assert!(report.errors.is_empty() && report.operations_total > 2, "{report:?}");
}

#[test]
fn values_of_every_type_arrive() {
    let mut client = shared().client();
    client
        .batch_execute(
            "DROP TABLE IF EXISTS types; CREATE TABLE types (s int2, i int4, l int8, f float8, d numeric, b bool,
             t text, v varchar(20), x bytea, j json, k jsonb, z timestamptz, u uuid, o date)",
        )
        .unwrap();
    let small = GeneratorSpec::Uniform { min: 0, max: 1 };
    let text = GeneratorSpec::String { size: 12 };
    let json = GeneratorSpec::Json { size: 200 };
    let date = GeneratorSpec::Choice { values: vec!["2020-02-29".into()] };
    let parameters = vec![
        small.clone(),
        small.clone(),
        small.clone(),
        small.clone(),
        small.clone(),
        small,
        text.clone(),
        text,
        GeneratorSpec::Bytes { size: 30 },
        json.clone(),
        json,
        GeneratorSpec::Time {},
        GeneratorSpec::Bytes { size: 16 },
        date,
    ];
    let mut sql = "INSERT INTO types VALUES (".to_owned();
    for number in 1..=parameters.len() {
        write!(sql, "{}${number}", if number > 1 { ", " } else { "" }).unwrap();
    }
    let report = run(shared().config(), 1, 1, &[work("types", &[&(sql + ")")], parameters, 1)]).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let good = "SELECT count(*) FROM types WHERE s IN (0,1) AND i IN (0,1) AND l IN (0,1) AND f IN (0,1) AND d IN (0,1)
        AND b IS NOT NULL AND length(t) = 12 AND length(v) = 12 AND length(x) = 30
        AND length(j::text) = 200 AND k ? 'filler' AND abs(extract(epoch FROM now() - z)) < 60
        AND u IS NOT NULL AND o = '2020-02-29'";
    assert!(report.operations_total > 20);
    assert_eq!(count(&mut client, good), report.operations_total);
}

#[test]
fn an_integer_that_does_not_fit_is_the_servers_error() {
    let mut client = shared().client();
    client.batch_execute("DROP TABLE IF EXISTS narrow; CREATE TABLE narrow (id int)").unwrap();
    let report =
        run(shared().config(), 1, 1, &[work("n", &["INSERT INTO narrow VALUES ($1)"], vec![sequence()], 1)]);
    let errors = report.unwrap().errors;
    assert_eq!(errors.keys().collect::<Vec<_>>(), ["22003 value \"…\" is out of range for type integer"]);
}

#[test]
fn a_refused_statement_names_its_operation() {
    let bad = [
        work("ok", &["SELECT 1"], vec![], 1),
        work("read", &["SELECT 1", "SELECT * FROM nowhere"], vec![], 1),
    ];
    let text = chain(&run(shared().config(), 1, 1, &bad).unwrap_err());
    let expected = "none of 1 clients could connect: operation `read`, statement 2: \
                    relation \"nowhere\" does not exist (42P01)";
    assert_eq!(text, expected);
}

fn with_setting(name: &str, value: &str) -> Result<weigh_load::LoadReport, String> {
    let config = PostgresConfig { settings: vec![(name.into(), value.into())], ..shared().config() };
    let show = [work("show", &["SELECT 1"], vec![], 1)];
    run(config, 1, 1, &show).map_err(|error| chain(&error))
}

#[test]
fn session_settings_are_in_force_during_the_load() {
    let mut client = shared().client();
    client
        .batch_execute("DROP TABLE IF EXISTS seen; CREATE TABLE seen (w text, s text, p text, a text)")
        .unwrap();
    let sql = "INSERT INTO seen VALUES (current_setting('work_mem'), current_setting('synchronous_commit'),
               current_setting('search_path'), current_setting('application_name'))";
    let settings =
        [("work_mem", "65536"), ("synchronous_commit", "LOCAL"), ("search_path", "public, pg_temp")];
    let settings = settings.map(|(name, value)| (name.into(), value.into())).to_vec();
    let config = PostgresConfig { settings, ..shared().config() };
    let report = run(config, 2, 1, &[work("see", &[sql], vec![], 1)]).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let seen = "SELECT count(*) FROM seen WHERE (w, s, p, a) = ('64MB', 'local', 'public, pg_temp', 'weigh')";
    assert_eq!(count(&mut client, seen), report.operations_total);
}

#[test]
fn settings_of_equal_meaning_pass_and_others_name_both_values() {
    for (name, value) in [
        ("enable_seqscan", "0"),
        ("statement_timeout", "1.5s"),
        ("temp_buffers", "16MB"),
        ("random_page_cost", "1.10"),
        ("my.own", "it's \\ fine"),
        ("DateStyle", "iso"),
    ] {
        with_setting(name, value).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let refused = |name, value| with_setting(name, value).unwrap_err();
    assert_eq!(
        refused("work_mem", "100.7kB"),
        "none of 1 clients could connect: setting `work_mem` is `101kB` in force, not `100.7kB` as asked"
    );
    assert_eq!(
        refused("shared_buffers", "1GB"),
        "none of 1 clients could connect: setting `shared_buffers` to `1GB` was refused: \
         parameter \"shared_buffers\" cannot be changed without restarting the server (55P02)"
    );
    assert!(refused("no_such_setting", "1").contains("unrecognized configuration parameter"));
}
