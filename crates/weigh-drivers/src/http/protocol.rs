//! One connection under load: encoder and decoder side by side.

use std::sync::Arc;

use weigh_load::generator::Parameters;
use weigh_load::{Decoded, Outcome};

use super::reply::{Expectation, ReplyDecoder};
use super::template::RequestTemplate;
use crate::text::TextTemplate;
use crate::transport::Protocol;

/// One operation, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) request: RequestTemplate,
    /// What the reply's body must equal, if parameters occur in it.
    pub(super) drawn_body: Option<TextTemplate>,
}

/// The state of one connection.
pub(super) struct HttpProtocol {
    operations: Arc<[Operation]>,
    replies: ReplyDecoder,
}

impl HttpProtocol {
    pub(super) fn new(operations: Arc<[Operation]>, expectations: Arc<[Expectation]>) -> Self {
        Self { operations, replies: ReplyDecoder::new(expectations) }
    }
}

impl Protocol for HttpProtocol {
    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        let Operation { request, drawn_body } = &self.operations[operation];
        if !request.draws() {
            request.encode_literal(out);
            return self.replies.expect(operation);
        }
        let row = parameters.draw();
        request.encode(row, out);
        match drawn_body {
            Some(body) => self.replies.expect_drawn(operation, |out| body.render(row, out)),
            None => self.replies.expect(operation),
        }
    }

    fn decode(&mut self, received: &[u8]) -> Decoded {
        self.replies.decode(received)
    }

    fn is_spent(&self) -> bool {
        self.replies.is_spent()
    }

    fn closed(&mut self) -> Option<Outcome> {
        self.replies.closed()
    }
}
