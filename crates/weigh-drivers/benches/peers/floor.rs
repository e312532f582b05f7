//! What the sockets alone cost: the limit for every client.
//!
//! Writes the same request to every connection, then reads the reply of each, in a row; no event loop, no clock, no
//! choice, no look at the reply but for its length.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;

use crate::contest::{CLIENT_CORE, Cost};

/// How the peer of a contest with it is called.
pub const NAME: &str = "the floor: write, read";

/// One run over `clients` connections to a port of this host. A `request` holds so many `operations`, and its reply
/// has as many bytes as `reply`.
pub fn floor(port: u16, clients: usize, request: &[u8], reply: usize, operations: u32, seconds: u32) -> Cost {
    let run = || run(port, clients, request, reply, operations, seconds);
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}

fn run(port: u16, clients: usize, request: &[u8], reply: usize, operations: u32, seconds: u32) -> Cost {
    let mut core = CpuSet::new();
    core.set(CLIENT_CORE.parse().unwrap()).unwrap();
    // A machine with one core has no other to offer.
    sched_setaffinity(Pid::from_raw(0), &core).ok();
    let connect = |_| TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut streams: Vec<TcpStream> = (0..clients).map(connect).collect();
    streams.iter().for_each(|stream| stream.set_nodelay(true).unwrap());
    let (mut buffer, mut replies) = (vec![0; reply], 0_u32);
    let mut round = || {
        for stream in &mut streams {
            assert_eq!(stream.write(request).unwrap(), request.len());
        }
        for stream in &mut streams {
            stream.read_exact(&mut buffer).unwrap();
        }
    };
    round();
    let (before, begun) = (getrusage(UsageWho::RUSAGE_THREAD).unwrap(), Instant::now());
    while begun.elapsed() < Duration::from_secs(u64::from(seconds)) {
        round();
        replies += u32::try_from(clients).unwrap();
    }
    let (after, done) =
        (getrusage(UsageWho::RUSAGE_THREAD).unwrap(), f64::from(replies) * f64::from(operations));
    let spent = |time: fn(&Usage) -> i64| (time(&after) - time(&before)) as f64 / done;
    Cost {
        operations: done,
        operations_per_s: done / begun.elapsed().as_secs_f64(),
        user_us: spent(|usage| usage.user_time().num_microseconds()),
        system_us: spent(|usage| usage.system_time().num_microseconds()),
    }
}
