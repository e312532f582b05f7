//! Templates: the database file every slot starts from.
//!
//! One per distinct set of set-up statements and of pragmas that must be set before the first table. Made
//! without syncing, closed, and written out at the end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
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
pub(super) fn make(dir: &Path, recipe: &Recipe, cancel: &Cancel) -> Result<PathBuf, SystemError> {
    let path = dir.join(FILE);
    let began = SystemTime::now();
    let connection = Connection::open(&path)
        .map_err(|error| SystemError::new(format!("cannot create `{}`", path.display())).caused_by(error))?;
    for (name, value) in &recipe.pragmas {
        pragmas::set(&connection, name, value)?;
    }
    pragmas::set(&connection, "synchronous", "off")?;
    let interrupt = connection.get_interrupt_handle();
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            use std::sync::mpsc::RecvTimeoutError;
            while waiting.recv_timeout(std::time::Duration::from_millis(100))
                == Err(RecvTimeoutError::Timeout)
            {
                if cancel.is_cancelled() {
                    interrupt.interrupt();
                }
            }
        });
        let outcome = run_all(&connection, &recipe.setup, cancel);
        drop(done);
        outcome
    })?;
    connection.close().map_err(|(_, error)| {
        SystemError::new(format!("cannot close `{}`", path.display())).caused_by(error)
    })?;
    sync_changed_since(dir, began)?;
    Ok(dir.to_owned())
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
