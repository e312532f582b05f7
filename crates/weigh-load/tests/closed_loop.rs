//! Counts: what the client says equals what the server did, in every shape of load.

use std::sync::Arc;
use std::time::Duration;

use weigh_load::{FIRST_CALLS, LoadReport, LoadSpec, start};

use crate::fake::{Behaviour, FakeDriver, ms, spec};

fn run(spec: &LoadSpec, driver: FakeDriver) -> (LoadReport, u64) {
    let driver = Arc::new(driver);
    let report = start(spec, driver.clone()).unwrap().finish().unwrap();
    (report, driver.answered())
}

fn check_counts(spec: &LoadSpec, driver: FakeDriver) -> LoadReport {
    let (report, answered) = run(spec, driver);
    assert_eq!(report.errors.len(), 0, "{:?}", report.errors);
    assert_eq!(report.operations_total, answered, "acknowledged and answered differ");
    assert!(report.operations_measured > 0 && report.operations_measured < report.operations_total);
    assert_eq!(report.operations_measured, report.latency.len());
    let per_operation: u64 = report.operations.iter().map(|o| o.operations_measured).sum();
    assert_eq!(per_operation, report.operations_measured);
    assert_eq!(report.bins_100ms.len(), 4);
    let in_bins: u64 = report.bins_100ms.iter().sum();
    assert!(
        in_bins <= report.operations_total
            && in_bins + spec.clients as u64 * spec.pipeline as u64 >= report.operations_total
    );
    assert_eq!(
        report.bins_100ms[1..].iter().sum::<u64>(),
        report.operations_measured,
        "{:?}",
        report.bins_100ms
    );
    report
}

#[test]
fn every_acknowledged_operation_is_counted_once() {
    for (clients, threads, pipeline) in
        [(1, 1, 1), (3, 2, 1), (8, 1, 1), (40, 1, 1), (20, 1, 4), (2, 1, 16), (5, 9, 3)]
    {
        check_counts(&spec(clients, threads, pipeline), FakeDriver::new(Behaviour::Answer));
    }
}

#[test]
fn operations_are_mixed_by_weight() {
    let report = check_counts(&spec(4, 1, 1), FakeDriver::new(Behaviour::Answer));
    let share = report.operations[0].operations_measured as f64 / report.operations_measured as f64;
    assert!((share - 0.75).abs() < 0.05, "{share}");
}

#[test]
fn replies_in_pieces_are_put_together() {
    check_counts(&spec(2, 1, 4), FakeDriver::new(Behaviour::AnswerInPieces));
}

#[test]
fn requests_larger_than_the_socket_takes_are_sent_in_parts() {
    for pipeline in [1, 4] {
        let driver = FakeDriver { request_bytes: 3 << 20, ..FakeDriver::new(Behaviour::Answer) };
        let mut spec = spec(2, 1, pipeline);
        spec.measure = ms(400);
        let (report, answered) = run(&spec, driver);
        assert_eq!(report.errors.len(), 0, "{:?}", report.errors);
        assert!(report.operations_total > 4, "{}", report.operations_total);
        assert_eq!(report.operations_total, answered);
    }
}

#[test]
fn the_client_says_what_it_cost() {
    let (report, _) = run(&spec(8, 2, 1), FakeDriver::new(Behaviour::Answer));
    let cpu = report.client_user + report.client_system;
    assert!(cpu > ms(2) && cpu < ms(700), "{cpu:?}");
    assert!(report.busiest_thread > 0.01 && report.busiest_thread < 1.1, "{}", report.busiest_thread);
    assert!(report.client_wait < ms(2 * 300 + 100), "{:?}", report.client_wait);
    assert_eq!((report.settled, report.measured), (ms(100), ms(300)));
}

#[test]
fn a_pinned_load_runs() {
    let mut spec = spec(2, 2, 1);
    spec.pin = true;
    check_counts(&spec, FakeDriver::new(Behaviour::Answer));
}

#[test]
fn the_first_calls_are_those_of_one_client_from_the_start_on() {
    for (clients, threads, pipeline) in [(1, 1, 1), (3, 2, 1), (2, 1, 4)] {
        let spec = spec(clients, threads, pipeline);
        let (report, _) = run(&spec, FakeDriver::new(Behaviour::AnswerAfter(ms(2))));
        assert_eq!(report.first_calls.len(), FIRST_CALLS);
        assert!(report.first_calls.iter().all(|call| *call >= ms(2)), "{:?}", report.first_calls);
        // One after the other, as many at once as the pipeline takes: they fit in the load's time.
        let sum: Duration = report.first_calls.iter().sum();
        let most = (spec.settle + spec.measure) * u32::try_from(pipeline).unwrap();
        assert!(sum <= most, "{sum:?} of {most:?}");
    }
    // A load so short that there are fewer has fewer.
    let (report, _) = run(
        &LoadSpec { settle: ms(0), measure: ms(100), ..spec(1, 1, 1) },
        FakeDriver::new(Behaviour::AnswerAfter(ms(15))),
    );
    assert!((1..=7).contains(&report.first_calls.len()), "{:?}", report.first_calls);
}
