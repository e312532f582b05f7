//! The static table of systems.

use std::path::PathBuf;
use std::sync::Arc;

use super::{System, SystemDescription, SystemError, cached, memcached, mongodb, redis, remote, sqlite};
use crate::experiment::{Experiment, SystemKey, TextKind};
use crate::host::{Cancel, HostChanges};
use crate::plan::ResolvedPlan;

/// What a system needs besides the plan to prepare itself.
pub struct BuildContext<'a> {
    /// Where every change to the host is registered.
    pub changes: Arc<HostChanges>,
    /// The run's own directory, made and registered ([`HostChanges::run_dir`]); instances go below it.
    pub work_dir: PathBuf,
    /// Set when the run is told to stop.
    pub cancel: Cancel,
    /// Takes a line for the screen whenever a step begins that takes a while.
    pub progress: &'a mut dyn FnMut(String),
}

type Describe = fn(&Experiment) -> Result<SystemDescription, SystemError>;
type Build = fn(&ResolvedPlan, BuildContext<'_>) -> Result<Box<dyn System>, SystemError>;

/// One line of the table.
struct Entry {
    name: &'static str,
    /// What its operations are written in.
    text: TextKind,
    /// What a URL of such a server looks like; `None`: it is no server.
    url: Option<&'static str>,
    /// Whether weigh can start one of its own.
    private: bool,
    /// What may be said of a private one, each with the values it takes; no values: any text.
    keys: &'static [(SystemKey, &'static [&'static str])],
    describe: Describe,
    build: Build,
}

/// Every system under the load engine. `commands` is not one: it needs no server and no driver.
const SYSTEMS: [Entry; 6] = [
    Entry {
        name: "postgres",
        text: TextKind::Sql,
        url: Some("postgres://user@127.0.0.1:5432/database"),
        private: true,
        keys: &[
            (SystemKey::Version, &[]),
            (SystemKey::Memory, &[]),
            (SystemKey::Cache, &["none", "memcached", "redis"]),
            (SystemKey::Start, &["cold", "warm"]),
        ],
        describe: cached::describe,
        build: cached::build,
    },
    Entry {
        name: "sqlite",
        text: TextKind::Sql,
        url: None,
        private: true,
        keys: &[],
        describe: sqlite::describe,
        build: sqlite::build,
    },
    Entry {
        name: "redis",
        text: TextKind::Command,
        url: Some("redis://127.0.0.1:6379"),
        private: true,
        keys: &[(SystemKey::Server, &["redis", "valkey"]), (SystemKey::Memory, &[])],
        describe: redis::describe,
        build: redis::build,
    },
    Entry {
        name: "memcached",
        text: TextKind::Command,
        url: Some("memcached://127.0.0.1:11211"),
        private: true,
        keys: &[(SystemKey::Memory, &[])],
        describe: memcached::describe,
        build: memcached::build,
    },
    Entry {
        name: "mongodb",
        text: TextKind::Command,
        url: Some("mongodb://127.0.0.1:27017/test"),
        private: true,
        keys: &[(SystemKey::Server, &["mongod", "ferretdb"]), (SystemKey::Backend, &["sqlite", "postgres"])],
        describe: mongodb::describe,
        build: mongodb::build,
    },
    reached("http", TextKind::Request, "http://127.0.0.1:8080/"),
];

/// A server that is only ever reached by its URL.
const fn reached(name: &'static str, text: TextKind, url: &'static str) -> Entry {
    let (describe, build) = (remote::describe, remote::build);
    Entry { name, text, url: Some(url), private: false, keys: &[], describe, build }
}

/// What the operations of a system are written in.
pub(crate) fn text_kind(system: &str) -> Option<TextKind> {
    SYSTEMS.iter().find(|entry| entry.name == system).map(|entry| entry.text)
}

/// What a URL of such a server looks like, if it is a server.
pub(crate) fn example_url(system: &str) -> Option<&'static str> {
    SYSTEMS.iter().find(|entry| entry.name == system).and_then(|entry| entry.url)
}

/// What a URL looks like, for a system that weigh starts none of.
pub(crate) fn needs_url(system: &str) -> Option<&'static str> {
    SYSTEMS.iter().find(|entry| entry.name == system && !entry.private).and_then(|entry| entry.url)
}

/// What may be said of a private server of a system, each with the values it takes; no values: any text.
pub(crate) fn private_keys(system: &str) -> &'static [(SystemKey, &'static [&'static str])] {
    SYSTEMS.iter().find(|entry| entry.name == system).map_or(&[], |entry| entry.keys)
}

/// The names of all systems, in the order they are listed to a reader.
pub fn names() -> impl Iterator<Item = &'static str> {
    SYSTEMS.iter().map(|entry| entry.name)
}

/// What the system of an experiment says about itself. Starts no server; a server at a URL of the user's is only
/// read.
///
/// # Errors
/// When there is no such system, or it is missing on this host.
pub fn describe(experiment: &Experiment) -> Result<SystemDescription, SystemError> {
    (find(&experiment.system.name)?.describe)(experiment)
}

/// Prepares the system of a plan: everything that every variant starts from is made, nothing is
/// running yet.
///
/// # Errors
/// When something is missing, a setting is refused, or a set-up statement fails.
pub fn build(plan: &ResolvedPlan, context: BuildContext<'_>) -> Result<Box<dyn System>, SystemError> {
    (find(&plan.experiment.system.name)?.build)(plan, context)
}

fn find(name: &str) -> Result<&'static Entry, SystemError> {
    SYSTEMS.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<String> = names().map(|name| format!("`{name}`")).collect();
        SystemError::new(format!("no system `{name}`; there are {}", known.join(", ")))
    })
}
