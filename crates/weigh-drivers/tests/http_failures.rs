//! HTTP servers that die: counted, bounded, and taken up again when they come back.

use std::sync::Arc;
use std::thread;

use weigh_load::start;

use crate::support::httpd::{Answer, Httpd};
use crate::support::load::{cancelled_after, ms};
use crate::support::nginx::{Nginx, get, http_spec, with};

#[test]
fn a_server_that_dies_and_comes_back_costs_errors_and_reconnects() {
    let mut nginx = Nginx::new();
    let works = [(get("/64"), vec![])];
    let mut spec = http_spec(4, 1, &works);
    spec.measure = ms(3000);
    let load = start(&spec, Arc::new(with(nginx.config(""), &works).build().unwrap())).unwrap();
    let ends = load.measure_ends();
    thread::sleep(ms(400));
    nginx.crash();
    thread::sleep(ms(300));
    nginx.start();
    let back = load.began().elapsed();
    let report = load.finish().unwrap();
    assert!(ends.elapsed() < ms(1000), "{:?} after the end: {:?}", ends.elapsed(), report.errors);
    assert!(report.reconnects >= 4, "{report:?}");
    assert!(report.errors.keys().any(|m| m.contains("cannot connect to")), "{:?}", report.errors);
    let failures = report.errors.values().sum::<u64>();
    // Backoff bounds the attempts of 4 clients to a few dozen.
    assert!((4..150).contains(&failures), "{:?}", report.errors);
    let bin = usize::try_from(back.as_millis() / 100).unwrap() + 13;
    let after: u64 = report.bins_100ms[bin.min(29)..].iter().sum();
    assert!(after > 0, "nothing after the server came back: {:?}", report.bins_100ms);
}

#[test]
fn a_cancel_does_not_wait_for_the_reply() {
    let server = Httpd::new(|_| Answer::Nothing);
    let works = [(get("/"), vec![])];
    let mut spec = http_spec(3, 1, &works);
    spec.measure = ms(60_000);
    let report = cancelled_after(ms(150), &spec, with(server.config(), &works).build().unwrap());
    assert_eq!(report.errors["no reply when the load was cancelled"], 3);
}
