//! The load's connections: from a variant to the driver of `weigh-drivers`.

use std::path::Path;

use weigh_drivers::postgres::{Encryption, PostgresConfig, socket_in};
use weigh_drivers::{ServerUrl, SqlOperation};
use weigh_load::Driver;

use super::client::{DATABASE, USER};
use super::conf::Settings;
use crate::plan::ResolvedVariant;
use crate::systems::drivers::{self, DriverOptions};
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
    let config = PostgresConfig {
        endpoint: socket_in(socket_dir, 5432),
        user: USER.to_owned(),
        database: DATABASE.to_owned(),
        ..PostgresConfig::default()
    };
    build(config, session.clone().into_iter().collect(), operations::of(variant))
        .map_err(|error| named(variant, error))
}

/// The driver for the server at a URL.
///
/// # Errors
/// As [`private`].
pub(super) fn remote(
    url: &str,
    session: &Settings,
    variant: &ResolvedVariant,
) -> Result<Box<dyn Driver>, SystemError> {
    let url = ServerUrl::parse(url).map_err(drivers::failed)?;
    let options =
        DriverOptions { session: session.clone().into_iter().collect(), ..DriverOptions::default() };
    by_url(&url, &options, operations::of(variant)).map_err(|error| named(variant, error))
}

/// What a URL says. What it leaves out is taken from libpq's variables, and from the user who runs weigh.
///
/// # Errors
/// When it is not a URL of PostgreSQL.
pub(super) fn config_of(url: &ServerUrl) -> Result<PostgresConfig, SystemError> {
    let variables = |name: &str| {
        let own = || (name == "PGUSER").then(|| crate::host::User::own().name);
        std::env::var(name).ok().or_else(own)
    };
    PostgresConfig::from_url_and_environment(url, &variables).map_err(drivers::failed)
}

/// The driver for the server at a URL, whatever it is to execute; see [`config_of`].
///
/// # Errors
/// When it is not a URL of PostgreSQL, or an operation makes no sense as it is written.
pub(in crate::systems) fn by_url(
    url: &ServerUrl,
    options: &DriverOptions,
    operations: Vec<SqlOperation>,
) -> Result<Box<dyn Driver>, SystemError> {
    let mut config = config_of(url)?;
    match &mut config.encryption {
        Encryption::IfDemanded(tls) | Encryption::IfOffered(tls) | Encryption::Always(tls) => {
            drivers::check_less_or_other(tls, options);
        }
        Encryption::Never => {}
    }
    if let Some(place) = &options.connect_to {
        config.endpoint = drivers::place_of(place)?;
    }
    build(config, options.session.clone(), operations)
}

fn build(
    config: PostgresConfig,
    settings: Vec<(String, String)>,
    operations: Vec<SqlOperation>,
) -> Result<Box<dyn Driver>, SystemError> {
    let config = PostgresConfig { application_name: APPLICATION.to_owned(), settings, operations, ..config };
    config.build().map(|driver| Box::new(driver) as Box<dyn Driver>).map_err(drivers::failed)
}

fn named(variant: &ResolvedVariant, mut error: SystemError) -> SystemError {
    error.message = format!("variant `{}`: {}", variant.name, error.message);
    error
}
