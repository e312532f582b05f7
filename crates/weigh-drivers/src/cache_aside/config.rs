//! What is asked, where it is cached, and under which keys.

use std::sync::Arc;
use std::time::Duration;

use weigh_load::{BlockingClient, Connection, Driver, DriverError};

use super::client::CacheAsideClient;
use super::session::CacheSession;
use crate::text::TextTemplate;
use crate::transport::Endpoint;

/// A reply of the store later than this breaks the connection.
const REPLY_LIMIT: Duration = Duration::from_secs(60);

/// Everything the driver needs to know.
pub struct CacheAsideConfig {
    /// Makes connections to the store; its operations are the load's.
    pub store: Arc<dyn Driver>,
    /// What is looked into first; `None`: the store is asked at once.
    pub cache: Option<CacheServer>,
    /// In the order of the store's operations.
    pub operations: Vec<CachedOperation>,
}

/// How an operation is cached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CachedOperation {
    /// Name as reported.
    pub name: String,
    /// `user:$1`; `None`: it goes to the store, whatever it is.
    pub key: Option<String>,
    /// How many parameters it has.
    pub parameters: usize,
}

/// A cache, and where it listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheServer {
    /// memcached.
    Memcached(Endpoint),
    /// Redis or Valkey.
    Redis(Endpoint),
}

impl CacheAsideConfig {
    /// Checks what can be checked without a server.
    ///
    /// # Errors
    /// A key with a number that the operation has no parameter for, with blanks in it, or without any text.
    pub fn build(self) -> Result<CacheAsideDriver, DriverError> {
        let keys = self.operations.iter().map(key).collect::<Result<Vec<_>, _>>()?;
        Ok(CacheAsideDriver { store: self.store, cache: self.cache, keys: keys.into() })
    }
}

fn key(operation: &CachedOperation) -> Result<Option<TextTemplate>, DriverError> {
    let Some(text) = &operation.key else { return Ok(None) };
    let of = |error: DriverError| error.of(format_args!("operation `{}`, `cached_as`", operation.name));
    if text.is_empty() || text.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        return Err(of(DriverError::new("a key has no blanks in it, and is not empty")));
    }
    TextTemplate::parse(text, operation.parameters).map(Some).map_err(of)
}

/// Makes pairs of connections: to the cache, if there is one, and to the store.
pub struct CacheAsideDriver {
    store: Arc<dyn Driver>,
    cache: Option<CacheServer>,
    keys: Arc<[Option<TextTemplate>]>,
}

impl Driver for CacheAsideDriver {
    fn connect(&self, client: usize) -> Result<Connection, DriverError> {
        let store = BlockingClient::new(self.store.connect(client)?, REPLY_LIMIT)?;
        let cache = self.cache.as_ref().map(CacheSession::open).transpose()?;
        Ok(Connection::Inline(Box::new(CacheAsideClient::new(store, cache, Arc::clone(&self.keys)))))
    }

    fn blocks_its_thread(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use weigh_load::null::NullDriver;

    use super::*;

    fn refusal(key: &str) -> Option<String> {
        let operation = CachedOperation { name: "read".into(), key: Some(key.into()), parameters: 1 };
        let store = Arc::new(NullDriver);
        CacheAsideConfig { store, cache: None, operations: vec![operation] }.build().err().map(|e| e.message)
    }

    #[test]
    fn impossible_keys_are_named() {
        assert_eq!(refusal("user:$1"), None);
        let expected = "operation `read`, `cached_as`: `$2` is used and there are 1 parameters";
        assert_eq!(refusal("user:$2").as_deref(), Some(expected));
        let expected = "operation `read`, `cached_as`: a key has no blanks in it, and is not empty";
        assert_eq!(refusal("user $1").as_deref(), Some(expected));
        assert_eq!(refusal("").as_deref(), Some(expected));
    }
}
