//! URL + operations → the driver of `weigh-drivers` that speaks to such a server.
//!
//! - [`driver`]: what every system at a URL, and a load by itself, connects with; [`DriverOptions`] is what the URL
//!   does not say.
//! - [`read_workload`]: the operations of a file.
//! - [`check`]: what a driver says about an operation before there is a server.
//!
//! Nothing in here connects. A password that the URL leaves out is taken from the environment ([`with_password`]): the
//! stored experiment of a run holds none.

use std::path::PathBuf;
use std::sync::Arc;

use weigh_drivers::http::HttpConfig;
use weigh_drivers::memcached::MemcachedConfig;
use weigh_drivers::mongodb::MongodbConfig;
use weigh_drivers::redis::RedisConfig;
use weigh_drivers::{DRIVERS, Endpoint, ServerUrl, TlsConfig, Verify, driver_of_scheme};
use weigh_load::{Driver, DriverError};

use super::{SystemError, operations, postgres, table};
use crate::experiment::SystemSection;
pub use crate::experiment::read_workload;
use crate::plan::ResolvedOperation;

/// What a driver needs besides its URL and its operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverOptions {
    /// PostgreSQL: settings of every session, applied in order and read back.
    pub session: Vec<(String, String)>,
    /// Authorities to trust (PEM) instead of the system's, where the URL asks for TLS.
    pub ca_file: Option<PathBuf>,
    /// Nothing is checked of the server's certificate.
    pub insecure: bool,
    /// Connect there (`host:port`, or the path of a unix socket) instead of to the URL's host; its name stays what
    /// is asked for and what the certificate must be made out to.
    pub connect_to: Option<String>,
}

impl DriverOptions {
    /// What an experiment says about the way to its server.
    pub fn of(section: &SystemSection) -> DriverOptions {
        DriverOptions {
            session: Vec::new(),
            ca_file: section.ca_file.clone(),
            insecure: section.insecure,
            connect_to: section.connect_to.clone(),
        }
    }
}

/// The driver for the server at a URL, to execute these operations.
///
/// # Errors
/// When no driver takes such a URL, or an operation makes no sense as it is written. The text never repeats the URL.
pub fn driver(
    url: &str,
    operations: &[ResolvedOperation],
    options: &DriverOptions,
) -> Result<Arc<dyn Driver>, SystemError> {
    boxed(url, operations, options).map(Arc::from)
}

/// The name of the system a URL belongs to: `redis` for `rediss://…`.
///
/// # Errors
/// When it is not a URL, or no driver takes it.
pub fn system_of(url: &str) -> Result<&'static str, SystemError> {
    let parsed = ServerUrl::parse(url).map_err(failed)?;
    driver_of_scheme(&parsed.scheme).map(|entry| entry.name).ok_or_else(|| {
        let known = DRIVERS.iter().flat_map(|entry| entry.schemes).map(|scheme| format!("`{scheme}://`"));
        let known: Vec<String> = known.collect();
        let text = format!("no driver takes `{}://`; there are {}", parsed.scheme, known.join(", "));
        SystemError::new(text)
    })
}

pub(crate) fn boxed(
    url: &str,
    operations: &[ResolvedOperation],
    options: &DriverOptions,
) -> Result<Box<dyn Driver>, SystemError> {
    let system = system_of(url)?;
    let parsed = with_password(ServerUrl::parse(url).map_err(failed)?, system);
    match system {
        "postgres" => postgres::by_url(&parsed, options, operations::sql(operations)),
        "redis" => {
            let operations = operations::commands(operations);
            let config = RedisConfig { operations, ..redis(&parsed, options)? };
            Ok(Box::new(config.build().map_err(failed)?))
        }
        "memcached" => {
            let operations = operations::commands(operations);
            let config = MemcachedConfig { operations, ..memcached(&parsed, options)? };
            Ok(Box::new(config.build().map_err(failed)?))
        }
        "mongodb" => {
            let operations = operations::commands(operations);
            let config = MongodbConfig { operations, ..mongodb(&parsed, options)? };
            Ok(Box::new(config.build().map_err(failed)?))
        }
        "http" => {
            let operations = operations::requests(operations);
            let config = HttpConfig { operations, ..http(&parsed, options)? };
            Ok(Box::new(config.build().map_err(failed)?))
        }
        other => Err(SystemError::new(format!("the driver `{other}` takes no URL"))),
    }
}

/// Where the server at a URL is connected to; `None` for PostgreSQL, whose URLs have rules of their own.
///
/// # Errors
/// As [`driver`].
pub(super) fn endpoint(
    system: &str,
    url: &ServerUrl,
    options: &DriverOptions,
) -> Result<Option<Endpoint>, SystemError> {
    Ok(match system {
        "redis" => Some(redis(url, options)?.endpoint),
        "memcached" => Some(memcached(url, options)?.endpoint),
        "mongodb" => Some(mongodb(url, options)?.endpoint),
        "http" => {
            let config = http(url, options)?;
            Some(config.connect_to.unwrap_or(config.endpoint))
        }
        _ => None,
    })
}

/// A Redis server at a URL, without operations.
pub(super) fn redis(url: &ServerUrl, options: &DriverOptions) -> Result<RedisConfig, SystemError> {
    let mut config = RedisConfig::from_url(url).map_err(failed)?;
    adapt(&mut config.endpoint, &mut config.tls, options)?;
    Ok(config)
}

/// A memcached server at a URL, without operations.
pub(super) fn memcached(url: &ServerUrl, options: &DriverOptions) -> Result<MemcachedConfig, SystemError> {
    let mut config = MemcachedConfig::from_url(url).map_err(failed)?;
    adapt(&mut config.endpoint, &mut config.tls, options)?;
    Ok(config)
}

/// A MongoDB server at a URL, without operations.
pub(super) fn mongodb(url: &ServerUrl, options: &DriverOptions) -> Result<MongodbConfig, SystemError> {
    let mut config = MongodbConfig::from_url(url).map_err(failed)?;
    adapt(&mut config.endpoint, &mut config.tls, options)?;
    Ok(config)
}

/// A web server at a URL, without operations. Their targets are whole: the URL's own path is only what is asked for
/// when nobody says what.
fn http(url: &ServerUrl, options: &DriverOptions) -> Result<HttpConfig, SystemError> {
    let mut config = HttpConfig { base_path: String::new(), ..HttpConfig::from_url(url).map_err(failed)? };
    if let Some(tls) = &mut config.tls {
        check_less_or_other(tls, options);
    }
    config.connect_to = options.connect_to.as_deref().map(place_of).transpose()?;
    Ok(config)
}

/// What the options change of a server's place and of what is checked of its certificate.
fn adapt(
    endpoint: &mut Endpoint,
    tls: &mut Option<TlsConfig>,
    options: &DriverOptions,
) -> Result<(), SystemError> {
    if let Some(tls) = tls {
        check_less_or_other(tls, options);
    }
    let Some(place) = &options.connect_to else { return Ok(()) };
    let other = place_of(place)?;
    if let (Some(tls), Endpoint::Tcp { host, .. }) = (tls, &*endpoint) {
        tls.server_name.get_or_insert_with(|| host.clone());
    }
    *endpoint = other;
    Ok(())
}

/// What the options change of what is checked.
pub(super) fn check_less_or_other(tls: &mut TlsConfig, options: &DriverOptions) {
    if options.ca_file.is_some() {
        tls.ca_file.clone_from(&options.ca_file);
    }
    if options.insecure {
        tls.verify = Verify::Nothing;
    }
}

/// `host:port`, `[::1]:port`, `/path/of/socket`.
pub(super) fn place_of(text: &str) -> Result<Endpoint, SystemError> {
    if text.starts_with('/') {
        return Ok(Endpoint::Unix(text.into()));
    }
    let parts = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    match parts {
        Some((host, port)) if !host.is_empty() => {
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            Ok(Endpoint::Tcp { host, port })
        }
        _ => {
            Err(SystemError::new(format!("`{text}` is not a place to connect to, such as `127.0.0.1:8080`")))
        }
    }
}

/// With the password of the environment where the URL names none: the variable of the system's own client
/// (`REDISCLI_AUTH`), else `WEIGH_PASSWORD`, which only counts where the URL names a user.
pub(super) fn with_password(mut url: ServerUrl, system: &str) -> ServerUrl {
    if url.password.is_some() {
        return url;
    }
    let own = match system {
        // libpq's variables and its password file are the driver's to read.
        "postgres" => None,
        "redis" => std::env::var("REDISCLI_AUTH").ok(),
        _ => None,
    };
    let named = || url.user.is_some().then(|| std::env::var("WEIGH_PASSWORD").ok()).flatten();
    url.password = own.or_else(named).filter(|password| !password.is_empty());
    url
}

/// What a system's driver says about an operation, without a server.
///
/// # Errors
/// A lowercase fragment.
pub(crate) fn check(system: &str, operation: &ResolvedOperation) -> Result<(), String> {
    // SQL is the server's to judge, and a text of another system's kind was refused for that.
    if table::text_kind(system) != Some(operation.text.kind()) || !operation.text.statements().is_empty() {
        return Ok(());
    }
    let Some(url) = table::example_url(system) else { return Ok(()) };
    let built = boxed(url, std::slice::from_ref(operation), &DriverOptions::default());
    built.map(|_| ()).map_err(|error| {
        let named = format!("operation `{}`: ", operation.name);
        let chain = crate::systems::error::chain(&error);
        chain.strip_prefix(&named).unwrap_or(&chain).to_owned()
    })
}

/// With the driver's words.
pub(super) fn failed(error: DriverError) -> SystemError {
    let failure = SystemError::new(error.message);
    match error.source {
        Some(source) => failure.caused_by(source),
        None => failure,
    }
}
