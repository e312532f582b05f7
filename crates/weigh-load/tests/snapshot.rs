//! What a load shows while it runs.

use std::sync::Arc;
use std::thread;

use weigh_load::{Arrivals, Limits, LoadSnapshot, LoadSpec, Schedule, connect, start};

use crate::fake::{Behaviour, FakeDriver, ms, spec};

fn watch(spec: &LoadSpec, behaviour: Behaviour) -> (Vec<LoadSnapshot>, weigh_load::LoadReport) {
    let limits = Limits { publish_every: Some(ms(20)), drain: ms(100), ..Limits::default() };
    let load = connect(spec, Arc::new(FakeDriver::new(behaviour)), limits).unwrap().begin();
    let mut seen = Vec::new();
    while !load.is_over() {
        seen.extend(load.snapshot());
        thread::sleep(ms(7));
    }
    seen.extend(load.snapshot());
    (seen, load.finish().unwrap())
}

#[test]
fn snapshots_never_decrease_and_the_last_is_the_report() {
    let mut open = spec(4, 2, 1);
    open.schedule = Schedule::Open { rate_per_s: 2000.0, arrivals: Arrivals::Poisson };
    for spec in [spec(4, 2, 1), open] {
        let (seen, report) = watch(&spec, Behaviour::ErrorEvery(10));
        assert!(seen.len() > 10, "{}", seen.len());
        for pair in seen.windows(2) {
            let [before, after] = pair else { panic!("a pair") };
            assert!(after.at >= before.at && after.operations >= before.operations);
            assert!(after.errors >= before.errors && after.client_cpu >= before.client_cpu);
            // Differences of snapshots are histograms of what lies between.
            let mut between = after.latency.clone();
            between.subtract(&before.latency).unwrap();
            assert_eq!(between.len(), after.latency.len() - before.latency.len());
        }
        let last = seen.last().unwrap();
        assert_eq!((last.operations, last.errors), (report.operations_total, report.errors["bad"]));
        assert_eq!(last.latency, report.latency);
        assert_eq!(last.commonest_error.as_deref(), Some("bad"));
        assert!(last.at >= ms(400) && seen[0].at < ms(200), "{:?}", seen[0].at);
    }
}

#[test]
fn a_backlog_shows_while_it_grows() {
    let mut spec = spec(1, 1, 1);
    spec.schedule = Schedule::Open { rate_per_s: 10_000.0, arrivals: Arrivals::Constant };
    let (seen, report) = watch(&spec, Behaviour::AnswerAfter(ms(2)));
    let most = seen.iter().map(|snapshot| snapshot.backlog).max().unwrap();
    assert!(most > 1000 && most <= report.schedule.unwrap().backlog_max, "{most}");
}

#[test]
fn nothing_is_shown_unless_it_is_asked_for() {
    let load = start(&spec(1, 1, 1), Arc::new(FakeDriver::new(Behaviour::Answer))).unwrap();
    thread::sleep(ms(200));
    assert!(load.snapshot().is_none());
}

#[test]
fn clients_that_run_in_their_own_thread_publish_too() {
    let limits = Limits { publish_every: Some(ms(20)), ..Limits::default() };
    let load = connect(&spec(2, 1, 1), Arc::new(weigh_load::null::NullDriver), limits).unwrap().begin();
    thread::sleep(ms(150));
    let snapshot = load.snapshot().unwrap();
    assert!(snapshot.operations > 1000 && snapshot.at >= ms(20) && !snapshot.client_cpu.is_zero());
}
