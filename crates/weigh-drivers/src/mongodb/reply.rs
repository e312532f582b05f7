//! Replies, decoded incrementally: framing of everything, content of what decides.
//!
//! A reply is one OP_MSG with one document. Its top-level elements pass one by one; the batch of a cursor, and every
//! other value nobody looks at, is counted off as it arrives and never buffered. [`ReplyDecoder`] knows where it is;
//! [`ReplyState`] what it has seen.

use std::collections::VecDeque;

use weigh_load::{Decoded, Outcome};

use super::command::Shape;
use super::dialogue::NO_SILENCE;
use super::element::{Found, Head, look};
use super::embed::{ARRAY, DOCUMENT};
use super::message::{
    ANSWERED_AT, CHECKSUM_PRESENT, LONGEST_MESSAGE, OP_MSG, PREFIX_BYTES, REQUIRED_FLAGS, SECTION_BODY,
    read_i32,
};
use super::state::{ReplyState, Verdict};

/// Everything up to the elements of the document: its length is the last of it.
const HEAD_BYTES: usize = PREFIX_BYTES + 4;

/// Longest value that is read as a whole: an error.
const LONGEST_VALUE: usize = 1 << 20;

/// Shortest reply: an empty document.
const SHORTEST_MESSAGE: usize = PREFIX_BYTES + 5;

const CHECKSUM_BYTES: usize = 4;

/// What is done about a cursor that is left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Batches {
    /// It is read to its end.
    All,
    /// It cannot be. The connection is given up, for the server keeps the cursor as long as there is one.
    One,
}

/// State of the replies of one connection.
#[derive(Debug)]
pub(super) struct ReplyDecoder {
    shapes: Vec<Shape>,
    batches: Batches,
    /// Requests that were encoded and not finished, oldest first.
    expected: VecDeque<Expected>,
    place: Place,
    /// Bytes of the message that are dealt with.
    position: usize,
    /// Bytes of a value still to be passed over.
    skip: usize,
    document_end: usize,
    inner_end: usize,
    message_end: usize,
    state: ReplyState,
    /// A cursor waits for its next batch to be asked for.
    wants_batch: bool,
    /// The next message belongs to the same operation.
    continues: bool,
}

#[derive(Clone, Copy, Debug)]
struct Expected {
    request: i32,
    operation: usize,
}

/// Where in a message we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Header,
    Document,
    Cursor,
    WriteErrors,
    /// Behind the document.
    Tail,
}

/// What one step found.
enum Step {
    /// So many bytes are dealt with.
    Passed(usize),
    /// More bytes are needed.
    Short,
    /// The message is at its end.
    Complete,
    /// The operation is finished, and nothing of what is here belongs to it.
    Finished(Outcome),
}

impl ReplyDecoder {
    pub(super) fn new(shapes: Vec<Shape>, batches: Batches) -> Self {
        Self {
            shapes,
            batches,
            expected: VecDeque::with_capacity(16),
            place: Place::Header,
            position: 0,
            skip: 0,
            document_end: 0,
            inner_end: 0,
            message_end: 0,
            state: ReplyState::default(),
            wants_batch: false,
            continues: false,
        }
    }

    /// The reply to this request will come after those before it.
    #[inline]
    pub(super) fn expect(&mut self, request: i32, operation: usize) {
        self.expected.push_back(Expected { request, operation });
    }

    /// Whether the oldest operation is finished without a reply.
    #[inline]
    pub(super) fn is_unacknowledged(&self) -> bool {
        self.expected.front().is_some_and(|oldest| !self.shapes[oldest.operation].acknowledged)
    }

    /// The cursor whose next batch is to be asked for under the number `request`: its id, its namespace, and the
    /// batch size the user said. At most once per batch.
    pub(super) fn next_batch(&mut self, request: i32) -> Option<(i64, &str, Option<i64>)> {
        if !std::mem::take(&mut self.wants_batch) {
            return None;
        }
        let oldest = self.expected.front_mut()?;
        oldest.request = request;
        Some((self.state.cursor, &self.state.namespace, self.shapes[oldest.operation].batch_size))
    }

    /// Consumes at most one complete reply.
    pub(super) fn decode(&mut self, received: &[u8]) -> Decoded {
        if received.is_empty() && self.place == Place::Header && self.is_unacknowledged() {
            return self.finish(0, Outcome::Success);
        }
        let mut at = 0;
        loop {
            if self.skip > 0 {
                let passed = self.skip.min(received.len() - at);
                self.skip -= passed;
                self.position += passed;
                at += passed;
                if self.skip > 0 {
                    return Decoded::more(at);
                }
            }
            match self.step(&received[at..]) {
                Step::Passed(length) => {
                    self.position += length;
                    at += length;
                }
                Step::Short => return Decoded::more(at),
                Step::Finished(outcome) => return self.finish(at, outcome),
                Step::Complete => match self.complete() {
                    Some(outcome) => return self.finish(at, outcome),
                    None => return Decoded::more(at),
                },
            }
        }
    }

    fn finish(&mut self, consumed: usize, outcome: Outcome) -> Decoded {
        self.expected.pop_front();
        self.place = Place::Header;
        Decoded::finished(consumed, outcome)
    }

    /// The end of a message: of the operation too, unless a cursor is left open.
    #[inline]
    fn complete(&mut self) -> Option<Outcome> {
        let oldest = self.expected.front()?;
        match self.state.verdict(&self.shapes[oldest.operation]) {
            Verdict::Done(outcome) => Some(outcome),
            Verdict::Continue if self.batches == Batches::One => Some(Outcome::Broken(
                "a result of several batches cannot be read inside TLS: use a larger `batchSize`, or no TLS"
                    .into(),
            )),
            Verdict::Continue if self.state.namespace.is_empty() => {
                Some(Outcome::Broken("the server left a cursor open without a name".into()))
            }
            Verdict::Continue => {
                (self.wants_batch, self.continues) = (true, true);
                self.place = Place::Header;
                None
            }
        }
    }

    #[inline]
    fn step(&mut self, rest: &[u8]) -> Step {
        match self.place {
            Place::Header => self.header(rest),
            Place::Tail => Step::Complete,
            Place::Document | Place::Cursor | Place::WriteErrors => self.element(rest),
        }
    }

    #[inline]
    fn header(&mut self, rest: &[u8]) -> Step {
        if rest.is_empty() {
            return Step::Short;
        }
        let Some(head) = rest.first_chunk::<HEAD_BYTES>() else {
            // What is no header of ours is known at once, if it has the wrong kind of message.
            return match read_i32(rest, 12) {
                Some(kind) if kind != OP_MSG => broken(format!("the server sent a message of kind {kind}")),
                _ => Step::Short,
            };
        };
        let integer = |at: usize| read_i32(head, at).unwrap_or_default();
        let length = usize::try_from(integer(0)).unwrap_or(0);
        let flags = integer(16).cast_unsigned();
        let checksum = if flags & CHECKSUM_PRESENT == 0 { 0 } else { CHECKSUM_BYTES };
        if integer(12) != OP_MSG {
            return broken(format!("the server sent a message of kind {}", integer(12)));
        }
        if !(SHORTEST_MESSAGE + checksum..=LONGEST_MESSAGE).contains(&length) {
            return broken(format!("the server sent a message of {} bytes", integer(0)));
        }
        if flags & REQUIRED_FLAGS & !CHECKSUM_PRESENT != 0 {
            return broken(format!("the server sent a message with the flags {flags:#x}"));
        }
        let document = usize::try_from(integer(PREFIX_BYTES)).unwrap_or(0);
        if head[PREFIX_BYTES - 1] != SECTION_BODY || document + PREFIX_BYTES + checksum != length {
            return broken("the server sent a message that is not one document".into());
        }
        if let Some(step) = self.match_request(integer(ANSWERED_AT)) {
            return step;
        }
        self.state.clear(std::mem::take(&mut self.continues));
        self.position = 0;
        self.message_end = length;
        self.document_end = length - checksum;
        self.place = Place::Document;
        Step::Passed(HEAD_BYTES)
    }

    /// The reply must be to the oldest request.
    #[inline]
    fn match_request(&mut self, answered: i32) -> Option<Step> {
        match self.expected.front() {
            Some(oldest) if oldest.request == answered && self.shapes[oldest.operation].acknowledged => None,
            _ => Some(self.mismatch(answered)),
        }
    }

    #[cold]
    fn mismatch(&self, answered: i32) -> Step {
        let Some(oldest) = self.expected.front() else {
            return broken("the server sent a reply without a request".into());
        };
        let mut later = self.expected.iter().skip(1);
        let is_later = later.any(|e| e.request == answered && self.shapes[e.operation].acknowledged);
        if self.is_unacknowledged() && is_later {
            // The reply to a request behind it: the one without a reply is done.
            return Step::Finished(Outcome::Success);
        }
        if self.shapes.iter().any(|shape| !shape.acknowledged) && !is_later {
            return broken(NO_SILENCE.into());
        }
        if is_later {
            return broken(
                "a result of several batches cannot be read with a pipeline above 1: use a pipeline of 1 or a larger \
                 `batchSize`"
                    .into(),
            );
        }
        broken(format!("the server answered request {answered} where {} was expected", oldest.request))
    }

    #[inline]
    fn element(&mut self, rest: &[u8]) -> Step {
        let end = if self.place == Place::Document { self.document_end } else { self.inner_end };
        let head = match look(rest) {
            Found::Element(head) => head,
            Found::End => return self.end_of_document(end),
            Found::Short if rest.len() > end - self.position => {
                return malformed("an element beyond its document");
            }
            Found::Short => return Step::Short,
            Found::Malformed(reason) => return malformed(reason),
        };
        // The zero that ends the document comes behind it.
        if self.position + head.value_at + head.value_bytes >= end {
            return malformed("an element beyond its document");
        }
        let Some(oldest) = self.expected.front() else { return malformed("a reply without a request") };
        let shape = &self.shapes[oldest.operation];
        match self.place {
            Place::Cursor if ReplyState::cursor_wants(&head) => match whole(rest, &head) {
                Ok(value) => self.state.take_of_cursor(&head, value),
                Err(step) => return step,
            },
            Place::Cursor => self.state.take_of_cursor(&head, b""),
            Place::WriteErrors => match whole(rest, &head) {
                Ok(value) => self.state.take_write_error(shape, value),
                Err(step) => return step,
            },
            _ => match (head.key, head.kind) {
                (b"cursor", DOCUMENT) => return self.descend(Place::Cursor, &head),
                (b"writeErrors", ARRAY) => return self.descend(Place::WriteErrors, &head),
                (b"value", kind) => self.state.take_value(kind),
                _ if ReplyState::wants(shape, &head) => match whole(rest, &head) {
                    Ok(value) if self.state.take(shape, &head, value) => {}
                    Ok(_) => return malformed("an error code that is no number"),
                    Err(step) => return step,
                },
                _ => {}
            },
        }
        self.skip = head.value_bytes;
        Step::Passed(head.value_at)
    }

    /// Into a document inside: its length is passed over with the head.
    #[inline]
    fn descend(&mut self, place: Place, head: &Head<'_>) -> Step {
        self.inner_end = self.position + head.value_at + head.value_bytes;
        self.place = place;
        Step::Passed(head.value_at + 4)
    }

    #[inline]
    fn end_of_document(&mut self, end: usize) -> Step {
        if self.position + 1 != end {
            return malformed("a document that ends before its end");
        }
        if self.place == Place::Document {
            self.place = Place::Tail;
            self.skip = self.message_end - self.document_end;
        } else {
            self.place = Place::Document;
        }
        Step::Passed(1)
    }
}

/// The whole value of an element, if it has arrived.
#[inline]
fn whole<'a>(rest: &'a [u8], head: &Head<'_>) -> Result<&'a [u8], Step> {
    if head.value_bytes > LONGEST_VALUE {
        return Err(broken(format!("the server sent an error message of {} bytes", head.value_bytes)));
    }
    rest.get(head.value_at..head.value_at + head.value_bytes).ok_or(Step::Short)
}

fn malformed(reason: &str) -> Step {
    broken(format!("the server sent a malformed reply: {reason}"))
}

#[cold]
fn broken(message: String) -> Step {
    Step::Finished(Outcome::Broken(message))
}
