//! Bodies of replies: where they end, and whether they are what was expected. Counted and compared as they arrive,
//! never kept.
//!
//! - [`BodyReader`]: follows a body by its framing, chunk by chunk (RFC 9112 7.1) if need be.
//! - [`Payload`]: what is in it: its length, and whether it equals an expected one so far.

use httparse::{Status, parse_chunk_size};

use super::head::Framing;

/// Longest line that begins a chunk: its size and extensions nobody needs.
const LONGEST_CHUNK_LINE: usize = 4096;

/// Most bytes of trailers.
const LONGEST_TRAILERS: usize = 64 << 10;

/// What has come of a body.
#[derive(Clone, Debug, Default)]
pub(super) struct Payload {
    /// Bytes so far.
    pub(super) length: u64,
    /// It does not equal the expected one.
    pub(super) differs: bool,
}

impl Payload {
    #[inline]
    fn take(&mut self, bytes: &[u8], expected: Option<&[u8]>) {
        if let Some(expected) = expected
            && !self.differs
        {
            let rest = usize::try_from(self.length).ok().and_then(|at| expected.get(at..));
            self.differs = !rest.is_some_and(|rest| rest.starts_with(bytes));
        }
        self.length = self.length.saturating_add(bytes.len() as u64);
    }

    /// Whether the whole body equals the expected one.
    pub(super) fn equals(&self, expected: &[u8]) -> bool {
        !self.differs && self.length == expected.len() as u64
    }
}

/// Where in a body we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyReader {
    /// So many bytes are to come.
    Counted { left: u64 },
    /// Before the line of a chunk's size.
    ChunkLine,
    /// In a chunk.
    Chunk { left: u64 },
    /// Before the line end behind a chunk.
    ChunkEnd,
    /// After the last chunk; so many bytes of trailers were passed over.
    Trailers { passed: usize },
    /// In a body that ends with the connection.
    UntilClose,
}

/// What a look at some bytes found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) consumed: usize,
    pub(super) complete: bool,
}

/// One step: how much was consumed, and what comes next.
enum Step {
    Next(usize, BodyReader),
    /// More bytes are needed.
    Short,
    Complete(usize),
}

impl BodyReader {
    pub(super) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Length(left) => Self::Counted { left },
            Framing::Chunked => Self::ChunkLine,
            Framing::UntilClose => Self::UntilClose,
        }
    }

    /// Follows the body through `received`.
    ///
    /// # Errors
    /// What is wrong with its framing.
    pub(super) fn read(
        &mut self,
        received: &[u8],
        payload: &mut Payload,
        expected: Option<&[u8]>,
    ) -> Result<Progress, String> {
        let mut consumed = 0;
        loop {
            match self.step(&received[consumed..], payload, expected)? {
                Step::Next(length, next) => {
                    consumed += length;
                    *self = next;
                }
                Step::Short => return Ok(Progress { consumed, complete: false }),
                Step::Complete(length) => {
                    return Ok(Progress { consumed: consumed + length, complete: true });
                }
            }
        }
    }

    fn step(&self, rest: &[u8], payload: &mut Payload, expected: Option<&[u8]>) -> Result<Step, String> {
        let mut counted = |left: u64| {
            let bytes = &rest[..usize::try_from(left).unwrap_or(usize::MAX).min(rest.len())];
            payload.take(bytes, expected);
            (bytes.len(), left - bytes.len() as u64)
        };
        Ok(match *self {
            Self::Counted { left } => match counted(left) {
                (length, 0) => Step::Complete(length),
                (0, _) => Step::Short,
                (length, left) => Step::Next(length, Self::Counted { left }),
            },
            Self::ChunkLine => chunk_line(rest)?,
            Self::Chunk { left } => match counted(left) {
                (length, 0) => Step::Next(length, Self::ChunkEnd),
                (0, _) => Step::Short,
                (length, left) => Step::Next(length, Self::Chunk { left }),
            },
            Self::ChunkEnd => match rest {
                [b'\r', b'\n', ..] => Step::Next(2, Self::ChunkLine),
                [] | [b'\r'] => Step::Short,
                _ => return Err("a chunk of the server's reply is longer than it says".into()),
            },
            Self::Trailers { passed } => trailer(rest, passed)?,
            Self::UntilClose => match counted(u64::MAX) {
                (0, _) => Step::Short,
                (length, _) => Step::Next(length, Self::UntilClose),
            },
        })
    }
}

fn chunk_line(rest: &[u8]) -> Result<Step, String> {
    match parse_chunk_size(rest) {
        Ok(Status::Complete((length, 0))) => Ok(Step::Next(length, BodyReader::Trailers { passed: 0 })),
        Ok(Status::Complete((length, left))) => Ok(Step::Next(length, BodyReader::Chunk { left })),
        Ok(Status::Partial) if rest.len() < LONGEST_CHUNK_LINE => Ok(Step::Short),
        _ => Err("the server's reply has a chunk without a proper size".into()),
    }
}

/// Passes over one line of the trailers; an empty one ends the body.
fn trailer(rest: &[u8], passed: usize) -> Result<Step, String> {
    let line = rest.iter().position(|byte| *byte == b'\n');
    let length = line.map_or(rest.len(), |end| end + 1);
    if passed.saturating_add(length) > LONGEST_TRAILERS {
        return Err(format!("the server's reply has trailers of more than {LONGEST_TRAILERS} bytes"));
    }
    Ok(match &rest[..length] {
        b"\r\n" | b"\n" => Step::Complete(length),
        _ if line.is_none() => Step::Short,
        _ => Step::Next(length, BodyReader::Trailers { passed: passed + length }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(framing: Framing, bytes: &[u8]) -> (Result<Progress, String>, Payload) {
        let mut payload = Payload::default();
        let progress = BodyReader::new(framing).read(bytes, &mut payload, Some(b"hello world"));
        (progress, payload)
    }

    #[test]
    fn bodies_end_where_their_framing_says() {
        let chunked = b"6;a=b\r\nhello \r\n005\r\nworld\r\n0\r\nX-Sum: 1\r\nY: z\r\n\r\nHTTP";
        let (progress, payload) = read(Framing::Chunked, chunked);
        assert_eq!(progress, Ok(Progress { consumed: chunked.len() - 4, complete: true }));
        assert!(payload.equals(b"hello world"));
        let (progress, payload) = read(Framing::Length(11), b"hello worldHTTP");
        assert_eq!(progress, Ok(Progress { consumed: 11, complete: true }));
        assert!(payload.equals(b"hello world") && !payload.equals(b"hello worlds"));
        let (progress, payload) = read(Framing::UntilClose, b"hello w0");
        assert_eq!(progress, Ok(Progress { consumed: 8, complete: false }));
        assert!(payload.differs && payload.length == 8);
    }

    #[test]
    fn huge_bodies_are_counted() {
        let mut payload = Payload::default();
        let mut reader = BodyReader::new(Framing::Length(u64::MAX));
        let bytes = vec![0; 1 << 16];
        for _ in 0..100 {
            let progress = reader.read(&bytes, &mut payload, None);
            assert_eq!(progress, Ok(Progress { consumed: 1 << 16, complete: false }));
        }
        assert_eq!(payload.length, 100 << 16);
    }

    #[test]
    fn chunks_that_are_none_are_refused() {
        let refused = |bytes: &[u8]| read(Framing::Chunked, bytes).0.unwrap_err();
        assert!(refused(b"3\r\nhelloooo").contains("longer than it says"));
        assert!(refused(b"x\r\n").contains("without a proper size"));
        assert!(refused(b"ffffffffffffffffff\r\n").contains("without a proper size"));
        assert!(refused(&[b"1;".to_vec(), vec![b'a'; 5000]].concat()).contains("without a proper size"));
        let endless = [b"0\r\n".to_vec(), b"a: b\r\n".repeat(20_000)].concat();
        assert!(refused(&endless).contains("trailers of more than 65536 bytes"));
    }
}
