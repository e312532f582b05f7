//! What the engine itself costs per operation: with a driver that does nothing, and with a socket whose other
//! end is a thread of this process that answers at once (system calls included).
//!
//! `cargo bench -p weigh-load`

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss)]
#![allow(dead_code, unreachable_pub, clippy::cast_possible_truncation)]

#[path = "../tests/fake.rs"]
mod fake;

use std::sync::Arc;

use fake::{Behaviour, FakeDriver, ms, spec};
use weigh_load::generator::{GeneratorSpec, ParameterStream};
use weigh_load::null::NullDriver;
use weigh_load::{Driver, LoadReport, Operation, start};

fn main() {
    println!("{:<42} {:>10} {:>9} {:>9} {:>9}", "engine, one worker", "ops/s", "user ns", "sys ns", "p50 ns");
    row("null driver, in the worker's thread", 1, 1, Arc::new(NullDriver));
    for (clients, pipeline) in [(1, 1), (8, 1), (8, 16)] {
        let driver = Arc::new(FakeDriver::new(Behaviour::Answer));
        row(
            &format!("echo on a socket pair, {clients} clients, depth {pipeline}"),
            clients,
            pipeline,
            driver,
        );
    }
    println!("\n{:<42} {:>10}", "generator", "ns/draw");
    generators();
}

fn row(name: &str, clients: usize, pipeline: usize, driver: Arc<dyn Driver>) {
    let mut spec = spec(clients, 1, pipeline);
    spec.measure = ms(1500);
    let report: LoadReport = start(&spec, driver).unwrap().finish().unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let operations = report.operations_measured as f64;
    println!(
        "{name:<42} {:>10.0} {:>9.0} {:>9.0} {:>9}",
        operations / report.measured.as_secs_f64(),
        report.client_user.as_nanos() as f64 / operations,
        report.client_system.as_nanos() as f64 / operations,
        report.latency.value_at_quantile(0.5),
    );
}

fn generators() {
    let specs = [
        ("sequence", GeneratorSpec::Sequence { start: 0 }),
        ("uniform", GeneratorSpec::Uniform { min: 1, max: 100_000 }),
        ("zipf", GeneratorSpec::Zipf { min: 1, max: 1_000_000, exponent: 1.0, scatter: true }),
        ("string of 100", GeneratorSpec::String { size: 100 }),
        ("bytes of 100", GeneratorSpec::Bytes { size: 100 }),
        ("json of 500", GeneratorSpec::Json { size: 500 }),
        ("time", GeneratorSpec::Time {}),
    ];
    for (name, parameter) in specs {
        let operations = [Operation { name: name.into(), weight: 1, parameters: vec![parameter] }];
        let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
        let draws = 1_000_000_u32;
        let begun = std::time::Instant::now();
        for _ in 0..draws {
            std::hint::black_box(stream.parameters(0).draw());
        }
        println!("{name:<42} {:>10.1}", begun.elapsed().as_nanos() as f64 / f64::from(draws));
    }
}
