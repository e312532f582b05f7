//! Where to connect, as whom, how, and what to run.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weigh_load::{Connection, Driver, DriverError};

use super::client::PostgresProtocol;
use super::prepare::prepare;
use super::startup::{Security, connect};
use super::{settings, template::OperationTemplate};
use crate::sql::{SqlOperation, Statement};
use crate::transport::{Endpoint, TlsConfig};

/// Port of a server that says nothing else.
pub(super) const DEFAULT_PORT: u16 = 5432;

/// Everything the driver needs to know.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresConfig {
    /// Where the server listens; see [`socket_in`] for unix sockets.
    pub endpoint: Endpoint,
    /// Role to log in as.
    pub user: String,
    /// Password, if the server asks for one.
    pub password: Option<String>,
    /// Database to use.
    pub database: String,
    /// `application_name` of every connection.
    pub application_name: String,
    /// Command-line options for the server's process (`-c geqo=off`), as libpq's `options`.
    pub options: Option<String>,
    /// Whether connections are encrypted.
    pub encryption: Encryption,
    /// Whether a SCRAM log-in is bound to the server's certificate.
    pub channel_binding: ChannelBinding,
    /// How long connecting and every answer while connecting may take; `None`: 10 s.
    pub connect_limit: Option<Duration>,
    /// Session settings, applied in order when connecting and read back.
    pub settings: Vec<(String, String)>,
    /// The operations, in the order of the load's.
    pub operations: Vec<SqlOperation>,
}

/// Whether connections are encrypted: libpq's `sslmode` (PostgreSQL's documentation, section 34.19.3). Unix sockets
/// never are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// Never: `disable`.
    #[default]
    Never,
    /// Only if the server's `pg_hba.conf` refuses a connection without: `allow`.
    IfDemanded(TlsConfig),
    /// If the server can: `prefer`. A server whose TLS fails is used without.
    IfOffered(TlsConfig),
    /// Always: `require`, `verify-ca`, `verify-full`, by what [`TlsConfig::verify`] says.
    Always(TlsConfig),
}

/// Whether SCRAM log-ins are bound to the TLS session, so that nobody can sit in between (RFC 5802, section 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelBinding {
    /// Never.
    Never,
    /// If the server offers it.
    #[default]
    IfOffered,
    /// A log-in without it is refused.
    Always,
}

/// The socket of a server with that `unix_socket_directories` and `port`.
#[must_use]
pub fn socket_in(directory: &Path, port: u16) -> Endpoint {
    Endpoint::Unix(directory.join(format!(".s.PGSQL.{port}")))
}

impl Default for PostgresConfig {
    /// Role and database `postgres` on this machine's usual port, without encryption, without operations.
    fn default() -> Self {
        Self {
            endpoint: Endpoint::Tcp { host: "localhost".into(), port: DEFAULT_PORT },
            user: "postgres".into(),
            password: None,
            database: "postgres".into(),
            application_name: "weigh".into(),
            options: None,
            encryption: Encryption::Never,
            channel_binding: ChannelBinding::IfOffered,
            connect_limit: None,
            settings: Vec::new(),
            operations: Vec::new(),
        }
    }
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresConfig")
            .field("endpoint", &self.endpoint)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "…"))
            .field("database", &self.database)
            .field("encryption", &self.encryption)
            .field("settings", &self.settings)
            .field("operations", &self.operations)
            .finish_non_exhaustive()
    }
}

impl PostgresConfig {
    /// Checks what can be checked without a server.
    ///
    /// # Errors
    /// An operation without statements, or with a parameter number that it does not have; files of TLS that cannot
    /// be used.
    pub fn build(self) -> Result<PostgresDriver, DriverError> {
        let statements = self.operations.iter().map(SqlOperation::statements).collect::<Result<_, _>>()?;
        let security = Security::new(&self)?;
        Ok(PostgresDriver { config: Arc::new(self), security, statements })
    }

    /// What is asked for of TLS, if anything may be encrypted at all.
    #[must_use]
    pub fn tls(&self) -> Option<&TlsConfig> {
        match (&self.encryption, &self.endpoint) {
            (Encryption::Never, _) | (_, Endpoint::Unix(_)) => None,
            (Encryption::IfDemanded(tls) | Encryption::IfOffered(tls) | Encryption::Always(tls), _) => {
                Some(tls)
            }
        }
    }
}

/// Makes connections to a PostgreSQL server.
#[derive(Debug)]
pub struct PostgresDriver {
    config: Arc<PostgresConfig>,
    security: Security,
    /// Renumbered statements per operation.
    statements: Vec<Vec<Statement>>,
}

impl Driver for PostgresDriver {
    fn connect(&self, _client: usize) -> Result<Connection, DriverError> {
        let mut dialogue = connect(&self.config, &self.security)?;
        settings::apply(&mut dialogue, &self.config.settings)?;
        let mut templates = Vec::with_capacity(self.statements.len());
        for (number, (operation, statements)) in
            self.config.operations.iter().zip(&self.statements).enumerate()
        {
            let prepared = prepare(&mut dialogue, number, operation, statements)?;
            templates.push(OperationTemplate::new(&prepared, operation.repeat));
        }
        dialogue.into_wire()?.into_connection(PostgresProtocol::new(templates))
    }
}
