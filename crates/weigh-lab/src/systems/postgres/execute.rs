//! Statements of an experiment on connections of our own: its set-up, and what every trial begins with.
//!
//! An error names the statement, with the server's words; the server is told to cancel it when the run is
//! told to stop. Nothing of the load goes through here.

use postgres::{Client, NoTls};

use super::client;
use crate::host::Cancel;
use crate::systems::{SystemError, shortened};

/// Runs them one after the other; `what` is what a reader calls one of them: `set-up statement`.
///
/// # Errors
/// Names the first that failed, with the server's message.
pub(super) fn all(
    connection: &mut Client,
    what: &str,
    statements: &[String],
    cancel: &Cancel,
) -> Result<(), SystemError> {
    for (index, statement) in statements.iter().enumerate() {
        if cancel.is_cancelled() {
            return Err(SystemError::interrupted());
        }
        one(connection, statement, cancel).map_err(|error| {
            if cancel.is_cancelled() {
                return SystemError::interrupted();
            }
            client::failed(format!("{what} {} `{}` failed", index + 1, shortened(statement)), &error)
        })?;
    }
    Ok(())
}

/// Runs one text, which may hold several statements.
///
/// # Errors
/// The client library's.
pub(super) fn one(connection: &mut Client, sql: &str, cancel: &Cancel) -> Result<(), postgres::Error> {
    let token = connection.cancel_token();
    let ask = || {
        // Asked again until the statement has ended.
        token.cancel_query(NoTls).ok();
    };
    cancel.during(|| connection.batch_execute(sql), ask)
}
