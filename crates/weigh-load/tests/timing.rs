//! Latencies of a server whose delay is known, and the instants the caller is promised.

use std::sync::Arc;
use std::time::Instant;

use weigh_load::start;

use crate::fake::{Behaviour, FakeDriver, ms, spec};

#[test]
fn latency_is_the_delay_of_the_server() {
    let delay = ms(5);
    let report = start(&spec(4, 1, 1), Arc::new(FakeDriver::new(Behaviour::AnswerAfter(delay))))
        .unwrap()
        .finish()
        .unwrap();
    let delay_ns = delay.as_nanos() as u64;
    // 3 digits: a bucket's value may be 0.1 % below what was recorded.
    assert!(report.latency.min() >= delay_ns - delay_ns / 500, "{} ns", report.latency.min());
    let median = report.latency.value_at_quantile(0.5);
    assert!(median < delay_ns + 3_000_000, "{median} ns");
    // 4 clients, 300 ms, 5 ms each; a busy machine may be slower, never faster.
    assert!((100..=244).contains(&report.operations_measured), "{}", report.operations_measured);
}

#[test]
fn a_request_behind_others_of_its_connection_waits_for_them() {
    let delay = ms(2);
    let report = start(&spec(1, 1, 4), Arc::new(FakeDriver::new(Behaviour::AnswerAfter(delay))))
        .unwrap()
        .finish()
        .unwrap();
    let median = report.latency.value_at_quantile(0.5);
    assert!((7_900_000..16_000_000).contains(&median), "four in flight at 2 ms each: {median} ns");
}

#[test]
fn the_caller_knows_the_instants() {
    let before = Instant::now();
    let load = start(&spec(1, 1, 1), Arc::new(FakeDriver::new(Behaviour::Answer))).unwrap();
    assert!(load.began() > before);
    assert_eq!(load.measure_begins() - load.began(), ms(100));
    assert_eq!(load.measure_ends() - load.measure_begins(), ms(300));
    let ends = load.measure_ends();
    load.finish().unwrap();
    let late = ends.elapsed();
    assert!(Instant::now() > ends && late < ms(100), "finished {late:?} after the window");
}
