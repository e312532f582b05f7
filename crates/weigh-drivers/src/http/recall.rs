//! Heads that are like the last one: what a server repeats is compared, not parsed.
//!
//! A server under load sends the same head over and over; only some values differ: its `Date` once a second, a number
//! of the request, a length. A [`Recall`] keeps the last head and where the values of its lines are. Bytes that begin
//! with the same lines, values apart, mean the same; a content length that differs is read. Everything else is for
//! the parser: nothing in here decides that a head is good or bad, and a property test holds that both agree.

use super::head::{Framing, Head};

/// Bytes compared at once.
const BLOCK: usize = 16;

/// The last head.
#[derive(Clone, Debug, Default)]
pub(super) struct Recall {
    bytes: Vec<u8>,
    head: Option<Head>,
    /// Its header fields, in order; empty if its lines do not end as they usually do.
    fields: Vec<Field>,
}

/// Where a header field is in the last head.
#[derive(Clone, Copy, Debug)]
struct Field {
    /// Behind the colon.
    value: usize,
    /// At the line end.
    end: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Says nothing about the connection or the framing.
    Free,
    /// The one content length, which frames the reply.
    Length,
    /// Frames the reply or says whether the connection stays.
    Fixed,
}

impl Recall {
    /// Keeps a head that was parsed.
    pub(super) fn keep(&mut self, bytes: &[u8], head: Head) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.head = Some(head);
        self.fields.clear();
        if !self.find_fields() {
            self.fields.clear();
        }
    }

    /// Finds the fields; `false` if a line is not as usual.
    fn find_fields(&mut self) -> bool {
        let bytes = self.bytes.as_slice();
        let mut lines = Lines { bytes, at: 0 };
        if lines.next().is_none_or(|(begin, end)| begin == end) {
            return false;
        }
        let mut lengths = 0;
        for (begin, end) in lines {
            if begin == end {
                break;
            }
            let Some(colon) = bytes[begin..end].iter().position(|byte| *byte == b':') else { return false };
            let kind = kind(&bytes[begin..begin + colon]);
            lengths += u32::from(kind == Kind::Length);
            self.fields.push(Field { value: begin + colon + 1, end, kind });
        }
        let framed = self.head.is_some_and(|head| matches!(head.framing, Framing::Length(_)));
        if lengths != 1 || !framed {
            for field in &mut self.fields {
                field.kind = if field.kind == Kind::Length { Kind::Fixed } else { field.kind };
            }
        }
        true
    }

    /// The head that `received` begins with and its length, if it is like the last one.
    #[inline]
    pub(super) fn recall(&mut self, received: &[u8]) -> Option<(usize, Head)> {
        let head = self.head?;
        if received.starts_with(&self.bytes) {
            return Some((self.bytes.len(), head));
        }
        self.recall_but_for_values(received, head)
    }

    fn recall_but_for_values(&mut self, received: &[u8], mut head: Head) -> Option<(usize, Head)> {
        // Where we are in the bytes received and in the last head, and the first field not passed.
        let (mut at, mut last, mut next) = (0, 0, 0);
        loop {
            let same = common_prefix(&received[at..], &self.bytes[last..]);
            if last + same == self.bytes.len() {
                break;
            }
            let differs = last + same;
            next += self.fields[next..].iter().position(|field| differs <= field.end)?;
            let field = self.fields[next];
            if differs < field.value || field.kind == Kind::Fixed {
                return None;
            }
            let value = at + (field.value - last);
            let end = value + line_end(&received[value..])?;
            if field.kind == Kind::Length {
                head.framing = Framing::Length(digits(&received[value..end])?);
            }
            (at, last, next) = (end, field.end, next + 1);
        }
        let length = at + (self.bytes.len() - last);
        if length == self.bytes.len() {
            // Its values are at the same places and likely to come again.
            self.bytes.copy_from_slice(&received[..length]);
            self.head = Some(head);
        }
        Some((length, head))
    }
}

/// Lines that end with CR LF, without it: begin and end.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Iterator for Lines<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let begin = self.at;
        let end = begin + self.bytes.get(begin..)?.iter().position(|byte| *byte == b'\n')?;
        self.at = end + 1;
        let end = self.bytes[begin..end].strip_suffix(b"\r")?.len() + begin;
        Some((begin, end))
    }
}

fn kind(name: &[u8]) -> Kind {
    let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
    if is(b"content-length") {
        Kind::Length
    } else if is(b"transfer-encoding") || is(b"connection") {
        Kind::Fixed
    } else {
        Kind::Free
    }
}

/// How many bytes are equal from the beginning on.
#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(a, b)| a == b);
    let at = blocks.count() * BLOCK;
    at + a[at..].iter().zip(&b[at..]).take_while(|(a, b)| a == b).count()
}

/// Where the value of a field ends, if it ends with CR LF and holds nothing that a value may not.
#[inline]
fn line_end(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f)?;
    bytes[end..].starts_with(b"\r\n").then_some(end)
}

/// A content length as it is usually written: a blank and digits.
fn digits(value: &[u8]) -> Option<u64> {
    let digits = value.strip_prefix(b" ")?;
    if !(1..=18).contains(&digits.len()) {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |sum: u64, digit| digit.is_ascii_digit().then(|| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "HTTP/1.1 200 OK\r\nDate: Sat, 22 Nov 2025 01:02:03 GMT\r\nX-Id: 17\r\n\
                        Content-Length: 64\r\nConnection: keep-alive\r\n\r\n";

    fn recalled(last: &str, text: &str) -> Option<Head> {
        let head = Head { status: 200, framing: Framing::Length(64), closes: false };
        let mut recall = Recall::default();
        recall.keep(last.as_bytes(), head);
        let found = recall.recall(format!("{text}0123").as_bytes());
        assert!(found.is_none_or(|(length, _)| length == text.len()), "{text}");
        // Once more, from what was kept of it.
        assert_eq!(recall.recall(format!("{text}0123").as_bytes()), found);
        found.map(|(_, head)| head)
    }

    #[test]
    fn values_may_differ() {
        let framing = |text: &str| recalled(HEAD, text).map(|head| head.framing);
        assert_eq!(framing(HEAD), Some(Framing::Length(64)));
        assert_eq!(framing(&HEAD.replace("02:03", "02:04")), Some(Framing::Length(64)));
        assert_eq!(framing(&HEAD.replace("17", "1234567")), Some(Framing::Length(64)));
        assert_eq!(framing(&HEAD.replace("17", "")), Some(Framing::Length(64)));
        let several = HEAD.replace("17", "18").replace("64", "100000").replace("Sat", "Sunday");
        assert_eq!(framing(&several), Some(Framing::Length(100_000)));
    }

    #[test]
    fn what_says_something_else_is_for_the_parser() {
        for (from, to) in [
            ("200", "404"),
            ("HTTP/1.1", "HTTP/1.0"),
            ("X-Id", "X-Ie"),
            ("keep-alive", "close"),
            ("17\r\n", "17\r\nConnection: close\r\n"),
            ("17\r\n", "17\n"),
            ("17\r\n", "17\r\n folded\r\n"),
            ("17", "1\u{1}7"),
            ("64", "6x4"),
            ("64", ""),
            ("64", "64, 64"),
            ("64", "9999999999999999999"),
            ("\r\n\r\n", "\r\nX: y\r\n\r\n"),
        ] {
            assert_eq!(recalled(HEAD, &HEAD.replace(from, to)), None, "{from} {to}");
        }
        for end in 0..HEAD.len() {
            let mut recall = Recall::default();
            recall.keep(HEAD.as_bytes(), Head { status: 200, framing: Framing::Length(64), closes: false });
            assert_eq!(recall.recall(&HEAD.as_bytes()[..end]), None);
        }
    }

    #[test]
    fn unusual_heads_are_recalled_whole_or_not_at_all() {
        for unusual in ["HTTP/1.1 200 OK\nX: a\n\n", "\r\nHTTP/1.1 200 OK\r\nX: a\r\n\r\n"] {
            assert!(recalled(unusual, unusual).is_some());
            assert_eq!(recalled(unusual, &unusual.replace('a', "b")), None);
        }
        let twice = HEAD.replace("X-Id: 17", "Content-Length: 64");
        assert_eq!(recalled(&twice, &twice.replacen("64", "65", 1)), None);
        let mut chunked = Recall::default();
        chunked.keep(HEAD.as_bytes(), Head { status: 200, framing: Framing::Chunked, closes: false });
        assert_eq!(chunked.recall(HEAD.replace("64", "65").as_bytes()), None, "the length did not frame it");
    }
}
