//! Latencies of a server whose delay is known, and the instants the caller is promised.

use std::sync::Arc;
use std::time::Instant;

use weigh_load::start;

use crate::fake::{Behaviour, FakeDriver, ms, one_of_three, spec};

#[test]
fn latency_is_the_delay_of_the_server() {
    let delay_ns = 5_000_000;
    one_of_three(|| {
        let driver = FakeDriver::new(Behaviour::AnswerAfter(ms(5)));
        let report = start(&spec(4, 1, 1), Arc::new(driver)).unwrap().finish().unwrap();
        // 3 digits: a bucket's value may be 0.1 % below what was recorded.
        assert!(report.latency.min() >= delay_ns - delay_ns / 500, "{} ns", report.latency.min());
        // 4 clients, 300 ms, 5 ms each: at most 61 each.
        assert!(report.operations_measured <= 244, "{}", report.operations_measured);
        let median = report.latency.value_at_quantile(0.5);
        if median < delay_ns + 2_000_000 { Ok(()) } else { Err(format!("{median} ns")) }
    });
}

#[test]
fn connections_served_together_never_look_faster_than_their_server() {
    let delay_ns = 5_000_000;
    let driver = FakeDriver::new(Behaviour::AnswerAfter(ms(5)));
    let report = start(&spec(40, 1, 1), Arc::new(driver)).unwrap().finish().unwrap();
    assert!(report.latency.min() >= delay_ns - delay_ns / 500, "{} ns", report.latency.min());
    assert!((40..=40 * 61).contains(&report.operations_measured), "{}", report.operations_measured);
}

#[test]
fn a_request_behind_others_of_its_connection_waits_for_them() {
    one_of_three(|| {
        let driver = FakeDriver::new(Behaviour::AnswerAfter(ms(2)));
        let report = start(&spec(1, 1, 4), Arc::new(driver)).unwrap().finish().unwrap();
        let median = report.latency.value_at_quantile(0.5);
        assert!(median >= 7_900_000, "four in flight at 2 ms each: {median} ns");
        if median < 12_000_000 { Ok(()) } else { Err(format!("{median} ns")) }
    });
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
    let late = Instant::now().checked_duration_since(ends);
    assert!(late.is_some_and(|late| late < ms(1000)), "finished {late:?} after the window");
}
