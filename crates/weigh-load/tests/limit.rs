//! A limit of operations instead of a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weigh_load::null::NullDriver;
use weigh_load::{Arrivals, LoadSpec, Schedule, start};

use crate::fake::{Behaviour, FakeDriver, ms, spec};

fn limited(limit: u64, clients: usize, threads: usize, pipeline: usize) -> LoadSpec {
    LoadSpec {
        settle: Duration::ZERO,
        measure: ms(60_000),
        operations_limit: Some(limit),
        ..spec(clients, threads, pipeline)
    }
}

#[test]
fn exactly_the_limit_is_sent_and_measured() {
    for (clients, threads, pipeline) in [(1, 1, 1), (3, 2, 1), (4, 2, 8), (8, 3, 3)] {
        let driver = Arc::new(FakeDriver::new(Behaviour::Answer));
        let begun = Instant::now();
        let report =
            start(&limited(1001, clients, threads, pipeline), driver.clone()).unwrap().finish().unwrap();
        assert_eq!((report.operations_measured, report.operations_total), (1001, 1001));
        assert_eq!((report.latency.len(), driver.answered()), (1001, 1001));
        assert!(
            report.measured > Duration::ZERO && report.measured < begun.elapsed(),
            "{:?}",
            report.measured
        );
        let in_bins: u64 = report.bins_100ms.iter().sum();
        assert_eq!(in_bins, 1001, "{:?}", report.bins_100ms);
    }
}

#[test]
fn the_length_is_up_to_the_last_reply() {
    let driver = Arc::new(FakeDriver::new(Behaviour::AnswerAfter(ms(5))));
    let report = start(&limited(20, 2, 1, 1), driver).unwrap().finish().unwrap();
    // Ten replies of 5 ms, one after the other, on each of two connections.
    assert!(report.measured >= ms(50) && report.measured < ms(500), "{:?}", report.measured);
    assert!(report.client_user + report.client_system < ms(100));
}

#[test]
fn the_warm_up_does_not_count_against_it() {
    let mut spec = limited(200, 2, 1, 1);
    spec.settle = ms(100);
    let report = start(&spec, Arc::new(FakeDriver::new(Behaviour::Answer))).unwrap().finish().unwrap();
    assert_eq!((report.operations_measured, report.latency.len()), (200, 200));
    assert!(report.operations_total > 200 && report.settled == ms(100));
}

#[test]
fn failures_count_as_sent() {
    let driver = Arc::new(FakeDriver::new(Behaviour::ErrorEvery(4)));
    let report = start(&limited(400, 1, 1, 2), driver).unwrap().finish().unwrap();
    assert_eq!((report.operations_measured, report.errors["bad"]), (300, 100));
    let driver = Arc::new(FakeDriver::new(Behaviour::CloseAfter(30)));
    let report = start(&limited(100, 2, 1, 1), driver).unwrap().finish().unwrap();
    let failed: u64 = report.errors.values().sum();
    assert_eq!(report.operations_measured + failed, 100, "{:?}", report.errors);
}

#[test]
fn time_ends_what_the_limit_does_not() {
    let mut spec = limited(1_000_000, 1, 1, 1);
    spec.measure = ms(150);
    let report =
        start(&spec, Arc::new(FakeDriver::new(Behaviour::AnswerAfter(ms(1))))).unwrap().finish().unwrap();
    assert_eq!(report.measured, ms(150));
    assert!(report.operations_measured <= 150);
}

#[test]
fn a_limit_ends_an_open_loop_and_an_inline_load() {
    let mut spec = limited(300, 3, 2, 1);
    spec.schedule = Schedule::Open { rate_per_s: 2000.0, arrivals: Arrivals::Constant };
    let report = start(&spec, Arc::new(FakeDriver::new(Behaviour::Answer))).unwrap().finish().unwrap();
    let schedule = report.schedule.unwrap();
    assert_eq!((schedule.due, schedule.sent, report.latency.len()), (300, 300, 300));
    // The last of 300 is due after 149.5 ms.
    assert!(report.measured >= ms(149) && report.measured < ms(1000), "{:?}", report.measured);

    let report = start(&limited(12_345, 3, 1, 1), Arc::new(NullDriver)).unwrap().finish().unwrap();
    assert_eq!((report.operations_measured, report.operations_total), (12_345, 12_345));
    assert!(report.measured < ms(1000), "{:?}", report.measured);
}
