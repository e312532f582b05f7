//! Templates: the database file every slot starts from.
//!
//! One per distinct set of set-up statements and of pragmas that must be set before the first table. Made
//! without syncing, closed, and written out at the end.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use rusqlite::Connection;

use super::pragmas;
use crate::host::{Cancel, sync_changed_since};
use crate::systems::SystemError;

/// Name of the database in its directory.
pub(super) const FILE: &str = "db";

/// What makes a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    /// Pragmas of creation.
    pub(super) pragmas: BTreeMap<String, String>,
    /// Set-up statements.
    pub(super) setup: Vec<String>,
}

/// Makes a template in `dir`, which exists and is empty.
///
/// # Errors
/// Names the statement that failed, with SQLite's message.
pub(super) fn make(dir: &Path, recipe: &Recipe, cancel: &Cancel) -> Result<(), SystemError> {
    let path = dir.join(FILE);
    let began = SystemTime::now();
    let connection = Connection::open(&path)
        .map_err(|error| SystemError::new(format!("cannot create `{}`", path.display())).caused_by(error))?;
    for (name, value) in &recipe.pragmas {
        pragmas::set(&connection, name, value)?;
    }
    pragmas::set(&connection, "synchronous", "off")?;
    let interrupt = connection.get_interrupt_handle();
    cancel.during(|| run_all(&connection, &recipe.setup, cancel), || interrupt.interrupt())?;
    connection.close().map_err(|(_, error)| {
        SystemError::new(format!("cannot close `{}`", path.display())).caused_by(error)
    })?;
    sync_changed_since(dir, began)?;
    Ok(())
}

fn run_all(connection: &Connection, setup: &[String], cancel: &Cancel) -> Result<(), SystemError> {
    for (index, statement) in setup.iter().enumerate() {
        connection.execute_batch(statement).map_err(|error| match cancel.is_cancelled() {
            true => SystemError::interrupted(),
            false => {
                SystemError::new(format!("set-up statement {} `{statement}` failed: {error}", index + 1))
            }
        })?;
    }
    Ok(())
}
