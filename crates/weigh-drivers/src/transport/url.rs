//! What a URL says about a server.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use url::{Host, Url};
use weigh_load::DriverError;

use super::endpoint::Endpoint;

/// A URL, taken apart: `scheme://user:password@host:port/path?option=value`.
///
/// Without a host the path names a unix socket; a host that is a percent-encoded path does too.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl {
    /// In lower case.
    pub scheme: String,
    /// Decoded; `None` when absent or empty.
    pub user: Option<String>,
    /// Decoded; `None` when absent or empty.
    pub password: Option<String>,
    /// Decoded; `None` when absent or empty.
    pub host: Option<String>,
    /// `None` when not given.
    pub port: Option<u16>,
    /// With its leading `/`, as written; empty when there is none.
    pub path: String,
    /// What follows `?`, as written.
    pub query: Option<String>,
}

impl std::fmt::Debug for ServerUrl {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ServerUrl")
            .field("scheme", &self.scheme)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "…"))
            .field("host", &self.host)
            .field("port", &self.port)
            .field("path", &self.path)
            .field("query", &self.query)
            .finish()
    }
}

impl ServerUrl {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// What is wrong with it; the message does not repeat it, for it may hold a password.
    pub fn parse(text: &str) -> Result<Self, DriverError> {
        let url = Url::parse(text).map_err(|error| match names_several(text) {
            true => DriverError::new("the URL names several servers; a load is put on one: name one host"),
            false => DriverError::caused("not a URL of a server", error),
        })?;
        if url.cannot_be_a_base() {
            return Err(DriverError::new("not a URL of a server: `://` is missing behind its scheme"));
        }
        let host = match url.host() {
            None => None,
            Some(Host::Domain(name)) => Some(decoded(name)?).filter(|name| !name.is_empty()),
            Some(Host::Ipv4(address)) => Some(address.to_string()),
            Some(Host::Ipv6(address)) => Some(address.to_string()),
        };
        let given = |text: &str| decoded(text).map(|text| Some(text).filter(|text| !text.is_empty()));
        Ok(Self {
            scheme: url.scheme().to_owned(),
            user: given(url.username())?,
            password: url.password().map(given).transpose()?.flatten(),
            host,
            port: url.port(),
            path: url.path().to_owned(),
            query: url.query().map(ToOwned::to_owned),
        })
    }

    /// The endpoint: TCP with `port` where none is given, or a unix socket when there is no host but a path.
    #[must_use]
    pub fn endpoint(&self, port: u16) -> Endpoint {
        match &self.host {
            Some(path) if path.starts_with('/') => Endpoint::Unix(PathBuf::from(path)),
            Some(host) => Endpoint::Tcp { host: host.clone(), port: self.port.unwrap_or(port) },
            None if self.path.len() > 1 => Endpoint::Unix(PathBuf::from(lossy(&self.path))),
            None => Endpoint::Tcp { host: "localhost".to_owned(), port: self.port.unwrap_or(port) },
        }
    }

    /// The decoded options of the query, in order.
    pub fn options(&self) -> impl Iterator<Item = (String, String)> {
        let query = self.query.as_deref().unwrap_or_default();
        url::form_urlencoded::parse(query.as_bytes())
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
    }
}

/// `scheme://user:password@host:port,host:port/…`: the ports make it no URL.
fn names_several(text: &str) -> bool {
    let authority = text.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
    authority.is_some_and(|authority| authority.rsplit('@').next().is_some_and(|hosts| hosts.contains(',')))
}

fn decoded(text: &str) -> Result<String, DriverError> {
    let bytes = percent_decode_str(text).decode_utf8();
    bytes.map(Into::into).map_err(|error| DriverError::caused("a part of the URL is not UTF-8", error))
}

fn lossy(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ServerUrl {
        ServerUrl::parse(text).unwrap()
    }

    #[test]
    fn the_parts_are_found_and_decoded() {
        let url = parse("redis://me:p%40ss@Db.example:7000/2?protocol=3&x=a%20b");
        assert_eq!(
            (url.user.as_deref(), url.password.as_deref(), url.host.as_deref(), url.port),
            (Some("me"), Some("p@ss"), Some("Db.example"), Some(7000))
        );
        assert_eq!((url.scheme.as_str(), url.path.as_str()), ("redis", "/2"));
        let options: Vec<_> = url.options().collect();
        assert_eq!(options, [("protocol".into(), "3".into()), ("x".into(), "a b".into())]);
        assert!(!format!("{url:?}").contains("p@ss"));
    }

    #[test]
    fn endpoints_are_tcp_or_unix() {
        let shown = |text: &str| parse(text).endpoint(11_211).to_string();
        assert_eq!(shown("memcached://127.0.0.1"), "127.0.0.1:11211");
        assert_eq!(shown("memcached://[::1]:1"), "[::1]:1");
        assert_eq!(shown("memcached:///run/m%20c.sock"), "/run/m c.sock");
        assert_eq!(shown("memcached://%2Frun%2Fm.sock"), "/run/m.sock");
        assert_eq!(shown("memcached://"), "localhost:11211");
    }

    #[test]
    fn a_list_of_hosts_is_named_as_one() {
        let error = ServerUrl::parse("mongodb://me:a,b@h1:1,h2:2/db").unwrap_err().to_string();
        assert!(error.contains("several servers"), "{error}");
        let error = ServerUrl::parse("redis://me:a,b@h1:99999/0").unwrap_err().to_string();
        assert_eq!(error, "not a URL of a server");
    }

    #[test]
    fn what_is_no_url_is_refused_without_repeating_it() {
        for text in ["", "redis", "redis:secret@host", "redis://h:99999", "redis://%ff@h"] {
            let error = ServerUrl::parse(text).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
