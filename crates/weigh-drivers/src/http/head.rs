//! Heads of replies: parsed by `httparse`, or recalled when they are like the last one ([`Recall`]).
//!
//! [`HeadReader`] gives a [`Head`]: the status, how a body is framed, whether the connection ends. Nothing in here looks
//! at bodies or knows what was asked.

use std::mem::MaybeUninit;

use httparse::{ParserConfig, Response, Status};

use super::recall::Recall;

/// Longest head that is read; servers and proxies allow 8 to 64 KiB.
const LONGEST_HEAD: usize = 64 << 10;

/// Most header fields in a head.
const MOST_FIELDS: usize = 128;

/// Longest reason of a status that is kept.
const LONGEST_REASON: usize = 60;

/// What a head says about the rest of the reply and about the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    /// How a body is framed, if the reply has one.
    pub(super) framing: Framing,
    /// The server takes no more requests on this connection.
    pub(super) closes: bool,
}

/// Where a body ends (RFC 9112 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// After so many bytes.
    Length(u64),
    /// After the chunk of length 0 and its trailers.
    Chunked,
    /// Where the connection ends.
    UntilClose,
}

/// Reads heads that may come in pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadReader {
    last: Recall,
    /// How much of a cut head was tried already.
    tried: usize,
}

impl HeadReader {
    /// The head at the beginning of `received` and its length; `None` if it is not complete. Then it expects to be
    /// shown the same bytes and more.
    ///
    /// # Errors
    /// What makes it no head, as a message that is the same for equal faults.
    #[inline]
    pub(super) fn read(&mut self, received: &[u8]) -> Result<Option<(usize, Head)>, String> {
        if let Some(found) = self.last.recall(received) {
            self.tried = 0;
            return Ok(Some(found));
        }
        self.parse(received)
    }

    fn parse(&mut self, received: &[u8]) -> Result<Option<(usize, Head)>, String> {
        // A head ends with a line; without one more there is nothing new to find.
        let unseen = received.get(self.tried..).unwrap_or(received);
        if self.tried > 0 && !unseen.contains(&b'\n') {
            return self.short(received);
        }
        let Some((length, head)) = parse(received)? else { return self.short(received) };
        self.tried = 0;
        self.last.keep(&received[..length], head);
        Ok(Some((length, head)))
    }

    fn short(&mut self, received: &[u8]) -> Result<Option<(usize, Head)>, String> {
        if received.len() >= LONGEST_HEAD {
            return Err(format!("the server's reply has a head of more than {LONGEST_HEAD} bytes"));
        }
        self.tried = received.len();
        Ok(None)
    }
}

/// Parses a complete head.
fn parse(received: &[u8]) -> Result<Option<(usize, Head)>, String> {
    let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut response = Response::new(&mut []);
    let parsed =
        ParserConfig::default().parse_response_with_uninit_headers(&mut response, received, &mut fields);
    match parsed {
        Ok(Status::Partial) => Ok(None),
        Ok(Status::Complete(length)) if length > LONGEST_HEAD => {
            Err(format!("the server's reply has a head of more than {LONGEST_HEAD} bytes"))
        }
        Ok(Status::Complete(length)) => Ok(Some((length, meaning(&response)?))),
        Err(httparse::Error::TooManyHeaders) => {
            Err(format!("the server's reply has more than {MOST_FIELDS} header fields"))
        }
        Err(error) => Err(format!("the server does not answer in HTTP/1: {error}")),
    }
}

/// What the fields that frame a reply say.
fn meaning(response: &Response<'_, '_>) -> Result<Head, String> {
    let (mut length, mut codings, mut close, mut keep) = (None, None, false, false);
    for field in response.headers.iter() {
        // Most fields differ by length from all three.
        match field.name.len() {
            14 if field.name.eq_ignore_ascii_case("content-length") => {
                let value = content_length(field.value)?;
                if length.replace(value).is_some_and(|other| other != value) {
                    return Err("the server's reply has two different content lengths".into());
                }
            }
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => codings = Some(field.value),
            10 if field.name.eq_ignore_ascii_case("connection") => {
                for option in words(field.value) {
                    close |= option.eq_ignore_ascii_case(b"close");
                    keep |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            _ => {}
        }
    }
    let framing = match (codings, length) {
        // A transfer coding outranks a length (RFC 9112 6.3).
        (Some(codings), _) => match words(codings).last() {
            Some(last) if last.eq_ignore_ascii_case(b"chunked") => Framing::Chunked,
            _ => Framing::UntilClose,
        },
        (None, Some(length)) => Framing::Length(length),
        (None, None) => Framing::UntilClose,
    };
    let old = response.version == Some(0);
    Ok(Head { status: response.code.unwrap_or(0), framing, closes: close || (old && !keep) })
}

/// Digits and nothing else: a sign or a list is a fault (RFC 9112 6.3).
fn content_length(value: &[u8]) -> Result<u64, String> {
    let digits = value.trim_ascii();
    let number = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
    number.filter(|_| digits.iter().all(u8::is_ascii_digit)).ok_or_else(|| {
        let shown = value.escape_ascii().to_string();
        format!("the server's reply has a content length that is no number: `{}`", shortened(&shown))
    })
}

/// The members of a list field.
fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|word| !word.is_empty())
}

/// The server's words for the status of a head, printable and not too long.
pub(super) fn reason(head: &[u8]) -> String {
    let line = head.split(|byte| matches!(byte, b'\r' | b'\n')).find(|line| !line.is_empty());
    // `HTTP/1.1 200 OK`
    let reason = line.and_then(|line| line.splitn(3, |byte| *byte == b' ').nth(2)).unwrap_or_default();
    let text: String = String::from_utf8_lossy(reason).chars().filter(|c| !c.is_control()).collect();
    shortened(text.trim())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Option<(usize, Head)>, String> {
        HeadReader::default().read(text.as_bytes())
    }

    fn head(fields: &str) -> Head {
        let text = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
        let (length, head) = read(&text).unwrap().unwrap();
        assert_eq!(length, text.len());
        head
    }

    #[test]
    fn framing_and_connection_are_found() {
        let expected = |framing, closes| Head { status: 200, framing, closes };
        assert_eq!(head("content-LENGTH: 64 \r\n"), expected(Framing::Length(64), false));
        assert_eq!(head("Content-Length: 5\r\nContent-Length: 5\r\n"), expected(Framing::Length(5), false));
        assert_eq!(head("Transfer-Encoding: gzip, Chunked\r\n"), expected(Framing::Chunked, false));
        let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
        assert_eq!(head(both), expected(Framing::Chunked, false));
        assert_eq!(head("Transfer-Encoding: gzip\r\n"), expected(Framing::UntilClose, false));
        assert_eq!(head(""), expected(Framing::UntilClose, false));
        assert_eq!(
            head("Connection: foo, CLOSE\r\nContent-Length: 0\r\n"),
            expected(Framing::Length(0), true)
        );
    }

    #[test]
    fn http_1_0_closes_unless_it_says_otherwise() {
        let closes = |text: &str| read(text).unwrap().unwrap().1.closes;
        assert!(closes("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n"));
        assert!(!closes("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\n"));
    }

    #[test]
    fn what_is_no_head_is_said() {
        let error = |text: &str| read(text).unwrap_err();
        assert_eq!(
            error("SSH-2.0-OpenSSH\r\n"),
            "the server does not answer in HTTP/1: invalid HTTP version"
        );
        assert_eq!(
            error("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
            "the server's reply has two different content lengths"
        );
        for value in ["+1", "1,1", "-1", "x", "", "18446744073709551616"] {
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {value}\r\n\r\n");
            assert!(error(&text).contains("content length that is no number"), "{value}");
        }
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(MOST_FIELDS + 1));
        assert_eq!(error(&many), "the server's reply has more than 128 header fields");
        let whole = format!("HTTP/1.1 200 OK\r\na: {}\r\n\r\n", "x".repeat(LONGEST_HEAD));
        assert!(error(&whole).contains("a head of more than 65536 bytes"));
        assert!(error(&whole[..LONGEST_HEAD]).contains("a head of more than 65536 bytes"));
    }

    #[test]
    fn reasons_are_the_servers_and_short() {
        assert_eq!(reason(b"HTTP/1.1 503 Service Unavailable\r\na: b\r\n\r\n"), "Service Unavailable");
        assert_eq!(reason(b"HTTP/1.1 200\r\n\r\n"), "");
        assert_eq!(reason(b""), "");
        assert_eq!(reason(format!("HTTP/1.1 500 {}\r\n", "é".repeat(99)).as_bytes()).chars().count(), 61);
    }

    /// Heads as servers send them, with values that differ, cut and changed here and there.
    fn heads() -> impl Strategy<Value = Vec<u8>> {
        let value = prop_oneof![
            8 => "[0-2]{1,2}",
            1 => "[ -~\t]{0,6}",
            1 => Just("close".to_owned()),
            1 => Just("chunked".to_owned()),
            1 => "[\r\n\t \u{0}-\u{1f}\u{7f}a]{0,4}",
        ];
        let name = prop_oneof![
            4 => Just("X-Id"),
            4 => Just("Content-Length"),
            1 => Just("Connection"),
            1 => Just("transfer-encoding"),
            1 => Just("bad name"),
        ];
        let field = (name, Just(": "), value, Just("\r\n"));
        let line = prop_oneof![
            8 => Just("HTTP/1.1 200 OK\r\n"),
            1 => Just("HTTP/1.0 404 N\r\n"),
            1 => Just("\r\nHTTP/1.1 204\n"),
        ];
        (line, prop::collection::vec(field, 0..4)).prop_map(|(line, fields)| {
            let fields: String = fields.into_iter().map(|(a, b, c, d)| [a, b, &c, d].concat()).collect();
            [line, &fields, "\r\n"].concat().into_bytes()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// A reader that has seen other heads finds what a fresh parse finds, however the bytes come.
        #[test]
        fn a_reader_with_a_memory_means_the_same(
            sequence in prop::collection::vec(heads(), 1..8), step in 1_usize..80,
        ) {
            let mut reader = HeadReader::default();
            for bytes in sequence {
                let fresh = parse(&bytes);
                let mut found = Ok(None);
                for end in (0..bytes.len()).step_by(step).chain([bytes.len()]) {
                    found = reader.read(&bytes[..end]);
                    if !matches!(found, Ok(None)) {
                        break;
                    }
                }
                prop_assert_eq!(&found, &fresh);
                if !matches!(found, Ok(Some(_))) {
                    reader = HeadReader { tried: 0, ..reader };
                }
            }
        }

        /// The same, of heads that are alike but for one byte.
        #[test]
        fn one_byte_that_differs_is_seen(bytes in heads(), at: prop::sample::Index, byte: u8) {
            let mut reader = HeadReader::default();
            if let Ok(Some((length, _))) = reader.read(&bytes) {
                let mut other = bytes[..length].to_vec();
                other[at.index(length)] = byte;
                prop_assert_eq!(reader.read(&other), parse(&other));
            }
        }

        #[test]
        fn garbage_is_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut reader = HeadReader::default();
            for end in 0..bytes.len() {
                if !matches!(reader.read(&bytes[..end]), Ok(None)) {
                    break;
                }
            }
        }
    }
}
