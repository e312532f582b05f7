//! Servers that die, say nonsense, or are slow to speak: counted, bounded, and taken up again.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use weigh_drivers::Endpoint;
use weigh_drivers::mongodb::MongodbConfig;
use weigh_load::{LoadReport, start};

use crate::support::ferretdb::{Server, shared};
use crate::support::keyvalue::{Call, call, commands, load_spec, scripted, uniform};
use crate::support::load::{cancelled_after, chain, ms, sequence};

fn find() -> Call {
    call("find", r#"{"find": "c", "filter": {"_id": "$1"}}"#, vec![uniform(1, 9)])
}

fn run_on(endpoint: Endpoint, calls: &[Call]) -> Result<LoadReport, String> {
    let driver =
        MongodbConfig { operations: commands(calls), ..MongodbConfig::new(endpoint) }.build().unwrap();
    let load = start(&load_spec(2, 1, calls), Arc::new(driver)).map_err(|error| chain(&error))?;
    load.finish().map_err(|error| chain(&error))
}

/// An answer to request `request`: a message with these BSON elements.
fn answer(request: i32, elements: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let document = i32::try_from(elements.len() + 5).unwrap();
    for integer in [document + 21, 1, request, 2013, 0] {
        out.extend_from_slice(&integer.to_le_bytes());
    }
    out.push(0);
    out.extend_from_slice(&document.to_le_bytes());
    out.extend_from_slice(elements);
    out.push(0);
    out
}

const GREETING: &[u8] = b"\x10maxWireVersion\0\x15\0\0\0\x10ok\0\x01\0\0\0";

#[test]
fn a_refused_connection_is_one_clear_line() {
    let endpoint = Endpoint::Tcp { host: "127.0.0.1".into(), port: 1 };
    let text = run_on(endpoint, &[find()]).unwrap_err();
    assert!(text.starts_with("none of 2 clients could connect: cannot connect to `127.0.0.1:1`: "), "{text}");
}

#[test]
fn a_server_that_dies_and_comes_back_costs_errors_and_reconnects() {
    let mut server = Server::ferretdb(&[]);
    let insert = [call("insert", r#"{"insert": "log", "documents": [{"_id": "$1"}]}"#, vec![sequence()])];
    let driver = MongodbConfig { operations: commands(&insert), ..server.config("crash") }.build().unwrap();
    let mut spec = load_spec(4, 1, &insert);
    spec.measure = ms(4000);
    let load = start(&spec, Arc::new(driver)).unwrap();
    let ends = load.measure_ends();
    thread::sleep(ms(500));
    server.crash();
    thread::sleep(ms(300));
    server.start();
    let report = load.finish().unwrap();
    assert!(ends.elapsed() < ms(1000), "{:?} after the end: {:?}", ends.elapsed(), report.errors);
    assert!(report.reconnects >= 4, "{report:?}");
    assert!(report.errors.keys().any(|m| m.contains("cannot connect to")), "{:?}", report.errors);
    assert!(report.errors.values().sum::<u64>() < 200, "{:?}", report.errors);
    assert!(report.bins_100ms[25..].iter().sum::<u64>() > 0, "{:?}", report.bins_100ms);
    // Acknowledged and then lost: none, for a crash of the process alone. At most what was in flight is too many.
    let surplus = server.count("crash", "log", "{}").checked_sub(report.operations_total);
    assert!(surplus.is_some_and(|surplus| surplus <= 4), "{surplus:?}");
}

#[test]
fn malformed_replies_break_the_connection_with_a_reason() {
    let good = answer(1, b"\x10ok\0\x01\0\0\0");
    let mut kind = good.clone();
    kind[12] = 1;
    let mut length = good.clone();
    length[..4].copy_from_slice(&i32::MAX.to_le_bytes());
    for (reply, expected) in [
        (kind, "message of kind"),
        (length, "2147483647 bytes"),
        (answer(77, b"\x10ok\0\x01\0\0\0"), "answered request 77"),
        (answer(1, b"\x10ok\0\x01\0\0\0\x02x\0\xff\xff\0\0"), "malformed reply"),
        (answer(1, b"\x10n\0\x01\0\0\0"), "without `ok`"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), "message of kind"),
    ] {
        let endpoint = scripted(&[&answer(1, GREETING), &reply]);
        let report = run_on(endpoint, &[find()]).unwrap();
        assert_eq!(report.operations_total, 0, "{expected}");
        assert!(report.errors.keys().any(|m| m.contains(expected)), "{expected}: {:?}", report.errors);
    }
}

#[test]
fn a_server_of_another_kind_is_recognised() {
    for (reply, expected) in [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), "does not speak MongoDB's protocol"),
        (answer(1, b"\x10maxWireVersion\0\x05\0\0\0\x10ok\0\x01\0\0\0"), "version 5 of the protocol"),
        (answer(9, GREETING), "answered another request"),
    ] {
        let text = run_on(scripted(&[&reply]), &[find()]).unwrap_err();
        assert!(text.contains(expected), "{text}");
    }
}

/// Passes everything on, and the server's answers byte by byte.
fn dribble(port: u16) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Tcp { host: "127.0.0.1".into(), port: listener.local_addr().unwrap().port() };
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.set_nodelay(true).unwrap();
            pass(client.try_clone().unwrap(), server.try_clone().unwrap(), 4096);
            pass(server, client, 1);
        }
    });
    endpoint
}

fn pass(mut from: TcpStream, mut to: TcpStream, step: usize) {
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if buffer[..length].chunks(step).any(|chunk| to.write_all(chunk).is_err()) {
                break;
            }
        }
        to.shutdown(Shutdown::Both).ok();
    });
}

#[test]
fn a_reply_in_single_bytes_is_read() {
    let mut session = shared().session("dribble");
    session.ask(r#"{"dropDatabase": 1}"#).unwrap();
    session.ask(r#"{"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]}"#).unwrap();
    let calls = [
        call("find", r#"{"find": "c", "batchSize": 2}"#, vec![]),
        call("again", r#"{"insert": "c", "documents": [{"_id": "$1"}]}"#, vec![uniform(1, 3)]),
    ];
    let config = MongodbConfig { database: "dribble".into(), ..MongodbConfig::new(dribble(shared().port)) };
    let driver = MongodbConfig { operations: commands(&calls), ..config }.build().unwrap();
    let report = start(&load_spec(2, 1, &calls), Arc::new(driver)).unwrap().finish().unwrap();
    let duplicate = "11000 E11000 duplicate key error collection: dribble.c";
    assert_eq!(report.errors.keys().collect::<Vec<_>>(), [duplicate]);
    assert!(report.operations_total > 2 && report.reconnects == 0 && report.misses == 0, "{report:?}");
}

#[test]
fn unacknowledged_writes_are_counted_as_they_are_sent() {
    // A server that honours them: it reads, and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Tcp { host: "127.0.0.1".into(), port: listener.local_addr().unwrap().port() };
    let counter = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut messages = 0_u64;
        loop {
            let mut header = [0; 16];
            if stream.read_exact(&mut header).is_err() {
                return messages;
            }
            let length = usize::try_from(i32::from_le_bytes(header[..4].try_into().unwrap())).unwrap();
            let mut rest = vec![0; length - 16];
            stream.read_exact(&mut rest).unwrap();
            if rest[0] & 2 == 0 {
                let request = i32::from_le_bytes(header[4..8].try_into().unwrap());
                stream.write_all(&answer(request, GREETING)).unwrap();
            } else {
                messages += 1;
            }
        }
    });
    let insert =
        [call("insert", r#"{"insert": "c", "documents": [{"a": 1}], "writeConcern": {"w": 0}}"#, vec![])];
    let driver =
        MongodbConfig { operations: commands(&insert), ..MongodbConfig::new(endpoint) }.build().unwrap();
    let report = start(&load_spec(1, 1, &insert), Arc::new(driver)).unwrap().finish().unwrap();
    assert!(report.errors.is_empty() && report.operations_total > 100, "{report:?}");
    // One more, while connecting, to see that the server is silent.
    assert_eq!(counter.join().unwrap(), report.operations_total + 1);
}

#[test]
fn a_cancel_does_not_wait_for_a_reply() {
    // A server that greets and then says nothing.
    let endpoint = scripted(&[&answer(1, GREETING), b""]);
    let calls = [find()];
    let driver =
        MongodbConfig { operations: commands(&calls), ..MongodbConfig::new(endpoint) }.build().unwrap();
    let mut spec = load_spec(2, 1, &calls);
    spec.measure = ms(60_000);
    let report = cancelled_after(ms(100), &spec, driver);
    assert_eq!(report.errors["no reply when the load was cancelled"], 2);
}
