//! The floor: a loop that writes ready-made requests and reads the replies, and does nothing else. It waits with epoll as
//! an event loop must, and neither draws, encodes, validates, reads a clock nor records.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::socket::{MsgFlags, recv, send};
use nix::sys::time::TimeValLike;

use crate::Cost;
use crate::echo::{REPLY_BYTES, REQUEST_BYTES, connected};

/// Operations between two looks at the time.
const LOOK_EVERY: u64 = 4096;

/// What an operation costs at least, `depth` of them in flight on each of so many connections.
pub fn write_and_read(clients: usize, depth: usize, length: Duration) -> Cost {
    let sockets: Vec<UnixStream> = (0..clients).map(|_| connected()).collect();
    let mut poll = Poll::new().unwrap();
    let mut events = Events::with_capacity(1024);
    let (request, mut buffer) = (vec![b'.'; REQUEST_BYTES * depth], vec![0; 64 << 10]);
    for (index, socket) in sockets.iter().enumerate() {
        socket.set_nonblocking(true).unwrap();
        let descriptor = socket.as_raw_fd();
        poll.registry().register(&mut SourceFd(&descriptor), Token(index), Interest::READABLE).unwrap();
        send(descriptor, &request, MsgFlags::MSG_NOSIGNAL).unwrap();
    }
    let (begun, before) = (Instant::now(), getrusage(UsageWho::RUSAGE_THREAD).unwrap());
    let (mut operations, mut look) = (0, LOOK_EVERY);
    loop {
        poll.poll(&mut events, None).unwrap();
        for event in &events {
            let descriptor = sockets[event.token().0].as_raw_fd();
            let Ok(received) = recv(descriptor, &mut buffer, MsgFlags::empty()) else { continue };
            let replies = received / REPLY_BYTES;
            send(descriptor, &request[..replies * REQUEST_BYTES], MsgFlags::MSG_NOSIGNAL).unwrap();
            operations += replies as u64;
        }
        if operations >= look {
            look = operations + LOOK_EVERY;
            if begun.elapsed() >= length {
                break;
            }
        }
    }
    let after = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    let per_operation =
        |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 * 1000.0 / operations as f64;
    Cost {
        user_ns: per_operation(after.user_time() - before.user_time()),
        system_ns: per_operation(after.system_time() - before.system_time()),
    }
}
