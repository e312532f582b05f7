//! The conversation before the load: blocking, message by message, with a time limit.

use std::io;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use weigh_load::DriverError;

use super::failure::Failure;
use crate::transport::Wire;

/// The conversation on one socket.
pub(super) struct Dialogue {
    wire: Wire,
    received: BytesMut,
    /// What the next [`Dialogue::send`] sends.
    pub(super) out: BytesMut,
    /// SQLSTATE of the last error the server reported.
    pub(super) last_code: String,
}

impl Dialogue {
    pub(super) fn new(wire: Wire) -> Self {
        Self {
            wire,
            received: BytesMut::with_capacity(8192),
            out: BytesMut::with_capacity(1024),
            last_code: String::new(),
        }
    }

    /// Sends what was encoded into `out`.
    pub(super) fn send(&mut self) -> Result<(), DriverError> {
        let sent = self.wire.say(&self.out);
        self.out.clear();
        sent
    }

    /// The next message that is an answer; notices and the like are passed over. An error answer is `Err`.
    pub(super) fn receive(&mut self) -> Result<Message, DriverError> {
        loop {
            match self.receive_any()? {
                Message::NoticeResponse(_)
                | Message::ParameterStatus(_)
                | Message::NotificationResponse(_)
                | Message::BackendKeyData(_) => {}
                Message::ErrorResponse(body) => {
                    let failure = Failure::read(&body);
                    let error = DriverError::new(failure.full());
                    self.last_code = failure.code;
                    return Err(error);
                }
                answer => return Ok(answer),
            }
        }
    }

    fn receive_any(&mut self) -> Result<Message, DriverError> {
        loop {
            let parsed = Message::parse(&mut self.received).map_err(|error| {
                DriverError::caused("the server does not speak PostgreSQL's protocol", error)
            })?;
            if let Some(message) = parsed {
                return Ok(message);
            }
            self.wire.hear(&mut self.received)?;
        }
    }

    /// Reads until the server is ready; gives the text fields of the rows that came before.
    pub(super) fn rows(&mut self) -> Result<Vec<Vec<Option<String>>>, DriverError> {
        let (mut rows, mut failed) = (Vec::new(), None);
        loop {
            match self.receive() {
                Ok(Message::ReadyForQuery(_)) => return failed.map_or(Ok(rows), Err),
                Ok(Message::DataRow(body)) => rows.push(text_fields(&body)?),
                Ok(_) => {}
                // The server still says when it is ready, unless it hung up.
                Err(error) if error.source.is_none() && failed.is_none() => failed = Some(error),
                Err(error) => return Err(failed.unwrap_or(error)),
            }
        }
    }

    /// Executes a simple query and gives its rows as text.
    pub(super) fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, DriverError> {
        frontend::query(sql, &mut self.out).map_err(encoding)?;
        self.send()?;
        self.rows()
    }

    /// Ends the dialogue, with nothing of it left unread.
    pub(super) fn into_wire(mut self) -> Result<Wire, DriverError> {
        // Only a message of the server's own accord can be here (a reload, say).
        while !self.received.is_empty() {
            self.receive_any()?;
        }
        Ok(self.wire)
    }

    /// See [`Wire::endpoint_digest`].
    pub(super) fn endpoint_digest(&self) -> Option<Vec<u8>> {
        self.wire.endpoint_digest()
    }
}

/// For `map_err` on the encoders of `postgres-protocol`: they refuse zero bytes and huge values.
pub(super) fn encoding(error: io::Error) -> DriverError {
    DriverError::caused("a text cannot be sent to the server", error)
}

fn text_fields(
    body: &postgres_protocol::message::backend::DataRowBody,
) -> Result<Vec<Option<String>>, DriverError> {
    use fallible_iterator::FallibleIterator;
    let row = body.buffer();
    let fields = body.ranges().map(|range| Ok(range.map(|r| String::from_utf8_lossy(&row[r]).into_owned())));
    fields.collect().map_err(|error| DriverError::caused("the server sent a malformed row", error))
}
