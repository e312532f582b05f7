//! Connections of our own, for set-up, checks and counters: never for the load.
//!
//! Messages are the server's own words ([`words`]), in one line.

use std::path::Path;
use std::time::Duration;

use postgres::config::{ChannelBinding, SslMode};
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;
use weigh_drivers::postgres::{ChannelBinding as Binding, Encryption, PostgresConfig};
use weigh_drivers::{Endpoint, ServerUrl, rustls_config};

use super::conf::Settings;
use super::drive;
use crate::systems::{SystemError, drivers};

/// Connecting takes no longer than this, if the URL says nothing else.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The superuser of private clusters.
pub(super) const USER: &str = "postgres";
/// The database of private clusters.
pub(super) const DATABASE: &str = "postgres";

/// Settings of an experiment that would get in the way of our own statements.
const OPTIONS: &str = "-c statement_timeout=0 -c lock_timeout=0 -c idle_session_timeout=0 \
                       -c idle_in_transaction_session_timeout=0 -c default_transaction_read_only=off";

/// Connects to a private server through its socket.
///
/// # Errors
/// The client library's error; readiness is polled with it.
pub(super) fn connect(socket_dir: &Path, major: u32) -> Result<Client, postgres::Error> {
    let options =
        if major >= 14 { OPTIONS.to_owned() } else { OPTIONS.replace("-c idle_session_timeout=0 ", "") };
    Config::new()
        .host_path(socket_dir)
        .port(5432)
        .user(USER)
        .dbname(DATABASE)
        .application_name("weigh")
        .options(&options)
        .connect_timeout(Duration::from_secs(5))
        .connect(NoTls)
}

/// Connects to the user's own server, as the load does: the same URL, environment, password file and certificates.
///
/// # Errors
/// One line that says what is wrong, and what to do about it.
pub(super) fn connect_url(url: &str) -> Result<Client, SystemError> {
    let wanted = drive::config_of(&ServerUrl::parse(url).map_err(drivers::failed)?)?;
    let config = translated(&wanted)?;
    let connected = match wanted.tls() {
        None => config.connect(NoTls),
        Some(tls) => config.connect(MakeRustlsConnect::new(rustls_config(tls).map_err(drivers::failed)?)),
    };
    connected.map_err(|error| explain(&wanted, error))
}

/// In the words of the client library.
fn translated(wanted: &PostgresConfig) -> Result<Config, SystemError> {
    let mut config = Config::new();
    config
        .user(&wanted.user)
        .dbname(&wanted.database)
        .application_name("weigh")
        .connect_timeout(wanted.connect_limit.unwrap_or(CONNECT_LIMIT))
        .ssl_mode(match wanted.encryption {
            Encryption::Never => SslMode::Disable,
            // It does not try without TLS first; either way may be taken.
            Encryption::IfDemanded(_) | Encryption::IfOffered(_) => SslMode::Prefer,
            Encryption::Always(_) => SslMode::Require,
        })
        .channel_binding(match wanted.channel_binding {
            Binding::Never => ChannelBinding::Disable,
            Binding::IfOffered => ChannelBinding::Prefer,
            Binding::Always => ChannelBinding::Require,
        });
    if let Some(password) = &wanted.password {
        config.password(password);
    }
    if let Some(options) = &wanted.options {
        config.options(options);
    }
    match &wanted.endpoint {
        Endpoint::Tcp { host, port } => {
            config.port(*port);
            match (wanted.tls().and_then(|tls| tls.server_name.as_deref()), host.parse()) {
                // Connected to by number, certified by name.
                (Some(name), Ok(address)) => config.host(name).hostaddr(address),
                _ => config.host(host),
            };
        }
        Endpoint::Unix(path) => {
            let (directory, port) = directory_and_port(path).ok_or_else(|| {
                SystemError::new(format!("`{}` is no socket of PostgreSQL", path.display()))
            })?;
            config.host_path(directory).port(port);
        }
    }
    Ok(config)
}

/// `/run/postgresql` and 5432 of `/run/postgresql/.s.PGSQL.5432`.
fn directory_and_port(socket: &Path) -> Option<(&Path, u16)> {
    let port = socket.file_name()?.to_str()?.strip_prefix(".s.PGSQL.")?.parse().ok()?;
    Some((socket.parent()?, port))
}

fn explain(wanted: &PostgresConfig, error: postgres::Error) -> SystemError {
    let place = place(wanted);
    let user = &wanted.user;
    match error.code() {
        Some(code) if *code == SqlState::INVALID_PASSWORD => {
            SystemError::new(format!("the password of `{user}` is wrong for the server at `{place}`"))
                .hint("PGPASSWORD=… weigh run …")
        }
        Some(_) => SystemError::new(format!("the server at `{place}` refuses `{user}`: {}", words(&error))),
        None if words(&error).contains("password missing") => {
            SystemError::new(format!("the server at `{place}` asks for a password of `{user}`"))
                .hint("PGPASSWORD=… weigh run …")
        }
        None => SystemError::new(format!("no connection to the server at `{place}`")).caused_by(error),
    }
}

/// Where a URL points, without user and password.
fn place(wanted: &PostgresConfig) -> String {
    let host = match &wanted.endpoint {
        Endpoint::Tcp { host, port } => format!("{host}:{port}"),
        Endpoint::Unix(path) => path.parent().unwrap_or(path).display().to_string(),
    };
    format!("{host}/{}", wanted.database)
}

/// What a server said, in its own words and one line; the client library's text if it was not the server.
pub(super) fn words(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => {
            let detail = said.detail().map(|text| format!(" ({text})")).unwrap_or_default();
            format!("{}{detail}", said.message())
        }
        None => {
            let mut text = error.to_string();
            let mut source = std::error::Error::source(error);
            while let Some(below) = source {
                let more = below.to_string();
                if !text.contains(&more) {
                    text = format!("{text}: {more}");
                }
                source = below.source();
            }
            text
        }
    }
}

/// `what`, with the server's words.
pub(super) fn failed(what: impl std::fmt::Display, error: &postgres::Error) -> SystemError {
    let mut failure = SystemError::new(format!("{what}: {}", words(error)));
    if let Some(hint) = error.as_db_error().and_then(|said| said.hint()) {
        failure = failure.hint(hint);
    }
    failure
}

/// Version as the server reports it: `15.18`, without the packager's remark.
///
/// # Errors
/// When the server does not answer.
pub(super) fn version(client: &mut Client) -> Result<String, SystemError> {
    let row = client
        .query_one("SELECT current_setting('server_version')", &[])
        .map_err(|error| failed("cannot ask for the server's version", &error))?;
    let text: &str = row.get(0);
    Ok(text.split_whitespace().next().unwrap_or(text).to_owned())
}

/// Sets settings in a session, as every session of the load does.
///
/// # Errors
/// When the server refuses one, in its words.
pub(super) fn set_in_session(client: &mut Client, settings: &Settings) -> Result<(), SystemError> {
    for (name, value) in settings {
        client
            .execute("SELECT set_config($1, $2, false)", &[name, value])
            .map_err(|error| failed(format!("the server refuses `{name} = {value}`"), &error))?;
    }
    Ok(())
}
