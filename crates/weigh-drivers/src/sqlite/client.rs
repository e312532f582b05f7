//! One connection under load.

use rusqlite::{Connection, Statement as Prepared};
use weigh_load::generator::{Parameters, Row, Value};
use weigh_load::{DriverError, InlineClient, Outcome};

use crate::sql::{SqlOperation, Statement};

const BEGIN: &str = "BEGIN";
const BEGIN_IMMEDIATE: &str = "BEGIN IMMEDIATE";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";
const TRANSACTION_STATEMENTS: usize = 4;

/// An open database with its statements prepared: they live in the connection's own statement cache, which
/// is large enough to keep all of them.
pub(super) struct SqliteClient {
    session: Connection,
    operations: Vec<PreparedOperation>,
}

struct PreparedOperation {
    statements: Vec<Statement>,
    repeat: u32,
    /// How its transaction begins, if it is one.
    begin: Option<&'static str>,
}

impl SqliteClient {
    pub(super) fn new<'a>(
        session: Connection,
        operations: impl Iterator<Item = (&'a SqlOperation, &'a Vec<Statement>)>,
    ) -> Result<Self, DriverError> {
        let operations: Vec<_> = operations.collect();
        let count: usize = operations.iter().map(|(_, statements)| statements.len()).sum();
        session.set_prepared_statement_cache_capacity(count + TRANSACTION_STATEMENTS);
        let operations = operations
            .into_iter()
            .map(|(operation, statements)| PreparedOperation::new(&session, operation, statements))
            .collect::<Result<_, _>>()?;
        Ok(Self { session, operations })
    }

    fn run(&self, operation: &PreparedOperation, parameters: &mut Parameters<'_>) -> rusqlite::Result<()> {
        let Some(begin) = operation.begin else { return self.repetition(operation, parameters.draw()) };
        self.command(begin)?;
        for _ in 0..operation.repeat {
            self.repetition(operation, parameters.draw())?;
        }
        self.command(COMMIT)
    }

    fn repetition(&self, operation: &PreparedOperation, row: Row<'_>) -> rusqlite::Result<()> {
        operation.statements.iter().try_for_each(|statement| {
            let mut prepared = self.session.prepare_cached(&statement.text)?;
            bind(&mut prepared, statement, row)?;
            step_through(&mut prepared)
        })
    }

    fn command(&self, sql: &str) -> rusqlite::Result<()> {
        step_through(&mut *self.session.prepare_cached(sql)?)
    }

    /// What an error means for the connection: whatever a failed transaction left is rolled back.
    #[cold]
    fn failed(&self, error: &rusqlite::Error) -> Outcome {
        let message = countable(error);
        if self.session.is_autocommit() || self.command(ROLLBACK).is_ok() {
            Outcome::Error(message)
        } else {
            Outcome::Broken(message)
        }
    }
}

impl InlineClient for SqliteClient {
    fn execute(&mut self, operation: usize, parameters: &mut Parameters<'_>) -> Outcome {
        match self.run(&self.operations[operation], parameters) {
            Ok(()) if self.session.is_autocommit() => Outcome::Success,
            Ok(()) => Outcome::Broken("the operation left a transaction open".into()),
            Err(error) => self.failed(&error),
        }
    }
}

impl PreparedOperation {
    fn new(
        session: &Connection,
        operation: &SqlOperation,
        statements: &[Statement],
    ) -> Result<Self, DriverError> {
        let mut writes = false;
        for (place, statement) in statements.iter().enumerate() {
            let prepared = session.prepare_cached(&statement.text).map_err(|error| {
                DriverError::new(format!("operation `{}`, statement {}: {error}", operation.name, place + 1))
            })?;
            if prepared.parameter_count() != statement.parameters.len() {
                let name = &operation.name;
                let message = format!(
                    "operation `{name}`, statement {}: parameters are written `$1`, `$2`, …",
                    place + 1
                );
                return Err(DriverError::new(message));
            }
            writes |= !prepared.readonly();
        }
        let begin = operation.is_transaction().then_some(if writes { BEGIN_IMMEDIATE } else { BEGIN });
        Ok(Self { statements: statements.to_vec(), repeat: operation.repeat, begin })
    }
}

/// Binds `$1`, `$2`, … SQLite gives them places in order of first use, as the renumbering did.
fn bind(prepared: &mut Prepared<'_>, statement: &Statement, row: Row<'_>) -> rusqlite::Result<()> {
    for (place, index) in statement.parameters.iter().enumerate() {
        match row.get(*index) {
            Some(Value::Integer(number)) => prepared.raw_bind_parameter(place + 1, number)?,
            Some(Value::Text(text)) => prepared.raw_bind_parameter(place + 1, text)?,
            Some(Value::Bytes(bytes)) => prepared.raw_bind_parameter(place + 1, bytes)?,
            None => prepared.raw_bind_parameter(place + 1, rusqlite::types::Null)?,
        }
    }
    Ok(())
}

/// Executes to the end; rows are produced and not looked at.
fn step_through(prepared: &mut Prepared<'_>) -> rusqlite::Result<()> {
    let mut rows = prepared.raw_query();
    while rows.next()?.is_some() {}
    Ok(())
}

/// SQLite's own words; they name constraints, never values.
fn countable(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}
