//! CPU per operation of our client beside `pgbench -S -M prepared`: the same lookup by primary key, on the same
//! private cluster, with the same number of clients, in turn.
//!
//! `cargo bench -p weigh-drivers --bench pgbench [-- ROUNDS SECONDS CLIENTS]`
//!
//! CPU comes from `getrusage`: of the worker thread over the measured window for ours, of the child process for
//! pgbench. The server runs on the same machine, so compare CPU, not throughput.

#![allow(missing_docs, unreachable_pub, dead_code, clippy::print_stdout, clippy::unwrap_used)]
#![allow(clippy::cast_precision_loss)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use support::cluster::Cluster;
use support::load::{spec, work};
use weigh_drivers::postgres::PostgresConfig;
use weigh_load::generator::GeneratorSpec;
use weigh_load::start;

const LOOKUP: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = $1";
const ROWS: i64 = 100_000;

/// One run of either client.
struct Cost {
    operations_per_s: f64,
    user_us: f64,
    system_us: f64,
}

fn main() {
    // Cargo adds `--bench`.
    let arguments: Vec<u32> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let argument = |place: usize, default| arguments.get(place).copied().unwrap_or(default);
    let (rounds, seconds, clients) = (argument(0, 7), argument(1, 4), argument(2, 8));
    let cluster = Cluster::new();
    pgbench(&cluster, &["-i", "-q", "-s", "1"]);
    println!(
        "{rounds} rounds of {seconds} s each, {clients} clients, one client thread; µs of CPU per operation\n"
    );
    println!(
        "{:>5}  {:>10} {:>7} {:>7}  {:>10} {:>7} {:>7}",
        "round", "pgbench/s", "user", "sys", "ours/s", "user", "sys"
    );
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        // The order alternates, so that a drift of the machine hits both.
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                theirs.push(run_pgbench(&cluster, seconds, clients));
            } else {
                ours.push(run_ours(&cluster, seconds, clients));
            }
        }
        if let (Some(theirs), Some(ours)) = (theirs.last(), ours.last()) {
            print_row(&round.to_string(), theirs, ours);
        }
    }
    let (theirs, ours) = (median_cost(&theirs), median_cost(&ours));
    print_row("med", &theirs, &ours);
    println!("\nuser mode: ours / pgbench = {:.2}", ours.user_us / theirs.user_us);
    let total = (ours.user_us + ours.system_us) / (theirs.user_us + theirs.system_us);
    println!("user and system: ours / pgbench = {total:.2}");
}

fn print_row(name: &str, theirs: &Cost, ours: &Cost) {
    let row = |c: &Cost| format!("{:>10.0} {:>7.2} {:>7.2}", c.operations_per_s, c.user_us, c.system_us);
    println!("{name:>5}  {}  {}", row(theirs), row(ours));
}

fn median_cost(costs: &[Cost]) -> Cost {
    let median = |figure: fn(&Cost) -> f64| {
        let mut figures: Vec<f64> = costs.iter().map(figure).collect();
        figures.sort_unstable_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    Cost {
        operations_per_s: median(|c| c.operations_per_s),
        user_us: median(|c| c.user_us),
        system_us: median(|c| c.system_us),
    }
}

fn run_ours(cluster: &Cluster, seconds: u32, clients: u32) -> Cost {
    let draw = GeneratorSpec::Uniform { min: 1, max: ROWS };
    let lookup = [work("lookup", &[LOOKUP], vec![draw], 1)];
    let config = PostgresConfig { operations: vec![lookup[0].sql.clone()], ..cluster.config() };
    let mut load_spec = spec(clients as usize, 1, &lookup);
    load_spec.measure = Duration::from_secs(u64::from(seconds));
    let report = start(&load_spec, Arc::new(config.build().unwrap())).unwrap().finish().unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let operations = report.operations_measured as f64;
    Cost {
        operations_per_s: operations / report.measured.as_secs_f64(),
        user_us: report.client_user.as_secs_f64() * 1e6 / operations,
        system_us: report.client_system.as_secs_f64() * 1e6 / operations,
    }
}

fn run_pgbench(cluster: &Cluster, seconds: u32, clients: u32) -> Cost {
    let before = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let (clients, time) = (clients.to_string(), seconds.to_string());
    let output = pgbench(cluster, &["-n", "-S", "-M", "prepared", "-j", "1", "-c", &clients, "-T", &time]);
    let after = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let processed =
        output.lines().find_map(|line| line.strip_prefix("number of transactions actually processed: "));
    let operations: f64 = processed.and_then(|text| text.split('/').next()?.parse().ok()).unwrap();
    let spent = |time: fn(&Usage) -> i64| (time(&after) - time(&before)) as f64 / operations;
    Cost {
        operations_per_s: operations / f64::from(seconds),
        user_us: spent(|usage| usage.user_time().num_microseconds()),
        system_us: spent(|usage| usage.system_time().num_microseconds()),
    }
}

fn pgbench(cluster: &Cluster, arguments: &[&str]) -> String {
    let output = Command::new(cluster.program("pgbench"))
        .args(arguments)
        .arg("-h")
        .arg(cluster.socket_dir())
        .args(["-p", &cluster.port.to_string(), "-U", "weigh", "postgres"])
        .output()
        .unwrap();
    assert!(output.status.success(), "pgbench: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
