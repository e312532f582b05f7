//! A lookup by primary key, prepared, on a private cluster: beside `pgbench -S -M prepared` and
//! `sysbench oltp_point_select`, each with its own table and statement, which ours then uses too.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use weigh_drivers::postgres::{Encryption, PostgresConfig};
use weigh_drivers::{Endpoint, TlsConfig, Verify};
use weigh_load::generator::GeneratorSpec;
use weigh_load::start;

use crate::contest::{Amount, Contest, Cost, Verdict, cost_of_command, cost_of_load};
use crate::support::cluster::Cluster;
use crate::support::load::{spec, work};
use crate::support::tls::Authority;

const PGBENCH_LOOKUP: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = $1";
const SYSBENCH_LOOKUP: &str = "SELECT c FROM sbtest1 WHERE id = $1";
const ROWS: i64 = 100_000;
const CLIENTS: usize = 8;

pub fn contests(amount: Amount) -> Vec<Verdict> {
    let cluster = Cluster::new();
    let mut verdicts = vec![beside_pgbench(&cluster, amount)];
    if Command::new("sysbench").arg("--version").output().is_ok() {
        verdicts.push(beside_sysbench(&cluster, amount));
    } else {
        println!("\nsysbench is not installed (apt-get install sysbench): left out");
    }
    drop(cluster);
    verdicts.push(inside_tls(amount));
    verdicts
}

fn beside_pgbench(cluster: &Cluster, amount: Amount) -> Verdict {
    prepare(&mut pgbench(cluster, &["-i", "-q", "-s", "1"]));
    let contest = Contest {
        name: "PostgreSQL lookup, 8 clients",
        peer: "pgbench -M prepared -S",
        user_bar: 0.8,
        total_bar: None,
        ours: &mut |seconds| ours(cluster.config(), PGBENCH_LOOKUP, seconds),
        theirs: &mut |seconds| pgbench_cost(cluster, seconds),
    };
    contest.run(amount)
}

fn beside_sysbench(cluster: &Cluster, amount: Amount) -> Verdict {
    prepare(sysbench(cluster).arg("prepare"));
    let contest = Contest {
        name: "PostgreSQL point select, 8 clients",
        peer: "sysbench, 8 threads",
        user_bar: 0.8,
        total_bar: None,
        ours: &mut |seconds| ours(cluster.config(), SYSBENCH_LOOKUP, seconds),
        theirs: &mut |seconds| sysbench_cost(cluster, seconds),
    };
    contest.run(amount)
}

fn prepare(command: &mut Command) {
    let made = command.output().unwrap();
    assert!(made.status.success(), "{command:?}: {made:?}");
}

/// The same lookup over TCP and TLS, which both clients set up the same way.
fn inside_tls(amount: Amount) -> Verdict {
    let authority = Authority::new();
    let cluster = Cluster::with_tls(&authority.right(), authority.ca_file());
    prepare(&mut pgbench(&cluster, &["-i", "-q", "-s", "1"]));
    let config = PostgresConfig {
        endpoint: Endpoint::Tcp { host: "127.0.0.1".into(), port: cluster.port },
        user: "by_trust".into(),
        encryption: Encryption::Always(TlsConfig { verify: Verify::Nothing, ..TlsConfig::default() }),
        ..cluster.config()
    };
    let contest = Contest {
        name: "PostgreSQL lookup in TLS, 8 clients",
        peer: "pgbench, sslmode=require",
        user_bar: 0.8,
        total_bar: None,
        ours: &mut |seconds| ours(config.clone(), PGBENCH_LOOKUP, seconds),
        theirs: &mut |seconds| pgbench_tls_cost(&cluster, seconds),
    };
    contest.run(amount)
}

fn ours(config: PostgresConfig, sql: &str, seconds: u32) -> Cost {
    let draw = GeneratorSpec::Uniform { min: 1, max: ROWS };
    let lookup = [work("lookup", &[sql], vec![draw], 1)];
    let config = PostgresConfig { operations: vec![lookup[0].sql.clone()], ..config };
    let mut load_spec = spec(CLIENTS, 1, &lookup);
    load_spec.measure = Duration::from_secs(u64::from(seconds));
    load_spec.pin = true;
    cost_of_load(&start(&load_spec, Arc::new(config.build().unwrap())).unwrap().finish().unwrap())
}

fn pgbench_cost(cluster: &Cluster, seconds: u32) -> Cost {
    let time = seconds.to_string();
    pgbench_run(pgbench(cluster, &["-T", &time, "-n", "-S", "-M", "prepared"]), seconds)
}

fn pgbench_tls_cost(cluster: &Cluster, seconds: u32) -> Cost {
    let time = seconds.to_string();
    let mut command = Command::new(cluster.program("pgbench"));
    command.env("PGSSLMODE", "require").args(["-T", &time, "-n", "-S", "-M", "prepared"]);
    command.args(["-h", "127.0.0.1", "-p", &cluster.port.to_string(), "-U", "by_trust", "postgres"]);
    pgbench_run(command, seconds)
}

fn pgbench_run(mut command: Command, seconds: u32) -> Cost {
    command.args(["-j", "1", "-c", &CLIENTS.to_string()]);
    cost_of_command(&mut command, |text| {
        let processed =
            text.lines().find_map(|line| line.strip_prefix("number of transactions actually processed: "));
        let count = processed.and_then(|text| text.split('/').next()?.trim().parse().ok()).unwrap();
        (count, f64::from(seconds))
    })
}

fn pgbench(cluster: &Cluster, arguments: &[&str]) -> Command {
    let mut command = Command::new(cluster.program("pgbench"));
    command.args(arguments).arg("-h").arg(cluster.socket_dir());
    command.args(["-p", &cluster.port.to_string(), "-U", "weigh", "postgres"]);
    command
}

fn sysbench_cost(cluster: &Cluster, seconds: u32) -> Cost {
    let mut command = sysbench(cluster);
    command.arg(format!("--threads={CLIENTS}")).arg(format!("--time={seconds}")).arg("run");
    cost_of_command(&mut command, |text| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix("transactions:"));
        let count = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).expect(text);
        (count, f64::from(seconds))
    })
}

fn sysbench(cluster: &Cluster) -> Command {
    let mut command = Command::new("sysbench");
    command.args(["oltp_point_select", "--db-driver=pgsql", "--db-ps-mode=auto", "--pgsql-user=weigh"]);
    command.args(["--pgsql-db=postgres", "--tables=1", "--rand-type=uniform", "--events=0"]);
    command.arg(format!("--table-size={ROWS}")).arg(format!("--pgsql-port={}", cluster.port));
    command.arg(format!("--pgsql-host={}", cluster.socket_dir().display()));
    command
}
