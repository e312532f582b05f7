//! One connection under load: encoder and decoder side by side.

use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};

use weigh_load::generator::Parameters;
use weigh_load::{Decoded, SocketClient};

use super::dialogue::Socket;
use super::reply::ReplyDecoder;
use super::template::OperationTemplate;

/// The message with which a client takes its leave.
const TERMINATE: &[u8] = b"X\0\0\0\x04";

/// A logged-in session with its statements prepared.
pub(super) struct PostgresClient {
    socket: Socket,
    operations: Vec<OperationTemplate>,
    replies: ReplyDecoder,
}

impl PostgresClient {
    pub(super) fn new(socket: Socket, operations: Vec<OperationTemplate>) -> Self {
        Self { socket, operations, replies: ReplyDecoder::default() }
    }
}

impl SocketClient for PostgresClient {
    fn socket(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        let operation = &self.operations[operation];
        operation.encode(parameters, out);
        self.replies.expect(operation.executes());
    }

    fn decode(&mut self, received: &[u8]) -> Decoded {
        self.replies.decode(received)
    }
}

impl Drop for PostgresClient {
    fn drop(&mut self) {
        // A broken or full socket is closed without it.
        self.socket.write_all(TERMINATE).ok();
    }
}
