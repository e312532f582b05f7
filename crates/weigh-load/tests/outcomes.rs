//! Outcomes between success and error, clients that hold bytes back, and operations without a reply.

use std::collections::BTreeMap;
use std::sync::Arc;

use weigh_load::generator::Parameters;
use weigh_load::{Connection, Driver, DriverError, InlineClient, Outcome, start};

use crate::fake::{Behaviour, FakeDriver, Manner, spec};

struct Cache;

struct CacheClient(u64);

impl Driver for Cache {
    fn connect(&self, _client: usize) -> Result<Connection, DriverError> {
        Ok(Connection::Inline(Box::new(CacheClient(0))))
    }

    fn blocks_its_thread(&self) -> bool {
        true
    }
}

impl InlineClient for CacheClient {
    fn execute(&mut self, _operation: usize, _parameters: &mut Parameters<'_>) -> Outcome {
        self.0 += 1;
        std::thread::sleep(std::time::Duration::from_micros(200));
        match self.0 % 4 {
            0 => Outcome::Miss,
            1 => Outcome::Partial(vec![("duplicate key".into(), 2), ("too large".into(), 1)]),
            _ => Outcome::Success,
        }
    }
}

#[test]
fn misses_and_failed_items_are_counted_beside_the_successes() {
    let report = start(&spec(1, 1, 1), Arc::new(Cache)).unwrap().finish().unwrap();
    let total = report.operations_total;
    assert!(total > 100 && report.errors.is_empty());
    assert_eq!(report.misses, total / 4);
    let partial = total.div_ceil(4);
    let expected = [("duplicate key".to_owned(), 2 * partial), ("too large".to_owned(), partial)];
    assert_eq!(report.item_errors, BTreeMap::from(expected));
    assert_eq!(report.latency.len(), report.operations_measured);
}

#[test]
fn a_client_that_keeps_bytes_of_its_own_is_asked_until_it_has_no_more() {
    for behaviour in [Behaviour::Answer, Behaviour::AnswerInPieces] {
        let driver = Arc::new(FakeDriver { manner: Manner::Hoarding, ..FakeDriver::new(behaviour) });
        let report = start(&spec(2, 1, 8), driver.clone()).unwrap().finish().unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert_eq!(report.operations_total, driver.answered());
        assert!(report.operations_total > 500, "{}", report.operations_total);
    }
}

#[test]
fn operations_without_a_reply_are_finished_when_they_are_sent() {
    for (clients, pipeline) in [(1, 1), (3, 1), (2, 8)] {
        let driver =
            Arc::new(FakeDriver { manner: Manner::NoReplyToOne, ..FakeDriver::new(Behaviour::SilentOnOne) });
        let report = start(&spec(clients, 1, pipeline), driver.clone()).unwrap().finish().unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        let [one, two] = &report.operations[..] else { panic!("two operations") };
        assert!(two.operations_measured > 0);
        let share = one.operations_measured as f64 / report.operations_measured as f64;
        assert!((share - 0.75).abs() < 0.1, "{share}: one of them is starved");
    }
}

#[test]
fn a_full_socket_holds_operations_without_a_reply_back() {
    // Nobody reads: what the socket takes is finished, what it does not take is not.
    let mut spec = spec(1, 1, 4);
    spec.operations.remove(0);
    spec.operations.insert(0, weigh_load::Operation { weight: 1, ..spec.operations[0].clone() });
    spec.operations[1].weight = 1 << 30;
    let driver = FakeDriver {
        manner: Manner::NoReplyToOne,
        request_bytes: 64 << 10,
        ..FakeDriver::new(Behaviour::Deaf)
    };
    let limits = weigh_load::Limits { drain: crate::fake::ms(50), ..Default::default() };
    let load = weigh_load::connect(&spec, Arc::new(driver), limits).unwrap().begin();
    let report = load.finish().unwrap();
    // A socket pair takes some hundred KiB.
    assert!(report.operations_total < 64, "{}", report.operations_total);
    assert!(report.errors["no reply within 50ms of the end"] >= 1, "{:?}", report.errors);
}
