//! One connection under load: requests and replies side by side.

use std::sync::Arc;

use weigh_load::Decoded;
use weigh_load::generator::Parameters;

use super::command::CheckedCommand;
use super::reply::Replies;
use super::template::CommandTemplate;
use crate::keyvalue::Expectation;
use crate::transport::Protocol;

/// A logged-in session.
pub(super) struct RedisClient {
    templates: Vec<CommandTemplate>,
    replies: Replies,
}

impl RedisClient {
    pub(super) fn new(commands: &Arc<[CheckedCommand]>, expectations: &Arc<[Expectation]>) -> Self {
        Self {
            templates: commands.iter().map(|command| CommandTemplate::new(&command.words)).collect(),
            replies: Replies::new(Arc::clone(commands), Arc::clone(expectations)),
        }
    }
}

impl Protocol for RedisClient {
    #[inline]
    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        let row = parameters.draw();
        self.templates[operation].encode(row, out);
        self.replies.expect(operation, row);
    }

    #[inline]
    fn decode(&mut self, received: &[u8]) -> Decoded {
        self.replies.decode(received)
    }
}
