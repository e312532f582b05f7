//! The open loop: the schedule is kept, a system that stalls is charged for everyone who would have waited, and every
//! operation that was due is accounted for.

use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use weigh_load::{Arrivals, Limits, LoadReport, LoadSpec, Schedule, connect, start};

use crate::fake::{Behaviour, FakeDriver, Manner, ms, one_of_three, spec};

fn open(rate_per_s: f64, arrivals: Arrivals, clients: usize, threads: usize, pipeline: usize) -> LoadSpec {
    LoadSpec { schedule: Schedule::Open { rate_per_s, arrivals }, ..spec(clients, threads, pipeline) }
}

fn constant(rate_per_s: f64, clients: usize) -> LoadSpec {
    open(rate_per_s, Arrivals::Constant, clients, 1, 1)
}

/// Nothing that was due may vanish.
fn check_books(report: &LoadReport) {
    let schedule = report.schedule.as_ref().unwrap();
    assert_eq!(schedule.due, schedule.sent + schedule.never_sent, "{schedule:?}");
    assert_eq!((schedule.lag.len(), schedule.client_lag.len()), (schedule.sent, schedule.sent));
    let answered = report.latency.len();
    let failed = schedule.sent - answered - schedule.never_answered;
    let errors: u64 = report.errors.values().sum();
    assert!(failed + schedule.never_answered <= errors, "{failed} failed: {:?}", report.errors);
    assert_eq!(report.service.as_ref().unwrap().len(), answered);
    let per_operation: u64 = report.operations.iter().map(|o| o.latency.len()).sum();
    assert_eq!(per_operation, answered);
    let measured: u64 = report.operations.iter().map(|o| o.operations_measured).sum();
    assert_eq!(measured, report.operations_measured);
    assert!(schedule.client_lag.max() <= schedule.lag.max());
}

fn run(spec: &LoadSpec, driver: FakeDriver) -> (LoadReport, Arc<FakeDriver>) {
    let driver = Arc::new(driver);
    let report = start(spec, driver.clone()).unwrap().finish().unwrap();
    check_books(&report);
    (report, driver)
}

#[test]
fn a_constant_rate_is_kept_to_the_operation() {
    for (clients, threads, pipeline) in [(4, 1, 1), (5, 2, 1), (3, 3, 4)] {
        let spec = open(2000.0, Arrivals::Constant, clients, threads, pipeline);
        let (report, driver) = run(&spec, FakeDriver::new(Behaviour::Answer));
        let schedule = report.schedule.unwrap();
        // 2000/s over 300 ms, and 100 ms of warm-up before.
        assert_eq!((schedule.due, schedule.sent, report.latency.len()), (600, 600, 600));
        assert_eq!((report.operations_total, driver.answered()), (800, 800));
        assert!(report.errors.is_empty(), "{:?}", report.errors);
    }
}

#[test]
fn constant_arrivals_reach_the_server_evenly_and_never_early() {
    one_of_three(|| {
        let offsets = offsets_us(open(1000.0, Arrivals::Constant, 3, 2, 1));
        assert_eq!(offsets.len(), 700);
        // The first may have been a little late, and the others are counted from it.
        let early = offsets.iter().enumerate().filter(|(n, us)| **us + 5_000 < *n as u64 * 1000).count();
        let dispersion = dispersion(&offsets);
        if early == 0 && dispersion < 0.15 {
            Ok(())
        } else {
            Err(format!("{early} are early, dispersion {dispersion}"))
        }
    });
}

#[test]
fn poisson_arrivals_reach_the_server_as_a_poisson_process() {
    one_of_three(|| {
        let offsets = offsets_us(open(1000.0, Arrivals::Poisson, 8, 2, 1));
        // Five standard deviations of a Poisson count.
        assert!(offsets.len().abs_diff(700) < 5 * 27, "{} are not Poisson around 700", offsets.len());
        let dispersion = dispersion(&offsets);
        if (0.4..2.0).contains(&dispersion) { Ok(()) } else { Err(format!("{dispersion}")) }
    });
}

/// Variance over mean of the numbers received per 20 ms: 1 for a Poisson process, 0 for an even one. Lag well below
/// 20 ms hardly moves it.
fn dispersion(offsets_us: &[u64]) -> f64 {
    let mut counts = [0.0_f64; 34];
    for us in offsets_us {
        if let Some(count) = counts.get_mut((us / 20_000) as usize) {
            *count += 1.0;
        }
    }
    let n = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / n;
    counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (n - 1.0) / mean
}

/// When the server received requests, in order, since the first.
fn offsets_us(mut spec: LoadSpec) -> Vec<u64> {
    spec.measure = ms(600);
    let (_, driver) = run(&spec, FakeDriver::new(Behaviour::StallBetween(ms(60_000), ms(60_000))));
    let mut received = driver.received.lock().unwrap().clone();
    received.sort_unstable();
    received.iter().map(|at| (*at - received[0]).as_micros() as u64).collect()
}

#[test]
fn equal_seeds_give_equal_numbers_of_arrivals() {
    let due = |seed| {
        let spec = LoadSpec { seed, ..open(3000.0, Arrivals::Poisson, 4, 2, 1) };
        run(&spec, FakeDriver::new(Behaviour::Answer)).0.schedule.unwrap().due
    };
    assert_eq!(due(1), due(1));
    assert_ne!((due(1), due(2)), (due(3), due(4)));
}

#[test]
fn a_stall_is_charged_to_everyone_who_would_have_waited() {
    for (arrivals, pipeline) in [(Arrivals::Constant, 1), (Arrivals::Poisson, 1), (Arrivals::Constant, 4)] {
        one_of_three(|| check_stall(arrivals, pipeline));
    }
}

/// The server stands still for 200 ms of an 800 ms window. A quarter of the arrivals fall into it and wait for what is
/// left of it: p99 of all is 24/25 of the stall, and p90 is 3/5.
fn check_stall(arrivals: Arrivals, pipeline: usize) -> Result<(), String> {
    let mut spec = open(2000.0, arrivals, 4, 1, pipeline);
    spec.measure = ms(800);
    let (report, _) = run(&spec, FakeDriver::new(Behaviour::StallBetween(ms(300), ms(500))));
    let schedule = report.schedule.unwrap();
    let in_ms = |histogram: &hdrhistogram::Histogram<u64>, q| histogram.value_at_quantile(q) as f64 / 1e6;
    assert_eq!((schedule.sent, schedule.never_answered), (schedule.due, 0));
    // Only what was in flight had a long service; everything else waited outside.
    let service = report.service.unwrap();
    let long = service.len() - service.count_between(0, 50_000_000);
    assert!((4..=4 * pipeline as u64).contains(&long), "{long} long services");
    assert!(schedule.backlog_max >= 300 && schedule.late_starts >= 300, "{schedule:?}");
    let (p99, p90) = (in_ms(&report.latency, 0.99), in_ms(&report.latency, 0.90));
    // Poisson arrivals fall into the stall as they come.
    let tolerance = if arrivals == Arrivals::Constant { 0.02 } else { 0.06 };
    if (p99 / 192.0 - 1.0).abs() > tolerance || (p90 / 120.0 - 1.0).abs() > 4.0 * tolerance {
        return Err(format!("p99 {p99} ms, p90 {p90} ms"));
    }
    let client = in_ms(&schedule.client_lag, 0.99);
    if client < 5.0 { Ok(()) } else { Err(format!("the client is charged {client} ms")) }
}

#[test]
fn a_stall_to_the_very_end_is_not_forgotten() {
    let limits = Limits { drain: ms(100), ..Limits::default() };
    let driver = Arc::new(FakeDriver::new(Behaviour::StuckAfter(100)));
    let report = connect(&constant(1000.0, 2), driver.clone(), limits).unwrap().begin().finish().unwrap();
    check_books(&report);
    let schedule = report.schedule.unwrap();
    // Each of two connections answers 100 requests: 200 of 400, of which 100 are due in the window.
    assert_eq!((schedule.due, driver.answered()), (300, 200));
    assert_eq!((report.latency.len(), schedule.never_answered, schedule.never_sent), (100, 2, 198));
    assert_eq!(report.errors["no reply within 100ms of the end"], 2);
}

#[test]
fn overload_is_counted_and_nothing_vanishes() {
    for threads in [1, 2] {
        // 2 clients and 1 ms each: 2000/s at most; 20,000/s are due.
        let limits = Limits { drain: ms(50), ..Limits::default() };
        let driver = Arc::new(FakeDriver::new(Behaviour::AnswerAfter(ms(1))));
        let spec = open(20_000.0, Arrivals::Constant, 2, threads, 1);
        let report = connect(&spec, driver.clone(), limits).unwrap().begin().finish().unwrap();
        check_books(&report);
        let schedule = report.schedule.unwrap();
        assert_eq!(schedule.due, 6000);
        assert!(schedule.never_sent > 4000 && schedule.backlog_max > 6000, "{schedule:?}");
        // 450 ms at 2000/s, and what was begun in the drain.
        assert!(report.operations_total <= 902, "{}", report.operations_total);
        // What was answered after the drain, the client does not know.
        let unknown: u64 = report.errors.values().sum();
        assert!(driver.answered() - report.operations_total <= unknown, "{:?}", report.errors);
        // The oldest waits longest, and it is the system that is charged: the client is not late.
        assert!(report.latency.is_empty() || report.latency.min() > 50_000_000);
    }
}

#[test]
fn what_was_due_in_the_window_is_sent_after_it_too() {
    // 2000/s at most, 3000/s due: 300 ms of window leave 100 ms of work and more, which the drain has time for.
    let driver = FakeDriver::new(Behaviour::AnswerAfter(ms(1)));
    let (report, _) = run(&constant(2400.0, 2), driver);
    let schedule = report.schedule.unwrap();
    assert_eq!((schedule.due, schedule.sent, report.latency.len()), (720, 720, 720));
    assert!(report.operations_measured < 650, "{} in the window itself", report.operations_measured);
    assert_eq!(report.operations_total, 960);
}

#[test]
fn broken_connections_fail_their_operations_and_the_schedule_goes_on() {
    let (report, driver) = run(&constant(1000.0, 3), FakeDriver::new(Behaviour::CloseAfter(40)));
    let schedule = report.schedule.unwrap();
    assert_eq!((schedule.due, schedule.never_sent, schedule.never_answered), (300, 0, 0));
    assert!(report.reconnects >= 3, "{}", report.reconnects);
    assert!(report.latency.len() >= 280 && report.latency.len() < 300, "{}", report.latency.len());
    assert_eq!(report.operations_total, driver.answered());
}

#[test]
fn no_reply_in_time_is_a_failure_and_the_schedule_goes_on() {
    let limits = Limits { reply: ms(60), ..Limits::default() };
    let driver = Arc::new(FakeDriver::new(Behaviour::StuckAfter(50)));
    let report = connect(&constant(1000.0, 2), driver, limits).unwrap().begin().finish().unwrap();
    check_books(&report);
    assert!(report.errors["no reply within 60ms"] >= 2, "{:?}", report.errors);
    assert!(report.reconnects >= 2 && report.schedule.unwrap().never_sent == 0);
}

#[test]
fn a_cancel_takes_effect_at_once_and_owes_only_what_was_due() {
    for behaviour in [Behaviour::Deaf, Behaviour::Answer] {
        one_of_three(|| {
            let mut spec = open(1000.0, Arrivals::Constant, 4, 2, 1);
            spec.measure = ms(60_000);
            let load = start(&spec, Arc::new(FakeDriver::new(behaviour))).unwrap();
            thread::sleep(ms(200));
            let (handle, cancelled) = (load.cancel_handle(), Instant::now());
            handle.cancel();
            let report = load.finish().unwrap();
            let took = cancelled.elapsed();
            check_books(&report);
            let (due, expected) = (report.schedule.unwrap().due, report.measured.as_millis() as u64);
            assert!(due.abs_diff(expected) < 30, "{due} in {expected} ms");
            if took < ms(50) { Ok(()) } else { Err(format!("{behaviour:?}: {took:?}")) }
        });
    }
}

#[test]
fn a_slow_schedule_is_not_over_before_its_window() {
    let begun = Instant::now();
    let (report, _) = run(&constant(5.0, 1), FakeDriver::new(Behaviour::Answer));
    // At 0, 200, and none at 400 ms, where the window ends.
    assert_eq!((report.operations_total, report.latency.len()), (2, 1));
    assert!(begun.elapsed() >= ms(400) && report.measured == ms(300));
}

#[test]
fn clients_of_a_driver_that_blocks_have_a_schedule_each() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let spec = open(2000.0, arrivals, 4, 1, 1);
        let load = start(&spec, Arc::new(weigh_load::null::NullDriver)).unwrap();
        let report = load.finish().unwrap();
        check_books(&report);
        let schedule = report.schedule.unwrap();
        assert_eq!((schedule.sent, report.latency.len()), (schedule.due, schedule.due));
        match arrivals {
            Arrivals::Constant => assert_eq!(schedule.due, 600),
            Arrivals::Poisson => assert!(schedule.due.abs_diff(600) < 130, "{}", schedule.due),
        }
    }
}

#[test]
fn operations_without_a_reply_keep_the_schedule_too() {
    let driver = FakeDriver { manner: Manner::NoReplyToOne, ..FakeDriver::new(Behaviour::SilentOnOne) };
    let (report, driver) = run(&open(3000.0, Arrivals::Constant, 3, 1, 2), driver);
    let schedule = report.schedule.unwrap();
    assert_eq!((schedule.due, schedule.sent, report.latency.len()), (900, 900, 900));
    assert_eq!(report.operations_total, 1200);
    drop(driver);
}

/// Runs itself in a process of its own, where no other test takes memory.
#[test]
fn a_backlog_of_millions_takes_no_memory() {
    const CHILD: &str = "WEIGH_BACKLOG_TEST";
    if std::env::var_os(CHILD).is_none() {
        let name = "open_loop::a_backlog_of_millions_takes_no_memory";
        let child =
            Command::new(std::env::current_exe().unwrap()).args(["--exact", name]).env(CHILD, "1").output();
        let child = child.unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        return;
    }
    let limits = Limits { drain: ms(10), ..Limits::default() };
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let before = peak_kib();
        let spec = open(5e6, arrivals, 2, 1, 1);
        let driver = Arc::new(FakeDriver::new(Behaviour::AnswerAfter(ms(1))));
        let report = connect(&spec, driver, limits).unwrap().begin().finish().unwrap();
        check_books(&report);
        let backlog = report.schedule.unwrap().backlog_max;
        assert!(backlog > 1_400_000, "{backlog}");
        let grown = peak_kib() - before;
        assert!(grown < 6 << 10, "{grown} KiB for a backlog of {backlog}");
    }
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn lag_of_a_quiet_schedule_is_small() {
    one_of_three(|| {
        let (report, _) = run(&constant(1000.0, 4), FakeDriver::new(Behaviour::Answer));
        let lag = Duration::from_nanos(report.schedule.unwrap().lag.value_at_quantile(0.5));
        if lag < Duration::from_micros(300) { Ok(()) } else { Err(format!("{lag:?}")) }
    });
}
