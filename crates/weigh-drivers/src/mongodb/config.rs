//! Where to connect, as whom, and what to run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use weigh_load::{Connection, Driver, DriverError};

use super::client::MongodbClient;
use super::command::CommandTemplate;
use super::dialogue::Dialogue;
use super::login::{SaltedCache, log_in};
use super::object_id::ObjectIds;
use super::reply::Batches;
use crate::command::CommandOperation;
use crate::transport::{ANSWER_LIMIT, Endpoint, Protocol, TlsConfig, TlsConnector, TlsWords, Wire};

/// How a URL asks for what TLS lacks.
const TLS_WORDS: TlsWords = TlsWords {
    ca: "tlsCAFile=FILE",
    certificate: "tlsCertificateKeyFile=FILE",
    chain: "tlsAllowInvalidHostnames=true",
};

/// Everything the driver needs to know.
#[derive(Clone, PartialEq, Eq)]
pub struct MongodbConfig {
    /// Where the server listens.
    pub endpoint: Endpoint,
    /// TLS, if it is spoken.
    pub tls: Option<TlsConfig>,
    /// User to log in as; nobody if `None`.
    pub user: Option<String>,
    /// Password of the user.
    pub password: Option<String>,
    /// Database that knows the user.
    pub auth_source: String,
    /// How to log in; `None`: SCRAM-SHA-256 if the server has it for the user, else SCRAM-SHA-1.
    pub mechanism: Option<Mechanism>,
    /// Database of commands that do not say one (`$db`).
    pub database: String,
    /// Name in the server's log and statistics.
    pub application_name: String,
    /// Write concern of `insert`, `update`, `delete` and `findAndModify` without one.
    pub write_concern: Option<WriteConcern>,
    /// Read concern (`majority`) of `find`, `aggregate`, `count` and `distinct` without one.
    pub read_concern: Option<String>,
    /// Which member of a replica set may answer; sent with every command.
    pub read_preference: ReadPreference,
    /// The replica set the server must belong to.
    pub replica_set: Option<String>,
    /// The operations, in the order of the load's.
    pub operations: Vec<CommandOperation>,
}

/// How a user logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// SCRAM with SHA-1, of servers before 4.0.
    ScramSha1,
    /// SCRAM with SHA-256.
    ScramSha256,
    /// The password in clear text (LDAP; FerretDB on PostgreSQL).
    Plain,
}

/// When a server acknowledges a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteConcern {
    /// How many members have it: a number, `majority` or a tag. `0`: no reply at all.
    pub w: Option<String>,
    /// Whether it must be in the journal.
    pub journal: Option<bool>,
    /// How long the server waits for the others.
    pub timeout: Option<Duration>,
}

/// Which member of a replica set may answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadPreference {
    /// Only the primary.
    #[default]
    Primary,
    /// The primary, or else a secondary.
    PrimaryPreferred,
    /// Only a secondary.
    Secondary,
    /// A secondary, or else the primary.
    SecondaryPreferred,
    /// Any.
    Nearest,
}

impl Mechanism {
    /// Every mechanism.
    pub(super) const ALL: [Self; 3] = [Self::ScramSha256, Self::ScramSha1, Self::Plain];

    /// Its name in the protocol and in URLs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ScramSha1 => "SCRAM-SHA-1",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::Plain => "PLAIN",
        }
    }
}

impl ReadPreference {
    /// Every preference.
    pub(super) const ALL: [Self; 5] =
        [Self::Primary, Self::PrimaryPreferred, Self::Secondary, Self::SecondaryPreferred, Self::Nearest];

    /// Its name in the protocol and in URLs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::PrimaryPreferred => "primaryPreferred",
            Self::Secondary => "secondary",
            Self::SecondaryPreferred => "secondaryPreferred",
            Self::Nearest => "nearest",
        }
    }
}

impl fmt::Debug for MongodbConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MongodbConfig")
            .field("endpoint", &self.endpoint)
            .field("tls", &self.tls)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "…"))
            .field("auth_source", &self.auth_source)
            .field("mechanism", &self.mechanism)
            .field("database", &self.database)
            .field("application_name", &self.application_name)
            .field("write_concern", &self.write_concern)
            .field("read_concern", &self.read_concern)
            .field("read_preference", &self.read_preference)
            .field("replica_set", &self.replica_set)
            .field("operations", &self.operations)
            .finish()
    }
}

impl MongodbConfig {
    /// The database `test` of a server, as nobody, without operations.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            tls: None,
            user: None,
            password: None,
            auth_source: "admin".to_owned(),
            mechanism: None,
            database: "test".to_owned(),
            application_name: "weigh".to_owned(),
            write_concern: None,
            read_concern: None,
            read_preference: ReadPreference::Primary,
            replica_set: None,
            operations: Vec::new(),
        }
    }

    /// Checks what can be checked without a server.
    ///
    /// # Errors
    /// An operation that is no command, or with a parameter number that it does not have.
    pub fn build(self) -> Result<MongodbDriver, DriverError> {
        let command = |operation| CommandTemplate::new(operation, &self);
        let commands = self.operations.iter().map(command).collect::<Result<_, _>>()?;
        let tls = self.connector()?;
        Ok(MongodbDriver { commands, tls, salted: SaltedCache::default(), config: Arc::new(self) })
    }

    /// TLS as asked for, its files read.
    pub(super) fn connector(&self) -> Result<Option<TlsConnector>, DriverError> {
        let connector = |tls| TlsConnector::new(tls).map(|connector| connector.with_words(TLS_WORDS));
        self.tls.as_ref().map(connector).transpose()
    }

    /// Connects and logs in.
    pub(super) fn open(
        &self,
        tls: Option<&TlsConnector>,
        salted: &SaltedCache,
        limit: Duration,
    ) -> Result<Dialogue, DriverError> {
        let mut wire = Wire::connect_within(&self.endpoint, limit)?;
        if let Some(connector) = tls {
            let host = match &self.endpoint {
                Endpoint::Tcp { host, .. } => host,
                // A socket has no name; `server_name` of the config can give one.
                Endpoint::Unix(_) => "localhost",
            };
            wire = wire.secure(connector, host, &[])?;
        }
        let mut dialogue = Dialogue::new(wire);
        log_in(&mut dialogue, self, salted)?;
        Ok(dialogue)
    }
}

/// Makes connections to a server that speaks MongoDB's protocol.
#[derive(Debug)]
pub struct MongodbDriver {
    config: Arc<MongodbConfig>,
    commands: Vec<CommandTemplate>,
    tls: Option<TlsConnector>,
    /// So that many clients hash the password once.
    salted: SaltedCache,
}

impl MongodbDriver {
    /// The state of a connection that is logged in.
    pub(crate) fn protocol(&self, is_secure: bool) -> Result<impl Protocol + use<>, DriverError> {
        // Inside TLS requests are sealed ahead of the clock, so none can be put in between.
        let batches = if is_secure { Batches::One } else { Batches::All };
        Ok(MongodbClient::new(&self.commands, batches, ObjectIds::new()?))
    }
}

impl Driver for MongodbDriver {
    fn connect(&self, _client: usize) -> Result<Connection, DriverError> {
        let mut dialogue = self.config.open(self.tls.as_ref(), &self.salted, ANSWER_LIMIT)?;
        if self.commands.iter().any(|command| !command.shape.acknowledged) {
            dialogue.check_silence()?;
        }
        let wire = dialogue.into_wire();
        let protocol = self.protocol(wire.is_secure())?;
        wire.into_connection(protocol)
    }
}
