//! Connecting and logging in: TLS as negotiated; trust, cleartext, md5 and SCRAM-SHA-256.

use std::io::{Read, Write};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{self, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use weigh_load::DriverError;

use super::config::{ChannelBinding, Encryption, PostgresConfig};
use super::dialogue::{Dialogue, encoding};
use crate::transport::{ANSWER_LIMIT, Endpoint, TlsConfig, TlsConnector, TlsWords, Wire};

/// SQLSTATE of a connection that `pg_hba.conf` does not let in as it is.
const NOT_LET_IN: &str = "28000";

/// libpq's spelling.
const WORDS: TlsWords =
    TlsWords { ca: "sslrootcert=FILE", certificate: "sslcert=FILE", chain: "sslmode=verify-ca" };

/// [`Encryption`] with its files read.
#[derive(Clone, Debug)]
pub(super) enum Security {
    Never,
    IfDemanded(TlsConnector),
    IfOffered(TlsConnector),
    Always(TlsConnector),
}

impl Security {
    /// # Errors
    /// Files that cannot be used.
    pub(super) fn new(config: &PostgresConfig) -> Result<Self, DriverError> {
        let connector = |tls: &TlsConfig| TlsConnector::new(tls).map(|connector| connector.with_words(WORDS));
        Ok(match (&config.encryption, &config.endpoint) {
            (Encryption::Never, _) | (_, Endpoint::Unix(_)) => Self::Never,
            (Encryption::IfDemanded(tls), _) => Self::IfDemanded(connector(tls)?),
            (Encryption::IfOffered(tls), _) => Self::IfOffered(connector(tls)?),
            (Encryption::Always(tls), _) => Self::Always(connector(tls)?),
        })
    }
}

/// A log-in that failed.
struct Refusal {
    error: DriverError,
    /// Another kind of connection may be let in.
    as_it_is: bool,
}

/// A session that is logged in and ready.
pub(super) fn connect(config: &PostgresConfig, security: &Security) -> Result<Dialogue, DriverError> {
    let plain = || log_in(open(config)?, config);
    let secure = |tls| log_in(secured(config, tls)?, config);
    let done = match security {
        Security::Never => plain(),
        Security::Always(tls) => secure(tls),
        Security::IfDemanded(tls) => match plain() {
            Err(refusal) if refusal.as_it_is => secure(tls),
            done => done,
        },
        Security::IfOffered(tls) => match offered(config, tls) {
            Err(refusal) if refusal.as_it_is => plain().map_err(|_| refusal),
            done => done,
        },
    };
    done.map_err(|refusal| refusal.error)
}

impl From<DriverError> for Refusal {
    fn from(error: DriverError) -> Self {
        Self { error, as_it_is: false }
    }
}

fn open(config: &PostgresConfig) -> Result<Wire, DriverError> {
    Wire::connect_within(&config.endpoint, config.connect_limit.unwrap_or(ANSWER_LIMIT))
}

/// Inside TLS, or not at all.
fn secured(config: &PostgresConfig, tls: &TlsConnector) -> Result<Wire, DriverError> {
    let mut wire = open(config)?;
    if !offers_tls(&mut wire)? {
        return Err(DriverError::new(format!(
            "the server at `{}` does not offer TLS: set `ssl = on` there, or `sslmode=disable` here",
            config.endpoint
        )));
    }
    wire.secure(tls, host(config), &[])
}

/// Inside TLS if the server offers it, plain if it does not.
fn offered(config: &PostgresConfig, tls: &TlsConnector) -> Result<Dialogue, Refusal> {
    let mut wire = open(config)?;
    if !offers_tls(&mut wire)? {
        return log_in(wire, config);
    }
    let wire = wire.secure(tls, host(config), &[]);
    log_in(wire.map_err(|error| Refusal { error, as_it_is: true })?, config)
}

fn host(config: &PostgresConfig) -> &str {
    match &config.endpoint {
        Endpoint::Tcp { host, .. } => host,
        // Never asked: unix sockets are not encrypted.
        Endpoint::Unix(_) => "localhost",
    }
}

/// SSLRequest. The answer is one byte, not a message; nothing may be read behind it.
fn offers_tls(wire: &mut Wire) -> Result<bool, DriverError> {
    let broke = |error| DriverError::caused("the connection broke while asking for TLS", error);
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    wire.write_all(&request).map_err(broke)?;
    let mut answer = [0];
    wire.read_exact(&mut answer).map_err(broke)?;
    match answer {
        [b'S'] => Ok(true),
        [b'N'] => Ok(false),
        _ => Err(DriverError::new("the server answered the question for TLS with neither yes nor no")),
    }
}

fn log_in(wire: Wire, config: &PostgresConfig) -> Result<Dialogue, Refusal> {
    let mut dialogue = Dialogue::new(wire);
    introduce(&mut dialogue, config)?;
    let done = authenticate(&mut dialogue, config).and_then(|()| dialogue.rows());
    match done {
        Ok(_) => Ok(dialogue),
        Err(error) => Err(Refusal { error, as_it_is: dialogue.last_code == NOT_LET_IN }),
    }
}

/// StartupMessage.
fn introduce(dialogue: &mut Dialogue, config: &PostgresConfig) -> Result<(), DriverError> {
    let parameters = [
        ("user", config.user.as_str()),
        ("database", &config.database),
        ("application_name", &config.application_name),
        ("client_encoding", "UTF8"),
    ];
    let options = config.options.as_deref().map(|options| ("options", options));
    frontend::startup_message(parameters.into_iter().chain(options), &mut dialogue.out).map_err(encoding)?;
    dialogue.send()
}

/// Answers what the server asks until it is satisfied.
fn authenticate(dialogue: &mut Dialogue, config: &PostgresConfig) -> Result<(), DriverError> {
    let mut bound = false;
    loop {
        match dialogue.receive()? {
            Message::AuthenticationOk if config.channel_binding == ChannelBinding::Always && !bound => {
                return Err(DriverError::new(
                    "the log-in is not bound to the TLS session, and `channel_binding` demands it",
                ));
            }
            Message::AuthenticationOk => return Ok(()),
            Message::AuthenticationCleartextPassword => {
                let password = password(config)?.to_owned();
                frontend::password_message(password.as_bytes(), &mut dialogue.out).map_err(encoding)?;
                dialogue.send()?;
            }
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(config.user.as_bytes(), password(config)?.as_bytes(), body.salt());
                frontend::password_message(hash.as_bytes(), &mut dialogue.out).map_err(encoding)?;
                dialogue.send()?;
            }
            Message::AuthenticationSasl(body) => bound = scram(dialogue, &body, config)?,
            Message::AuthenticationGss | Message::AuthenticationSspi => {
                return Err(unsupported("GSSAPI or SSPI"));
            }
            Message::AuthenticationKerberosV5 => return Err(unsupported("Kerberos 5")),
            _ => return Err(DriverError::new("the server answered the log-in with an unexpected message")),
        }
    }
}

fn password(config: &PostgresConfig) -> Result<&str, DriverError> {
    config.password.as_deref().ok_or_else(|| {
        DriverError::new(format!("the server asks for the password of `{}` and none is given", config.user))
    })
}

fn unsupported(method: &str) -> DriverError {
    DriverError::new(format!(
        "the server asks for `{method}` authentication; trust, password, md5 and scram-sha-256 are supported"
    ))
}

/// SCRAM-SHA-256 (RFC 7677), bound to the server's certificate where that can be; says whether it is.
fn scram(
    dialogue: &mut Dialogue,
    offer: &AuthenticationSaslBody,
    config: &PostgresConfig,
) -> Result<bool, DriverError> {
    let refused = |error| DriverError::caused("the server failed to prove that it knows the password", error);
    let offers = |name| offer.mechanisms().any(|mechanism| Ok(mechanism == name)).unwrap_or(false);
    let digest = match config.channel_binding {
        ChannelBinding::Never => None,
        ChannelBinding::IfOffered | ChannelBinding::Always => dialogue.endpoint_digest(),
    };
    let (mechanism, binding) = match digest {
        Some(digest) if offers(SCRAM_SHA_256_PLUS) => {
            (SCRAM_SHA_256_PLUS, sasl::ChannelBinding::tls_server_end_point(digest))
        }
        _ if !offers(SCRAM_SHA_256) => return Err(unsupported("SASL other than SCRAM-SHA-256")),
        // We could, the server does not offer it: said, so that nobody in between can have taken the offer away.
        Some(_) => (SCRAM_SHA_256, sasl::ChannelBinding::unrequested()),
        None => (SCRAM_SHA_256, sasl::ChannelBinding::unsupported()),
    };
    let mut scram = ScramSha256::new(password(config)?.as_bytes(), binding);
    frontend::sasl_initial_response(mechanism, scram.message(), &mut dialogue.out).map_err(encoding)?;
    dialogue.send()?;
    let Message::AuthenticationSaslContinue(body) = dialogue.receive()? else {
        return Err(DriverError::new("the server broke off SCRAM authentication"));
    };
    scram.update(body.data()).map_err(refused)?;
    frontend::sasl_response(scram.message(), &mut dialogue.out).map_err(encoding)?;
    dialogue.send()?;
    let Message::AuthenticationSaslFinal(body) = dialogue.receive()? else {
        return Err(DriverError::new("the server broke off SCRAM authentication"));
    };
    scram.finish(body.data()).map_err(refused)?;
    Ok(mechanism == SCRAM_SHA_256_PLUS)
}
