//! One connection under load: encoder and decoder side by side.

use weigh_load::Decoded;
use weigh_load::generator::Parameters;

use super::reply::ReplyDecoder;
use super::template::OperationTemplate;
use crate::transport::Protocol;

/// A logged-in session with its statements prepared.
pub(super) struct PostgresProtocol {
    operations: Vec<OperationTemplate>,
    replies: ReplyDecoder,
}

impl PostgresProtocol {
    pub(super) fn new(operations: Vec<OperationTemplate>) -> Self {
        Self { operations, replies: ReplyDecoder::default() }
    }
}

impl Protocol for PostgresProtocol {
    #[inline]
    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        let operation = &self.operations[operation];
        operation.encode(parameters, out);
        self.replies.expect(operation.executes());
    }

    #[inline]
    fn decode(&mut self, received: &[u8]) -> Decoded {
        self.replies.decode(received)
    }

    /// Terminate.
    fn farewell(&self) -> &'static [u8] {
        b"X\0\0\0\x04"
    }
}

/// A session with two operations, as if a server had prepared them.
#[cfg(feature = "fuzzing")]
pub(crate) fn protocol_for_fuzzing() -> impl Protocol {
    let prepared = |name: &str| super::prepare::Prepared {
        name: name.into(),
        parameters: vec![(0, 25), (1, 23)],
        columns: vec![25],
    };
    let lookup = OperationTemplate::new(&[prepared("a")], 1);
    let pair = OperationTemplate::new(&[prepared("b"), prepared("c")], 1);
    PostgresProtocol::new(vec![lookup, pair])
}
