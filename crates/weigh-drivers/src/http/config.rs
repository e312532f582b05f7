//! Where to connect, what every request carries, and what to ask.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use weigh_load::{Connection, Driver, DriverError};

use super::operation::HttpOperation;
use super::protocol::{HttpProtocol, Operation};
use super::reply::{BodyExpect, Expectation};
use super::template::{Common, RequestTemplate};
use crate::text::TextTemplate;
use crate::transport::{Endpoint, Protocol, ServerUrl, TlsConfig, TlsConnector, Wire};

/// Ports of `http://` and `https://`; a `Host` leaves them out.
const PORT: u16 = 80;
const TLS_PORT: u16 = 443;

/// Protocols offered inside TLS.
const ALPN: [&[u8]; 1] = [b"http/1.1"];

/// Everything the driver needs to know.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// The server asked: its name is in `Host` and, with TLS, in the certificate.
    pub endpoint: Endpoint,
    /// Where to connect instead, the name staying as it is (`curl --connect-to`, an entry in `/etc/hosts`).
    pub connect_to: Option<Endpoint>,
    /// TLS; `None`: plain.
    pub tls: Option<TlsConfig>,
    /// Before every operation's path, percent-encoded; may be empty. A query in it leaves operations no path of
    /// their own.
    pub base_path: String,
    /// `Host` instead of the endpoint's name and port. With TLS the certificate is still the endpoint's, unless
    /// [`TlsConfig::server_name`] says otherwise.
    pub host_header: Option<String>,
    /// User of Basic authentication (RFC 7617).
    pub user: Option<String>,
    /// Password of `user`.
    pub password: Option<String>,
    /// Header fields of every request, as they are; an operation's own of equal name take their place.
    pub headers: Vec<(String, String)>,
    /// The operations, in the order of the load's.
    pub operations: Vec<HttpOperation>,
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpConfig")
            .field("endpoint", &self.endpoint)
            .field("connect_to", &self.connect_to)
            .field("tls", &self.tls)
            .field("base_path", &self.base_path)
            .field("host_header", &self.host_header)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "…"))
            .field("operations", &self.operations)
            .finish_non_exhaustive()
    }
}

impl HttpConfig {
    /// What an `http://` or `https://` URL says: its path and query become the base path, so that an operation with
    /// an empty path asks for the URL itself.
    ///
    /// # Errors
    /// Another scheme.
    pub fn from_url(url: &ServerUrl) -> Result<Self, DriverError> {
        let (port, tls) = match url.scheme.as_str() {
            "http" => (PORT, None),
            "https" => (TLS_PORT, Some(TlsConfig::default())),
            other => {
                return Err(DriverError::new(format!("`{other}://` is not the scheme of an HTTP server")));
            }
        };
        let query = url.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        // A lone slash is the URL's way of saying nothing.
        let path = if url.path == "/" { "" } else { &url.path };
        Ok(Self {
            endpoint: url.endpoint(port),
            connect_to: None,
            tls,
            base_path: format!("{path}{query}"),
            host_header: None,
            user: url.user.clone(),
            password: url.password.clone(),
            headers: Vec::new(),
            operations: Vec::new(),
        })
    }

    /// Checks what can be checked without a server, puts the requests together and reads the files TLS needs.
    ///
    /// # Errors
    /// Names the operation and what cannot be sent or expected.
    pub fn build(self) -> Result<HttpDriver, DriverError> {
        let common = Common { base_path: &self.base_path, headers: self.common_headers()? };
        let (mut operations, mut expectations) = (Vec::new(), Vec::new());
        for operation in &self.operations {
            let (built, expectation) = prepare(operation, &common)
                .map_err(|error| error.of(format_args!("operation `{}`", operation.name)))?;
            operations.push(built);
            expectations.push(expectation);
        }
        let tls = self.tls.as_ref().map(TlsConnector::new).transpose()?;
        Ok(HttpDriver {
            endpoint: self.connect_to.clone().unwrap_or_else(|| self.endpoint.clone()),
            server_name: host(&self.endpoint).to_owned(),
            tls,
            operations: operations.into(),
            expectations: expectations.into(),
        })
    }

    /// `Host`, `Authorization` and what the user wants in every request.
    fn common_headers(&self) -> Result<Vec<(String, String)>, DriverError> {
        let given = |name: &str| self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let mut headers = Vec::new();
        if !given("Host") {
            let host = self.host_header.clone().unwrap_or_else(|| self.authority());
            headers.push(("Host".to_owned(), literal(&host)));
        } else if self.host_header.is_some() {
            return Err(DriverError::new(
                "`Host` is given twice: as the host header and among the header fields",
            ));
        }
        if self.user.is_some() || self.password.is_some() {
            if given("Authorization") {
                return Err(DriverError::new(
                    "give a user and password or an `Authorization` field, not both",
                ));
            }
            headers.push(("Authorization".to_owned(), self.basic()?));
        }
        headers.extend(self.headers.iter().map(|(name, value)| (name.clone(), literal(value))));
        Ok(headers)
    }

    /// Name and port of the endpoint, as `Host` wants them.
    fn authority(&self) -> String {
        let usual = if self.tls.is_some() { TLS_PORT } else { PORT };
        match &self.endpoint {
            Endpoint::Tcp { host, port } if *port == usual && host.contains(':') => format!("[{host}]"),
            Endpoint::Tcp { host, port } if *port == usual => host.clone(),
            Endpoint::Tcp { .. } => self.endpoint.to_string(),
            Endpoint::Unix(_) => host(&self.endpoint).to_owned(),
        }
    }

    fn basic(&self) -> Result<String, DriverError> {
        let user = self.user.as_deref().unwrap_or_default();
        if user.contains(':') {
            let text =
                format!("the user `{user}` has a `:` in it, which Basic authentication does not allow");
            return Err(DriverError::new(text));
        }
        let password = self.password.as_deref().unwrap_or_default();
        Ok(format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))))
    }
}

/// What is common to all requests is no template.
fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

/// The name of the server.
fn host(endpoint: &Endpoint) -> &str {
    match endpoint {
        Endpoint::Tcp { host, .. } => host,
        Endpoint::Unix(_) => "localhost",
    }
}

/// An operation's request and what its reply must look like.
fn prepare(operation: &HttpOperation, common: &Common<'_>) -> Result<(Operation, Expectation), DriverError> {
    let request = RequestTemplate::new(operation, common)?;
    let expect = &operation.expect;
    let no_body = operation.method == "HEAD";
    if no_body && (expect.body.is_some() || expect.body_length.is_some()) {
        return Err(DriverError::new("the reply to a HEAD has no body to be expected"));
    }
    if let (Some(_), Some(length)) = (&expect.body, expect.body_length) {
        return Err(DriverError::new(format!(
            "give the expected body or its length (`{length}`), not both: a body has one length"
        )));
    }
    let template = expect.body.as_deref().map(|body| TextTemplate::parse(body, operation.parameters));
    let (drawn_body, body) = match template.transpose()? {
        None => (None, BodyExpect::Any),
        Some(template) => match template.literal().map(<[u8]>::to_vec) {
            Some(bytes) => (None, BodyExpect::Fixed(bytes)),
            None => (Some(template), BodyExpect::Drawn),
        },
    };
    let expectation = Expectation { no_body, status: expect.status, body, body_length: expect.body_length };
    Ok((Operation { request, drawn_body }, expectation))
}

/// Makes connections to an HTTP server.
#[derive(Debug)]
pub struct HttpDriver {
    endpoint: Endpoint,
    server_name: String,
    tls: Option<TlsConnector>,
    operations: Arc<[Operation]>,
    expectations: Arc<[Expectation]>,
}

impl HttpDriver {
    /// The state of a connection.
    pub(crate) fn protocol(&self) -> impl Protocol + use<> {
        HttpProtocol::new(Arc::clone(&self.operations), Arc::clone(&self.expectations))
    }
}

impl Driver for HttpDriver {
    fn connect(&self, _client: usize) -> Result<Connection, DriverError> {
        let mut wire = Wire::connect(&self.endpoint)?;
        if let Some(connector) = &self.tls {
            wire = wire.secure(connector, &self.server_name, &ALPN)?;
        }
        wire.into_connection(self.protocol())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> HttpConfig {
        HttpConfig::from_url(&ServerUrl::parse(url).unwrap()).unwrap()
    }

    fn header(config: &HttpConfig, name: &str) -> String {
        let headers = config.common_headers().unwrap();
        headers.into_iter().find(|(known, _)| known == name).unwrap().1
    }

    fn refused(config: HttpConfig) -> String {
        config.build().err().unwrap().to_string()
    }

    fn with(operation: HttpOperation) -> HttpConfig {
        HttpConfig { operations: vec![operation], ..config("http://h/") }
    }

    #[test]
    fn a_url_says_where_and_what() {
        let plain = config("http://me:p%40ss@h:8080/a/b?c=d");
        assert_eq!(plain.endpoint.to_string(), "h:8080");
        assert_eq!((plain.base_path.as_str(), &plain.tls), ("/a/b?c=d", &None));
        assert_eq!(header(&plain, "Host"), "h:8080");
        // RFC 7617's own scheme: base64 of `me:p@ss`.
        assert_eq!(header(&plain, "Authorization"), "Basic bWU6cEBzcw==");
        assert!(!format!("{plain:?}").contains("p@ss"));
        let tls = config("https://[::1]/");
        assert_eq!(tls.endpoint.to_string(), "[::1]:443");
        assert!(tls.tls.is_some() && tls.base_path.is_empty());
        assert_eq!(header(&tls, "Host"), "[::1]");
        assert_eq!(header(&config("http://h:443"), "Host"), "h:443");
        assert_eq!(header(&config("https://h:443"), "Host"), "h");
        let error = HttpConfig::from_url(&ServerUrl::parse("ftp://h").unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "`ftp://` is not the scheme of an HTTP server");
    }

    #[test]
    fn hosts_and_authorizations_are_given_once() {
        let mapped = HttpConfig { host_header: Some("shop$1".into()), ..config("http://127.0.0.1:81/") };
        assert_eq!(header(&mapped, "Host"), "shop$$1");
        let headers = vec![("host".to_owned(), "x".to_owned())];
        assert!(refused(HttpConfig { headers, ..mapped }).contains("`Host` is given twice"));
        let headers = vec![("authorization".to_owned(), "Bearer x".to_owned())];
        assert!(refused(HttpConfig { headers, ..config("http://me@h/") }).contains("not both"));
        assert!(refused(config("http://m%3Ae:x@h/")).contains("has a `:` in it"));
    }

    #[test]
    fn what_cannot_be_asked_or_expected_names_its_operation() {
        let get = HttpOperation::new("read", "GET", "/");
        let bad_path = HttpOperation { path: "/a b".into(), ..get.clone() };
        assert_eq!(
            refused(with(bad_path)),
            "operation `read`: ` ` cannot stand in the path `/a b`; write `%20`"
        );
        let mut head = HttpOperation::new("look", "HEAD", "/");
        head.expect.body_length = Some(3);
        assert_eq!(refused(with(head)), "operation `look`: the reply to a HEAD has no body to be expected");
        let mut drawn = get.clone();
        drawn.expect.body = Some("$1".into());
        assert_eq!(refused(with(drawn)), "operation `read`: `$1` is used and there are 0 parameters");
        let mut both = get;
        both.expect.body = Some("a".into());
        both.expect.body_length = Some(2);
        assert!(refused(with(both)).contains("not both"));
    }
}
