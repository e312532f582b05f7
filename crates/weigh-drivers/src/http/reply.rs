//! Replies, decoded incrementally and judged by what their operation expects.
//!
//! [`ReplyDecoder`] knows the requests in the order they were encoded, because the framing of a reply depends on its
//! request (HEAD) and so does what counts as done. At most one complete reply is consumed per call.

use std::collections::VecDeque;
use std::sync::Arc;

use weigh_load::{Decoded, Outcome};

use super::body::{BodyReader, Payload};
use super::head::{Framing, Head, HeadReader, reason};
use super::operation::StatusExpect;

/// What a reply to one operation must look like.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expectation {
    /// The request was a HEAD: no body comes, whatever the head says.
    pub(crate) no_body: bool,
    pub(crate) status: StatusExpect,
    pub(crate) body: BodyExpect,
    pub(crate) body_length: Option<u64>,
}

/// What a body must equal.
#[derive(Clone, Debug, Default)]
pub(crate) enum BodyExpect {
    /// Nothing: any will do.
    #[default]
    Any,
    /// This.
    Fixed(Vec<u8>),
    /// What was handed over with the request ([`ReplyDecoder::expect_drawn`]).
    Drawn,
}

/// State of the reply that is coming in.
#[derive(Debug)]
pub(crate) struct ReplyDecoder {
    expectations: Arc<[Expectation]>,
    /// Operations of the requests that were encoded, oldest first.
    requests: VecDeque<usize>,
    /// Expected bodies of those that were drawn, oldest first, and used buffers.
    drawn: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    heads: HeadReader,
    state: State,
    payload: Payload,
    /// What is wrong with the reply that is coming in.
    failure: Option<String>,
    /// The connection ends with the reply that is coming in.
    closes: bool,
    /// No other reply will come.
    spent: bool,
}

#[derive(Debug)]
enum State {
    /// Before a head; whether some of it has come.
    Head {
        begun: bool,
    },
    Body(BodyReader),
}

impl ReplyDecoder {
    pub(crate) fn new(expectations: Arc<[Expectation]>) -> Self {
        Self {
            expectations,
            requests: VecDeque::with_capacity(16),
            drawn: VecDeque::new(),
            spare: Vec::new(),
            heads: HeadReader::default(),
            state: State::Head { begun: false },
            payload: Payload::default(),
            failure: None,
            closes: false,
            spent: false,
        }
    }

    /// A request of `operation` will be answered after those before it.
    #[inline]
    pub(crate) fn expect(&mut self, operation: usize) {
        self.requests.push_back(operation);
    }

    /// The same, and its body must equal what `write` appends to an empty buffer.
    pub(crate) fn expect_drawn(&mut self, operation: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let mut body = self.spare.pop().unwrap_or_default();
        body.clear();
        write(&mut body);
        self.drawn.push_back(body);
        self.expect(operation);
    }

    /// Whether the server takes no more requests on this connection and said so.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent
    }

    /// Consumes at most one complete reply.
    #[inline]
    pub(crate) fn decode(&mut self, received: &[u8]) -> Decoded {
        if self.spent {
            // Nothing that may come here belongs to a request.
            return Decoded::more(received.len());
        }
        self.advance(received).unwrap_or_else(|message| Decoded::finished(0, Outcome::Broken(message)))
    }

    #[inline]
    fn advance(&mut self, received: &[u8]) -> Result<Decoded, String> {
        let mut at = 0;
        loop {
            let rest = &received[at..];
            match &mut self.state {
                State::Head { begun } => {
                    let Some((length, head)) = self.heads.read(rest)? else {
                        *begun = !rest.is_empty();
                        return Ok(Decoded::more(at));
                    };
                    self.begin(head, &rest[..length])?;
                    at += length;
                }
                State::Body(reader) => {
                    let Some(&operation) = self.requests.front() else { return Err(unasked()) };
                    let expected = match &self.expectations[operation].body {
                        BodyExpect::Any => None,
                        BodyExpect::Fixed(body) => Some(body.as_slice()),
                        BodyExpect::Drawn => self.drawn.front().map(Vec::as_slice),
                    };
                    let progress = reader.read(rest, &mut self.payload, expected)?;
                    at += progress.consumed;
                    if progress.complete {
                        return Ok(Decoded::finished(at, self.finish()));
                    }
                    return Ok(Decoded::more(at));
                }
            }
        }
    }

    /// A head has come: judges its status and turns to its body, or to the next head after an interim reply.
    #[inline]
    fn begin(&mut self, head: Head, bytes: &[u8]) -> Result<(), String> {
        let Some(&operation) = self.requests.front() else { return Err(unasked()) };
        self.state = State::Head { begun: false };
        if head.status < 200 {
            return match head.status {
                101 => Err("the server switched to another protocol".into()),
                100.. => Ok(()),
                _ => Err(format!("the server's reply has the status {}", head.status)),
            };
        }
        let expectation = &self.expectations[operation];
        if !expectation.status.accepts(head.status) {
            self.failure = Some(unexpected_status(head.status, bytes, expectation.status));
        }
        let bodyless = expectation.no_body || matches!(head.status, 204 | 304);
        let framing = if bodyless { Framing::Length(0) } else { head.framing };
        self.closes = head.closes || framing == Framing::UntilClose;
        self.state = State::Body(BodyReader::new(framing));
        Ok(())
    }

    /// The reply is complete: what it amounts to.
    #[inline]
    fn finish(&mut self) -> Outcome {
        let failure = self.failure.take().or_else(|| self.wrong_body());
        if let Some(operation) = self.requests.pop_front()
            && matches!(self.expectations[operation].body, BodyExpect::Drawn)
        {
            self.spare.extend(self.drawn.pop_front());
        }
        self.state = State::Head { begun: false };
        self.payload = Payload::default();
        self.spent = self.closes;
        failure.map_or(Outcome::Success, Outcome::Error)
    }

    #[inline]
    fn wrong_body(&self) -> Option<String> {
        let expectation = self.requests.front().map(|operation| &self.expectations[*operation])?;
        if let Some(length) = expectation.body_length
            && length != self.payload.length
        {
            return Some(format!("the body does not have the expected {length} bytes"));
        }
        let expected = match &expectation.body {
            BodyExpect::Any => return None,
            BodyExpect::Fixed(body) => body,
            BodyExpect::Drawn => self.drawn.front()?,
        };
        (!self.payload.equals(expected)).then(|| "the body is not the expected one".into())
    }

    /// The server has closed its side: a reply without a length is complete now.
    pub(crate) fn closed(&mut self) -> Option<Outcome> {
        match self.state {
            State::Body(BodyReader::UntilClose) => Some(self.finish()),
            State::Head { begun: false } => {
                self.spent = true;
                None
            }
            _ => Some(Outcome::Broken("the server closed the connection in the middle of a reply".into())),
        }
    }
}

fn unasked() -> String {
    "the server sent a reply without a request".into()
}

#[cold]
fn unexpected_status(status: u16, head: &[u8], expected: StatusExpect) -> String {
    let reason = reason(head);
    let space = if reason.is_empty() { "" } else { " " };
    match expected {
        StatusExpect::NoError => format!("status {status}{space}{reason}"),
        _ => format!("status {status}{space}{reason} where {expected} is expected"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fixed(body: &str) -> Expectation {
        Expectation { body: BodyExpect::Fixed(body.into()), ..Expectation::default() }
    }

    /// Operations: 0 anything, 1 a HEAD, 2 status 200, 3 the body `hello`, 4 five bytes, 5 a drawn body, 6 any status.
    fn decoder(requests: &[usize]) -> ReplyDecoder {
        let expectations = [
            Expectation::default(),
            Expectation { no_body: true, ..Expectation::default() },
            Expectation { status: StatusExpect::Code(200), ..Expectation::default() },
            fixed("hello"),
            Expectation { body_length: Some(5), ..Expectation::default() },
            Expectation { body: BodyExpect::Drawn, ..Expectation::default() },
            Expectation { status: StatusExpect::Any, ..Expectation::default() },
        ];
        let mut decoder = ReplyDecoder::new(expectations.into());
        for (number, operation) in requests.iter().enumerate() {
            if *operation == 5 {
                decoder.expect_drawn(5, |out| out.extend_from_slice(format!("drawn {number}").as_bytes()));
            } else {
                decoder.expect(*operation);
            }
        }
        decoder
    }

    fn error(message: &str) -> Outcome {
        Outcome::Error(message.into())
    }

    /// Replies of every kind in one stream, the operations they answer, and what they mean.
    fn replies() -> (Vec<u8>, Vec<usize>, Vec<Outcome>) {
        let table: [(usize, &str, Outcome); 13] = [
            (0, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Outcome::Success),
            (0, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nworld", Outcome::Success),
            (1, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Outcome::Success),
            (0, "HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", Outcome::Success),
            (0, "HTTP/1.1 304 Not Modified\r\n\r\n", Outcome::Success),
            (
                3,
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\
                 Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nX-Sum: 1\r\n\r\n",
                Outcome::Success,
            ),
            (
                3,
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhellO",
                error("the body is not the expected one"),
            ),
            (
                4,
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell",
                error("the body does not have the expected 5 bytes"),
            ),
            (
                0,
                "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno",
                error("status 503 Service Unavailable"),
            ),
            (
                2,
                "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n",
                error("status 301 Moved where 200 is expected"),
            ),
            (5, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\ndrawn 10", Outcome::Success),
            (
                5,
                "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\ndrawn 10",
                error("the body is not the expected one"),
            ),
            (6, "HTTP/1.1 404\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc", Outcome::Success),
        ];
        let bytes = table.iter().map(|(_, text, _)| *text).collect::<String>().into_bytes();
        let requests = table.iter().map(|(operation, _, _)| *operation).collect();
        (bytes, requests, table.into_iter().map(|(_, _, outcome)| outcome).collect())
    }

    fn feed<'a>(decoder: &mut ReplyDecoder, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Outcome> {
        crate::pieces::feed(|bytes| decoder.decode(bytes), pieces)
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_means_the_same(mut cuts in prop::collection::vec(0_usize..1200, 0..60)) {
            let (bytes, requests, outcomes) = replies();
            cuts.retain(|cut| *cut < bytes.len());
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            let mut decoder = decoder(&requests);
            prop_assert_eq!(feed(&mut decoder, pieces), outcomes);
            prop_assert!(decoder.is_spent());
        }

        /// Arbitrary bytes, and good replies with a byte changed, end in finitely many steps.
        #[test]
        fn garbage_is_no_panic_and_no_hang(
            bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0_usize..1200, byte: u8, step in 1_usize..90,
        ) {
            let (mut good, requests, _) = replies();
            let at = at % good.len();
            good[at] = byte;
            for bytes in [bytes, good] {
                let mut decoder = decoder(&requests);
                let (mut pending, mut broken) = (Vec::new(), false);
                for piece in bytes.chunks(step) {
                    pending.extend_from_slice(piece);
                    let mut calls = 0;
                    while !pending.is_empty() && !broken {
                        let decoded = decoder.decode(&pending);
                        prop_assert!(decoded.consumed <= pending.len());
                        prop_assert!(decoded.finished.is_none() || decoded.consumed > 0
                            || matches!(decoded.finished, Some(Outcome::Broken(_))));
                        pending.drain(..decoded.consumed);
                        broken = matches!(decoded.finished, Some(Outcome::Broken(_)));
                        if decoded.finished.is_none() {
                            break;
                        }
                        calls += 1;
                        prop_assert!(calls <= 100);
                    }
                }
                decoder.closed();
            }
        }
    }

    #[test]
    fn bytes_one_at_a_time() {
        let (bytes, requests, outcomes) = replies();
        assert_eq!(feed(&mut decoder(&requests), bytes.chunks(1)), outcomes);
    }

    #[test]
    fn a_reply_without_a_length_ends_with_the_connection() {
        let mut until_close = decoder(&[3, 3]);
        assert_eq!(feed(&mut until_close, [&b"HTTP/1.0 200 OK\r\n\r\nhel"[..], b"lo"].into_iter()), []);
        assert!(!until_close.is_spent());
        assert_eq!(until_close.closed(), Some(Outcome::Success));
        assert!(until_close.is_spent());
        assert_eq!(until_close.decode(b"more"), Decoded::more(4));
        let mut short = decoder(&[3]);
        assert_eq!(feed(&mut short, [&b"HTTP/1.1 200 OK\r\n\r\nhell"[..]].into_iter()), []);
        assert_eq!(short.closed(), Some(error("the body is not the expected one")));
    }

    #[test]
    fn a_close_between_replies_is_good_order_and_inside_one_it_is_not() {
        let mut idle = decoder(&[0, 0]);
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        assert_eq!(feed(&mut idle, [&reply[..]].into_iter()), [Outcome::Success]);
        assert!(!idle.is_spent());
        assert_eq!(idle.closed(), None);
        assert!(idle.is_spent());
        for cut in [3, reply.len() - 1] {
            let mut decoder = decoder(&[0]);
            decoder.decode(&reply[..cut]);
            let closed = decoder.closed();
            let message = "the server closed the connection in the middle of a reply";
            assert_eq!(closed, Some(Outcome::Broken(message.into())), "{cut}");
        }
    }

    #[test]
    fn what_is_no_reply_breaks_the_connection() {
        let broken =
            |requests: &[usize], bytes: &str| match decoder(requests).decode(bytes.as_bytes()).finished {
                Some(Outcome::Broken(message)) => message,
                other => panic!("{other:?}"),
            };
        assert_eq!(broken(&[], "HTTP/1.1 200 OK\r\n\r\n"), "the server sent a reply without a request");
        let switched = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
        assert_eq!(broken(&[0], switched), "the server switched to another protocol");
        assert_eq!(broken(&[0], "HTTP/1.1 000 \r\n\r\n"), "the server's reply has the status 0");
        assert!(broken(&[0], "PONG\r\n").starts_with("the server does not answer in HTTP/1"));
        let longer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab";
        let mut decoder = decoder(&[0, 0]);
        assert_eq!(decoder.decode(longer.as_bytes()).finished, Some(Outcome::Success));
        assert!(matches!(decoder.decode(b"bHTTP").finished, Some(Outcome::Broken(_))));
    }
}
