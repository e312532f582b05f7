//! What is executed as a private memcached, and a session with it.

use std::path::PathBuf;

use weigh_drivers::ServerUrl;

use super::options;
use crate::host::Cancel;
use crate::systems::drivers::{self, DriverOptions};
use crate::systems::private::{Address, Home, Kind, Launch, Listens, Purpose, Session, Settings};
use crate::systems::remote::{Admin, Identity, MemcachedAdmin};
use crate::systems::{Counters, SystemError};

/// memcached, of the version that is on the host.
#[derive(Clone, Debug)]
pub(in crate::systems) struct MemcachedKind {
    pub(super) program: PathBuf,
    pub(super) version: String,
}

impl Kind for MemcachedKind {
    fn title(&self) -> String {
        format!("memcached {}", self.version)
    }

    fn listens(&self) -> Listens {
        Listens::Socket
    }

    fn keeps_data(&self) -> bool {
        false
    }

    fn launch(&self, home: &Home, settings: &Settings, _purpose: Purpose) -> Result<Launch, SystemError> {
        let Address::Socket(socket) = &home.address else {
            return Err(SystemError::new("a private memcached listens at a unix socket"));
        };
        // Nobody but the server's user (and root) may connect.
        let mut args = vec!["-s".into(), socket.clone().into_os_string(), "-a".into(), "0700".into()];
        args.extend(options::arguments(settings)?.into_iter().map(Into::into));
        Ok(Launch { program: self.program.clone(), args, env: Vec::new(), polite_signal: None })
    }

    fn connect(&self, home: &Home) -> Result<Box<dyn Session>, SystemError> {
        let url = ServerUrl::parse(&self.url(&home.address)).map_err(drivers::failed)?;
        let mut admin = MemcachedAdmin::open(&url, &DriverOptions::default())?;
        admin.identify()?;
        Ok(Box::new(PrivateSession { admin }))
    }

    /// It says one thing and ends; a suggestion of its usage may follow.
    fn last_words(&self, log: &[String]) -> Option<String> {
        let telling = log.iter().find(|line| !line.starts_with("Illegal argument"));
        telling.map(|line| line.trim_start_matches("memcached: ").to_owned())
    }

    fn is_same(&self, name: &str, asked: &str, in_force: &str) -> bool {
        options::is_same(name, asked, in_force)
    }

    fn url(&self, address: &Address) -> String {
        match address {
            Address::Socket(path) => format!("memcached://{}", path.display()),
            Address::Port(port) => format!("memcached://127.0.0.1:{port}"),
        }
    }
}

struct PrivateSession {
    admin: MemcachedAdmin,
}

impl Admin for PrivateSession {
    fn identify(&mut self) -> Result<Identity, SystemError> {
        self.admin.identify()
    }

    fn counters(&mut self) -> Result<Counters, SystemError> {
        self.admin.counters()
    }
}

impl Session for PrivateSession {
    fn in_force(&mut self, names: &[&str]) -> Result<Settings, SystemError> {
        let stats = self.admin.stats("settings")?;
        let found = names.iter().filter_map(|name| {
            let value = stats.get(options::name_in_stats(name)?)?;
            Some(((*name).to_owned(), value.clone()))
        });
        Ok(found.collect())
    }

    /// Nothing is changed while it runs: every option is one of the command line.
    fn apply(&mut self, settings: &Settings, _cancel: &Cancel) -> Result<(), SystemError> {
        match settings.keys().next() {
            None => Ok(()),
            Some(name) => Err(SystemError::new(format!("`{name}` takes a restart of memcached"))),
        }
    }
}
