//! The truth bars: what is reported against what is known otherwise, for every protocol on its real server.
//!
//! `cargo bench -p weigh-drivers --bench truth [-- [--runs N] [NAME…]]` with names of protocols (`redis`, …).
//!
//! - A server stopped for 1.0 s in a run of 8 s at a constant rate: the 99th percentile within 2 % of the truth, which
//!   comes from the schedule and the moments of the stop, in 20 of 20 runs. A run in which the client's or the
//!   server's threads stood ready without a CPU for more than 1 % of the time is shown and made again, whatever it
//!   gave.
//! - Operations within 0.1 % of the server's own count.
//!
//! The known service time is a check of `weigh selftest known-delays`.

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

struct Row {
    name: &'static str,
    good: u32,
    runs: u32,
    /// Undisturbed runs asked for.
    asked: u32,
    disturbed: u32,
    disturbed_good: u32,
    worst: f64,
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

fn row(subject: &Subject, asked: u32) -> Row {
    println!(
        "\n{}: stopped for {STOPPED:?} in {MEASURE:?}; seconds\n{:>4} {:>8} {:>8} {:>8} {:>8}  {:>8}  {:>10} {:>7} {:>7}",
        subject.name, "run", "truth", "± ", "p99", "off %", "by send", "capacity/s", "wait c", "wait s"
    );
    let mut row = Row {
        name: subject.name,
        good: 0,
        runs: 0,
        asked,
        disturbed: 0,
        disturbed_good: 0,
        worst: 0.0,
        count_off: 0.0,
    };
    while row.runs < asked && row.runs + row.disturbed < 2 * asked {
        let frozen = subject.frozen(MEASURE, AFTER, STOPPED);
        assert!(frozen.report.errors.is_empty(), "{:?}", frozen.report.errors);
        print_run(row.runs + row.disturbed + 1, &frozen);
        let good = u32::from(frozen.off().abs() <= BAR);
        if frozen.is_disturbed() {
            row.disturbed += 1;
            row.disturbed_good += good;
        } else {
            row.runs += 1;
            row.good += good;
            row.worst = row.worst.max(frozen.off().abs());
        }
    }
    let (report, counted) = subject.counts(ms(3000));
    let ours = report.operations_total;
    row.count_off = (ours as f64 - counted as f64).abs() / counted as f64;
    println!("operations: {ours} by our count, {counted} by the server's");
    row
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
        "\n{:<10} {:>12} {:>8} {:>22} {:>14}",
        "protocol", "within 2 %", "worst %", "disturbed, within 2 %", "count off %"
    );
    for row in rows {
        let passed = row.good == row.runs && row.runs == row.asked && row.count_off <= COUNT_BAR;
        println!(
            "{:<10} {:>12} {:>8.2} {:>22} {:>14.4}  {}",
            row.name,
            format!("{} of {}", row.good, row.runs),
            100.0 * row.worst,
            format!("{} of {}", row.disturbed_good, row.disturbed),
            100.0 * row.count_off,
            match (passed, row.runs < row.asked && row.good == row.runs) {
                (true, _) => "passed",
                (false, true) => "too busy to judge",
                (false, false) => "MISSED",
            },
        );
    }
}
