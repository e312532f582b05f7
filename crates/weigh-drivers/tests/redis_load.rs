//! What the client says happened is what Redis did.

use weigh_drivers::redis::{RedisConfig, RespVersion};
use weigh_load::generator::GeneratorSpec;

use crate::support::keyvalue::{Call, call, load, uniform};
use crate::support::load::sequence;
use crate::support::redis::RedisServer;

const SHAPES: [(usize, usize); 3] = [(1, 1), (5, 1), (3, 16)];

/// One load per protocol and shape; all of it must be in the server's own count.
fn counts(server: &RedisServer, calls: &[Call], counted: &str) {
    for protocol in [RespVersion::Two, RespVersion::Three] {
        for (clients, pipeline) in SHAPES {
            server.cli(&["CONFIG", "RESETSTAT"]);
            let config = RedisConfig { protocol, ..server.config(calls) };
            let report = load(config.build().unwrap(), clients, pipeline, calls).unwrap();
            assert!(report.errors.is_empty(), "{:?}", report.errors);
            assert!(report.operations_measured > 50);
            assert_eq!(
                server.calls(counted),
                (report.operations_total, 0),
                "{protocol:?} {clients} x {pipeline}"
            );
            assert_eq!(report.latency.len(), report.operations_measured);
        }
    }
}

#[test]
fn every_operation_is_in_the_servers_count() {
    let server = RedisServer::new(&[]);
    counts(&server, &[call("get", "GET key:$1", vec![uniform(1, 1000)])], "get");
    let set = "SET \"key:$1\" '$2 $1' EX 100";
    counts(&server, &[call("set", set, vec![uniform(1, 1000), GeneratorSpec::String { size: 30 }])], "set");
}

#[test]
fn what_was_set_is_there_and_is_what_is_expected() {
    let server = RedisServer::new(&[]);
    let set = [call("set", "SET k:$1 v:$1", vec![sequence()])];
    let report = load(server.driver(&set), 3, 4, &set).unwrap();
    let keys: u64 = server.cli(&["DBSIZE"]).parse().unwrap();
    assert_eq!(keys, report.operations_total);
    assert_eq!(server.cli(&["SET", "k:0", "other"]), "OK");
    // Trial 1 begins at 2^40; these were all set.
    let first = 1_i64 << 40;
    let draw = || vec![uniform(first + 1, first + i64::try_from(keys / 3).unwrap())];
    let get =
        [call("get", "GET k:$1", draw()).expecting("v:$1"), call("zero", "GET k:0", vec![]).expecting("v:0")];
    for (clients, pipeline) in SHAPES {
        let report = load(server.driver(&get), clients, pipeline, &get).unwrap();
        assert_eq!(report.misses, 0);
        assert_eq!(report.errors.keys().collect::<Vec<_>>(), ["the reply is not the expected value"]);
        let wrong = report.errors["the reply is not the expected value"];
        assert_eq!(report.operations[1].operations_measured, 0, "none of `zero` is right");
        assert!(wrong > 20 && report.operations[0].operations_measured > 20);
    }
}

#[test]
fn misses_are_counted_and_timed() {
    let server = RedisServer::new(&[]);
    server.cli(&["SET", "key:1", "x"]);
    for protocol in [RespVersion::Two, RespVersion::Three] {
        server.cli(&["CONFIG", "RESETSTAT"]);
        let get = [call("get", "GET key:$1", vec![uniform(1, 2)])];
        let config = RedisConfig { protocol, ..server.config(&get) };
        let report = load(config.build().unwrap(), 3, 2, &get).unwrap();
        let info = server.cli(&["INFO", "stats"]);
        let misses = info.lines().find_map(|line| line.strip_prefix("keyspace_misses:")).unwrap();
        assert_eq!(report.misses, misses.trim().parse::<u64>().unwrap());
        assert!(report.misses > 10 && report.misses < report.operations_total);
        assert_eq!(report.latency.len(), report.operations_measured);
    }
}

#[test]
fn error_replies_are_counted_by_message_and_not_timed() {
    let server = RedisServer::new(&["--maxmemory", "1", "--maxmemory-policy", "noeviction"]);
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    server.cli(&["LPUSH", "list", "a"]);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let text = GeneratorSpec::String { size: 12 };
    let calls = [
        call("wrong type", "GET list", vec![]),
        call("memory", "SET k:$1 x", vec![sequence()]),
        call("unknown", "FROB $1 $2", vec![sequence(), text]),
        call("script", "EVAL \"return {redis.error_reply('ERR inside'), 1}\" 0", vec![]),
        call("fine", "LLEN list", vec![]),
    ];
    let report = load(server.driver(&calls), 2, 8, &calls).unwrap();
    let messages: Vec<_> = report.errors.keys().collect();
    assert_eq!(
        messages,
        [
            "ERR unknown command 'FROB', with args beginning with: '…'",
            "OOM command not allowed when used memory > 'maxmemory'.",
            "WRONGTYPE Operation against a key holding the wrong kind of value"
        ]
    );
    assert!(report.errors.values().all(|count| *count > 10), "{:?}", report.errors);
    assert_eq!(report.item_errors.keys().collect::<Vec<_>>(), ["ERR inside"]);
    let (scripts, _) = server.calls("eval");
    assert_eq!(report.item_errors["ERR inside"], scripts);
    let (lengths, _) = server.calls("llen");
    assert_eq!(report.operations_total, scripts + lengths);
    assert_eq!(report.reconnects, 0);
    assert_eq!(report.latency.len(), report.operations_measured);
}

#[test]
fn replies_of_every_type_are_passed_over() {
    let server = RedisServer::new(&["--enable-debug-command", "yes"]);
    server.cli(&["HSET", "h", "a", "1", "b", "2"]);
    server.cli(&["ZADD", "z", "1.5", "m", "2", "n"]);
    server.cli(&["SADD", "s", "1", "2", "3"]);
    server.cli(&["XADD", "x", "*", "f", "v"]);
    let commands = [
        "HGETALL h",
        "ZRANGE z 0 -1 WITHSCORES",
        "ZSCORE z m",
        "SMEMBERS s",
        "XRANGE x - +",
        "LRANGE none 0 -1",
        "MGET h none",
        "COMMAND INFO get set none",
        "INFO",
        "DEBUG PROTOCOL bignum",
        "DEBUG PROTOCOL verbatim",
        "DEBUG PROTOCOL double",
        "DEBUG PROTOCOL true",
        "DEBUG PROTOCOL map",
        "DEBUG PROTOCOL set",
        "CONFIG GET *",
        "SCRIPT EXISTS abc",
        "OBJECT ENCODING h",
        "SET k v NX",
    ];
    let asides = ["DEBUG PROTOCOL attrib", "DEBUG PROTOCOL push"];
    for protocol in [RespVersion::Two, RespVersion::Three] {
        let asides: &[&str] = if protocol == RespVersion::Three { &asides } else { &[] };
        let calls: Vec<Call> =
            commands.iter().chain(asides).map(|command| call(command, command, vec![])).collect();
        let config = RedisConfig { protocol, ..server.config(&calls) };
        let report = load(config.build().unwrap(), 2, 4, &calls).unwrap();
        assert!(report.errors.is_empty(), "{protocol:?}: {:?}", report.errors);
        assert!(report.operations.iter().all(|operation| operation.operations_measured > 0));
    }
}

#[test]
fn an_enormous_reply_is_passed_over() {
    let server = RedisServer::new(&[]);
    server.cli(&["SETRANGE", "big", &((32 << 20) - 1).to_string(), "x"]);
    server.cli(&["CONFIG", "RESETSTAT"]);
    let big = [call("big", "GET big", vec![])];
    let report = load(server.driver(&big), 1, 2, &big).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert!(report.operations_total >= 1);
    assert_eq!(server.calls("get").0, report.operations_total);
}

#[test]
fn a_large_value_is_sent_in_parts() {
    let server = RedisServer::new(&[]);
    let set = [call("set", "SET k $1", vec![GeneratorSpec::String { size: 4 << 20 }])];
    let report = load(server.driver(&set), 2, 2, &set).unwrap();
    assert!(report.errors.is_empty() && report.operations_total > 0, "{report:?}");
    assert_eq!(server.cli(&["STRLEN", "k"]), (4 << 20).to_string());
    assert_eq!(server.calls("set").0, report.operations_total);
}
