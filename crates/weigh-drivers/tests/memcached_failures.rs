//! memcached servers that die or talk nonsense: counted, bounded, and taken up again when they come back.

use std::sync::Arc;
use std::thread;

use weigh_drivers::ServerUrl;
use weigh_drivers::memcached::MemcachedConfig;
use weigh_load::start;

use crate::support::keyvalue::{Call, broken, call, commands, load_spec, scripted};
use crate::support::load::ms;
use crate::support::memcached::MemcachedServer;

fn get() -> Vec<Call> {
    vec![call("get", "get k", vec![])]
}

#[test]
fn a_server_that_dies_and_comes_back_costs_errors_and_reconnects() {
    let mut server = MemcachedServer::new(&[]);
    let mut spec = load_spec(4, 2, &get());
    spec.measure = ms(2000);
    let load = start(&spec, Arc::new(server.driver(&get()))).unwrap();
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
    let first = usize::try_from((back + ms(300)).as_millis() / 100).unwrap().min(17);
    assert!(report.bins_100ms[first..].iter().sum::<u64>() > 0, "{:?}", report.bins_100ms);
    assert!(server.stat("cmd_get") <= report.operations_total);
}

/// What breaks the connection when a request is answered so.
fn nonsense(answer: &[u8]) -> Vec<String> {
    let mut config = MemcachedConfig::from_url(&ServerUrl::parse("memcached://h").unwrap()).unwrap();
    config.endpoint = scripted(&[b"VERSION 1\r\n", answer]);
    config.operations = commands(&get());
    broken(config.build().unwrap(), &get())
}

#[test]
fn malformed_replies_are_clear_errors() {
    assert_eq!(nonsense(b"+OK\r\n"), ["the server answered `+OK` to `get`"]);
    assert_eq!(nonsense(b"VALUE k 0 x\r\n"), ["the server sent a value of the length `x`"]);
    assert_eq!(nonsense(b"VALUE k 0 1\r\nxy\r\n"), ["the server sent a value that is longer than it said"]);
    assert_eq!(nonsense(b"END\n"), ["the server sent a line that does not end as it must"]);
}
