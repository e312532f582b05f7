//! The conversation before the load: blocking, command by command, with a time limit.

use std::io::{self, Read, Write};

use bson::{Bson, Document, doc};
use weigh_load::DriverError;

use super::message::{
    ANSWERED_AT, CHECKSUM_PRESENT, LONGEST_MESSAGE, MORE_TO_COME, OP_MSG, PREFIX_BYTES, SECTION_BODY, begin,
    finish, read_i32,
};
use crate::transport::Wire;

const HEADER_BYTES: usize = 16;

/// What is said of a server that answers writes with `w: 0`.
pub(super) const NO_SILENCE: &str =
    "the server answers unacknowledged writes: it does not honour `w: 0`, so they cannot be weighed";

/// The conversation on one socket.
#[derive(Debug)]
pub(super) struct Dialogue {
    wire: Wire,
    request: i32,
}

/// A command the server refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: i64,
    pub(super) name: String,
    pub(super) message: String,
}

impl Dialogue {
    pub(super) fn new(wire: Wire) -> Self {
        Self { wire, request: 0 }
    }

    /// Ends the dialogue.
    pub(super) fn into_wire(self) -> Wire {
        self.wire
    }

    /// The number of the next request.
    pub(super) fn next_request(&mut self) -> i32 {
        self.request += 1;
        self.request
    }

    /// Sends `command` to `database`: its answer, or what the server has against it.
    ///
    /// # Errors
    /// The connection's, or an answer that is not one.
    pub(super) fn run(
        &mut self,
        database: &str,
        mut command: Document,
    ) -> Result<Result<Document, Refusal>, DriverError> {
        command.insert("$db", database);
        let message = self.encode(0, &command)?;
        self.exchange(&message)
    }

    fn encode(&mut self, flags: u32, command: &Document) -> Result<Vec<u8>, DriverError> {
        let bytes =
            command.to_vec().map_err(|error| DriverError::caused("a command cannot be encoded", error))?;
        let mut message = Vec::with_capacity(PREFIX_BYTES + bytes.len());
        begin(self.next_request(), flags, &mut message);
        message.extend_from_slice(&bytes);
        finish(0, &mut message);
        Ok(message)
    }

    /// Makes sure that the server does not answer what it is asked not to answer: a question with that flag, and one
    /// without behind it.
    ///
    /// # Errors
    /// It does, or the connection's.
    pub(super) fn check_silence(&mut self) -> Result<(), DriverError> {
        let ping = doc! {"ping": 1, "$db": "admin"};
        let mut messages = self.encode(MORE_TO_COME, &ping)?;
        let silent = self.request;
        messages.extend(self.encode(0, &ping)?);
        self.wire.write_all(&messages).map_err(|error| self.broken(error))?;
        let (answered, _) = self.receive()?;
        if answered == silent {
            return Err(DriverError::new(NO_SILENCE));
        }
        Ok(())
    }

    /// Sends `message`, which has the number given last, and reads the answer.
    ///
    /// # Errors
    /// As [`Dialogue::run`].
    pub(super) fn exchange(&mut self, message: &[u8]) -> Result<Result<Document, Refusal>, DriverError> {
        self.wire.write_all(message).map_err(|error| self.broken(error))?;
        let (answered, answer) = self.receive()?;
        if answered != self.request {
            return Err(DriverError::new("the server answered another request than the one it was sent"));
        }
        if answer.get("ok").is_some_and(|ok| integer(ok) == 1) {
            return Ok(Ok(answer));
        }
        Ok(Err(Refusal::read(&answer)))
    }

    /// The next answer, and which request it answers.
    fn receive(&mut self) -> Result<(i32, Document), DriverError> {
        let foreign = || DriverError::new("the server does not speak MongoDB's protocol");
        let mut header = [0; HEADER_BYTES];
        self.wire.read_exact(&mut header).map_err(|error| self.broken(error))?;
        let length = usize::try_from(read_i32(&header, 0).unwrap_or(0)).unwrap_or(0);
        if read_i32(&header, 12) != Some(OP_MSG) || !(PREFIX_BYTES + 5..=LONGEST_MESSAGE).contains(&length) {
            return Err(foreign());
        }
        let mut rest = vec![0; length - HEADER_BYTES];
        self.wire.read_exact(&mut rest).map_err(|error| self.broken(error))?;
        let flags = read_i32(&rest, 0).unwrap_or(0).cast_unsigned();
        let checksum = if flags & CHECKSUM_PRESENT == 0 { 0 } else { 4 };
        if rest[4] != SECTION_BODY {
            return Err(foreign());
        }
        let body = rest.get(5..rest.len() - checksum).unwrap_or_default();
        let answer = Document::from_reader(body);
        let answer =
            answer.map_err(|error| DriverError::caused("the server sent a malformed answer", error))?;
        Ok((read_i32(&header, ANSWERED_AT).unwrap_or_default(), answer))
    }

    fn broken(&self, error: io::Error) -> DriverError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                DriverError::new(format!("the server did not answer within {:?}", self.wire.limit()))
            }
            io::ErrorKind::UnexpectedEof => DriverError::new("the server closed the connection"),
            _ => DriverError::caused("the connection broke", error),
        }
    }
}

impl Refusal {
    /// From a document with `code`, `codeName` and `errmsg`.
    pub(super) fn read(answer: &Document) -> Self {
        let text = |key| answer.get_str(key).unwrap_or_default().to_owned();
        let code = answer.get("code").map_or(0, integer);
        Self { code, name: text("codeName"), message: text("errmsg") }
    }

    /// The server's own words, in one line.
    pub(super) fn words(&self) -> String {
        let message = self.message.lines().next().unwrap_or_default();
        let space = if self.name.is_empty() { "" } else { " " };
        format!("{message} ({}{space}{})", self.code, self.name)
    }
}

/// A number of any type.
#[expect(clippy::cast_possible_truncation, reason = "codes and flags")]
pub(super) fn integer(value: &Bson) -> i64 {
    match value {
        Bson::Int32(number) => (*number).into(),
        Bson::Int64(number) => *number,
        Bson::Double(number) => *number as i64,
        Bson::Boolean(truth) => (*truth).into(),
        _ => 0,
    }
}
