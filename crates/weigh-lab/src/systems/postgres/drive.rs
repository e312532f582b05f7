//! The load's connections: from a variant to the driver of `weigh-drivers`.

use std::path::Path;

use postgres::Config;
use postgres::config::Host;
use weigh_drivers::postgres::{PostgresConfig, Target};
use weigh_load::Driver;

use super::client::{DATABASE, USER};
use super::conf::Settings;
use crate::plan::ResolvedVariant;
use crate::systems::{SystemError, operations};

/// Seen in `pg_stat_activity`; tells the load from our own connections.
pub(super) const APPLICATION: &str = "weigh load";

/// The driver for a private server.
///
/// # Errors
/// When an operation makes no sense as it is written.
pub(super) fn private(
    socket_dir: &Path,
    session: &Settings,
    variant: &ResolvedVariant,
) -> Result<Box<dyn Driver>, SystemError> {
    let target = Target::Unix { directory: socket_dir.to_owned(), port: 5432 };
    build(target, (USER, None), DATABASE, session, variant)
}

/// The driver for the server at a URL.
///
/// # Errors
/// As [`private`].
pub(super) fn remote(
    config: &Config,
    session: &Settings,
    variant: &ResolvedVariant,
) -> Result<Box<dyn Driver>, SystemError> {
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let target = match config.get_hosts().first() {
        Some(Host::Unix(directory)) => Target::Unix { directory: directory.clone(), port },
        Some(Host::Tcp(host)) => Target::Tcp { host: host.clone(), port },
        None => Target::Tcp { host: "localhost".to_owned(), port },
    };
    let user = config.get_user().unwrap_or_default();
    let password = config.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let database = config.get_dbname().unwrap_or(user).to_owned();
    build(target, (user, password), &database, session, variant)
}

fn build(
    target: Target,
    (user, password): (&str, Option<String>),
    database: &str,
    session: &Settings,
    variant: &ResolvedVariant,
) -> Result<Box<dyn Driver>, SystemError> {
    let config = PostgresConfig {
        target,
        user: user.to_owned(),
        password,
        database: database.to_owned(),
        application_name: APPLICATION.to_owned(),
        settings: session.clone().into_iter().collect(),
        operations: operations::of(variant),
    };
    let driver =
        config.build().map_err(|error| SystemError::new(format!("variant `{}`: {error}", variant.name)))?;
    Ok(Box::new(driver))
}
