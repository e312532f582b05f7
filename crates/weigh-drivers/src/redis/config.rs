//! Where to connect, as whom, and what to run.

use std::fmt;
use std::sync::Arc;

use weigh_load::{Connection, Driver, DriverError};

use super::client::RedisClient;
use super::command::CheckedCommand;
use super::login::log_in;
use crate::command::CommandOperation;
use crate::keyvalue::{Expectation, take_options};
use crate::transport::{Endpoint, Protocol, ServerUrl, TlsConfig, TlsConnector};

/// The usual port.
const PORT: u16 = 6379;

/// Version of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RespVersion {
    /// RESP2: every server.
    #[default]
    Two,
    /// RESP3: Redis 6 and later.
    Three,
}

/// Everything the driver needs to know.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisConfig {
    /// Where the server listens.
    pub endpoint: Endpoint,
    /// TLS, if the server wants it.
    pub tls: Option<TlsConfig>,
    /// User of the access control list; `None`: the default user.
    pub user: Option<String>,
    /// Its password, or the one of `requirepass`.
    pub password: Option<String>,
    /// Number of the database to SELECT.
    pub database: u32,
    /// Version of the protocol.
    pub protocol: RespVersion,
    /// The operations, in the order of the load's.
    pub operations: Vec<CommandOperation>,
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RedisConfig")
            .field("endpoint", &self.endpoint)
            .field("tls", &self.tls)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "…"))
            .field("database", &self.database)
            .field("protocol", &self.protocol)
            .field("operations", &self.operations)
            .finish()
    }
}

impl RedisConfig {
    /// What a URL says, without operations: `redis://user:password@host:port/database?protocol=3`. `rediss://` and
    /// `valkeys://` mean TLS, with the options of [`TlsConfig::from_options`]. `redis:///path/of/socket?db=1` is a unix socket.
    ///
    /// # Errors
    /// A scheme, an option or a number that is not known.
    pub fn from_url(url: &ServerUrl) -> Result<Self, DriverError> {
        let encrypted = match url.scheme.as_str() {
            "redis" | "valkey" => false,
            "rediss" | "valkeys" => true,
            other => return Err(DriverError::new(format!("`{other}://` is not a URL of Redis"))),
        };
        let endpoint = url.endpoint(PORT);
        let mut config = Self {
            tls: encrypted.then(TlsConfig::default),
            user: url.user.clone(),
            password: url.password.clone(),
            database: 0,
            protocol: RespVersion::Two,
            operations: Vec::new(),
            endpoint,
        };
        let path = url.path.trim_start_matches('/');
        if url.host.is_some() && !path.is_empty() {
            config.database = database(path)?;
        }
        let mut tls = config.tls.take();
        take_options(url, &mut tls, "`protocol` and `db`, and with TLS `tls_…`,", |name, value| {
            match (name, value) {
                ("protocol", "2") => config.protocol = RespVersion::Two,
                ("protocol", "3") => config.protocol = RespVersion::Three,
                ("protocol", other) => {
                    return Err(DriverError::new(format!("`protocol` must be 2 or 3, not `{other}`")));
                }
                ("db", number) => config.database = database(number)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        config.tls = tls;
        Ok(config)
    }

    /// Checks what can be checked without a server.
    ///
    /// # Errors
    /// Names the operation whose command is impossible, and why; a file of the TLS configuration.
    pub fn build(self) -> Result<RedisDriver, DriverError> {
        let commands: Vec<_> =
            self.operations.iter().map(CheckedCommand::new).collect::<Result<_, DriverError>>()?;
        let expectations = commands.iter().map(|command| command.expectation.clone()).collect();
        let tls = self.tls.as_ref().map(TlsConnector::new).transpose()?;
        Ok(RedisDriver { config: self, tls, commands: commands.into(), expectations })
    }
}

fn database(text: &str) -> Result<u32, DriverError> {
    text.parse()
        .map_err(|error| DriverError::caused(format!("`{text}` is not the number of a database"), error))
}

/// Makes connections to a Redis server.
#[derive(Debug)]
pub struct RedisDriver {
    config: RedisConfig,
    tls: Option<TlsConnector>,
    commands: Arc<[CheckedCommand]>,
    expectations: Arc<[Expectation]>,
}

impl RedisDriver {
    /// The state of a connection that is logged in.
    pub(crate) fn protocol(&self) -> impl Protocol + use<> {
        RedisClient::new(&self.commands, &self.expectations)
    }
}

impl Driver for RedisDriver {
    fn connect(&self, _client: usize) -> Result<Connection, DriverError> {
        log_in(&self.config, self.tls.as_ref())?.into_connection(self.protocol())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> Result<RedisConfig, DriverError> {
        RedisConfig::from_url(&ServerUrl::parse(url).unwrap())
    }

    #[test]
    fn urls_say_where_and_as_whom() {
        let config = |url: &str| self::config(url).unwrap();
        let plain = config("redis://localhost");
        assert_eq!((plain.endpoint.to_string().as_str(), plain.database), ("localhost:6379", 0));
        assert_eq!(
            (plain.tls, plain.user, plain.password, plain.protocol),
            (None, None, None, RespVersion::Two)
        );
        let full = config("valkeys://me:s%40cret@[::1]:7000/3?protocol=3");
        assert_eq!((full.endpoint.to_string().as_str(), full.database), ("[::1]:7000", 3));
        assert_eq!((full.user.as_deref(), full.password.as_deref()), (Some("me"), Some("s@cret")));
        assert!(full.tls.is_some() && full.protocol == RespVersion::Three);
        assert!(!format!("{full:?}").contains("cret"));
        let old = config("redis://:word@h/");
        assert_eq!((old.user, old.password.as_deref(), old.database), (None, Some("word"), 0));
        let socket = config("redis:///run/redis.sock?db=2");
        assert_eq!((socket.endpoint, socket.database), (Endpoint::Unix("/run/redis.sock".into()), 2));
    }

    #[test]
    fn what_a_url_cannot_say_is_refused() {
        let refusal = |url: &str| config(url).unwrap_err().to_string();
        assert_eq!(refusal("http://h"), "`http://` is not a URL of Redis");
        assert_eq!(refusal("redis://h/x"), "`x` is not the number of a database");
        assert_eq!(refusal("redis://h?tls_ca=a"), "option `tls_ca` needs TLS: `rediss://`");
        assert_eq!(refusal("redis://h?protocol=4"), "`protocol` must be 2 or 3, not `4`");
        assert_eq!(
            refusal("redis://h?timeout=4"),
            "`timeout` is not an option of this URL; `protocol` and `db`, and with TLS `tls_…`, are"
        );
    }

    #[test]
    fn impossible_operations_are_refused_without_a_server() {
        let operation = CommandOperation { name: "a".into(), command: "GET $1".into(), ..Default::default() };
        let config = RedisConfig { operations: vec![operation], ..config("redis://h").unwrap() };
        let text = config.build().unwrap_err().to_string();
        assert_eq!(text, "operation `a`: `$1` is used and there are 0 parameters");
    }
}
