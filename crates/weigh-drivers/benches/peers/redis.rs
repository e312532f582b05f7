//! GET of 3-byte values over 50 connections, one and sixteen requests deep, on a private Redis: beside
//! `redis-benchmark`.
//!
//! Both draw keys of equal length uniformly from as many keys, all of which are there. A miss, on either side by the
//! server's own count, ends the benchmark, and so does a value that is not the one that was set.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use weigh_drivers::redis::RedisConfig;
use weigh_load::start;

use crate::contest::{Amount, Contest, Cost, SERVER_CORE, Verdict, cost_of_command, cost_of_load};
use crate::floor::{self, floor};
use crate::support::keyvalue::{Call, call, load_spec, uniform};
use crate::support::redis::RedisServer;

const CLIENTS: usize = 50;
const KEYS: i64 = 100_000;
/// Ours have twelve digits without padding, as redis-benchmark's have with it.
const FIRST_KEY: i64 = 100_000_000_000;
const VALUE: &str = "xxx";

pub fn contests(amount: Amount) -> Vec<Verdict> {
    let server = RedisServer::under(&["taskset", "-c", SERVER_CORE], &[]);
    for first in [0, FIRST_KEY] {
        let fill = format!(
            "for i = 0, {} do redis.call('SET', string.format('key:%012d', {first} + i), '{VALUE}') end",
            KEYS - 1
        );
        server.cli(&["EVAL", &fill, "0"]);
    }
    let present = Command::new("redis-benchmark").arg("--version").output().is_ok();
    if !present {
        println!("redis-benchmark is left out: apt-get install redis-tools");
    }
    let mut verdicts = Vec::new();
    for (pipeline, name) in [(1, "Redis GET, 50 clients"), (16, "Redis GET, 50 clients, 16 deep")] {
        let mut contest = |peer: &str, user_bar, theirs: &mut dyn FnMut(u32) -> Cost| {
            let ours = &mut |seconds| ours(&server, pipeline, seconds);
            verdicts.push(Contest { name, peer, user_bar, total_bar: None, ours, theirs }.run(amount));
        };
        if present {
            let rate_per_s = theirs(&server, pipeline, 400_000).operations_per_s;
            let peer = format!("redis-benchmark -P {pipeline}");
            contest(&peer, 1.0, &mut |seconds| theirs(&server, pipeline, lasting(rate_per_s, seconds)));
        }
        let request = format!("*2\r\n$3\r\nGET\r\n$16\r\nkey:{FIRST_KEY}\r\n").repeat(pipeline);
        let reply = "$3\r\nxxx\r\n".len() * pipeline;
        contest(floor::NAME, f64::INFINITY, &mut |seconds| {
            floor(server.port, CLIENTS, request.as_bytes(), reply, u32::try_from(pipeline).unwrap(), seconds)
        });
    }
    verdicts
}

/// How many operations last so long.
#[allow(clippy::cast_possible_truncation)]
fn lasting(rate_per_s: f64, seconds: u32) -> u64 {
    (rate_per_s * f64::from(seconds)) as u64
}

fn get() -> Call {
    call("get", "GET key:$1", vec![uniform(FIRST_KEY, FIRST_KEY + KEYS - 1)]).expecting(VALUE)
}

fn ours(server: &RedisServer, pipeline: usize, seconds: u32) -> Cost {
    server.cli(&["CONFIG", "RESETSTAT"]);
    let mut spec = load_spec(CLIENTS, pipeline, &[get()]);
    spec.measure = Duration::from_secs(u64::from(seconds));
    spec.pin = true;
    // The peer comes over TCP too.
    let config = RedisConfig { endpoint: server.tcp(), ..server.config(&[get()]) };
    let report = start(&spec, Arc::new(config.build().unwrap())).unwrap().finish().unwrap();
    assert_eq!(report.misses, 0);
    assert_eq!(server.calls("get"), (report.operations_total, 0));
    cost_of_load(&report)
}

fn theirs(server: &RedisServer, pipeline: usize, operations: u64) -> Cost {
    server.cli(&["CONFIG", "RESETSTAT"]);
    let mut command = Command::new("redis-benchmark");
    let number = |number: u64| number.to_string();
    command.args(["-p", &server.port.to_string(), "-t", "get", "-q", "-e"]);
    command.args(["-c", &number(CLIENTS as u64), "-P", &number(pipeline as u64)]);
    command.args(["-r", &KEYS.to_string(), "-n", &number(operations)]);
    let cost = cost_of_command(&mut command, |text| {
        // `GET: 123456.00 requests per second, p50=0.2 msec`, after progress that ends in carriage returns.
        let last = text.split(['\r', '\n']).rfind(|line| line.contains("requests per second")).unwrap();
        let rate: f64 = last.trim_start_matches("GET: ").split(' ').next().unwrap().parse().unwrap();
        (operations as f64, operations as f64 / rate)
    });
    let (calls, failed) = server.calls("get");
    assert!(calls >= operations && failed == 0, "{calls} calls, {failed} failed");
    let info = server.cli(&["INFO", "stats"]);
    assert!(info.lines().any(|line| line.trim() == "keyspace_misses:0"), "{info}");
    cost
}
