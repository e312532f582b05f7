//! `get` of 3-byte values over 50 connections on a private memcached: beside memaslap of libmemcached-tools (memcslap, from
//! the same package, takes more than twice as much).
//!
//! memaslap first stores the items it will get: its CPU is read when that is over and again at the end, with the server's
//! own count of gets between. Misses, on either side by the server's count, end the benchmark, and so does a value of
//! ours that is not the one that was set.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use weigh_load::start;

use crate::contest::{Amount, CLIENT_CORE, Contest, Cost, SERVER_CORE, Verdict, cost_of_load};
use crate::floor::{self, floor};
use crate::support::kept::Kept;
use crate::support::keyvalue::{Call, call, load_spec, uniform};
use crate::support::memcached::MemcachedServer;

const CLIENTS: usize = 50;
const KEYS: i64 = 50_000;
/// Twelve digits, so that a key has 16 bytes.
const FIRST_KEY: i64 = 100_000_000_000;
const VALUE: &str = "xxx";

/// Only gets, of 16-byte keys and 3-byte values.
const MEMASLAP: &str = "key\n16 16 1\nvalue\n3 3 1\ncmd\n0 0.0\n1 1.0\n";

/// A number of gets that is never reached.
const ENDLESS: &str = "1000000000";

/// Items that memaslap stores for its clients before it gets them.
const STORED: u64 = 51_200;

pub fn contests(amount: Amount) -> Vec<Verdict> {
    let server = MemcachedServer::under(&["taskset", "-c", SERVER_CORE], &["-m", "256"], Kept::new());
    let fill = (0..KEYS).map(|key| format!("set key:{} 0 0 3 noreply\r\n{VALUE}\r\n", FIRST_KEY + key));
    server.ask(fill.collect::<String>().as_bytes());
    let kept = Kept::new();
    let config = kept.file("memaslap.conf");
    std::fs::write(&config, MEMASLAP).unwrap();
    let mut verdicts = Vec::new();
    let mut contest = |peer: &str, user_bar, theirs: &mut dyn FnMut(u32) -> Cost| {
        let ours = &mut |seconds| ours(&server, seconds);
        let name = "memcached get, 50 clients";
        verdicts.push(Contest { name, peer, user_bar, total_bar: None, ours, theirs }.run(amount));
    };
    match ["memcaslap", "memaslap"].into_iter().find(|name| Command::new(name).output().is_ok()) {
        Some(program) => contest("memaslap", 0.5, &mut |seconds| theirs(&server, program, &config, seconds)),
        None => println!("memaslap is left out: apt-get install libmemcached-tools"),
    }
    let request = format!("get key:{FIRST_KEY}\r\n");
    let reply = format!("VALUE key:{FIRST_KEY} 0 3\r\n{VALUE}\r\nEND\r\n").len();
    contest(floor::NAME, f64::INFINITY, &mut |seconds| {
        floor(server.port, CLIENTS, request.as_bytes(), reply, 1, seconds)
    });
    verdicts
}

fn get() -> Call {
    call("get", "get key:$1", vec![uniform(FIRST_KEY, FIRST_KEY + KEYS - 1)]).expecting(VALUE)
}

fn ours(server: &MemcachedServer, seconds: u32) -> Cost {
    let before = server.stat("cmd_get");
    let mut spec = load_spec(CLIENTS, 1, &[get()]);
    spec.measure = Duration::from_secs(u64::from(seconds));
    spec.pin = true;
    let report = start(&spec, Arc::new(server.driver(&[get()]))).unwrap().finish().unwrap();
    assert_eq!(report.misses, 0);
    assert_eq!(server.stat("cmd_get") - before, report.operations_total);
    cost_of_load(&report)
}

/// memaslap between two moments after its start.
fn theirs(server: &MemcachedServer, program: &str, config: &Path, seconds: u32) -> Cost {
    let stored = server.stat("cmd_set") + STORED;
    let mut command = Command::new("taskset");
    command.args(["-c", CLIENT_CORE, program, "-s", &format!("127.0.0.1:{}", server.port), "-T", "1"]);
    command.args(["-c", &CLIENTS.to_string(), "-w", "1k", "-x", ENDLESS, "-F"]).arg(config);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while server.stat("cmd_set") < stored {
        assert!(child.try_wait().unwrap().is_none(), "{command:?} is over");
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(200));
    let moment =
        || (Instant::now(), ["cmd_get", "get_misses"].map(|name| server.stat(name)), cpu_us(child.id()));
    let (begun, [gets_before, misses_before], cpu_before) = moment();
    thread::sleep(Duration::from_secs(u64::from(seconds)));
    let (ended, [gets, misses], cpu) = moment();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(misses, misses_before);
    let operations = (gets - gets_before) as f64;
    Cost {
        operations,
        operations_per_s: operations / (ended - begun).as_secs_f64(),
        user_us: (cpu[0] - cpu_before[0]) / operations,
        system_us: (cpu[1] - cpu_before[1]) / operations,
    }
}

/// User and system CPU of a process so far, in microseconds; the kernel tells it in hundredths of a second.
fn cpu_us(process: u32) -> [f64; 2] {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // Behind the name in parentheses: fields 3 and on; user time is 14, system time 15.
    let mut fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11);
    [(); 2].map(|()| fields.next().unwrap().parse::<f64>().unwrap() * 1e4)
}
