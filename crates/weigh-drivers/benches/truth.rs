//! The truth bars: what is reported against what is known otherwise, for every protocol on its real server.
//!
//! `cargo bench -p weigh-drivers --bench truth [-- [--runs N] [NAME…]]` with names of protocols (`redis`, …).
//!
//! - A server stopped for 1.0 s in a run of 8 s at a constant rate: the 99th percentile within 2 % of the truth, which
//!   comes from the schedule and the moments of the stop, in 20 of 20 runs. No run is left out or repeated; one in
//!   which threads of the client or the server stood ready without a CPU for more than 1 % of the time is marked.
//! - A service time of 1.000 ms: the median, less the way there and back, within 5 µs. The way is known by stamps of the
//!   server and of the driver. (5.000 ms for MongoDB: FerretDB itself may take more than one.)
//! - Operations within 0.1 % of the server's own count.

#![allow(missing_docs, unreachable_pub, dead_code, clippy::print_stdout, clippy::unwrap_used)]
#![allow(clippy::cast_precision_loss)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Duration;

use support::load::ms;
use support::subjects::{Frozen, SUBJECTS, Subject};

const MEASURE: Duration = Duration::from_secs(8);
const AFTER: Duration = Duration::from_secs(3);
const STOPPED: Duration = Duration::from_secs(1);
const BAR: f64 = 0.02;
const COUNT_BAR: f64 = 0.001;

/// How far the median of a known service time may be off, seconds.
const SERVICE_BAR_S: f64 = 5e-6;

struct Row {
    name: &'static str,
    runs: u32,
    good: u32,
    disturbed: u32,
    /// Misses of runs that were not disturbed.
    missed_undisturbed: u32,
    worst: f64,
    service_off_s: f64,
    service_disturbed: bool,
    count_off: f64,
}

fn main() {
    let (mut runs, mut names) = (20, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--runs" => runs = arguments.next().and_then(|text| text.parse().ok()).expect("a number"),
            // Cargo adds it.
            "--bench" => {}
            name => names.push(name.to_owned()),
        }
    }
    for name in &names {
        assert!(SUBJECTS.iter().any(|(known, _)| known == name), "no protocol `{name}`");
    }
    let chosen = SUBJECTS.iter().filter(|(name, _)| names.is_empty() || names.iter().any(|n| n == name));
    let rows: Vec<Row> = chosen.map(|(_, subject)| row(&subject(), runs)).collect();
    print_table(&rows);
}

fn row(subject: &Subject, runs: u32) -> Row {
    println!(
        "\n{}: stopped for {STOPPED:?} in {MEASURE:?}; seconds\n{:>4} {:>8} {:>8} {:>8} {:>8}  {:>8}  {:>10} {:>7} {:>7}",
        subject.name, "run", "truth", "± ", "p99", "off %", "by send", "capacity/s", "wait c", "wait s"
    );
    let (mut good, mut disturbed, mut missed_undisturbed, mut worst) = (0, 0, 0, 0.0_f64);
    for number in 1..=runs {
        let frozen = subject.frozen(MEASURE, AFTER, STOPPED);
        assert!(frozen.report.errors.is_empty(), "{:?}", frozen.report.errors);
        print_run(number, &frozen);
        let off = frozen.off().abs();
        worst = worst.max(off);
        good += u32::from(off <= BAR);
        disturbed += u32::from(frozen.is_disturbed());
        missed_undisturbed += u32::from(off > BAR && !frozen.is_disturbed());
    }
    let (service_off_s, service_disturbed) = known_service(subject);
    let (report, counted) = subject.counts(ms(3000));
    let ours = report.operations_total;
    let count_off = (ours as f64 - counted as f64).abs() / counted as f64;
    println!("operations: {ours} by our count, {counted} by the server's");
    Row {
        name: subject.name,
        runs,
        good,
        disturbed,
        missed_undisturbed,
        worst,
        service_off_s,
        service_disturbed,
        count_off,
    }
}

/// Seconds by which the median of a known service time is off, and whether the machine was busy.
fn known_service(subject: &Subject) -> (f64, bool) {
    let service = if subject.name == "mongodb" { ms(5) } else { ms(1) };
    let known = subject.known(service, ms(3000));
    let (measured_s, way_s) = (known.measured_s(0.5), known.way_s(0.5));
    println!(
        "service time {service:?}: p50 {:.1} µs, the way {:.1} µs, the server took {:.1} µs",
        1e6 * measured_s,
        1e6 * way_s,
        1e6 * known.service_s(0.5)
    );
    (measured_s - way_s - service.as_secs_f64(), known.is_disturbed())
}

fn print_run(number: u32, frozen: &Frozen) {
    let percent = |wait: Duration| 100.0 * wait.as_secs_f64() / frozen.measured.as_secs_f64();
    println!(
        "{number:>4} {:>8.4} {:>8.4} {:>8.4} {:>+8.2}  {:>8.4}  {:>10.0} {:>6.1}% {:>6.1}%{}",
        f64::midpoint(frozen.low_s, frozen.high_s),
        (frozen.high_s - frozen.low_s) / 2.0,
        frozen.p99_s,
        100.0 * frozen.off(),
        frozen.from_sending_p99_s,
        frozen.capacity_per_s,
        percent(frozen.client_wait),
        percent(frozen.server_wait),
        if frozen.is_disturbed() { "  disturbed" } else { "" },
    );
}

fn print_table(rows: &[Row]) {
    println!(
        "\n{:<10} {:>12} {:>8} {:>10} {:>16} {:>12}",
        "protocol", "within 2 %", "worst %", "disturbed", "service off µs", "count off %"
    );
    for row in rows {
        let service = row.service_off_s.abs() <= SERVICE_BAR_S;
        let passed = service && row.good == row.runs && row.count_off <= COUNT_BAR;
        let excused =
            (service || row.service_disturbed) && row.missed_undisturbed == 0 && row.count_off <= COUNT_BAR;
        println!(
            "{:<10} {:>12} {:>8.2} {:>10} {:>+16.2} {:>12.4}  {}",
            row.name,
            format!("{} of {}", row.good, row.runs),
            100.0 * row.worst,
            row.disturbed,
            1e6 * row.service_off_s,
            100.0 * row.count_off,
            match (passed, excused) {
                (true, _) => "passed",
                (false, true) => "missed only where the machine was busy",
                (false, false) => "MISSED",
            },
        );
    }
}
