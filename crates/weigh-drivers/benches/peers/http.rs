//! HTTP/1.1 with keep-alive, a reply of 64 bytes, 50 clients, on a private nginx: beside `wrk`, beside the floor (a bare
//! loop of write and read on as many sockets), and on a schedule of 5,000 per second beside `oha` and `h2load`.
//!
//! `wrk2` would be the peer for the schedule; no package registry carries it. `oha` is taken from the path or from where
//! `cargo install --locked oha --root ~/.cache/weigh/peers` puts it. `h2load` has no bar: it starts all its clients at
//! once and then sends for all fifty together, a hundred times a second, which saves it most wake-ups and is another load.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use weigh_load::{Arrivals, Schedule, start};

use crate::contest::{
    Amount, CLIENT_CORE, Contest, Cost, SERVER_CORE, Verdict, cost_of_command, cost_of_load,
};
use crate::support::nginx::{Nginx, get, http_spec, with};

const CLIENTS: usize = 50;
/// Not 5,000: kernels that tell user from system time by looking at every tick would see an evenly spaced load always at
/// the same point of its cycle.
const RATE_PER_S: u32 = 4999;

pub fn contests(amount: Amount) -> Vec<Verdict> {
    let nginx = Nginx::with("", Some(SERVER_CORE));
    let mut verdicts = Vec::new();
    if present("wrk", "apt-get install wrk") {
        verdicts.push(closed(&nginx, amount, "wrk -t1 -c50", 1.0, Some(1.0), &mut |seconds| {
            wrk(&nginx, seconds)
        }));
    }
    verdicts.push(closed(&nginx, amount, "the floor: write, read", f64::INFINITY, None, &mut |seconds| {
        floor(&nginx, seconds)
    }));
    if let Some(oha) = find_oha() {
        verdicts.push(open(&nginx, amount, "oha --latency-correction", 0.5, &mut |seconds| {
            run_oha(&oha, &nginx, seconds)
        }));
    } else {
        println!("oha is left out: cargo install --locked oha --root ~/.cache/weigh/peers");
    }
    if present("h2load", "apt-get install nghttp2-client") {
        verdicts.push(open(&nginx, amount, "h2load --rps, bursts", f64::INFINITY, &mut |seconds| {
            h2load(&nginx, seconds)
        }));
    }
    verdicts
}

fn closed(
    nginx: &Nginx,
    amount: Amount,
    peer: &str,
    user_bar: f64,
    total_bar: Option<f64>,
    theirs: &mut dyn FnMut(u32) -> Cost,
) -> Verdict {
    let ours = &mut |seconds| ours(nginx, seconds, Schedule::Closed);
    Contest { name: "HTTP keep-alive 64 B, 50 clients", peer, user_bar, total_bar, ours, theirs }.run(amount)
}

fn open(
    nginx: &Nginx,
    amount: Amount,
    peer: &str,
    user_bar: f64,
    theirs: &mut dyn FnMut(u32) -> Cost,
) -> Verdict {
    let schedule = Schedule::Open { rate_per_s: f64::from(RATE_PER_S), arrivals: Arrivals::Constant };
    let ours = &mut |seconds| ours(nginx, seconds, schedule);
    Contest { name: "HTTP 5,000/s, 50 clients", peer, user_bar, total_bar: None, ours, theirs }.run(amount)
}

fn ours(nginx: &Nginx, seconds: u32, schedule: Schedule) -> Cost {
    let mut operation = get("/64");
    operation.expect.body_length = Some(64);
    let works = [(operation, vec![])];
    let mut spec = http_spec(CLIENTS, 1, &works);
    spec.measure = Duration::from_secs(u64::from(seconds));
    spec.schedule = schedule;
    spec.pin = true;
    let driver = with(nginx.config(""), &works).build().unwrap();
    cost_of_load(&start(&spec, Arc::new(driver)).unwrap().finish().unwrap())
}

fn url(nginx: &Nginx) -> String {
    format!("http://127.0.0.1:{}/64", nginx.port)
}

fn wrk(nginx: &Nginx, seconds: u32) -> Cost {
    let mut command = Command::new("wrk");
    command.args(["-t1", "-c50", &format!("-d{seconds}s"), &url(nginx)]);
    cost_of_command(&mut command, |text| {
        assert!(!text.contains("Socket errors") && !text.contains("Non-2xx"), "{text}");
        // `  114613 requests in 3.00s, 24.70MB read`
        let count = text.lines().find_map(|line| line.trim().split_once(" requests in ")?.0.parse().ok());
        (count.unwrap(), f64::from(seconds))
    })
}

fn run_oha(oha: &PathBuf, nginx: &Nginx, seconds: u32) -> Cost {
    let mut command = Command::new(oha);
    command.args(["--no-tui", "--latency-correction", "--disable-compression"]);
    command.args(["-c", &CLIENTS.to_string(), "-q", &RATE_PER_S.to_string()]);
    command.args(["-z", &format!("{seconds}s"), &url(nginx)]);
    cost_of_command(&mut command, |text| {
        // `  [200] 15000 responses`
        let line =
            text.lines().find_map(|line| line.trim().strip_prefix("[200] ")?.strip_suffix(" responses"));
        (line.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{text}")), f64::from(seconds))
    })
}

fn h2load(nginx: &Nginx, seconds: u32) -> Cost {
    let rps = f64::from(RATE_PER_S) / CLIENTS as f64;
    let mut command = Command::new("h2load");
    command.args(["--h1", "-t1", "-c", &CLIENTS.to_string(), "--rps", &rps.to_string()]);
    command.args(["-D", &seconds.to_string(), &url(nginx)]);
    cost_of_command(&mut command, |text| {
        // `requests: 15000 total, 15000 started, 15000 done, 15000 succeeded, 0 failed, …`
        let words = text.lines().find_map(|line| line.strip_prefix("requests: ")).unwrap().split(", ");
        let succeeded = words.filter_map(|word| word.strip_suffix(" succeeded")).next().unwrap();
        (succeeded.parse().unwrap(), f64::from(seconds))
    })
}

/// What the sockets alone cost: writes to all of them, reads from each, in a row; no event loop, no clock, no parsing.
fn floor(nginx: &Nginx, seconds: u32) -> Cost {
    std::thread::scope(|scope| scope.spawn(|| floor_pinned(nginx, seconds)).join().unwrap())
}

fn floor_pinned(nginx: &Nginx, seconds: u32) -> Cost {
    let mut core = CpuSet::new();
    core.set(CLIENT_CORE.parse().unwrap()).unwrap();
    // A machine with one core has no other to offer.
    sched_setaffinity(Pid::from_raw(0), &core).ok();
    let request = format!("GET /64 HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", nginx.port);
    let connect = |_| TcpStream::connect(("127.0.0.1", nginx.port)).unwrap();
    let mut streams: Vec<TcpStream> = (0..CLIENTS).map(connect).collect();
    streams.iter().for_each(|stream| stream.set_nodelay(true).unwrap());
    let (mut buffer, mut replies) = (vec![0; 64 << 10], 0_u32);
    let mut round = || {
        for stream in &mut streams {
            assert_eq!(stream.write(request.as_bytes()).unwrap(), request.len());
        }
        for stream in &mut streams {
            let length = stream.read(&mut buffer).unwrap();
            assert!(length > 64 && buffer.starts_with(b"HTTP/1.1 200 OK"));
        }
    };
    round();
    let (before, begun) = (getrusage(UsageWho::RUSAGE_THREAD).unwrap(), Instant::now());
    while begun.elapsed() < Duration::from_secs(u64::from(seconds)) {
        round();
        replies += 50;
    }
    let (after, operations) = (getrusage(UsageWho::RUSAGE_THREAD).unwrap(), f64::from(replies));
    let spent = |time: fn(&Usage) -> i64| (time(&after) - time(&before)) as f64 / operations;
    Cost {
        operations,
        operations_per_s: operations / begun.elapsed().as_secs_f64(),
        user_us: spent(|usage| usage.user_time().num_microseconds()),
        system_us: spent(|usage| usage.system_time().num_microseconds()),
    }
}

fn present(program: &str, install: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|dir| dir.join(program).exists());
    if !found {
        println!("{program} is left out: {install}");
    }
    found
}

fn find_oha() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs =
        std::env::split_paths(&path).chain([home.join(".cache/weigh/peers/bin"), home.join(".cargo/bin")]);
    dirs.map(|dir| dir.join("oha")).find(|path| path.exists())
}
