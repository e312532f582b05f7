//! Replies no well-behaved server sends, and some that only few send: counted for what they are.

use std::sync::Arc;

use weigh_drivers::http::HttpOperation;
use weigh_load::{Arrivals, Limits, LoadReport, Schedule, connect, start};

use crate::support::httpd::{Answer, Httpd};
use crate::support::load::{ms, sequence};
use crate::support::nginx::{Nginx, Work, get, http_spec, run_http, with};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn plain() -> Vec<Work> {
    vec![(get("/"), vec![])]
}

fn hello() -> Vec<Work> {
    let mut operation = get("/");
    operation.expect.body = Some("hello".into());
    vec![(operation, vec![])]
}

/// Runs a short load on a server with odd habits.
fn run(server: &Httpd, clients: usize, pipeline: usize, works: &[Work]) -> LoadReport {
    run_http(server.config(), clients, pipeline, works).unwrap()
}

/// Everything must be in order, and the server must have seen what the client counts.
fn check_clean(server: &Httpd, report: &LoadReport) {
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert!(report.operations_measured > 5, "{report:?}");
    assert_eq!(report.operations_total, server.requests());
}

/// Nothing may succeed, and every message must hold `text`.
fn check_broken(reply: &'static str, text: &str) {
    let server = Httpd::always(reply);
    let report = run(&server, 1, 1, &plain());
    assert_eq!(report.operations_total, 0, "{reply:?}");
    assert!(
        !report.errors.is_empty() && report.errors.keys().all(|m| m.contains(text)),
        "{:?}",
        report.errors
    );
    assert!(report.reconnects > 0);
}

#[test]
fn requests_arrive_as_they_were_written() {
    let server = Httpd::new(|request| {
        let body = format!("{}|{}", request.head, String::from_utf8_lossy(&request.body));
        Answer::Send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into())
    });
    let mut post = HttpOperation::new("post", "POST", "/items/$1");
    post.headers = vec![("X-Id".into(), "$1".into()), ("Content-Type".into(), "text/plain".into())];
    post.body = Some("item $1".into());
    let host = format!("127.0.0.1:{}", server.port);
    // Sequences of the first trial have 14 digits, so that the body has 18.
    post.expect.body = Some(format!(
        "POST /items/$1 HTTP/1.1\r\nHost: {host}\r\nX-Id: $1\r\nContent-Type: text/plain\r\n\
         Content-Length:           18|item $1"
    ));
    let report = run(&server, 2, 3, &[(post, vec![sequence()])]);
    check_clean(&server, &report);
}

#[test]
fn bytes_that_come_one_at_a_time_make_the_same_reply() {
    let server = Httpd::new(|_| Answer::Bytewise(OK.into()));
    let report = run(&server, 2, 1, &hello());
    check_clean(&server, &report);
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a\r\nhe\r\n3\r\nllo\r\n0\r\nA: b\r\n\r\n";
    let server = Httpd::new(move |_| Answer::Bytewise(chunked.to_vec()));
    let report = run(&server, 1, 2, &hello());
    check_clean(&server, &report);
}

#[test]
fn pieces_with_pauses_make_the_same_reply() {
    let pieces = || {
        let heads: [&[u8]; 5] = [
            b"HTTP/1.1 100 Continue\r\n\r\nHTT",
            b"P/1.1 200 OK\r\nContent-Le",
            b"ngth: 5\r",
            b"\n\r\nhel",
            b"lo",
        ];
        Answer::Paused(heads.map(<[u8]>::to_vec).to_vec())
    };
    let server = Httpd::new(move |_| pieces());
    let report = run(&server, 4, 1, &hello());
    check_clean(&server, &report);
}

#[test]
fn an_enormous_reply_is_counted_off() {
    let server = Httpd::new(|_| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 64 << 20);
        Answer::Send([head.into_bytes(), vec![b'x'; 64 << 20]].concat())
    });
    let mut large = get("/");
    large.expect.body_length = Some(64 << 20);
    let report = run(&server, 1, 1, &[(large, vec![])]);
    assert!(report.errors.is_empty() && report.operations_total > 0, "{report:?}");
    assert_eq!(report.operations_total, server.requests());
}

#[test]
fn what_is_no_reply_is_said_and_never_counted() {
    check_broken("SSH-2.0-OpenSSH_9.2\r\n", "the server does not answer in HTTP/1: invalid HTTP version");
    check_broken("HTTP/2 200\r\n\r\n", "the server does not answer in HTTP/1");
    check_broken("HTTP/1.1 2x0 OK\r\n\r\n", "the server does not answer in HTTP/1: invalid response status");
    check_broken("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "the server does not answer in HTTP/1");
    check_broken("HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n", "a content length that is no number: `1x`");
    let two = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
    check_broken(two, "two different content lengths");
    let chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    check_broken(chunk, "a chunk without a proper size");
    let long_chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n";
    check_broken(long_chunk, "a chunk of the server's reply is longer than it says");
    check_broken("HTTP/1.1 101 Switching Protocols\r\n\r\n", "switched to another protocol");
}

#[test]
fn a_head_without_an_end_is_given_up() {
    let server =
        Httpd::new(|_| Answer::Send([&b"HTTP/1.1 200 OK\r\nX: "[..], &vec![b'a'; 200_000]].concat()));
    let report = run(&server, 1, 1, &plain());
    assert_eq!(report.operations_total, 0);
    let text = "the server's reply has a head of more than 65536 bytes";
    assert!(report.errors.contains_key(text), "{:?}", report.errors);
    let many = Box::leak(format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(200)).into_boxed_str());
    check_broken(many, "more than 128 header fields");
}

#[test]
fn more_than_a_reply_is_no_reply() {
    let server = Httpd::always("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhello");
    let report = run(&server, 1, 1, &plain());
    assert!(report.operations_total > 0, "the first replies are whole");
    assert!(!report.errors.is_empty() && report.reconnects > 0, "{report:?}");
}

#[test]
fn a_reply_that_never_comes_is_given_up() {
    let server = Httpd::new(|_| Answer::Nothing);
    let driver = with(server.config(), &plain()).build().unwrap();
    let limits = Limits { reply: ms(100), drain: ms(100), publish_every: None };
    let report =
        connect(&http_spec(2, 1, &plain()), Arc::new(driver), limits).unwrap().begin().finish().unwrap();
    assert!(report.errors["no reply within 100ms"] >= 2, "{:?}", report.errors);
    assert_eq!(report.operations_total, 0);
}

#[test]
fn a_server_that_closes_in_good_order_costs_reconnects_and_no_errors() {
    let nginx = Nginx::new();
    let before = nginx.requests();
    let report = run_http(nginx.config(""), 4, 1, &[(get("/ten"), vec![])]).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let total = report.operations_total;
    assert!(total > 200);
    assert_eq!(total, nginx.requests() - before - 1);
    // Every tenth reply ends its connection; the four that were open at the end may be anywhere.
    let expected = total / 10;
    assert!(report.reconnects.abs_diff(expected) <= 4, "{} of {expected}", report.reconnects);
}

#[test]
fn an_idle_connection_that_is_closed_is_made_again_without_an_error() {
    let nginx = Nginx::new();
    let works = [(get("/hasty"), vec![])];
    let mut spec = http_spec(20, 1, &works);
    // Every connection rests for 200 ms between two requests.
    spec.schedule = Schedule::Open { rate_per_s: 100.0, arrivals: Arrivals::Constant };
    spec.measure = ms(1000);
    let driver = with(nginx.config(""), &works).build().unwrap();
    let report = start(&spec, Arc::new(driver)).unwrap().finish().unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert_eq!(report.operations_total, nginx.requests());
    assert!((104..=106).contains(&report.operations_total), "{}", report.operations_total);
    assert!((50..=105).contains(&report.reconnects), "{report:?}");
}

#[test]
fn a_client_that_asks_for_a_close_gets_one() {
    let nginx = Nginx::new();
    let mut operation = get("/64");
    operation.headers = vec![("Connection".into(), "close".into())];
    let report = run_http(nginx.config(""), 2, 1, &[(operation, vec![])]).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert!(report.operations_total > 20);
    assert!(report.reconnects.abs_diff(report.operations_total) <= 2, "{report:?}");
}

#[test]
fn a_reply_without_a_length_ends_with_its_connection() {
    let nginx = Nginx::new();
    nginx.write("page", b"<<!--#echo var=\"arg_n\" -->>");
    let mut page = get("/unframed/page?n=$1");
    page.expect.body = Some("<$1>".into());
    let report = run_http(nginx.config(""), 3, 1, &[(page, vec![sequence()])]).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert!(report.operations_total > 20);
    assert!(report.reconnects.abs_diff(report.operations_total) <= 3, "{report:?}");
}

#[test]
fn http_1_0_servers_are_spoken_to() {
    let old = b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let server = Httpd::new(move |_| Answer::Last(old.to_vec()));
    let report = run(&server, 2, 1, &hello());
    check_clean(&server, &report);
    assert!(report.reconnects.abs_diff(report.operations_total) <= 2, "{report:?}");
    let kept = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello";
    let server = Httpd::always(kept);
    let report = run(&server, 2, 1, &hello());
    check_clean(&server, &report);
    assert_eq!((report.reconnects, server.connections()), (0, 2));
}

#[test]
fn a_close_that_was_not_announced_is_an_error_unless_nothing_was_asked() {
    // Twenty replies, then silence until the client asks again, and a close in its face.
    let server = Httpd::new(|request| match request.number {
        20 => Answer::Last(vec![]),
        _ => Answer::Send(OK.into()),
    });
    let report = run(&server, 1, 1, &hello());
    assert!(report.operations_total > 20 && report.operations_total % 20 < 20);
    let closed: u64 = report.errors.values().sum();
    assert_eq!(report.operations_total + closed, server.requests(), "{:?}", report.errors);
    assert!(
        report.errors.keys().all(|m| m.contains("the server closed the connection")),
        "{:?}",
        report.errors
    );
    // In the middle of a reply it is one more plainly.
    let server = Httpd::new(|_| Answer::Last(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel".into()));
    let report = run(&server, 1, 1, &plain());
    assert_eq!(report.operations_total, 0);
    let text = "the server closed the connection in the middle of a reply";
    assert_eq!(report.errors.keys().collect::<Vec<_>>(), [text]);
}

#[test]
fn requests_behind_a_close_are_errors() {
    let server = Httpd::new(|request| match request.number {
        9 => Answer::Last(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello".into()),
        _ => Answer::Send(OK.into()),
    });
    let report = run(&server, 1, 4, &hello());
    assert!(report.operations_total >= 20, "{report:?}");
    let lost: u64 = report.errors.values().sum();
    assert!(lost > 0 && report.errors.len() == 1, "{:?}", report.errors);
    assert!(lost <= 3 * report.reconnects.max(1), "{lost} of {}", report.reconnects);
}
