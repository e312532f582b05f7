//! Where to connect, as whom, and what to run.

use std::fmt;
use std::sync::Arc;

use weigh_load::{Connection, Driver, DriverError};

use super::client::MemcachedClient;
use super::command::CheckedCommand;
use super::login::log_in;
use super::reply::expectations;
use crate::command::CommandOperation;
use crate::keyvalue::{Expectation, take_options};
use crate::transport::{Endpoint, Protocol, ServerUrl, TlsConfig, TlsConnector};

/// The usual port.
const PORT: u16 = 11_211;

/// Everything the driver needs to know.
#[derive(Clone, PartialEq, Eq)]
pub struct MemcachedConfig {
    /// Where the server listens.
    pub endpoint: Endpoint,
    /// TLS, if the server wants it.
    pub tls: Option<TlsConfig>,
    /// User in the server's file of users (`-Y`); SASL is for the binary protocol, which is not spoken.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<String>,
    /// The operations, in the order of the load's.
    pub operations: Vec<CommandOperation>,
}

impl fmt::Debug for MemcachedConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MemcachedConfig")
            .field("endpoint", &self.endpoint)
            .field("tls", &self.tls)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "…"))
            .field("operations", &self.operations)
            .finish()
    }
}

impl MemcachedConfig {
    /// What a URL says, without operations: `memcached://user:password@host:port`. `memcacheds://` means TLS, with the
    /// options of [`TlsConfig::from_options`]. `memcached:///path/of/socket` is a unix socket.
    ///
    /// # Errors
    /// A scheme, an option or a path that means nothing.
    pub fn from_url(url: &ServerUrl) -> Result<Self, DriverError> {
        let mut tls = match url.scheme.as_str() {
            "memcached" => None,
            "memcacheds" => Some(TlsConfig::default()),
            other => return Err(DriverError::new(format!("`{other}://` is not a URL of memcached"))),
        };
        if url.host.is_some() && url.path.len() > 1 {
            return Err(DriverError::new(format!("`{}` means nothing to memcached", url.path)));
        }
        take_options(url, &mut tls, "with TLS `tls_…`", |_, _| Ok(false))?;
        Ok(Self {
            endpoint: url.endpoint(PORT),
            tls,
            user: url.user.clone(),
            password: url.password.clone(),
            operations: Vec::new(),
        })
    }

    /// Checks what can be checked without a server.
    ///
    /// # Errors
    /// Names the operation whose command is impossible, and why; a file of the TLS configuration.
    pub fn build(self) -> Result<MemcachedDriver, DriverError> {
        let commands: Vec<_> =
            self.operations.iter().map(CheckedCommand::new).collect::<Result<_, DriverError>>()?;
        let expectations = expectations(&commands);
        let tls = self.tls.as_ref().map(TlsConnector::new).transpose()?;
        Ok(MemcachedDriver { config: self, tls, commands: commands.into(), expectations })
    }
}

/// Makes connections to a memcached server.
#[derive(Debug)]
pub struct MemcachedDriver {
    config: MemcachedConfig,
    tls: Option<TlsConnector>,
    commands: Arc<[CheckedCommand]>,
    expectations: Arc<[Expectation]>,
}

impl MemcachedDriver {
    /// The state of a connection that is logged in.
    pub(crate) fn protocol(&self) -> impl Protocol + use<> {
        MemcachedClient::new(&self.commands, &self.expectations)
    }
}

impl Driver for MemcachedDriver {
    fn connect(&self, _client: usize) -> Result<Connection, DriverError> {
        log_in(&self.config, self.tls.as_ref())?.into_connection(self.protocol())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> Result<MemcachedConfig, DriverError> {
        MemcachedConfig::from_url(&ServerUrl::parse(url).unwrap())
    }

    #[test]
    fn urls_say_where_and_as_whom() {
        let plain = config("memcached://localhost").unwrap();
        assert_eq!((plain.endpoint.to_string().as_str(), plain.tls), ("localhost:11211", None));
        let full = config("memcacheds://me:s%40cret@h:7000/?tls_verify=none").unwrap();
        assert_eq!((full.user.as_deref(), full.password.as_deref()), (Some("me"), Some("s@cret")));
        assert!(full.tls.is_some() && !format!("{full:?}").contains("cret"));
        let socket = config("memcached:///run/m.sock").unwrap();
        assert_eq!(socket.endpoint, Endpoint::Unix("/run/m.sock".into()));
    }

    #[test]
    fn what_a_url_cannot_say_is_refused() {
        let refusal = |url: &str| config(url).unwrap_err().to_string();
        assert_eq!(refusal("redis://h"), "`redis://` is not a URL of memcached");
        assert_eq!(refusal("memcached://h/1"), "`/1` means nothing to memcached");
        assert_eq!(refusal("memcached://h?x=1"), "`x` is not an option of this URL; with TLS `tls_…` are");
        assert_eq!(refusal("memcached://h?tls_ca=x"), "option `tls_ca` needs TLS: `memcacheds://`");
    }
}
