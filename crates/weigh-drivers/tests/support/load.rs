//! Short loads.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use weigh_drivers::SqlOperation;
use weigh_drivers::postgres::PostgresConfig;
use weigh_load::generator::GeneratorSpec;
use weigh_load::{Driver, LoadError, LoadReport, LoadSpec, Operation, Schedule, start};

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// One operation as its driver and as the engine see it.
#[derive(Clone)]
pub struct Work {
    pub sql: SqlOperation,
    pub load: Operation,
}

pub fn work(name: &str, sql: &[&str], parameters: Vec<GeneratorSpec>, repeat: u32) -> Work {
    Work {
        sql: SqlOperation {
            name: name.into(),
            sql: sql.iter().map(ToString::to_string).collect(),
            parameters: parameters.len(),
            repeat,
        },
        load: Operation { name: name.into(), weight: 1, parameters },
    }
}

pub fn sequence() -> GeneratorSpec {
    GeneratorSpec::Sequence { start: 0 }
}

pub fn spec(clients: usize, pipeline: usize, work: &[Work]) -> LoadSpec {
    LoadSpec {
        clients,
        threads: 1,
        pipeline,
        settle: ms(50),
        measure: ms(250),
        schedule: Schedule::Closed,
        operations: work.iter().map(|w| w.load.clone()).collect(),
        seed: 7,
        trial_number: 1,
        operations_limit: None,
        pin: false,
    }
}

pub fn run(
    config: PostgresConfig,
    clients: usize,
    pipeline: usize,
    work: &[Work],
) -> Result<LoadReport, LoadError> {
    let operations = work.iter().map(|w| w.sql.clone()).collect();
    let driver = PostgresConfig { operations, ..config }.build().unwrap();
    start(&spec(clients, pipeline, work), Arc::new(driver))?.finish()
}

/// A load that is cancelled after a while. Its end does not wait for replies: 50 ms is the promise, and weigh-load's
/// tests hold it; here a busy machine gets some more.
pub fn cancelled_after(after: Duration, spec: &LoadSpec, driver: impl Driver + 'static) -> LoadReport {
    let load = start(spec, Arc::new(driver)).unwrap();
    thread::sleep(after);
    let cancelled = Instant::now();
    load.cancel_handle().cancel();
    let report = load.finish().unwrap();
    assert!(cancelled.elapsed() < ms(200), "{:?}", cancelled.elapsed());
    report
}

/// An error with its sources, as a user would see it.
pub fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
