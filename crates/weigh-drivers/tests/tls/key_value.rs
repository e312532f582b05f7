//! Redis and memcached inside TLS.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use weigh_drivers::ServerUrl;
use weigh_drivers::memcached::MemcachedConfig;
use weigh_drivers::redis::RedisConfig;
use weigh_load::{LoadReport, start};

use super::{SHAPES, USUAL, check_certificates, check_client_certificates, read};
use crate::support::kept::free_port;
use crate::support::keyvalue::{Call, call, commands, load, load_spec, uniform};
use crate::support::load::{ms, sequence};
use crate::support::memcached::MemcachedServer;
use crate::support::redis::RedisServer;
use crate::support::tls::{Authority, Pair};

/// A server and its port for TLS, beside the plain one.
struct Both<S> {
    server: S,
    tls_port: u16,
}

fn redis(pair: &Pair, clients: Option<&Path>) -> Both<RedisServer> {
    let tls_port = free_port();
    let (port, certificate) = (tls_port.to_string(), pair.certificate.to_str().unwrap());
    let key = pair.key.to_str().unwrap();
    let mut options = vec!["--tls-port", &port, "--tls-cert-file", certificate, "--tls-key-file", key];
    options.extend(["--tls-auth-clients", if clients.is_some() { "yes" } else { "no" }]);
    options.extend(["--tls-ca-cert-file", clients.map_or(certificate, |path| path.to_str().unwrap())]);
    Both { server: RedisServer::new(&options), tls_port }
}

fn redis_config(place: &Both<RedisServer>, query: &str, calls: &[Call]) -> RedisConfig {
    let url = format!("rediss://127.0.0.1:{}/?{query}", place.tls_port);
    let config = RedisConfig::from_url(&ServerUrl::parse(&url).unwrap()).unwrap();
    RedisConfig { operations: commands(calls), ..config }
}

fn run_redis(place: &Both<RedisServer>, query: &str) -> Result<LoadReport, String> {
    let calls = [call("ping", "PING", vec![])];
    read(load(redis_config(place, query, &calls).build().unwrap(), 1, 1, &calls))
}

#[test]
fn redis_certificates_are_checked() {
    check_certificates(USUAL, redis, run_redis);
    check_client_certificates(redis, run_redis);
}

#[test]
fn redis_counts_what_happened_inside_tls() {
    let place = redis(&Authority::new().right(), None);
    let calls = [call("get", "GET key:$1", vec![uniform(1, 1000)])];
    for (clients, pipeline) in SHAPES {
        place.server.cli(&["CONFIG", "RESETSTAT"]);
        let driver = redis_config(&place, "tls_verify=none", &calls).build().unwrap();
        let report = load(driver, clients, pipeline, &calls).unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert!(report.operations_measured > 50);
        assert_eq!(place.server.calls("get"), (report.operations_total, 0), "{clients} x {pipeline}");
    }
}

#[test]
fn large_values_go_both_ways_inside_tls() {
    let place = redis(&Authority::new().right(), None);
    // Several records each: a record holds 16 KiB.
    let size = weigh_load::generator::GeneratorSpec::String { size: 100_000 };
    let set = [call("set", "SET key:$1 $2", vec![uniform(1, 5), size])];
    let get = [call("get", "STRLEN key:$1", vec![uniform(1, 5)]).expecting("100000")];
    let all = [call("all", "GET key:$1", vec![uniform(1, 5)])];
    for calls in [&set, &get, &all] {
        let driver = redis_config(&place, "tls_verify=none", calls).build().unwrap();
        let report = load(driver, 2, 4, calls).unwrap();
        assert!(report.errors.is_empty() && report.misses == 0, "{report:?}");
        assert!(report.operations_measured > 20, "{report:?}");
    }
}

#[test]
fn a_server_that_dies_and_comes_back_costs_errors_and_reconnects() {
    let authority = Authority::new();
    let mut place = redis(&authority.right(), None);
    let calls = [call("incr", "INCR n", vec![])];
    let driver = redis_config(&place, "tls_verify=none", &calls).build().unwrap();
    let mut spec = load_spec(4, 2, &calls);
    spec.measure = ms(1500);
    let load = start(&spec, Arc::new(driver)).unwrap();
    thread::sleep(ms(300));
    place.server.crash();
    place.server.start();
    let report = load.finish().unwrap();
    assert!(report.reconnects >= 4, "{report:?}");
    // Of the server that came back only.
    let counted: u64 = place.server.cli(&["GET", "n"]).parse().unwrap();
    assert!(counted > 50 && counted < report.operations_total + 8, "{counted} of {report:?}");
}

fn memcached(pair: &Pair, clients: Option<&Path>) -> Both<MemcachedServer> {
    let mut ssl = format!("ssl_chain_cert={},ssl_key={}", pair.certificate.display(), pair.key.display());
    if let Some(ca) = clients {
        ssl += &format!(",ssl_verify_mode=2,ssl_ca_cert={}", ca.display());
    }
    let plain = free_port();
    let mut server = MemcachedServer::new(&["-Z", "-o", &ssl, "-l", &format!("notls:127.0.0.1:{plain}")]);
    let tls_port = std::mem::replace(&mut server.port, plain);
    Both { server, tls_port }
}

fn memcached_config(place: &Both<MemcachedServer>, query: &str, calls: &[Call]) -> MemcachedConfig {
    let url = format!("memcacheds://127.0.0.1:{}/?{query}", place.tls_port);
    let config = MemcachedConfig::from_url(&ServerUrl::parse(&url).unwrap()).unwrap();
    MemcachedConfig { operations: commands(calls), ..config }
}

fn run_memcached(place: &Both<MemcachedServer>, query: &str) -> Result<LoadReport, String> {
    let calls = [call("get", "get k", vec![])];
    read(load(memcached_config(place, query, &calls).build().unwrap(), 1, 1, &calls))
}

#[test]
fn memcached_certificates_are_checked() {
    check_certificates(USUAL, memcached, run_memcached);
    check_client_certificates(memcached, run_memcached);
}

#[test]
fn memcached_counts_what_happened_inside_tls() {
    let place = memcached(&Authority::new().right(), None);
    let calls = [call("set", "set k:$1 v:$1", vec![sequence()])];
    let mut before = 0;
    for (clients, pipeline) in SHAPES {
        let driver = memcached_config(&place, "tls_verify=none", &calls).build().unwrap();
        let report = load(driver, clients, pipeline, &calls).unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert!(report.operations_measured > 50);
        let sets = place.server.stat("cmd_set");
        assert_eq!(report.operations_total, sets - before, "{clients} x {pipeline}");
        before = sets;
    }
}
