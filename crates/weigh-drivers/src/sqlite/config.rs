//! Which file, with which pragmas, and what to run.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::{Connection as Session, OpenFlags};
use weigh_load::{Connection, Driver, DriverError};

use super::client::SqliteClient;
use super::pragma;
use crate::sql::{SqlOperation, Statement};

/// How long a locked database is awaited unless the config says otherwise.
pub const DEFAULT_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Everything the driver needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteConfig {
    /// The database file; it must exist.
    pub path: PathBuf,
    /// Pragmas, applied in order on every connection and read back.
    pub pragmas: Vec<(String, String)>,
    /// How long an operation waits for a lock of another connection.
    pub busy_timeout: Duration,
    /// The operations, in the order of the load's.
    pub operations: Vec<SqlOperation>,
}

impl SqliteConfig {
    /// Checks what can be checked without opening the file.
    ///
    /// # Errors
    /// An operation without statements, or with a parameter number that it does not have.
    pub fn build(self) -> Result<SqliteDriver, DriverError> {
        let statements = self.operations.iter().map(SqlOperation::statements).collect::<Result<_, _>>()?;
        Ok(SqliteDriver { config: self, statements, opening: Mutex::new(()) })
    }
}

/// Opens connections to a database file.
#[derive(Debug)]
pub struct SqliteDriver {
    config: SqliteConfig,
    /// Renumbered statements per operation.
    statements: Vec<Vec<Statement>>,
    /// One connection is opened at a time: a change of the journal mode fails while another one opens.
    opening: Mutex<()>,
}

impl Driver for SqliteDriver {
    fn connect(&self, _client: usize) -> Result<Connection, DriverError> {
        // The guarded value is empty: a panic while it was held cannot have spoiled it.
        let _one_at_a_time = self.opening.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let session = self.open()?;
        for (name, value) in &self.config.pragmas {
            pragma::apply(&session, name, value)?;
        }
        for (name, value) in &self.config.pragmas {
            pragma::read_back(&session, name, value)?;
        }
        let operations = self.config.operations.iter().zip(&self.statements);
        Ok(Connection::Inline(Box::new(SqliteClient::new(session, operations)?)))
    }

    fn blocks_its_thread(&self) -> bool {
        true
    }
}

impl SqliteDriver {
    fn open(&self) -> Result<Session, DriverError> {
        let path = &self.config.path;
        let failed = |error| DriverError::caused(format!("cannot open `{}`", path.display()), error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let session = Session::open_with_flags(path, flags).map_err(failed)?;
        session.busy_timeout(self.config.busy_timeout).map_err(failed)?;
        Ok(session)
    }
}
