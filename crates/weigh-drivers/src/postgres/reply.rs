//! Replies, decoded incrementally: framing of everything, content of errors only.
//!
//! The reply to one request ends with ReadyForQuery. Before it there must be one CommandComplete for every
//! Execute, or an ErrorResponse after which the server skips the rest. Bodies nobody needs (rows!) are counted
//! off as they arrive and never buffered. Asynchronous messages may come anywhere.

use std::collections::VecDeque;

use weigh_load::{Decoded, Outcome};

use super::failure::Failure;

/// Type byte and length.
const HEADER_BYTES: usize = 5;

/// The length field counts itself.
const LENGTH_BYTES: usize = 4;

/// A ReadyForQuery, whole.
const READY_BYTES: usize = HEADER_BYTES + 1;

/// Longest error message that is read; PostgreSQL's own are a few kilobytes.
const LONGEST_ERROR: usize = 1 << 20;

/// State of the reply that is coming in.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplyDecoder {
    /// Executes of the requests in flight, oldest first.
    expected: VecDeque<u32>,
    /// Bytes of a body still to be passed over.
    skip: usize,
    completed: u32,
    failure: Option<String>,
}

/// What one step found.
enum Step {
    /// So many bytes are dealt with.
    Passed(usize),
    /// More bytes are needed.
    Short,
    /// So many bytes are dealt with and end the reply.
    End(usize, Outcome),
}

impl ReplyDecoder {
    /// A request with so many Executes will be answered after those before it.
    pub(super) fn expect(&mut self, executes: u32) {
        self.expected.push_back(executes);
    }

    /// Consumes at most one complete reply.
    pub(super) fn decode(&mut self, received: &[u8]) -> Decoded {
        let mut at = 0;
        loop {
            if self.skip > 0 {
                let passed = self.skip.min(received.len() - at);
                self.skip -= passed;
                at += passed;
            }
            match self.step(&received[at..]) {
                Step::Passed(length) => at += length,
                Step::Short => return Decoded::more(at),
                Step::End(length, outcome) => return Decoded::finished(at + length, outcome),
            }
        }
    }

    #[inline]
    fn step(&mut self, rest: &[u8]) -> Step {
        let [kind, l0, l1, l2, l3, ..] = *rest else { return Step::Short };
        let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
        let Some(body) = length.checked_sub(LENGTH_BYTES) else {
            return broken(format!("the server sent a message of {length} bytes"));
        };
        match kind {
            // CommandComplete, EmptyQueryResponse
            b'C' | b'I' => {
                self.completed += 1;
                self.pass(body)
            }
            // DataRow, BindComplete, ParseComplete, CloseComplete, NoData, RowDescription,
            // NoticeResponse, ParameterStatus, NotificationResponse
            b'D' | b'2' | b'1' | b'3' | b'n' | b'T' | b'N' | b'S' | b'A' => self.pass(body),
            b'Z' => match rest.get(HEADER_BYTES) {
                Some(status) => self.ready(*status),
                None => Step::Short,
            },
            b'E' => self.error(rest, body),
            b'G' | b'H' | b'W' => broken("COPY cannot be an operation".into()),
            other => broken(format!("the server sent an unexpected message `{}`", other.escape_ascii())),
        }
    }

    fn pass(&mut self, body: usize) -> Step {
        self.skip = body;
        Step::Passed(HEADER_BYTES)
    }

    #[cold]
    fn error(&mut self, rest: &[u8], body: usize) -> Step {
        if body > LONGEST_ERROR {
            return broken(format!("the server sent an error message of {body} bytes"));
        }
        let Some(text) = rest.get(HEADER_BYTES..HEADER_BYTES + body) else { return Step::Short };
        let failure = Failure::parse(text);
        if failure.is_fatal() {
            return broken(failure.countable());
        }
        self.failure.get_or_insert_with(|| failure.countable());
        Step::Passed(HEADER_BYTES + body)
    }

    #[inline]
    fn ready(&mut self, status: u8) -> Step {
        let completed = std::mem::take(&mut self.completed);
        let failure = self.failure.take();
        let Some(expected) = self.expected.pop_front() else {
            return broken("the server sent a reply without a request".into());
        };
        if status != b'I' {
            return broken(failure.unwrap_or_else(|| "the operation left a transaction open".into()));
        }
        let outcome = match failure {
            Some(message) => Outcome::Error(message),
            None if completed == expected => Outcome::Success,
            None => Outcome::Error(format!("{completed} of {expected} statements were completed")),
        };
        Step::End(READY_BYTES, outcome)
    }
}

#[cold]
fn broken(message: String) -> Step {
    Step::End(0, Outcome::Broken(message))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + LENGTH_BYTES).unwrap();
        [&[kind], &length.to_be_bytes()[..], body].concat()
    }

    fn ready(status: u8) -> Vec<u8> {
        message(b'Z', &[status])
    }

    fn error(severity: &str, code: &str) -> Vec<u8> {
        message(b'E', format!("V{severity}\0C{code}\0Mwhat\0\0").as_bytes())
    }

    /// Three replies with everything that may come in between, and what they mean.
    fn replies() -> (Vec<u8>, Vec<Outcome>) {
        let bytes = [
            message(b'2', b""),
            message(b'D', &[7; 300]),
            message(b'A', b"\0\0\0\x01channel\0payload\0"),
            message(b'C', b"SELECT 1\0"),
            ready(b'I'),
            message(b'N', b"SNOTICE\0Mhey\0\0"),
            message(b'2', b""),
            message(b'C', b"UPDATE 1\0"),
            error("ERROR", "23505"),
            message(b'S', b"TimeZone\0UTC\0"),
            ready(b'I'),
            message(b'2', b""),
            message(b'I', b""),
            message(b'2', b""),
            message(b'C', b"INSERT 0 1\0"),
            ready(b'I'),
        ]
        .concat();
        let outcomes = vec![Outcome::Success, Outcome::Error("23505 what".into()), Outcome::Success];
        (bytes, outcomes)
    }

    fn decoder(expected: &[u32]) -> ReplyDecoder {
        ReplyDecoder { expected: expected.iter().copied().collect(), ..ReplyDecoder::default() }
    }

    fn feed<'a>(decoder: &mut ReplyDecoder, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Outcome> {
        crate::pieces::feed(|bytes| decoder.decode(bytes), pieces)
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_means_the_same(mut cuts in prop::collection::vec(0_usize..500, 0..40)) {
            let (bytes, outcomes) = replies();
            cuts.retain(|cut| *cut < bytes.len());
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(feed(&mut decoder(&[1, 2, 2]), pieces), outcomes);
        }

        #[test]
        fn garbage_is_no_panic_and_no_hang(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            piece in 1_usize..50,
        ) {
            consume(&bytes, piece);
        }

        #[test]
        fn messages_in_any_order_mean_the_same_however_they_are_cut(
            messages in prop::collection::vec((kinds(), prop::collection::vec(any::<u8>(), 0..30)), 0..20),
            piece in 1_usize..50,
        ) {
            let bytes: Vec<u8> = messages.iter().flat_map(|(kind, body)| message(*kind, body)).collect();
            prop_assert_eq!(consume(&bytes, piece), consume(&bytes, bytes.len().max(1)));
        }
    }

    /// Types of messages that are known, mostly.
    fn kinds() -> impl Strategy<Value = u8> {
        prop_oneof![9 => prop::sample::select(&b"CID213nTNSAZE"[..]), 1 => any::<u8>()]
    }

    /// Shows bytes to a decoder with three requests in flight until it wants no more, or is broken.
    fn consume(bytes: &[u8], piece: usize) -> Vec<Outcome> {
        let (mut decoder, mut pending, mut outcomes) = (decoder(&[1, 2, 1]), Vec::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            pending.extend_from_slice(piece);
            while !pending.is_empty() {
                let decoded = decoder.decode(&pending);
                pending.drain(..decoded.consumed);
                match decoded.finished {
                    None => break,
                    Some(broken @ Outcome::Broken(_)) => {
                        outcomes.push(broken);
                        return outcomes;
                    }
                    Some(outcome) => outcomes.push(outcome),
                }
            }
        }
        outcomes
    }

    #[test]
    fn bytes_one_at_a_time() {
        let (bytes, outcomes) = replies();
        assert_eq!(feed(&mut decoder(&[1, 2, 2]), bytes.chunks(1)), outcomes);
    }

    #[test]
    fn rows_are_not_kept() {
        let row = message(b'D', &[0; 100_000]);
        let mut decoder = decoder(&[1]);
        assert_eq!(decoder.decode(&row[..50_000]), Decoded::more(50_000));
        assert_eq!(decoder.decode(&row[50_000..]), Decoded::more(row.len() - 50_000));
    }

    fn check(expected: &[u32], bytes: &[u8], outcome: Outcome) {
        assert_eq!(decoder(expected).decode(bytes).finished, Some(outcome));
    }

    #[test]
    fn a_reply_must_be_complete_and_leave_nothing_open() {
        let complete = message(b'C', b"INSERT 0 1\0");
        check(
            &[2],
            &[&complete[..], &ready(b'I')].concat(),
            Outcome::Error("1 of 2 statements were completed".into()),
        );
        let open = Outcome::Broken("the operation left a transaction open".into());
        check(&[1], &[&complete[..], &ready(b'T')].concat(), open);
        let failed = [&error("ERROR", "40001")[..], &ready(b'E')].concat();
        check(&[1], &failed, Outcome::Broken("40001 what".into()));
        check(&[1], &error("FATAL", "57P01"), Outcome::Broken("57P01 what".into()));
        check(&[], &ready(b'I'), Outcome::Broken("the server sent a reply without a request".into()));
        check(&[1], &message(b'G', b"\0\0\0"), Outcome::Broken("COPY cannot be an operation".into()));
        check(&[1], b"X\0\0\0\x04", Outcome::Broken("the server sent an unexpected message `X`".into()));
        check(&[1], b"C\0\0\0\x03", Outcome::Broken("the server sent a message of 3 bytes".into()));
    }
}
