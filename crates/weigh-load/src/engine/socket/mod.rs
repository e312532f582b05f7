//! The worker of socket connections: one thread, one event loop, its share of the connections.
//!
//! - `worker.rs`: the loop itself: waits, reads replies, sends the next requests, records. [`run`] is its door.
//! - `link.rs`: one connection: what is encoded, in flight, half written and half read.
//! - `dispatch.rs`: the open loop: which connection sends what is due, and when.
//! - `connections.rs`: connections that come, break and are made again by helper threads.
//! - `event_loop.rs`: epoll, its waker and its timer; `descriptor.rs`: the socket of a client, borrowed.
//!
//! Per operation there is one `recv`, one clock reading and one `send`, plus a share of one `epoll_wait`. A worker
//! never blocks anywhere else.

mod connections;
pub(super) mod descriptor;
mod dispatch;
mod event_loop;
mod link;
mod worker;

pub(super) use event_loop::{EventLoop, Waker};
pub(super) use worker::run;
