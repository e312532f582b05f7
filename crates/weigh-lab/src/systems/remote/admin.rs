//! A session of our own with a server under load: what it is, and what it has counted.
//!
//! One [`Admin`] per system, made by [`open`] with the drivers' own sessions, so that log-in and TLS are those of the load.
//! HTTP has none: there is nothing to ask a web server that every one would answer.

use std::collections::BTreeMap;

use weigh_drivers::ServerUrl;

use super::{memcached, mongodb, redis};
use crate::plan::{ResolvedText, ResolvedVariant};
use crate::systems::drivers::DriverOptions;
use crate::systems::{Counters, SystemError};

/// A session of our own.
pub(in crate::systems) trait Admin {
    /// Version as the server reports it, and the few settings that most often explain a result.
    fn identify(&mut self) -> Result<Identity, SystemError>;

    /// Everything the server has counted, by key. A key that will ever appear is there from the start.
    fn counters(&mut self) -> Result<Counters, SystemError>;
}

/// What a server says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::systems) struct Identity {
    /// `7.0.15`; empty when it does not say.
    pub(in crate::systems) version: String,
    /// Settings in force, by name.
    pub(in crate::systems) settings: BTreeMap<String, String>,
}

/// A session with the server of a system, if the system has such a thing.
///
/// # Errors
/// When the server cannot be reached or refuses us.
pub(in crate::systems) fn open(
    system: &str,
    url: &ServerUrl,
    options: &DriverOptions,
    variants: &[ResolvedVariant],
) -> Result<Option<Box<dyn Admin>>, SystemError> {
    let operations = variants.iter().flat_map(|variant| &variant.operations);
    let commands = operations.filter_map(|operation| match &operation.text {
        ResolvedText::Command(text) => Some(text.command.as_str()),
        _ => None,
    });
    Ok(match system {
        "redis" => Some(Box::new(redis::Session::open(url, options, commands)?)),
        "memcached" => Some(Box::new(memcached::Session::open(url, options)?)),
        "mongodb" => Some(Box::new(mongodb::Session::open(url, options)?)),
        _ => None,
    })
}

/// Heading and counter of the columns a system wants in the table.
pub(in crate::systems) fn columns(system: &str) -> &'static [(&'static str, &'static str)] {
    match system {
        "redis" => &redis::COLUMNS,
        "memcached" => &memcached::COLUMNS,
        "mongodb" => &mongodb::COLUMNS,
        _ => &[],
    }
}
