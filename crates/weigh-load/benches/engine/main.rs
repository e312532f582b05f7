//! What the engine itself costs per operation, beside what it cannot be cheaper than.
//!
//! - The null driver (operations that do nothing) beside fio's null engine, in turn: the bar is 1.0.
//! - An echo server at the other end of socket pairs beside a bare loop of write and read on the same sockets
//!   (`floor.rs`): the difference is the engine.
//! - An open loop at 5,000/s on the same server.
//! - The generators.
//!
//! `cargo bench -p weigh-load`, or `cargo bench -p weigh-load -- echo` for one of `null`, `echo`, `open`, `draw`.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss
)]
#![allow(clippy::cast_possible_truncation)]

mod echo;
mod fio;
mod floor;

use std::sync::Arc;
use std::time::Duration;

use echo::EchoDriver;
use weigh_load::generator::{GeneratorSpec, ParameterStream};
use weigh_load::null::NullDriver;
use weigh_load::{Arrivals, Driver, LoadReport, LoadSpec, Operation, Schedule, start};

/// Every row alternates with its floor or peer this many times; medians count.
const ROUNDS: usize = 5;
const RUN: Duration = Duration::from_millis(1200);

/// CPU time per operation, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub user_ns: f64,
    pub system_ns: f64,
}

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let sections: [(&str, fn()); 4] = [
        ("null", null_beside_fio),
        ("echo", echo_beside_the_floor),
        ("open", open_loops),
        ("draw", generators),
    ];
    for (name, section) in sections {
        if chosen.is_empty() || chosen.iter().any(|word| word == name) {
            section();
        }
    }
}

fn spec(clients: usize, pipeline: usize, schedule: Schedule) -> LoadSpec {
    LoadSpec {
        clients,
        threads: 1,
        pipeline,
        settle: Duration::from_millis(100),
        measure: RUN,
        operations_limit: None,
        schedule,
        operations: vec![Operation {
            name: "get".into(),
            weight: 1,
            parameters: vec![GeneratorSpec::Uniform { min: 1, max: 100_000 }],
        }],
        seed: 1,
        trial_number: 0,
        pin: false,
    }
}

fn run(spec: &LoadSpec, driver: Arc<dyn Driver>) -> (Cost, LoadReport) {
    let report: LoadReport = start(spec, driver).unwrap().finish().unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let operations = report.operations_measured as f64;
    let per_operation = |cpu: Duration| cpu.as_nanos() as f64 / operations;
    let cost =
        Cost { user_ns: per_operation(report.client_user), system_ns: per_operation(report.client_system) };
    (cost, report)
}

fn median(costs: &[Cost], of: impl Fn(&Cost) -> f64) -> f64 {
    let mut values: Vec<f64> = costs.iter().map(of).collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn null_beside_fio() {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(run(&spec(1, 1, Schedule::Closed), Arc::new(NullDriver)).0);
        theirs.push(fio::null_engine());
    }
    let user = |costs: &[Cost]| median(costs, |cost| cost.user_ns);
    let (ours, theirs) = (user(&ours), user(&theirs));
    println!("{:<44} {:>8} {:>8}   {:>9}", "harness alone, user ns/operation", "ours", "fio", "ratio");
    println!("{:<44} {ours:>8.0} {theirs:>8.0}   {:>9.2}", "null driver, fio's null engine", ours / theirs);
    println!(
        "{:<44} {:>37}",
        "",
        if ours <= theirs { "within the bar of 1.0" } else { "ABOVE the bar of 1.0" }
    );
}

fn echo_beside_the_floor() {
    println!(
        "\n{:<44} {:>8} {:>8}   {:>8} {:>8}   {:>9}",
        "echo on socket pairs, ns/operation", "user", "sys", "floor u", "floor s", "engine u"
    );
    for (clients, depth) in [(1, 1), (1, 16), (50, 1), (50, 16)] {
        echo_row(clients, depth);
    }
}

fn echo_row(clients: usize, depth: usize) {
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(run(&spec(clients, depth, Schedule::Closed), Arc::new(EchoDriver)).0);
        floor.push(floor::write_and_read(clients, depth, RUN));
    }
    let (user, system) = (|c: &Cost| c.user_ns, |c: &Cost| c.system_ns);
    println!(
        "{:<44} {:>8.0} {:>8.0}   {:>8.0} {:>8.0}   {:>9.0}",
        format!("{clients} clients, depth {depth}"),
        median(&ours, user),
        median(&ours, system),
        median(&floor, user),
        median(&floor, system),
        median(&ours, user) - median(&floor, user),
    );
}

fn open_loops() {
    println!(
        "\n{:<44} {:>8} {:>8}   {:>9} {:>9}",
        "open loop, ns/operation", "user", "sys", "lag p50", "lag p99"
    );
    for (arrivals, name) in [(Arrivals::Constant, "constant"), (Arrivals::Poisson, "Poisson")] {
        open_loop(&format!("50 clients, 5,000/s, {name}"), arrivals);
    }
}

fn open_loop(name: &str, arrivals: Arrivals) {
    let (mut costs, mut lags) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let schedule = Schedule::Open { rate_per_s: 5000.0, arrivals };
        let (cost, report) = run(&spec(50, 1, schedule), Arc::new(EchoDriver));
        costs.push(cost);
        lags.push(report.schedule.unwrap().lag);
    }
    let lag = |q| lags.iter().map(|lag| lag.value_at_quantile(q)).min().unwrap() / 1000;
    println!(
        "{name:<44} {:>8.0} {:>8.0}   {:>6} µs {:>6} µs",
        median(&costs, |c| c.user_ns),
        median(&costs, |c| c.system_ns),
        lag(0.5),
        lag(0.99),
    );
}

fn generators() {
    println!("\n{:<44} {:>8}", "generator", "ns/draw");
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
        println!("{name:<44} {:>8.1}", begun.elapsed().as_nanos() as f64 / f64::from(draws));
    }
}
