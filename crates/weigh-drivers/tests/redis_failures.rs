//! Redis servers that die, hang or talk nonsense: counted, bounded, and taken up again when they come back.

use std::sync::Arc;
use std::thread;

use weigh_drivers::redis::{RedisConfig, RespVersion};
use weigh_load::start;

use crate::support::keyvalue::{Call, broken, call, commands, load, load_spec, scripted};
use crate::support::load::{cancelled_after, ms, sequence};
use crate::support::redis::RedisServer;

fn get() -> Vec<Call> {
    vec![call("get", "GET k", vec![])]
}

#[test]
fn a_server_that_dies_and_comes_back_costs_errors_and_reconnects() {
    let mut server = RedisServer::new(&["--appendonly", "yes", "--appendfsync", "always"]);
    let set = [call("set", "SET k:$1 x", vec![sequence()])];
    let mut spec = load_spec(4, 2, &set);
    spec.measure = ms(2500);
    let load = start(&spec, Arc::new(server.driver(&set))).unwrap();
    let ends = load.measure_ends();
    thread::sleep(ms(300));
    server.crash();
    thread::sleep(ms(300));
    server.start();
    let back = load.began().elapsed();
    let report = load.finish().unwrap();
    assert!(ends.elapsed() < ms(1000), "{:?} after the end: {:?}", ends.elapsed(), report.errors);
    assert!(report.reconnects >= 4, "{report:?}");
    assert!(report.errors.keys().any(|m| m.contains("cannot connect to")), "{:?}", report.errors);
    assert!(report.errors.values().sum::<u64>() < 200, "{:?}", report.errors);
    // Acknowledged and then lost: none. Written and never acknowledged: at most what was in flight.
    let keys: u64 = server.cli(&["DBSIZE"]).parse().unwrap();
    let surplus = keys.checked_sub(report.operations_total);
    assert!(
        surplus.is_some_and(|surplus| surplus <= 8),
        "{keys} keys, {} acknowledged",
        report.operations_total
    );
    let first = usize::try_from((back + ms(300)).as_millis() / 100).unwrap().min(22);
    assert!(report.bins_100ms[first..].iter().sum::<u64>() > 0, "{:?}", report.bins_100ms);
}

#[test]
fn a_killed_connection_is_made_again() {
    let server = RedisServer::new(&[]);
    let mut spec = load_spec(2, 1, &get());
    spec.measure = ms(500);
    let load = start(&spec, Arc::new(server.driver(&get()))).unwrap();
    thread::sleep(ms(150));
    assert_eq!(server.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]), "2");
    let report = load.finish().unwrap();
    assert_eq!(report.reconnects, 2, "{:?}", report.errors);
    assert_eq!(report.errors.values().sum::<u64>(), 2);
}

#[test]
fn a_cancel_does_not_wait_for_a_blocking_command() {
    let server = RedisServer::new(&[]);
    let block = [call("pop", "BLPOP nothing 30", vec![])];
    let mut spec = load_spec(3, 1, &block);
    spec.measure = ms(60_000);
    let report = cancelled_after(ms(100), &spec, server.driver(&block));
    assert_eq!(report.errors["no reply when the load was cancelled"], 3);
}

#[test]
fn messages_between_replies_are_passed_over() {
    let server = RedisServer::new(&[]);
    server.cli(&["SET", "k", "x"]);
    // Invalidations of the client-side cache come as push messages.
    let calls = [
        call("track", "CLIENT TRACKING ON BCAST", vec![]),
        call("set", "SET k x", vec![]),
        call("get", "GET k", vec![]).expecting("x"),
    ];
    let config = RedisConfig { protocol: RespVersion::Three, ..server.config(&calls) };
    let report = load(config.build().unwrap(), 3, 4, &calls).unwrap();
    assert!(report.errors.is_empty() && report.misses == 0, "{:?}", report.errors);
    assert!(report.operations_total > 100);
}

/// What breaks the connection when a request is answered so.
fn nonsense(answer: &[u8]) -> Vec<String> {
    let mut config = RedisServer::new(&[]).config(&[]);
    config.endpoint = scripted(&[b"+PONG\r\n", answer]);
    config.operations = commands(&get());
    broken(config.build().unwrap(), &get())
}

#[test]
fn malformed_replies_are_clear_errors() {
    assert_eq!(nonsense(b"?\r\n"), ["the server sent a reply that begins with `?`"]);
    assert_eq!(nonsense(b"$3\r\nabcd\r\n"), ["the server sent a value that is longer than it said"]);
    assert_eq!(nonsense(b"$-7\r\n"), ["the server sent the length `-7`"]);
    assert_eq!(nonsense(b"$?\r\n"), ["the server sent a streamed reply, which is not supported"]);
}

#[test]
fn a_reply_without_a_request_breaks_the_connection() {
    let messages = nonsense_tail(b"$1\r\nx\r\n$1\r\ny\r\n");
    assert!(messages.contains(&"the server sent a reply without a request".to_owned()), "{messages:?}");
}

fn nonsense_tail(answer: &[u8]) -> Vec<String> {
    let mut config = RedisServer::new(&[]).config(&[]);
    config.endpoint = scripted(&[b"+PONG\r\n", answer]);
    config.operations = commands(&get());
    load(config.build().unwrap(), 1, 1, &get()).unwrap().errors.into_keys().collect()
}
