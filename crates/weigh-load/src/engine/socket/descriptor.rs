//! The socket of a client, borrowed for as long as the client lives.
//!
//! The only unsafe line of this room. The system calls of the hot path want a borrowed descriptor, and a client
//! that is a trait object can only name it by number. [`Link`](super::link::Link) and
//! [`BlockingClient`](crate::BlockingClient) keep the client beside what is borrowed here and drop both together, so the number stays the client's own while it is used.
#![expect(unsafe_code, reason = "a descriptor known by number is borrowed; see above")]

use std::os::fd::{BorrowedFd, RawFd};

/// Borrows the descriptor a client owns; `None` if the number cannot be one.
pub(in crate::engine) fn borrow(socket: RawFd) -> Option<BorrowedFd<'static>> {
    // SAFETY: not −1, and open until its owner, the client kept beside it, is dropped.
    (socket >= 0).then(|| unsafe { BorrowedFd::borrow_raw(socket) })
}
