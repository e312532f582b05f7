//! Parse and Describe of every statement, while connecting.

use fallible_iterator::FallibleIterator;
use postgres_protocol::Oid;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use weigh_load::DriverError;

use super::dialogue::{Dialogue, encoding};
use crate::sql::{SqlOperation, Statement};

/// A statement the server knows by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prepared {
    pub(super) name: String,
    /// Index of the operation's parameter, and its type, for `$1`, `$2`, …
    pub(super) parameters: Vec<(usize, Oid)>,
    /// Types of the result's columns; empty when it returns no rows.
    pub(super) columns: Vec<Oid>,
}

/// Prepares the statements of operation `number`.
pub(super) fn prepare(
    dialogue: &mut Dialogue,
    number: usize,
    operation: &SqlOperation,
    statements: &[Statement],
) -> Result<Vec<Prepared>, DriverError> {
    let prepare_each = |(place, statement): (usize, &Statement)| {
        prepare_one(dialogue, format!("w{number}_{place}"), statement).map_err(|error| {
            error.of(format_args!("operation `{}`, statement {}", operation.name, place + 1))
        })
    };
    statements.iter().enumerate().map(prepare_each).collect()
}

fn prepare_one(
    dialogue: &mut Dialogue,
    name: String,
    statement: &Statement,
) -> Result<Prepared, DriverError> {
    frontend::parse(&name, &statement.text, [], &mut dialogue.out).map_err(encoding)?;
    frontend::describe(b'S', &name, &mut dialogue.out).map_err(encoding)?;
    frontend::sync(&mut dialogue.out);
    dialogue.send()?;
    let (mut types, mut columns): (Vec<Oid>, Vec<Oid>) = (Vec::new(), Vec::new());
    let malformed = |error| DriverError::caused("the server sent a malformed description", error);
    loop {
        match dialogue.receive() {
            Ok(Message::ParameterDescription(body)) => {
                types = body.parameters().collect().map_err(malformed)?
            }
            Ok(Message::RowDescription(body)) => {
                columns = body.fields().map(|field| Ok(field.type_oid())).collect().map_err(malformed)?;
            }
            Ok(Message::ReadyForQuery(_)) => break,
            Ok(_) => {}
            Err(error) => return Err(error),
        }
    }
    if types.len() != statement.parameters.len() {
        let (taken, used) = (types.len(), statement.parameters.len());
        return Err(DriverError::new(format!(
            "the server sees {taken} parameters where the text has {used}"
        )));
    }
    Ok(Prepared { name, parameters: statement.parameters.iter().copied().zip(types).collect(), columns })
}
