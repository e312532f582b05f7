//! Clients that execute in the worker's own thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use weigh_load::generator::Parameters;
use weigh_load::null::NullDriver;
use weigh_load::{Connection, Driver, DriverError, InlineClient, Outcome, start};

use crate::fake::{ms, one_of_three, spec};

/// Sleeps, fails now and then, breaks now and then.
struct Sleeper {
    executed: Arc<AtomicU64>,
    connects: Arc<AtomicU64>,
}

struct SleeperClient {
    executed: Arc<AtomicU64>,
    number: u64,
}

impl Driver for Sleeper {
    fn connect(&self, _client: usize) -> Result<Connection, DriverError> {
        self.connects.fetch_add(1, Ordering::SeqCst);
        Ok(Connection::Inline(Box::new(SleeperClient { executed: Arc::clone(&self.executed), number: 0 })))
    }

    fn blocks_its_thread(&self) -> bool {
        true
    }
}

impl InlineClient for SleeperClient {
    fn execute(&mut self, _operation: usize, _parameters: &mut Parameters<'_>) -> Outcome {
        self.number += 1;
        thread::sleep(ms(5));
        match self.number {
            n if n % 20 == 0 => Outcome::Broken("gone".into()),
            n if n % 5 == 0 => Outcome::Error("no".into()),
            _ => {
                self.executed.fetch_add(1, Ordering::SeqCst);
                Outcome::Success
            }
        }
    }
}

#[test]
fn inline_clients_run_side_by_side_and_are_counted() {
    let (executed, connects) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let driver = Sleeper { executed: Arc::clone(&executed), connects: Arc::clone(&connects) };
    // One thread is asked for; clients that block get one each all the same.
    let report = start(&spec(4, 1, 1), Arc::new(driver)).unwrap().finish().unwrap();
    assert_eq!(report.operations_total, executed.load(Ordering::SeqCst));
    assert!(report.operations_total > 100, "4 clients of 5 ms in 400 ms: {}", report.operations_total);
    assert!(report.latency.min() >= 4_990_000, "{}", report.latency.min());
    let first = &report.first_calls;
    assert!((20..=50).contains(&first.len()), "of one client of four, failures left out: {}", first.len());
    assert!(first.iter().all(|call| *call >= ms(5)), "{first:?}");
    assert!(report.errors["no"] >= 4 && report.errors["gone"] >= 4, "{:?}", report.errors);
    assert_eq!(connects.load(Ordering::SeqCst), 4 + report.reconnects);
    assert!(report.reconnects >= 4);
}

#[test]
fn the_null_driver_is_fast_and_a_cancel_is_prompt() {
    one_of_three(|| {
        let mut spec = spec(1, 1, 1);
        spec.measure = ms(60_000);
        let load = start(&spec, Arc::new(NullDriver)).unwrap();
        let handle = load.cancel_handle();
        thread::sleep(ms(250));
        let cancelled = Instant::now();
        handle.cancel();
        let report = load.finish().unwrap();
        let took = cancelled.elapsed();
        assert!(report.operations_measured > 10_000, "{}", report.operations_measured);
        if took < ms(50) { Ok(()) } else { Err(format!("{took:?}")) }
    });
}
