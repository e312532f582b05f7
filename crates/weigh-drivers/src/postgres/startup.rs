//! Connecting and logging in: trust, cleartext, md5 and SCRAM-SHA-256.

use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;

use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use weigh_load::DriverError;

use super::config::{PostgresConfig, Target};
use super::dialogue::{ANSWER_LIMIT, Dialogue, Socket, encoding};

/// A session that is logged in and ready.
pub(super) fn connect(config: &PostgresConfig) -> Result<Dialogue, DriverError> {
    let mut dialogue = Dialogue::new(open(&config.target)?);
    let parameters = [
        ("user", config.user.as_str()),
        ("database", &config.database),
        ("application_name", &config.application_name),
        ("client_encoding", "UTF8"),
    ];
    frontend::startup_message(parameters, &mut dialogue.out).map_err(encoding)?;
    dialogue.send()?;
    authenticate(&mut dialogue, config)?;
    dialogue.rows()?;
    Ok(dialogue)
}

fn open(target: &Target) -> Result<Socket, DriverError> {
    let refused = |error| DriverError::caused(format!("cannot connect to `{target}`"), error);
    let socket = match target {
        Target::Unix { .. } => Socket::Unix(UnixStream::connect(target.to_string()).map_err(refused)?),
        Target::Tcp { host, port } => {
            let addresses = (host.as_str(), *port).to_socket_addrs().map_err(refused)?;
            let mut last = std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address");
            let stream = addresses.into_iter().find_map(|address| {
                TcpStream::connect_timeout(&address, ANSWER_LIMIT).map_err(|error| last = error).ok()
            });
            Socket::Tcp(stream.ok_or_else(|| refused(last))?)
        }
    };
    socket.prepare().map_err(|error| DriverError::caused("the socket cannot be set up", error))?;
    Ok(socket)
}

/// Answers what the server asks until it is satisfied.
fn authenticate(dialogue: &mut Dialogue, config: &PostgresConfig) -> Result<(), DriverError> {
    loop {
        match dialogue.receive()? {
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
            Message::AuthenticationSasl(body) => scram(dialogue, &body, password(config)?)?,
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

/// SCRAM-SHA-256 (RFC 7677), without channel binding because there is no TLS.
fn scram(dialogue: &mut Dialogue, offer: &AuthenticationSaslBody, password: &str) -> Result<(), DriverError> {
    let refused = |error| DriverError::caused("the server failed to prove that it knows the password", error);
    let offered = offer.mechanisms().any(|mechanism| Ok(mechanism == SCRAM_SHA_256)).unwrap_or(false);
    if !offered {
        return Err(unsupported("SASL other than SCRAM-SHA-256"));
    }
    let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
    frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut dialogue.out).map_err(encoding)?;
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
    scram.finish(body.data()).map_err(refused)
}
