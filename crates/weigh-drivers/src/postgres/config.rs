//! Where to connect, as whom, and what to run.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use weigh_load::{Connection, Driver, DriverError};

use super::client::PostgresClient;
use super::prepare::prepare;
use super::startup::connect;
use super::{settings, template::OperationTemplate};
use crate::sql::{SqlOperation, Statement};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A unix socket: the directory and port that make up its name.
    Unix {
        /// `unix_socket_directories` of the server.
        directory: PathBuf,
        /// Port; part of the socket's name.
        port: u16,
    },
    /// TCP.
    Tcp {
        /// Name or address.
        host: String,
        /// Port.
        port: u16,
    },
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix { directory, port } => write!(formatter, "{}/.s.PGSQL.{port}", directory.display()),
            Self::Tcp { host, port } => write!(formatter, "{host}:{port}"),
        }
    }
}

/// Everything the driver needs to know.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresConfig {
    /// Where the server listens.
    pub target: Target,
    /// Role to log in as.
    pub user: String,
    /// Password, if the server asks for one.
    pub password: Option<String>,
    /// Database to use.
    pub database: String,
    /// `application_name` of every connection.
    pub application_name: String,
    /// Session settings, applied in order when connecting and read back.
    pub settings: Vec<(String, String)>,
    /// The operations, in the order of the load's.
    pub operations: Vec<SqlOperation>,
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresConfig")
            .field("target", &self.target)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "…"))
            .field("database", &self.database)
            .field("settings", &self.settings)
            .field("operations", &self.operations)
            .finish_non_exhaustive()
    }
}

impl PostgresConfig {
    /// Checks what can be checked without a server.
    ///
    /// # Errors
    /// An operation without statements, or with a parameter number that it does not have.
    pub fn build(self) -> Result<PostgresDriver, DriverError> {
        let statements = self.operations.iter().map(SqlOperation::statements).collect::<Result<_, _>>()?;
        Ok(PostgresDriver { config: Arc::new(self), statements })
    }
}

/// Makes connections to a PostgreSQL server.
#[derive(Debug)]
pub struct PostgresDriver {
    config: Arc<PostgresConfig>,
    /// Renumbered statements per operation.
    statements: Vec<Vec<Statement>>,
}

impl Driver for PostgresDriver {
    fn connect(&self, _client: usize) -> Result<Connection, DriverError> {
        let mut dialogue = connect(&self.config)?;
        settings::apply(&mut dialogue, &self.config.settings)?;
        let mut templates = Vec::with_capacity(self.statements.len());
        for (number, (operation, statements)) in
            self.config.operations.iter().zip(&self.statements).enumerate()
        {
            let prepared = prepare(&mut dialogue, number, operation, statements)?;
            templates.push(OperationTemplate::new(&prepared, operation.repeat));
        }
        Ok(Connection::Socket(Box::new(PostgresClient::new(dialogue.into_socket()?, templates))))
    }
}
