//! Servers that die or hang: counted, bounded, and taken up again when they come back.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use weigh_drivers::postgres::PostgresConfig;
use weigh_load::{Limits, connect, start};

use crate::support::cluster::{Cluster, shared};
use crate::support::load::{cancelled_after, ms, sequence, spec, work};

#[test]
fn a_server_that_dies_and_comes_back_costs_errors_and_reconnects() {
    let mut cluster = Cluster::new();
    cluster.client().batch_execute("CREATE TABLE log (id bigint PRIMARY KEY)").unwrap();
    let insert = [work("insert", &["INSERT INTO log VALUES ($1)"], vec![sequence()], 1)];
    let config = PostgresConfig { operations: vec![insert[0].sql.clone()], ..cluster.config() };
    let mut load_spec = spec(4, 1, &insert);
    load_spec.measure = ms(6000);
    let load = start(&load_spec, Arc::new(config.build().unwrap())).unwrap();
    let ends = load.measure_ends();
    thread::sleep(ms(500));
    cluster.crash();
    thread::sleep(ms(500));
    cluster.start();
    let back = load.began().elapsed();
    let report = load.finish().unwrap();
    assert!(ends.elapsed() < ms(1000), "{:?} after the end: {:?}", ends.elapsed(), report.errors);
    assert!(report.reconnects >= 4, "{report:?}");
    assert!(report.errors.values().sum::<u64>() >= 4);
    assert!(report.errors.keys().any(|m| m.contains("cannot connect to")), "{:?}", report.errors);
    // Backoff bounds the attempts of 4 clients in about a second to a few dozen.
    assert!(report.errors.values().sum::<u64>() < 200, "{:?}", report.errors);
    // Acknowledged and then lost: none. Committed but never acknowledged: at most what was in flight.
    let rows: i64 = cluster.client().query_one("SELECT count(*) FROM log", &[]).unwrap().get(0);
    let surplus = u64::try_from(rows).unwrap().checked_sub(report.operations_total);
    assert!(
        surplus.is_some_and(|surplus| surplus <= 4),
        "{rows} rows, {} acknowledged",
        report.operations_total
    );
    let bin = |at: std::time::Duration| usize::try_from(at.as_millis() / 100).unwrap();
    let after: u64 = report.bins_100ms[bin(back + ms(1500)).min(55)..].iter().sum();
    assert!(after > 0, "nothing after the server came back: {:?}", report.bins_100ms);
}

#[test]
fn a_terminated_session_is_counted_by_the_servers_reason() {
    let one = [work("term_me", &["SELECT 1 /* term_me */"], vec![], 1)];
    let config = PostgresConfig {
        operations: vec![one[0].sql.clone()],
        application_name: "term_me".into(),
        ..shared().config()
    };
    let mut load_spec = spec(2, 1, &one);
    load_spec.measure = ms(800);
    let load = start(&load_spec, Arc::new(config.build().unwrap())).unwrap();
    thread::sleep(ms(200));
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'term_me'";
    assert_eq!(shared().client().query(sql, &[]).unwrap().len(), 2);
    let report = load.finish().unwrap();
    assert_eq!(report.reconnects, 2, "{:?}", report.errors);
    assert_eq!(report.errors.values().sum::<u64>(), 2);
    assert!(report.errors.keys().any(|m| m.contains("57P01") || m.contains("closed")), "{:?}", report.errors);
}

#[test]
fn a_cancel_does_not_wait_for_the_statement() {
    let sleep = [work("sleep", &["SELECT pg_sleep(20)"], vec![], 1)];
    let config = PostgresConfig { operations: vec![sleep[0].sql.clone()], ..shared().config() };
    let mut load_spec = spec(3, 1, &sleep);
    load_spec.measure = ms(60_000);
    let report = cancelled_after(ms(150), &load_spec, config.build().unwrap());
    assert_eq!(report.errors["no reply when the load was cancelled"], 3);
}

#[test]
fn a_reply_that_never_comes_is_given_up() {
    let sleep = [work("sleep", &["SELECT pg_sleep(20)"], vec![], 1)];
    let config = PostgresConfig { operations: vec![sleep[0].sql.clone()], ..shared().config() };
    let limits = Limits { reply: ms(150), drain: ms(100), publish_every: None };
    let begun = Instant::now();
    let load = connect(&spec(2, 1, &sleep), Arc::new(config.build().unwrap()), limits).unwrap().begin();
    let report = load.finish().unwrap();
    assert!(begun.elapsed() < ms(1500), "{:?}", begun.elapsed());
    assert!(report.errors["no reply within 150ms"] >= 2, "{:?}", report.errors);
    assert_eq!(report.operations_total, 0);
}

#[test]
fn too_many_clients_are_counted_in_the_servers_words() {
    let one = [work("one", &["SELECT 1"], vec![], 1)];
    let cluster = Cluster::new();
    let config =
        PostgresConfig { operations: vec![one[0].sql.clone()], user: "by_trust".into(), ..cluster.config() };
    let report = start(&spec(60, 1, &one), Arc::new(config.build().unwrap())).unwrap().finish().unwrap();
    let refused = report.errors.iter().find(|(message, _)| message.contains("53300"));
    assert!(refused.is_some_and(|(_, count)| *count >= 20), "{:?}", report.errors);
    assert!(report.operations_total > 0);
}
