//! A lookup by primary key, prepared, on a private cluster: beside `pgbench -S -M prepared`.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use weigh_drivers::postgres::PostgresConfig;
use weigh_load::generator::GeneratorSpec;
use weigh_load::start;

use crate::contest::{Amount, Contest, Cost, Verdict, cost_of_command, cost_of_load};
use crate::support::cluster::Cluster;
use crate::support::load::{spec, work};

const LOOKUP: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = $1";
const ROWS: i64 = 100_000;
const CLIENTS: usize = 8;

pub fn contests(amount: Amount) -> Vec<Verdict> {
    let cluster = Cluster::new();
    let made = pgbench(&cluster, &["-i", "-q", "-s", "1"]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let contest = Contest {
        name: "PostgreSQL lookup, 8 clients",
        peer: "pgbench -M prepared -S",
        user_bar: 0.8,
        total_bar: None,
        ours: &mut |seconds| ours(&cluster, seconds),
        theirs: &mut |seconds| theirs(&cluster, seconds),
    };
    vec![contest.run(amount)]
}

fn ours(cluster: &Cluster, seconds: u32) -> Cost {
    let draw = GeneratorSpec::Uniform { min: 1, max: ROWS };
    let lookup = [work("lookup", &[LOOKUP], vec![draw], 1)];
    let config = PostgresConfig { operations: vec![lookup[0].sql.clone()], ..cluster.config() };
    let mut load_spec = spec(CLIENTS, 1, &lookup);
    load_spec.measure = Duration::from_secs(u64::from(seconds));
    load_spec.pin = true;
    cost_of_load(&start(&load_spec, Arc::new(config.build().unwrap())).unwrap().finish().unwrap())
}

fn theirs(cluster: &Cluster, seconds: u32) -> Cost {
    let (clients, time) = (CLIENTS.to_string(), seconds.to_string());
    let mut command =
        pgbench(cluster, &["-n", "-S", "-M", "prepared", "-j", "1", "-c", &clients, "-T", &time]);
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
