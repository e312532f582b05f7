//! One connection under load: encoder and decoder side by side.

use weigh_load::generator::Parameters;
use weigh_load::{Decoded, Outcome};

use super::command::CommandTemplate;
use super::embed::{INT64, STRING, write_string};
use super::message::{begin, finish};
use super::object_id::ObjectIds;
use super::reply::{Batches, ReplyDecoder};
use super::template::{RequestTemplate, Scratch};
use crate::transport::Protocol;

/// A logged-in connection.
pub(super) struct MongodbClient {
    requests: Vec<RequestTemplate>,
    scratch: Scratch,
    replies: ReplyDecoder,
    last_request: i32,
}

impl MongodbClient {
    pub(super) fn new(commands: &[CommandTemplate], batches: Batches, ids: ObjectIds) -> Self {
        Self {
            requests: commands.iter().map(|command| command.request.clone()).collect(),
            scratch: Scratch::new(ids),
            replies: ReplyDecoder::new(
                commands.iter().map(|command| command.shape.clone()).collect(),
                batches,
            ),
            last_request: 0,
        }
    }

    #[inline]
    fn next_request(&mut self) -> i32 {
        // Positive, for whoever reads the server's log.
        self.last_request = self.last_request.wrapping_add(1) & i32::MAX;
        self.last_request
    }
}

impl Protocol for MongodbClient {
    fn encode(&mut self, operation: usize, parameters: &mut Parameters<'_>, out: &mut Vec<u8>) {
        let request = self.next_request();
        self.requests[operation].encode(request, parameters, &mut self.scratch, out);
        self.replies.expect(request, operation);
    }

    fn decode(&mut self, received: &[u8]) -> Decoded {
        if let Some(fault) = &self.scratch.fault {
            return Decoded::finished(0, Outcome::Broken(fault.clone()));
        }
        self.replies.decode(received)
    }

    fn has_more(&self) -> bool {
        self.replies.is_unacknowledged()
    }

    fn follow_up(&mut self, out: &mut Vec<u8>) {
        let request = self.last_request.wrapping_add(1) & i32::MAX;
        if let Some((cursor, namespace, batch_size)) = self.replies.next_batch(request) {
            self.last_request = request;
            encode_get_more(request, cursor, namespace, batch_size, out);
        }
    }
}

/// Asks for the next batch of a cursor.
fn encode_get_more(request: i32, cursor: i64, namespace: &str, batch_size: Option<i64>, out: &mut Vec<u8>) {
    let (database, collection) = namespace.split_once('.').unwrap_or(("", namespace));
    let at = out.len();
    begin(request, 0, out);
    let document_at = out.len();
    out.extend_from_slice(&[0; 4]);
    let integer = |key: &[u8], value: i64, out: &mut Vec<u8>| {
        out.push(INT64);
        out.extend_from_slice(key);
        out.extend_from_slice(&value.to_le_bytes());
    };
    let text = |key: &[u8], value: &str, out: &mut Vec<u8>| {
        out.push(STRING);
        out.extend_from_slice(key);
        write_string(value.as_bytes(), out);
    };
    integer(b"getMore\0", cursor, out);
    text(b"collection\0", collection, out);
    if let Some(size) = batch_size {
        integer(b"batchSize\0", size, out);
    }
    text(b"$db\0", database, out);
    out.push(0);
    finish(document_at, out);
    finish(at, out);
}

#[cfg(test)]
mod tests {
    use bson::{Document, doc};

    use super::*;

    #[test]
    fn the_next_batch_is_asked_for_by_name() {
        let mut out = b"before".to_vec();
        encode_get_more(7, 1 << 40, "shop.a.b", Some(20), &mut out);
        let message = &out[6..];
        assert_eq!(message[..4], u32::try_from(message.len()).unwrap().to_le_bytes());
        let command = Document::from_reader(&message[21..]).unwrap();
        assert_eq!(
            command,
            doc! {"getMore": 1_i64 << 40, "collection": "a.b", "batchSize": 20_i64, "$db": "shop"}
        );
    }
}
