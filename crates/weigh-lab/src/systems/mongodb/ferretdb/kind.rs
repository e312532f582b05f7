//! What is executed as a private FerretDB, and what is asked of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cluster::Cluster;
use super::{VERSION, settings, sqlite};
use crate::host::{Cancel, HostChanges};
use crate::systems::mongodb::make::Backend;
use crate::systems::mongodb::session;
use crate::systems::private::{Address, Home, Kind, Launch, Listens, Purpose, Session, Settings};
use crate::systems::remote::{Admin, Identity, MongodbAdmin, processes_at};
use crate::systems::{Counters, SystemError};

/// What loads consist of. FerretDB counts a command from its first call on; until then it is at nothing.
const COMMANDS: [&str; 8] =
    ["aggregate", "count", "delete", "distinct", "find", "findAndModify", "insert", "update"];

/// FerretDB on one of its back ends.
#[derive(Clone)]
pub(in crate::systems::mongodb) struct FerretDb {
    program: PathBuf,
    /// What it keeps its data in, where that is no file of its own.
    cluster: Option<Arc<Cluster>>,
}

impl FerretDb {
    /// Of a program that is there.
    ///
    /// # Errors
    /// When its back end is missing on this host.
    pub(in crate::systems::mongodb) fn new(
        program: PathBuf,
        backend: Backend,
        changes: Arc<HostChanges>,
    ) -> Result<FerretDb, SystemError> {
        let cluster = match backend {
            Backend::Sqlite => None,
            Backend::Postgres => Some(Arc::new(Cluster::find(changes)?)),
        };
        Ok(FerretDb { program, cluster })
    }

    fn backend(&self) -> Backend {
        if self.cluster.is_some() { Backend::Postgres } else { Backend::Sqlite }
    }

    fn arguments(&self, home: &Home, settings: &Settings, purpose: Purpose) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec![
            "--debug-addr=-".into(),
            "--telemetry=disable".into(),
            "--log-level=error".into(),
            with_path("--state-dir=", &home.dir, ""),
        ];
        if let Address::Port(port) = home.address {
            args.push(format!("--listen-addr=127.0.0.1:{port}").into());
        }
        match &self.cluster {
            Some(cluster) => args.extend(cluster.url_arguments(home)),
            None => {
                let mut settings = settings.clone();
                if purpose == Purpose::Template {
                    settings.insert("sqlite.synchronous".to_owned(), "off".to_owned());
                }
                let query = settings::query(&settings);
                let query = if query.is_empty() { query } else { format!("?{query}") };
                args.push("--handler=sqlite".into());
                args.push(with_path("--sqlite-url=file:", &home.data(), &format!("/{query}")));
            }
        }
        args.extend(settings::arguments(settings));
        args
    }
}

fn with_path(before: &str, path: &Path, after: &str) -> OsString {
    let mut word = OsString::from(before);
    word.push(path);
    word.push(after);
    word
}

impl Kind for FerretDb {
    fn title(&self) -> String {
        match self.backend() {
            Backend::Sqlite => format!("FerretDB {VERSION} on SQLite"),
            Backend::Postgres => format!("FerretDB {VERSION} on PostgreSQL"),
        }
    }

    /// A port: what clients of such servers use.
    fn listens(&self) -> Listens {
        Listens::Port
    }

    fn launch(&self, home: &Home, settings: &Settings, purpose: Purpose) -> Result<Launch, SystemError> {
        if let Some(name) = settings.keys().find(|name| !self.has(name)) {
            return Err(SystemError::new(format!("{} has no setting `{name}`", self.title())));
        }
        let args = self.arguments(home, settings, purpose);
        match &self.cluster {
            Some(cluster) => cluster.launch(home, &self.program, args, purpose),
            None => Ok(Launch {
                program: self.program.clone(),
                args,
                env: Vec::new(),
                // What it has acknowledged is in its files.
                polite_signal: None,
            }),
        }
    }

    fn connect(&self, home: &Home) -> Result<Box<dyn Session>, SystemError> {
        let (admin, home) = (session::open(home)?, home.clone());
        Ok(Box::new(FerretDbSession { admin, home, cluster: self.cluster.clone() }))
    }

    fn last_words(&self, log: &[String]) -> Option<String> {
        last_words(log)
    }

    fn is_same(&self, _name: &str, asked: &str, in_force: &str) -> bool {
        settings::is_same(asked, in_force)
    }

    fn url(&self, address: &Address) -> String {
        session::url(address)
    }

    fn execute(&self, home: &Home, text: &str, cancel: &Cancel) -> Result<(), SystemError> {
        session::execute(home, text, cancel)
    }
}

impl FerretDb {
    fn has(&self, name: &str) -> bool {
        settings::settings(self.backend()).iter().any(|facts| facts.name == name)
    }
}

/// Fields between tabs (`…, ERROR+3, ferretdb/main.go:565, Failed to construct listener, {"error":"[…] listen tcp …"}`), or what the
/// parser of its command line says; of the back end, its `FATAL`.
fn last_words(log: &[String]) -> Option<String> {
    log.iter().rev().find_map(|line| {
        if let Some((_, text)) = line.split_once("ferretdb: error: ").or_else(|| line.split_once("FATAL:")) {
            return Some(text.trim().to_owned());
        }
        let (before, message) = line.rsplit_once('\t')?;
        if !line.contains("\tERROR") {
            return None;
        }
        let what = before.rsplit('\t').next().unwrap_or_default();
        let error = serde_json::from_str::<serde_json::Value>(message).ok()?;
        let why = error.get("error")?.as_str()?.to_owned();
        // Where in its source it was found means nothing to a reader.
        let why = why.rsplit_once("] ").map_or(why.as_str(), |(_, why)| why);
        Some(format!("{}: {why}", what.to_lowercase()))
    })
}

/// A session of our own.
struct FerretDbSession {
    admin: MongodbAdmin,
    home: Home,
    cluster: Option<Arc<Cluster>>,
}

impl FerretDbSession {
    /// Works off the write-ahead log of the back end.
    fn checkpoint(&self) -> Result<(), SystemError> {
        match &self.cluster {
            Some(cluster) => cluster.checkpoint(&self.home),
            None => sqlite::checkpoint(&self.home.data()),
        }
    }
}

impl Admin for FerretDbSession {
    fn identify(&mut self) -> Result<Identity, SystemError> {
        let mut identity = self.admin.identify()?;
        let backend = match &self.cluster {
            Some(cluster) => format!("PostgreSQL {}", cluster.version()),
            None => "SQLite".to_owned(),
        };
        identity.settings.insert("backend".to_owned(), backend);
        Ok(identity)
    }

    fn counters(&mut self) -> Result<Counters, SystemError> {
        let mut counters = self.admin.counted()?;
        for command in COMMANDS {
            for figure in ["calls", "failures"] {
                counters.entry(format!("mongodb.{command}_{figure}")).or_insert(0.0);
            }
        }
        Ok(counters)
    }
}

impl Session for FerretDbSession {
    /// From the command line of whoever listens: FerretDB tells none of them.
    fn in_force(&mut self, names: &[&str]) -> Result<Settings, SystemError> {
        let pid = processes_at(&self.home.address.endpoint());
        let lines = pid.iter().filter_map(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).ok());
        let words: Vec<String> = lines
            .flat_map(|line| {
                String::from_utf8_lossy(&line).split('\0').map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        let mut found = settings::of_command_line(&words);
        found.retain(|name, _| names.contains(&name.as_str()));
        Ok(found)
    }

    /// Nothing: there is no setting a running FerretDB takes.
    fn apply(&mut self, _settings: &Settings, _cancel: &Cancel) -> Result<(), SystemError> {
        Ok(())
    }

    fn drain(&mut self, _cancel: &Cancel) -> Result<(), SystemError> {
        self.checkpoint()
    }

    fn save(&mut self, _cancel: &Cancel) -> Result<(), SystemError> {
        self.checkpoint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_found_in_the_log() {
        let words = |line: &str| last_words(&[line.to_owned()]);
        // Captured from 1.24.2.
        let listener = "2026-11-22T08:04:03.701Z\tERROR+3\tferretdb/main.go:565\tFailed to construct listener\t{\"error\":\"[listener.go:103 clientconn.Listen] listen tcp 127.0.0.1:37017: bind: address already in use\"}";
        assert_eq!(
            words(listener).as_deref(),
            Some("failed to construct listener: listen tcp 127.0.0.1:37017: bind: address already in use")
        );
        let option = "ferretdb: error: --test-batch-size: expected a valid 64 bit int but got \"x\"";
        assert_eq!(
            words(option).as_deref(),
            Some("--test-batch-size: expected a valid 64 bit int but got \"x\"")
        );
        assert_eq!(words("2026-11-22T08:04:03.701Z\tINFO\tferretdb/main.go:1\tStarting\t{}"), None);
    }
}
