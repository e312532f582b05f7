//! RESP2 and RESP3, parsed incrementally: one top-level reply at a time.
//!
//! Bodies are counted off and compared as they arrive, never buffered. What is nested is not looked at, so it needs
//! no stack: [`ReplyParser`] counts how many elements are still to come, whatever they are nested in. Push messages
//! and attributes may come before a reply and are passed over.
//!
//! <https://redis.io/docs/latest/develop/reference/protocol-spec/>

use crate::keyvalue::Body;

/// Longest line: a simple string, an error, a big number.
const LONGEST_LINE: usize = 64 << 10;

/// The end of every line and body.
const CRLF_BYTES: usize = 2;

/// The format in front of a verbatim string: `txt:`.
const FORMAT_BYTES: usize = 4;

/// Most different errors inside one reply that are told apart.
const MOST_ITEM_ERRORS: usize = 16;

/// A top-level reply.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reply {
    /// One value; whether it is the expected one.
    Value { expected: bool },
    /// A null of any kind.
    Null,
    /// Several values; errors among them and how often each came.
    Aggregate { errors: Vec<(Vec<u8>, u64)> },
    /// An error: its text.
    Error(Vec<u8>),
}

/// How far a call came.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Progress {
    /// So many bytes are dealt with; the reply goes on.
    More(usize),
    /// So many bytes are dealt with and end the reply.
    Done(usize, Reply),
    /// This is not the protocol: why.
    Malformed(String),
}

/// State of the reply that is coming in.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplyParser {
    body: Body,
    /// Elements still to come of the aggregate that is passed over; 0 at the top level.
    elements: u64,
    /// That aggregate is a push message or attributes: the reply comes after it.
    aside: bool,
    errors: Vec<(Vec<u8>, u64)>,
}

/// What one step found.
enum Step {
    /// So many bytes are dealt with.
    Passed(usize),
    /// So many bytes are dealt with and end an element.
    Element(usize, Reply),
    /// More bytes are needed.
    Short,
}

impl ReplyParser {
    /// A bulk string that has come whole and is the reply: its value, and the bytes it took. `None`: anything else, to
    /// be [parsed](Self::parse).
    #[inline]
    pub(super) fn whole_value<'a>(&self, received: &'a [u8]) -> Option<(&'a [u8], usize)> {
        if self.elements > 0 || self.body.is_open() { None } else { whole_bulk(received) }
    }

    /// Goes on with a reply; a single value is compared with `expected`, the same in all calls for one reply.
    pub(super) fn parse(&mut self, received: &[u8], expected: Option<&[u8]>) -> Progress {
        let mut at = 0;
        loop {
            let step = if self.body.is_open() {
                self.pass_body(&received[at..], expected)
            } else {
                self.item(&received[at..], expected)
            };
            match step {
                Ok(Step::Passed(used)) => at += used,
                Ok(Step::Short) => return Progress::More(at),
                Ok(Step::Element(used, reply)) => {
                    at += used;
                    match self.count_element(reply) {
                        None => {}
                        Some(reply) => return Progress::Done(at, reply),
                    }
                }
                Err(message) => return Progress::Malformed(message),
            }
        }
    }

    /// An element is complete: perhaps the whole reply is.
    fn count_element(&mut self, element: Reply) -> Option<Reply> {
        if self.elements == 0 {
            return Some(element);
        }
        if let Reply::Error(text) = element
            && !self.aside
        {
            self.note_error(text);
        }
        self.elements -= 1;
        if self.elements > 0 || std::mem::take(&mut self.aside) {
            return None;
        }
        Some(Reply::Aggregate { errors: std::mem::take(&mut self.errors) })
    }

    fn note_error(&mut self, text: Vec<u8>) {
        let text = if self.errors.len() < MOST_ITEM_ERRORS { text } else { b"other errors".to_vec() };
        match self.errors.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => self.errors.push((text, 1)),
        }
    }

    fn pass_body(&mut self, rest: &[u8], expected: Option<&[u8]>) -> Result<Step, String> {
        if rest.is_empty() {
            return Ok(Step::Short);
        }
        let expected = expected.filter(|_| self.elements == 0);
        let used = self.body.pass(rest, expected)?;
        if self.body.is_open() {
            return Ok(Step::Passed(used));
        }
        Ok(Step::Element(used, Reply::Value { expected: self.body.end(expected) }))
    }

    /// The line of a value, of an aggregate or in front of a body.
    fn item(&mut self, rest: &[u8], expected: Option<&[u8]>) -> Result<Step, String> {
        let Some(line) = line(rest)? else { return Ok(Step::Short) };
        let used = line.len() + CRLF_BYTES;
        let Some((kind, text)) = line.split_first() else {
            return Err("the server sent an empty line".into());
        };
        match kind {
            b'+' | b':' | b',' | b'#' | b'(' => {
                let expected = self.elements > 0 || expected.is_none_or(|expected| expected == text);
                Ok(Step::Element(used, Reply::Value { expected }))
            }
            b'_' => Ok(Step::Element(used, Reply::Null)),
            b'-' => Ok(Step::Element(used, Reply::Error(text.to_vec()))),
            b'$' | b'=' | b'!' | b'*' | b'~' | b'%' | b'>' | b'|' => match length(*kind, text)? {
                None => Ok(Step::Element(used, Reply::Null)),
                Some(length) => self.begin(*kind, length, rest, used),
            },
            b';' | b'.' => Err(STREAMED.into()),
            other => Err(format!("the server sent a reply that begins with `{}`", other.escape_ascii())),
        }
    }

    /// A body or an aggregate of this `length` begins behind the `used` bytes of its line.
    fn begin(&mut self, kind: u8, length: u64, rest: &[u8], used: usize) -> Result<Step, String> {
        match kind {
            b'$' | b'=' => {
                if kind == b'=' && length < FORMAT_BYTES as u64 {
                    return Err("the server sent a verbatim string without a format".into());
                }
                self.body.begin(length, if kind == b'=' { FORMAT_BYTES } else { 0 });
                Ok(Step::Passed(used))
            }
            b'!' => bulk_error(length, rest, used),
            b'>' if self.elements > 0 => Err("the server sent a message in the middle of a reply".into()),
            // Both come before what they are about, and are no elements themselves.
            b'>' | b'|' => {
                let count = if kind == b'|' { length.checked_mul(2) } else { Some(length) };
                self.aside |= self.elements == 0 && length > 0;
                self.elements = count.and_then(|n| self.elements.checked_add(n)).ok_or(TOO_MANY)?;
                Ok(Step::Passed(used))
            }
            _ => {
                let count = if kind == b'%' { length.checked_mul(2) } else { Some(length) };
                // The aggregate is complete when it and its elements are; inside another it is one of its elements.
                let nested = self.elements > 0;
                if count == Some(0) {
                    return Ok(Step::Element(used, Reply::Aggregate { errors: Vec::new() }));
                }
                let before = self.elements - u64::from(nested);
                self.elements = count.and_then(|n| before.checked_add(n)).ok_or(TOO_MANY)?;
                Ok(Step::Passed(used))
            }
        }
    }
}

const STREAMED: &str = "the server sent a streamed reply, which is not supported";
const TOO_MANY: &str = "the server sent a reply of more elements than can be counted";

/// A bulk string that has come whole: its value, and the bytes it took. `None`: anything else.
#[inline]
fn whole_bulk(received: &[u8]) -> Option<(&[u8], usize)> {
    let [b'$', digit @ b'0'..=b'9', rest @ ..] = received else { return None };
    let mut length = usize::from(digit - b'0');
    // The first ten digits are far below what overflows.
    for (at, byte) in rest.iter().enumerate().take(10) {
        if byte.is_ascii_digit() {
            length = length * 10 + usize::from(byte - b'0');
            continue;
        }
        let body = rest.get(at..)?.strip_prefix(b"\r\n")?;
        let (value, end) = body.split_at_checked(length)?;
        return end.starts_with(b"\r\n").then_some((value, 2 + at + 2 + length + 2));
    }
    None
}

/// The text of an error that is sent as a body.
fn bulk_error(length: u64, rest: &[u8], used: usize) -> Result<Step, String> {
    let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST_LINE);
    let Some(length) = length else { return Err("the server sent an error message without end".into()) };
    match rest[used..].get(..length + CRLF_BYTES) {
        None => Ok(Step::Short),
        Some(body) if body.ends_with(b"\r\n") => {
            Ok(Step::Element(used + body.len(), Reply::Error(body[..length].to_vec())))
        }
        Some(_) => Err("the server sent a value that is longer than it said".into()),
    }
}

/// The first line, without its end; `None` if that has not come.
fn line(rest: &[u8]) -> Result<Option<&[u8]>, String> {
    match rest.iter().position(|byte| *byte == b'\r') {
        Some(at) if at > LONGEST_LINE => Err(endless_line()),
        Some(at) => match rest.get(at + 1) {
            None => Ok(None),
            Some(b'\n') => Ok(Some(&rest[..at])),
            Some(_) => Err("the server sent a line that does not end as it must".into()),
        },
        None if rest.len() > LONGEST_LINE => Err(endless_line()),
        None => Ok(None),
    }
}

#[cold]
fn endless_line() -> String {
    format!("the server sent a line of more than {LONGEST_LINE} bytes")
}

/// The length of a body or of an aggregate; `None` for the nulls of RESP2.
fn length(kind: u8, text: &[u8]) -> Result<Option<u64>, String> {
    if text == b"?" {
        return Err(STREAMED.into());
    }
    if text == b"-1" && matches!(kind, b'$' | b'*') {
        return Ok(None);
    }
    let digits = Some(text).filter(|text| !text.is_empty() && text.iter().all(u8::is_ascii_digit));
    let number = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    // Lengths are signed in every server.
    match number.filter(|number: &u64| i64::try_from(*number).is_ok()) {
        Some(number) => Ok(Some(number)),
        None => Err(format!("the server sent the length `{}`", text.escape_ascii())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value() -> Reply {
        Reply::Value { expected: true }
    }

    fn aggregate() -> Reply {
        Reply::Aggregate { errors: vec![] }
    }

    fn error(text: &str) -> Reply {
        Reply::Error(text.into())
    }

    /// Every type there is, and what it means.
    fn replies() -> Vec<(&'static [u8], Reply)> {
        vec![
            (b"+OK\r\n", value()),
            (b":-12\r\n", value()),
            (b",1.5e3\r\n", value()),
            (b"#t\r\n", value()),
            (b"(3492890328409238509324850943850943825024385\r\n", value()),
            (b"$5\r\nhe\r\no\r\n", value()),
            (b"$0\r\n\r\n", value()),
            (b"=8\r\ntxt:some\r\n", value()),
            (b"$-1\r\n", Reply::Null),
            (b"*-1\r\n", Reply::Null),
            (b"_\r\n", Reply::Null),
            (b"-ERR what\r\n", error("ERR what")),
            (b"!9\r\nERR\r\nwhat\r\n", error("ERR\r\nwhat")),
            (b"*0\r\n", aggregate()),
            (b"*2\r\n$1\r\na\r\n$-1\r\n", aggregate()),
            (b"*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n*1\r\n_\r\n", aggregate()),
            (b"%1\r\n+a\r\n~2\r\n:1\r\n:2\r\n", aggregate()),
            (b"~1\r\n=7\r\ntxt:abc\r\n", aggregate()),
            (b"%0\r\n", aggregate()),
            (b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n:7\r\n", value()),
            (b"|1\r\n+ttl\r\n:3600\r\n$1\r\nv\r\n", value()),
            (
                b"|0\r\n>0\r\n*1\r\n|1\r\n+a\r\n*1\r\n-no\r\n:1\r\n",
                Reply::Aggregate { errors: vec![(b"no".to_vec(), 1)] },
            ),
            (b">1\r\n-no\r\n*3\r\n-a\r\n:1\r\n-a\r\n", Reply::Aggregate { errors: vec![(b"a".to_vec(), 2)] }),
        ]
    }

    /// Feeds the bytes in pieces, as the engine does: what is left over is shown again.
    fn feed<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Reply>, String> {
        let (mut parser, mut pending, mut replies) = (ReplyParser::default(), Vec::new(), Vec::new());
        for piece in pieces {
            pending.extend_from_slice(piece);
            while !pending.is_empty() {
                let used = match parser.parse(&pending, None) {
                    Progress::More(used) => used,
                    Progress::Done(used, reply) => {
                        replies.push(reply);
                        pending.drain(..used);
                        continue;
                    }
                    Progress::Malformed(message) => return Err(message),
                };
                pending.drain(..used);
                break;
            }
        }
        if pending.is_empty() { Ok(replies) } else { Err(format!("left over: {pending:?}")) }
    }

    #[test]
    fn every_type_is_known() {
        for (bytes, reply) in replies() {
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(feed([bytes].into_iter()), Ok(vec![reply.clone()]), "{shown}");
            assert_eq!(feed(bytes.chunks(1)), Ok(vec![reply]), "one at a time: {shown}");
        }
    }

    proptest! {
        #[test]
        fn replies_may_be_cut_anywhere(mut cuts in prop::collection::vec(0_usize..600, 0..60)) {
            let (bytes, expected): (Vec<_>, Vec<_>) = replies().into_iter().unzip();
            let bytes = bytes.concat();
            cuts.retain(|cut| *cut < bytes.len());
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            prop_assert_eq!(feed(cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]])), Ok(expected));
        }

        #[test]
        fn garbage_is_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            feed(bytes.chunks(7)).ok();
        }

        #[test]
        fn garbage_that_looks_like_replies_is_no_panic(
            bytes in prop::collection::vec(prop::sample::select(b"$*%>|~=!+-:_019?\r\n\r\n\r\n".to_vec()), 0..100),
            expected in prop::option::of(prop::collection::vec(any::<u8>(), 0..5)),
        ) {
            let (mut parser, mut at) = (ReplyParser::default(), 0);
            while at < bytes.len() {
                match parser.parse(&bytes[at..], expected.as_deref()) {
                    Progress::Done(used, _) if used > 0 => at += used,
                    Progress::Done(..) => prop_assert!(false, "a reply of no bytes"),
                    _ => break,
                }
            }
        }

        #[test]
        fn a_whole_value_is_found_where_parsing_finds_it(
            bytes in prop::collection::vec(prop::sample::select(b"$012\r\n\r\n\r\nx".to_vec()), 0..12),
            text in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let well_formed = [format!("${}\r\n", text.len()).as_bytes(), &text, b"\r\n", &bytes].concat();
            prop_assert_eq!(whole_bulk(&well_formed), Some((&text[..], well_formed.len() - bytes.len())));
            for bytes in [[&b"$"[..], &bytes].concat(), well_formed] {
                if let Some((value, used)) = whole_bulk(&bytes) {
                    let parsed = ReplyParser::default().parse(&bytes, Some(value));
                    prop_assert_eq!(parsed, Progress::Done(used, Reply::Value { expected: true }));
                }
            }
        }

        #[test]
        fn a_value_is_compared_however_it_comes(
            text in "[ab]{0,6}",
            expected in "[ab]{0,6}",
            verbatim in any::<bool>(),
            size in 1_usize..20,
        ) {
            let reply = match verbatim {
                false => format!("${}\r\n{text}\r\n", text.len()),
                true => format!("={}\r\ntxt:{text}\r\n", text.len() + 4),
            };
            let (mut parser, mut pending) = (ReplyParser::default(), Vec::new());
            let mut last = None;
            for piece in reply.as_bytes().chunks(size) {
                pending.extend_from_slice(piece);
                match parser.parse(&pending, Some(expected.as_bytes())) {
                    Progress::More(used) => drop(pending.drain(..used)),
                    other => last = Some(other),
                }
            }
            let Some(Progress::Done(_, reply)) = last else { panic!("{last:?}") };
            prop_assert_eq!(reply, Reply::Value { expected: text == expected });
        }
    }

    #[test]
    fn bodies_are_not_kept() {
        let mut parser = ReplyParser::default();
        assert_eq!(parser.parse(b"$1000000\r\nxxxx", None), Progress::More(14));
        assert_eq!(parser.parse(&[b'x'; 500_000], None), Progress::More(500_000));
        assert_eq!(parser.parse(b"*1\r\n", None), Progress::More(4));
    }

    #[test]
    fn depth_costs_nothing() {
        let deep = b"*1\r\n".repeat(1_000_000);
        assert_eq!(feed([&deep[..], b":1\r\n"].into_iter()), Ok(vec![aggregate()]));
    }

    #[test]
    fn what_is_not_the_protocol_is_named() {
        let refused = |bytes: &[u8]| feed([bytes].into_iter()).unwrap_err();
        assert_eq!(refused(b"HTTP/1.1 400 Bad Request\r\n"), "the server sent a reply that begins with `H`");
        assert_eq!(refused(b"$?\r\n;4\r\n"), STREAMED);
        assert_eq!(refused(b"*?\r\n"), STREAMED);
        assert_eq!(refused(b"$-2\r\n"), "the server sent the length `-2`");
        assert_eq!(refused(b"%-1\r\n"), "the server sent the length `-1`");
        assert_eq!(refused(b"$1x\r\n"), "the server sent the length `1x`");
        assert_eq!(
            refused(b"$99999999999999999999\r\n"),
            "the server sent the length `99999999999999999999`"
        );
        assert_eq!(refused(b"$1\r\nab\r\n"), "the server sent a value that is longer than it said");
        assert_eq!(refused(b"+a\rb\r\n"), "the server sent a line that does not end as it must");
        assert_eq!(refused(b"\r\n"), "the server sent an empty line");
        assert_eq!(refused(b"=3\r\ntxt\r\n"), "the server sent a verbatim string without a format");
        assert_eq!(refused(b"*2\r\n:1\r\n>1\r\n"), "the server sent a message in the middle of a reply");
        assert_eq!(refused(b"%9000000000000000000\r\n%9000000000000000000\r\n"), TOO_MANY);
        let endless = [&b"+"[..], &[b'x'; LONGEST_LINE + 1]].concat();
        assert_eq!(refused(&endless), endless_line());
    }
}
