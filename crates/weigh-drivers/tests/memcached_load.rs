//! What the client says happened is what memcached did.

use weigh_load::generator::GeneratorSpec;

use crate::support::keyvalue::{Call, call, load, uniform};
use crate::support::load::sequence;
use crate::support::memcached::MemcachedServer;

const SHAPES: [(usize, usize); 3] = [(1, 1), (5, 1), (3, 16)];

#[test]
fn every_operation_is_in_the_servers_count() {
    let server = MemcachedServer::new(&[]);
    let calls = [
        call("get", "get key:$1", vec![uniform(1, 1000)]),
        call("set", "set key:$1 0 60 '$2 $1'", vec![uniform(1, 1000), GeneratorSpec::String { size: 30 }]),
        call("touch", "touch key:$1 100", vec![uniform(1, 2000)]),
    ];
    for (clients, pipeline) in SHAPES {
        let before =
            ["cmd_get", "cmd_set", "cmd_touch", "get_misses", "touch_misses"].map(|name| server.stat(name));
        let report = load(server.driver(&calls), clients, pipeline, &calls).unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        let after =
            ["cmd_get", "cmd_set", "cmd_touch", "get_misses", "touch_misses"].map(|name| server.stat(name));
        let counted: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
        assert_eq!(report.operations_total, counted[..3].iter().sum::<u64>(), "{clients} x {pipeline}");
        assert_eq!(report.misses, counted[3] + counted[4]);
        assert!(report.operations_measured > 50);
        assert_eq!(report.latency.len(), report.operations_measured);
    }
}

#[test]
fn what_was_set_is_there_and_is_what_is_expected() {
    let server = MemcachedServer::new(&[]);
    let set = [call("set", "set k:$1 v:$1", vec![sequence()])];
    let report = load(server.driver(&set), 3, 4, &set).unwrap();
    let keys = server.stat("curr_items");
    assert_eq!(keys, report.operations_total);
    server.ask(b"set k:0 0 0 5\r\nother\r\n");
    // Trial 1 begins at 2^40; these were all set.
    let first = 1_i64 << 40;
    let draw = || vec![uniform(first + 1, first + i64::try_from(keys / 3).unwrap())];
    let get = [
        call("get", "get k:$1", draw()).expecting("v:$1"),
        call("meta", "mg k:$1 v", draw()).expecting("v:$1"),
        call("zero", "get k:0", vec![]).expecting("v:0"),
    ];
    for (clients, pipeline) in SHAPES {
        let report = load(server.driver(&get), clients, pipeline, &get).unwrap();
        assert_eq!(report.misses, 0);
        assert_eq!(report.errors.keys().collect::<Vec<_>>(), ["the reply is not the expected value"]);
        assert!(report.operations[..2].iter().all(|operation| operation.operations_measured > 20));
        assert_eq!(report.operations[2].operations_measured, 0, "none of `zero` is right");
    }
}

#[test]
fn every_command_is_answered_as_its_table_says() {
    let server = MemcachedServer::new(&[]);
    server.ask(b"set n 0 0 1\r\n1\r\nset a 0 0 1\r\nx\r\nset b 0 0 1\r\nx\r\nset t 0 0 1\r\nx\r\n");
    let hits = [
        "get a b",
        "gets a",
        "gat 0 a",
        "gats 0 a b",
        "set s v",
        "replace a x",
        "append s ''",
        "prepend s ''",
        "incr n 1",
        "decr n 1",
        "touch t 0",
        "mg a v t f k",
        "mg a",
        "ms s v T0",
        "ma n",
        "ma n v D5",
        "mn",
        "version",
    ];
    let misses = [
        "get none",
        "get a none",
        "gat 0 none",
        "add a v",
        "replace none v",
        "append none v",
        "delete none",
        "incr none 1",
        "decr none 1",
        "touch none 0",
        "mg none v",
        "md none",
        "ma none",
        "ms a v ME",
    ];
    let calls = |commands: &[&str]| {
        commands.iter().map(|command| call(command, command, vec![])).collect::<Vec<Call>>()
    };
    let report = load(server.driver(&calls(&hits)), 2, 4, &calls(&hits)).unwrap();
    assert!(report.errors.is_empty() && report.misses == 0, "{:?} {}", report.errors, report.misses);
    assert!(report.operations.iter().all(|operation| operation.operations_measured > 0));
    let report = load(server.driver(&calls(&misses)), 2, 4, &calls(&misses)).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert_eq!(report.misses, report.operations_total);
    let flush = calls(&["flush_all"]);
    assert!(load(server.driver(&flush), 1, 1, &flush).unwrap().errors.is_empty());
}

#[test]
fn error_replies_are_counted_by_message_and_not_timed() {
    let server = MemcachedServer::new(&["-I", "1m"]);
    server.ask(b"set text 0 0 3\r\nabc\r\n");
    let calls = [
        call("number", "incr text 1", vec![]),
        call("large", "set large $1", vec![GeneratorSpec::String { size: 2 << 20 }]),
        call("delta", "incr text minus", vec![]),
        call("fine", "get text", vec![]).expecting("abc"),
    ];
    let report = load(server.driver(&calls), 2, 2, &calls).unwrap();
    assert_eq!(
        report.errors.keys().collect::<Vec<_>>(),
        [
            "CLIENT_ERROR cannot increment or decrement non-numeric value",
            "CLIENT_ERROR invalid numeric delta argument",
            "SERVER_ERROR object too large for cache"
        ]
    );
    assert_eq!(report.reconnects, 0);
    assert_eq!(report.latency.len(), report.operations_measured);
    assert!(report.operations[3].operations_measured > 0);
}

#[test]
fn a_key_that_cannot_be_sent_is_an_error_and_nothing_else() {
    let server = MemcachedServer::new(&[]);
    let values = ["", "a b", "a\r\nflush_all\r\n", &"k".repeat(251), "good"];
    let choice = GeneratorSpec::Choice { values: values.map(Into::into).to_vec() };
    let set = [call("set", "set $1 some-value", vec![choice])];
    for (clients, pipeline) in SHAPES {
        let before = server.stat("cmd_set");
        let report = load(server.driver(&set), clients, pipeline, &set).unwrap();
        assert_eq!(
            report.errors.keys().collect::<Vec<_>>(),
            [
                "not sent: a word of more than 250 bytes",
                "not sent: a word with blanks or control characters",
                "not sent: an empty word"
            ]
        );
        assert_eq!(server.stat("cmd_set") - before, report.operations_total);
        assert_eq!(server.stat("cmd_flush"), 0);
        assert_eq!(report.reconnects, 0);
    }
}

#[test]
fn an_enormous_value_is_sent_and_passed_over() {
    let server = MemcachedServer::new(&["-I", "64m", "-m", "256"]);
    let size = 32 << 20;
    let mut request = format!("set big 0 0 {size}\r\n").into_bytes();
    request.resize(request.len() + size, b'x');
    request.extend_from_slice(b"\r\n");
    assert_eq!(server.ask(&request), "STORED\r\n");
    let get = [call("big", "get big", vec![])];
    let report = load(server.driver(&get), 1, 2, &get).unwrap();
    assert!(report.errors.is_empty() && report.misses == 0 && report.operations_total >= 1, "{report:?}");
    assert_eq!(server.stat("cmd_get"), report.operations_total);
    let set = [call("set", "set big $1", vec![GeneratorSpec::String { size: 8 << 20 }])];
    let report = load(server.driver(&set), 1, 1, &set).unwrap();
    assert!(report.errors.is_empty() && report.operations_total >= 1, "{report:?}");
}
