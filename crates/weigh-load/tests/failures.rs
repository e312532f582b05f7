//! Errors, broken connections, stuck servers, cancels: counted, bounded, never timed as a success.

use std::error::Error;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use weigh_load::{Limits, LoadError, connect, start};

use crate::fake::{Behaviour, FakeDriver, ms, one_of_three, spec};

#[test]
fn error_replies_are_counted_and_never_timed() {
    let driver = Arc::new(FakeDriver::new(Behaviour::ErrorEvery(4)));
    let report = start(&spec(2, 1, 2), driver.clone()).unwrap().finish().unwrap();
    let errors = report.errors["bad"];
    assert_eq!(report.errors.len(), 1);
    assert_eq!(report.operations_total, driver.answered());
    let expected = report.operations_total / 3;
    assert!(errors.abs_diff(expected) <= 2, "{errors} errors beside {} successes", report.operations_total);
    assert_eq!(report.latency.len(), report.operations_measured);
    assert_eq!(report.reconnects, 0);
}

#[test]
fn closed_connections_are_counted_and_made_again() {
    for behaviour in [Behaviour::CloseAfter(50), Behaviour::HalfAndCloseAfter(50)] {
        check_closed_connections(behaviour);
    }
}

fn check_closed_connections(behaviour: Behaviour) {
    let driver = Arc::new(FakeDriver::new(behaviour));
    let report = start(&spec(2, 1, 1), driver.clone()).unwrap().finish().unwrap();
    let broken = report.errors["the server closed the connection"];
    assert!(report.reconnects >= 2, "{report:?}");
    assert!(broken >= report.reconnects && broken <= report.reconnects + 2, "{broken} {}", report.reconnects);
    assert_eq!(report.operations_total, driver.answered());
    assert!(report.operations_total > 100);
}

#[test]
fn no_connection_at_all_is_an_error_with_the_drivers_words() {
    let driver = FakeDriver { refuse_after: 0, ..FakeDriver::new(Behaviour::Answer) };
    let error = start(&spec(3, 2, 1), Arc::new(driver)).unwrap_err();
    assert_eq!(error.to_string(), "none of 3 clients could connect");
    assert_eq!(error.source().unwrap().to_string(), "connection refused by the fake");
}

#[test]
fn some_refused_connections_are_counted_and_tried_again() {
    let driver = FakeDriver { refuse_first: 3, ..FakeDriver::new(Behaviour::Answer) };
    let report = start(&spec(4, 1, 1), Arc::new(driver)).unwrap().finish().unwrap();
    assert_eq!(report.errors["connection refused by the fake"], 3);
    assert_eq!(report.reconnects, 3);
}

#[test]
fn a_stuck_server_ends_in_bounded_time_and_is_counted() {
    let limits = Limits { reply: ms(150), drain: ms(200), publish_every: None };
    let driver = Arc::new(FakeDriver::new(Behaviour::StuckAfter(10)));
    let begun = Instant::now();
    let report = connect(&spec(3, 1, 1), driver.clone(), limits).unwrap().begin().finish().unwrap();
    assert!(begun.elapsed() < ms(100 + 300 + 200 + 300), "{:?}", begun.elapsed());
    assert_eq!(report.operations_total, driver.answered());
    assert!(report.errors["no reply within 150ms"] >= 3, "{:?}", report.errors);
    assert!(report.reconnects >= 3);
}

#[test]
fn what_is_outstanding_at_the_end_is_awaited_and_then_counted() {
    let limits = Limits { reply: ms(60_000), drain: ms(150), publish_every: None };
    let begun = Instant::now();
    let report = connect(&spec(2, 1, 3), Arc::new(FakeDriver::new(Behaviour::Deaf)), limits)
        .unwrap()
        .begin()
        .finish()
        .unwrap();
    assert!((ms(540)..ms(900)).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    assert_eq!(report.errors["no reply within 150ms of the end"], 6);
    assert_eq!(report.operations_total, 0);
}

#[test]
fn a_cancel_takes_effect_at_once_even_while_a_reply_is_outstanding() {
    for behaviour in [Behaviour::Deaf, Behaviour::Answer, Behaviour::StuckAfter(5)] {
        one_of_three(|| check_cancel(behaviour));
    }
}

fn check_cancel(behaviour: Behaviour) -> Result<(), String> {
    let mut spec = spec(4, 2, 1);
    spec.measure = ms(60_000);
    let load = start(&spec, Arc::new(FakeDriver::new(behaviour))).unwrap();
    let handle = load.cancel_handle();
    thread::sleep(ms(200));
    let cancelled = Instant::now();
    thread::spawn(move || handle.cancel());
    let report = load.finish().unwrap();
    let took = cancelled.elapsed();
    assert!(report.measured >= ms(90) && report.measured < ms(30_000), "{:?}", report.measured);
    if took < ms(50) { Ok(()) } else { Err(format!("{behaviour:?}: {took:?}")) }
}

#[test]
fn dropping_a_load_ends_its_threads() {
    let mut spec = spec(1, 1, 1);
    spec.measure = ms(60_000);
    let driver = Arc::new(FakeDriver::new(Behaviour::Answer));
    drop(start(&spec, driver.clone()).unwrap());
    thread::sleep(ms(100));
    let after = driver.answered();
    thread::sleep(ms(100));
    assert_eq!(driver.answered(), after);
}

#[test]
fn a_load_called_off_before_its_start_sends_nothing() {
    let driver = Arc::new(FakeDriver::new(Behaviour::Answer));
    let connected = connect(&spec(2, 2, 1), driver.clone(), Limits::default()).unwrap();
    assert_eq!(driver.connects.load(std::sync::atomic::Ordering::SeqCst), 2);
    drop(connected);
    thread::sleep(ms(50));
    assert_eq!(driver.answered(), 0);
    // The workers are gone, and with them their handles on the driver.
    assert_eq!(Arc::strong_count(&driver), 1);
}

#[test]
fn impossible_loads_are_refused_before_connecting() {
    let driver = Arc::new(FakeDriver::new(Behaviour::Answer));
    let message = |change: fn(&mut weigh_load::LoadSpec)| {
        let mut spec = spec(1, 1, 1);
        change(&mut spec);
        let error = start(&spec, driver.clone()).unwrap_err();
        error.source().map_or(error.to_string(), |source| format!("{error}: {source}"))
    };
    assert_eq!(message(|s| s.clients = 0), "the load cannot run: `clients` must be 1 to 65536, not `0`");
    assert_eq!(message(|s| s.pipeline = 0), "the load cannot run: `pipeline` must be 1 to 4096, not `0`");
    assert_eq!(message(|s| s.operations.clear()), "the load cannot run: there is no operation");
    assert_eq!(
        message(|s| s.operations[1].weight = 0),
        "the load cannot run: the weight of operation `two` must be at least 1"
    );
    assert_eq!(
        message(|s| s.operations[0].parameters[0] =
            weigh_load::generator::GeneratorSpec::Uniform { min: 2, max: 1 }),
        "parameter 1 of operation `one` cannot be generated: `min` (2) is greater than `max` (1)"
    );
    assert!(matches!(
        start(
            &{
                let mut s = spec(1, 1, 1);
                s.measure = ms(0);
                s
            },
            driver.clone()
        ),
        Err(LoadError::Spec(_))
    ));
    assert_eq!(driver.connects.load(std::sync::atomic::Ordering::SeqCst), 0);
}
