//! MongoDB's own server.
//!
//! Settings are the keys of its configuration file in dotted form, as its manual names them
//! (`storage.wiredTiger.engineConfig.cacheSizeGB`, `setParameter.internalQueryMaxBlockingSortMemoryUsageBytes`); they are
//! read back by `getCmdLineOpts` and `getParameter`. With `replication.replSetName` the server becomes a replica set of
//! one. Written by MongoDB's documentation (7.0) and its replies as recorded in tests: no `mongod` was at hand to run it
//! with. What it shares with FerretDB (sessions, set-up, templates, epochs) was.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::make::mongod;
use super::session;
use crate::host::{Cancel, run_tool};
use crate::systems::description::{SettingContext, SettingFacts, SettingKind};
use crate::systems::private::{Address, Home, Kind, Launch, Listens, Purpose, Session, Settings};
use crate::systems::remote::{Admin, Identity, MongodbAdmin};
use crate::systems::{Counters, SystemError};

/// JSON is YAML, which is what the server reads.
const FILE: &str = "mongod.conf";
const PARAMETER: &str = "setParameter.";
const REPLICA_SET: &str = "replication.replSetName";
/// A replica set of one elects itself within a second; a shutdown writes everything.
const ELECTION_LIMIT: Duration = Duration::from_secs(60);
const SHUT_DOWN_LIMIT: Duration = Duration::from_secs(600);
const PATIENCE: Duration = Duration::from_millis(20);

/// A key, and what it takes.
type Key = (&'static str, fn() -> SettingKind);

/// Keys of the configuration file that change what an operation costs, each with what it takes. Paths, ports, logs and
/// the like are weigh's to choose.
const KEYS: [Key; 16] = [
    ("storage.directoryPerDB", || SettingKind::Boolean),
    ("storage.journal.commitIntervalMs", || SettingKind::Integer),
    ("storage.journal.enabled", || SettingKind::Boolean),
    ("storage.syncPeriodSecs", || SettingKind::Real),
    ("storage.wiredTiger.collectionConfig.blockCompressor", compressors),
    ("storage.wiredTiger.engineConfig.cacheSizeGB", || SettingKind::Real),
    ("storage.wiredTiger.engineConfig.directoryForIndexes", || SettingKind::Boolean),
    ("storage.wiredTiger.engineConfig.journalCompressor", compressors),
    ("storage.wiredTiger.engineConfig.zstdCompressionLevel", || SettingKind::Integer),
    ("storage.wiredTiger.indexConfig.prefixCompression", || SettingKind::Boolean),
    ("operationProfiling.mode", || choice(&["off", "slowOp", "all"])),
    ("operationProfiling.slowOpThresholdMs", || SettingKind::Integer),
    ("net.compression.compressors", || SettingKind::Text),
    ("net.serviceExecutor", || SettingKind::Text),
    ("replication.oplogSizeMB", || SettingKind::Integer),
    (REPLICA_SET, || SettingKind::Text),
];

fn compressors() -> SettingKind {
    choice(&["none", "snappy", "zlib", "zstd"])
}

fn choice(values: &[&str]) -> SettingKind {
    SettingKind::Choice(values.iter().map(|value| (*value).to_owned()).collect())
}

/// Everything that can be varied; besides, any `setParameter.NAME`, which the server judges.
pub(super) fn settings() -> Vec<SettingFacts> {
    let facts = |(name, kind): &Key| SettingFacts {
        name: (*name).to_owned(),
        context: SettingContext::Restart,
        kind: kind(),
    };
    KEYS.iter().map(facts).collect()
}

/// The program and its version, as `mongod --version` says it: `7.0.14`.
///
/// # Errors
/// When there is none, or it does not run.
pub(super) fn version(bin_dir: Option<&Path>) -> Result<(PathBuf, String), SystemError> {
    let program = mongod(bin_dir)?;
    let output = run_tool(&program, &["--version".into()], Path::new("/"), None)?;
    match parse_version(&output.stdout) {
        Some(version) => Ok((program, version)),
        None => {
            let text = format!("cannot read a version out of `{}`", output.stdout.trim());
            Err(SystemError::new(text))
        }
    }
}

/// `db version v7.0.14`, in the first line.
fn parse_version(text: &str) -> Option<String> {
    let after = text.split("db version v").nth(1)?;
    after.split_whitespace().next().map(str::to_owned)
}

/// A `mongod` of the version that is on the host.
pub(super) struct Mongod {
    program: PathBuf,
    version: String,
}

impl Mongod {
    /// Of a program that is there.
    ///
    /// # Errors
    /// When it does not run.
    pub(super) fn find(bin_dir: Option<&Path>) -> Result<Mongod, SystemError> {
        let (program, version) = version(bin_dir)?;
        Ok(Mongod { program, version })
    }
}

impl Kind for Mongod {
    fn title(&self) -> String {
        format!("mongod {}", self.version)
    }

    fn listens(&self) -> Listens {
        Listens::Port
    }

    fn launch(&self, home: &Home, settings: &Settings, purpose: Purpose) -> Result<Launch, SystemError> {
        let Address::Port(port) = home.address else {
            return Err(SystemError::new("a private mongod listens at a port"));
        };
        let mut config = Map::new();
        for (name, value) in settings {
            // A template knows no replica set: its copies listen elsewhere.
            if purpose == Purpose::Trials || name != REPLICA_SET {
                put(&mut config, name, typed(value));
            }
        }
        put(&mut config, "storage.dbPath", json!(home.data()));
        put(&mut config, "net.port", json!(port));
        put(&mut config, "net.bindIp", json!("127.0.0.1"));
        put(&mut config, "net.unixDomainSocket.enabled", json!(false));
        let file = home.write(FILE, &Value::Object(config).to_string())?;
        let args = vec!["--config".into(), file.into_os_string()];
        Ok(Launch { program: self.program.clone(), args, env: Vec::new(), polite_signal: None })
    }

    fn connect(&self, home: &Home) -> Result<Box<dyn Session>, SystemError> {
        Ok(Box::new(MongodSession { admin: session::open(home)?, home: home.clone() }))
    }

    fn last_words(&self, log: &[String]) -> Option<String> {
        last_words(log)
    }

    fn is_same(&self, _name: &str, asked: &str, in_force: &str) -> bool {
        is_same(asked, in_force)
    }

    fn url(&self, address: &Address) -> String {
        session::url(address)
    }

    fn execute(&self, home: &Home, text: &str, cancel: &Cancel) -> Result<(), SystemError> {
        session::execute(home, text, cancel)
    }
}

/// Puts a value at a dotted place. Names of parameters have no dots.
fn put(config: &mut Map<String, Value>, name: &str, value: Value) {
    match name.split_once('.') {
        None => {
            config.insert(name.to_owned(), value);
        }
        Some((section, rest)) => {
            let inner = config.entry(section).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// As YAML would read it.
fn typed(text: &str) -> Value {
    match text {
        "true" | "on" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => text
            .parse::<i64>()
            .map(Value::from)
            .or_else(|_| text.parse::<f64>().map(Value::from))
            .unwrap_or_else(|_| text.into()),
    }
}

/// The last line of severity fatal or error, else of a warning: `{"s":"F", "msg":…, "attr":{"error":…}}`; or what the
/// parser of its options says in plain words.
fn last_words(log: &[String]) -> Option<String> {
    let read = |line: &String| serde_json::from_str::<Value>(line).ok();
    let severe = |severity: &'static str| {
        log.iter().rev().filter_map(read).find(move |line| line.get("s").is_some_and(|s| s == severity))
    };
    if let Some(line) = severe("F").or_else(|| severe("E")) {
        let message = line.get("msg").and_then(Value::as_str).unwrap_or_default().to_owned();
        let error = line.pointer("/attr/error").map(|error| match error {
            Value::String(text) => text.clone(),
            other => other.get("errmsg").and_then(Value::as_str).map_or(other.to_string(), str::to_owned),
        });
        return Some(error.map_or(message.clone(), |error| format!("{message}: {error}")));
    }
    let plain = log.iter().find(|line| !line.starts_with('{') && !line.starts_with("try '"))?;
    Some(plain.trim().to_owned())
}

/// Numbers by value, everything else by letters.
fn is_same(asked: &str, in_force: &str) -> bool {
    let switch = |text: &str| if text == "on" { "true".to_owned() } else { text.to_lowercase() };
    match (asked.parse::<f64>(), in_force.parse::<f64>()) {
        (Ok(asked), Ok(in_force)) => (asked - in_force).abs() <= 1e-9 * asked.abs(),
        _ => switch(asked) == switch(in_force),
    }
}

/// A session of our own.
struct MongodSession {
    admin: MongodbAdmin,
    home: Home,
}

impl MongodSession {
    fn hello(&mut self) -> Result<Value, SystemError> {
        self.admin.ask(r#"{"hello": 1, "$db": "admin"}"#)
    }

    /// A replica set of one, and its election.
    fn initiate(&mut self, name: &str, cancel: &Cancel) -> Result<(), SystemError> {
        let Address::Port(port) = self.home.address else { return Ok(()) };
        let config = json!({"_id": name, "members": [{"_id": 0, "host": format!("127.0.0.1:{port}")}]});
        self.admin.ask(&format!(r#"{{"replSetInitiate": {config}, "$db": "admin"}}"#))?;
        let began = Instant::now();
        while self.hello()?.get("isWritablePrimary") != Some(&Value::Bool(true)) {
            if began.elapsed() > ELECTION_LIMIT {
                let text = format!("the replica set `{name}` has elected no primary");
                return Err(SystemError::new(text));
            }
            if cancel.sleep(PATIENCE) {
                return Err(SystemError::interrupted());
            }
        }
        Ok(())
    }
}

impl Admin for MongodSession {
    fn identify(&mut self) -> Result<Identity, SystemError> {
        self.admin.identify()
    }

    fn counters(&mut self) -> Result<Counters, SystemError> {
        self.admin.counted()
    }
}

impl Session for MongodSession {
    fn in_force(&mut self, names: &[&str]) -> Result<Settings, SystemError> {
        let options = self.admin.ask(r#"{"getCmdLineOpts": 1, "$db": "admin"}"#)?;
        let mut found = Settings::new();
        for name in names {
            let value = match name.strip_prefix(PARAMETER) {
                Some(parameter) => {
                    // Put together by hand: the first key is the command.
                    let key = Value::from(parameter);
                    let text = format!(r#"{{"getParameter": 1, {key}: 1, "$db": "admin"}}"#);
                    self.admin.ask(&text)?.get(parameter).cloned()
                }
                None => at(&options, name),
            };
            if let Some(value) = value {
                found.insert((*name).to_owned(), text_of(&value));
            }
        }
        Ok(found)
    }

    /// Nothing: every setting is one of the start.
    fn apply(&mut self, _settings: &Settings, _cancel: &Cancel) -> Result<(), SystemError> {
        Ok(())
    }

    fn begin(&mut self, settings: &Settings, cancel: &Cancel) -> Result<(), SystemError> {
        settings.get(REPLICA_SET).map_or(Ok(()), |name| self.initiate(name, cancel))
    }

    /// A checkpoint of WiredTiger.
    fn drain(&mut self, _cancel: &Cancel) -> Result<(), SystemError> {
        self.admin.ask(r#"{"fsync": 1, "$db": "admin"}"#).map(drop)
    }

    /// A shutdown in order: the journal is empty afterwards, and no copy has to recover.
    fn save(&mut self, cancel: &Cancel) -> Result<(), SystemError> {
        // The connection breaks instead of an answer.
        self.admin.ask(r#"{"shutdown": 1, "$db": "admin"}"#).ok();
        let began = Instant::now();
        while session::open(&self.home).is_ok()
            || self.home.data().join("mongod.lock").metadata().is_ok_and(|lock| lock.len() > 0)
        {
            if began.elapsed() > SHUT_DOWN_LIMIT {
                return Err(SystemError::new("the private mongod did not shut down"));
            }
            if cancel.sleep(PATIENCE) {
                return Err(SystemError::interrupted());
            }
        }
        Ok(())
    }
}

/// The value at a dotted place of what the server was started with.
fn at(options: &Value, name: &str) -> Option<Value> {
    let parsed = options.get("parsed")?;
    name.split('.').try_fold(parsed, |value, key| value.get(key)).cloned()
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(typed) => match typed.values().next() {
            // `{"$numberLong": "5"}`
            Some(Value::String(text)) => text.clone(),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_the_server_prints_them() {
        let text = "db version v7.0.14\nBuild Info: {\n    \"version\": \"7.0.14\",\n";
        assert_eq!(parse_version(text).as_deref(), Some("7.0.14"));
        assert_eq!(parse_version("mongod 7"), None);
    }

    #[test]
    fn settings_become_a_tree_and_are_found_in_one() {
        let mut config = Map::new();
        for (name, value) in [
            ("storage.wiredTiger.engineConfig.cacheSizeGB", "0.25"),
            ("storage.journal.commitIntervalMs", "30"),
            ("setParameter.diagnosticDataCollectionEnabled", "false"),
            ("replication.replSetName", "rs0"),
        ] {
            put(&mut config, name, typed(value));
        }
        let config = Value::Object(config);
        assert_eq!(
            config,
            json!({"storage": {"wiredTiger": {"engineConfig": {"cacheSizeGB": 0.25}}, "journal": {"commitIntervalMs": 30}},
                "setParameter": {"diagnosticDataCollectionEnabled": false}, "replication": {"replSetName": "rs0"}})
        );
        let options = json!({"argv": ["mongod"], "parsed": config});
        let found = |name: &str| at(&options, name).map(|value| text_of(&value));
        assert_eq!(found("storage.wiredTiger.engineConfig.cacheSizeGB").as_deref(), Some("0.25"));
        assert_eq!(found("storage.engine"), None);
        assert_eq!(text_of(&json!({"$numberLong": "5"})), "5");
    }

    #[test]
    fn values_are_compared_by_meaning() {
        for (asked, in_force) in [("0.25", "0.25"), ("1", "1.0"), ("on", "true"), ("slowOp", "slowop")] {
            assert!(is_same(asked, in_force), "{asked} {in_force}");
        }
        assert!(!is_same("1", "2") && !is_same("true", "false"));
    }

    #[test]
    fn the_reason_is_found_in_the_log() {
        let words =
            |lines: &[&str]| last_words(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
        // As the manual shows its structured log.
        let taken = [
            r#"{"t":{"$date":"2024-01-01T00:00:00.000+00:00"},"s":"I","c":"CONTROL","id":20698,"ctx":"main","msg":"***** SERVER RESTARTED *****"}"#,
            r#"{"t":{"$date":"2024-01-01T00:00:00.000+00:00"},"s":"E","c":"CONTROL","id":20568,"ctx":"initandlisten","msg":"Error setting up listener","attr":{"error":{"code":9001,"codeName":"SocketException","errmsg":"Address already in use"}}}"#,
            r#"{"t":{"$date":"2024-01-01T00:00:00.000+00:00"},"s":"I","c":"CONTROL","id":23138,"ctx":"initandlisten","msg":"Shutting down","attr":{"exitCode":48}}"#,
        ];
        assert_eq!(words(&taken).as_deref(), Some("Error setting up listener: Address already in use"));
        let option = ["Unrecognized option: storage.nope", "try 'mongod --help' for more information"];
        assert_eq!(words(&option).as_deref(), Some("Unrecognized option: storage.nope"));
        assert_eq!(words(&[]), None);
    }
}
