//! MongoDB and what speaks like it: `buildInfo`, `serverStatus`.
//!
//! Counters are those of the whole server: what others ask of it meanwhile is in them. A server that lacks a part of
//! `serverStatus` (FerretDB has only its commands) gives the rest: a key it cannot supply is absent, never 0.

use std::collections::BTreeMap;

use serde_json::Value;
use weigh_drivers::ServerUrl;
use weigh_drivers::mongodb::MongodbSession;

use super::admin::{Admin, Identity};
use crate::host::Cancel;
use crate::systems::drivers::{self, DriverOptions};
use crate::systems::{Counters, SystemError};

/// Heading and counter of the columns in the table.
pub(in crate::systems) const COLUMNS: [(&str, &str); 2] =
    [("sent", "mongodb.network_out_bytes"), ("journal", "mongodb.journal_bytes")];

/// Place in `serverStatus`, and the counter it becomes.
const FIGURES: [(&str, &str); 20] = [
    ("opcounters.insert", "mongodb.inserts"),
    ("opcounters.query", "mongodb.queries"),
    ("opcounters.update", "mongodb.updates"),
    ("opcounters.delete", "mongodb.deletes"),
    ("opcounters.getmore", "mongodb.getmores"),
    ("opcounters.command", "mongodb.commands"),
    ("metrics.document.inserted", "mongodb.documents_inserted"),
    ("metrics.document.returned", "mongodb.documents_returned"),
    ("metrics.document.updated", "mongodb.documents_updated"),
    ("metrics.document.deleted", "mongodb.documents_deleted"),
    ("metrics.queryExecutor.scanned", "mongodb.keys_examined"),
    ("metrics.queryExecutor.scannedObjects", "mongodb.documents_examined"),
    ("network.bytesIn", "mongodb.network_in_bytes"),
    ("network.bytesOut", "mongodb.network_out_bytes"),
    ("network.numRequests", "mongodb.requests"),
    ("wiredTiger.log.log bytes written", "mongodb.journal_bytes"),
    ("wiredTiger.log.log sync operations", "mongodb.journal_syncs"),
    ("wiredTiger.cache.bytes read into cache", "mongodb.cache_read_bytes"),
    ("wiredTiger.cache.bytes written from cache", "mongodb.cache_written_bytes"),
    ("wiredTiger.cache.pages read into cache", "mongodb.cache_pages_read"),
];

/// A session of our own.
pub(in crate::systems) struct Session {
    session: MongodbSession,
}

impl Session {
    /// Logs in as the load does.
    ///
    /// # Errors
    /// In the driver's words.
    pub(in crate::systems) fn open(url: &ServerUrl, options: &DriverOptions) -> Result<Session, SystemError> {
        let session = drivers::mongodb(url, options)?.session().map_err(drivers::failed)?;
        Ok(Session { session })
    }

    /// Executes one text of a set-up: a command, or an `insert` with `$times` (`weigh_drivers::mongodb`, `fill.rs`).
    ///
    /// # Errors
    /// In the server's words.
    pub(in crate::systems) fn set_up(&mut self, text: &str, cancel: &Cancel) -> Result<(), SystemError> {
        let is_cancelled = || cancel.is_cancelled();
        self.session.execute(text, &is_cancelled).map_err(|error| match cancel.is_cancelled() {
            true => SystemError::interrupted(),
            false => drivers::failed(error),
        })
    }

    /// What the server has counted.
    ///
    /// # Errors
    /// In the server's words.
    pub(in crate::systems) fn counted(&mut self) -> Result<Counters, SystemError> {
        self.ask(r#"{"serverStatus": 1, "$db": "admin"}"#).map(|status| counters(&status))
    }

    /// The reply to a command.
    ///
    /// # Errors
    /// In the server's words.
    pub(in crate::systems) fn ask(&mut self, command: &str) -> Result<Value, SystemError> {
        let reply = self.session.ask(command).map_err(drivers::failed)?;
        serde_json::from_str(&reply)
            .map_err(|error| SystemError::new("the server's reply cannot be read").caused_by(error))
    }
}

impl Admin for Session {
    fn identify(&mut self) -> Result<Identity, SystemError> {
        let build = self.ask(r#"{"buildInfo": 1, "$db": "admin"}"#)?;
        let version = build.get("version").and_then(Value::as_str).unwrap_or_default();
        // FerretDB 1 and 2 tell the version of MongoDB they imitate first.
        let other =
            build.get("ferretdbVersion").or(build.pointer("/ferretdb/version")).and_then(Value::as_str);
        let version = match other {
            Some(other) => format!("{version} (FerretDB {})", other.trim_start_matches('v')),
            None => version.to_owned(),
        };
        let mut settings = BTreeMap::new();
        // A user without the right to ask may still put load on the server.
        if let Ok(status) = self.ask(r#"{"serverStatus": 1, "$db": "admin"}"#) {
            for (name, place) in [("storageEngine", "/storageEngine/name"), ("process", "/process")] {
                if let Some(text) = status.pointer(place).and_then(Value::as_str) {
                    settings.insert(name.to_owned(), text.to_owned());
                }
            }
        }
        Ok(Identity { version, settings })
    }

    fn counters(&mut self) -> Result<Counters, SystemError> {
        // Without the right to ask there is nothing to explain a result with, and nothing else is wrong.
        Ok(self.counted().unwrap_or_default())
    }
}

fn counters(status: &Value) -> Counters {
    let at = |path: &str| path.split('.').try_fold(status, |value, key| value.get(key)).and_then(number);
    let mut counters: Counters =
        FIGURES.iter().filter_map(|(path, key)| Some(((*key).to_owned(), at(path)?))).collect();
    // On Linux the server tells what the kernel has charged its process.
    if let (Some(user), Some(system)) = (at("extra_info.user_time_us"), at("extra_info.system_time_us")) {
        counters.insert("server.cpu_us".to_owned(), user + system);
        counters.insert("server.cpu_user_us".to_owned(), user);
        counters.insert("server.cpu_system_us".to_owned(), system);
    }
    let commands = status.pointer("/metrics/commands").and_then(Value::as_object);
    for (name, facts) in commands.into_iter().flatten() {
        for (figure, end) in [("total", "calls"), ("failed", "failures")] {
            if let Some(count) = facts.get(figure).and_then(number) {
                counters.insert(format!("mongodb.{name}_{end}"), count);
            }
        }
    }
    counters
}

/// A number, however extended JSON writes it.
fn number(value: &Value) -> Option<f64> {
    let text = || ["$numberLong", "$numberInt", "$numberDouble"].iter().find_map(|key| value.get(key));
    value.as_f64().or_else(|| text()?.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shortened from a real reply of mongod 6.0, and of FerretDB 1.24.2.
    const MONGOD: &str = r#"{"process": "mongod", "extra_info": {"user_time_us": 1500000, "system_time_us": {"$numberLong": "500000"}},
        "opcounters": {"insert": 7, "query": 3}, "network": {"bytesIn": {"$numberLong": "5000000000"}, "bytesOut": 9},
        "metrics": {"commands": {"find": {"failed": 1, "total": 3}, "<UNKNOWN>": 0}},
        "wiredTiger": {"log": {"log bytes written": 4096}}, "ok": 1.0}"#;
    const FERRETDB: &str = r#"{"host": "h", "version": "7.0.42", "process": "ferretdb",
        "metrics": {"commands": {"ping": {"total": 2, "failed": 0}}}, "uptime": 5.0, "ok": 1.0}"#;

    #[test]
    fn what_a_server_has_is_read_and_the_rest_is_absent() {
        let full = counters(&serde_json::from_str(MONGOD).unwrap());
        assert_eq!(full["server.cpu_us"], 2_000_000.0);
        assert_eq!((full["mongodb.inserts"], full["mongodb.network_in_bytes"]), (7.0, 5e9));
        assert_eq!((full["mongodb.find_calls"], full["mongodb.find_failures"]), (3.0, 1.0));
        assert_eq!(full["mongodb.journal_bytes"], 4096.0);
        let few = counters(&serde_json::from_str(FERRETDB).unwrap());
        assert_eq!(
            few.into_iter().collect::<Vec<_>>(),
            [("mongodb.ping_calls".to_owned(), 2.0), ("mongodb.ping_failures".to_owned(), 0.0)]
        );
    }
}
