//! One connection under load: requests and replies side by side.

use std::sync::Arc;

use weigh_load::Decoded;
use weigh_load::generator::Parameters;

use super::command::CheckedCommand;
use super::reply::Replies;
use super::template::RequestTemplate;
use crate::keyvalue::Expectation;
use crate::transport::Protocol;

/// Sent instead of a request that would put the connection out of step: every server answers it in one line.
const SUBSTITUTE: &[u8] = b"version\r\n";

/// A connection that takes commands.
pub(super) struct MemcachedClient {
    templates: Vec<RequestTemplate>,
    replies: Replies,
}

impl MemcachedClient {
    pub(super) fn new(commands: &Arc<[CheckedCommand]>, expectations: &Arc<[Expectation]>) -> Self {
        Self {
            templates: commands.iter().map(RequestTemplate::new).collect(),
            replies: Replies::new(Arc::clone(commands), Arc::clone(expectations)),
        }
    }
}

impl Protocol for MemcachedClient {
    #[inline]
    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        let (row, begin) = (parameters.draw(), out.len());
        match self.templates[operation].encode(row, out) {
            Ok(()) => self.replies.expect(operation, row),
            Err(why) => {
                out.truncate(begin);
                out.extend_from_slice(SUBSTITUTE);
                self.replies.expect_substitute(why, row);
            }
        }
    }

    #[inline]
    fn decode(&mut self, received: &[u8]) -> Decoded {
        self.replies.decode(received)
    }
}
