//! Connections of our own, for set-up, checks and counters: never for the load.
//!
//! Messages are the server's own words ([`words`]), in one line.

use std::path::Path;
use std::time::Duration;

use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};

use super::conf::Settings;
use crate::systems::SystemError;

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

/// The configuration of a URL, with the password from `PGPASSWORD` if the URL has none.
///
/// # Errors
/// When it is not a PostgreSQL URL.
pub(super) fn config_of(url: &str) -> Result<Config, SystemError> {
    // The URL may hold a password: the error must not repeat it.
    let mut config: Config = url.parse().map_err(|error: postgres::Error| {
        SystemError::new("`system.url` is not a PostgreSQL URL").caused_by(error)
    })?;
    if config.get_password().is_none()
        && let Some(password) = std::env::var_os("PGPASSWORD")
    {
        config.password(password.as_encoded_bytes());
    }
    if config.get_user().is_none() {
        config.user(&crate::host::User::own().name);
    }
    config.application_name("weigh").connect_timeout(Duration::from_secs(10));
    Ok(config)
}

/// Connects to the user's own server.
///
/// # Errors
/// One line that says what is wrong, and what to do about it.
pub(super) fn connect_url(url: &str) -> Result<Client, SystemError> {
    let config = config_of(url)?;
    config.connect(NoTls).map_err(|error| explain(&config, error))
}

fn explain(config: &Config, error: postgres::Error) -> SystemError {
    let place = place(config);
    let user = config.get_user().unwrap_or_default().to_owned();
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
pub(super) fn place(config: &Config) -> String {
    use postgres::config::Host;
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => format!("{name}:{port}"),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => format!("localhost:{port}"),
    };
    format!("{host}/{}", config.get_dbname().unwrap_or_default())
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
