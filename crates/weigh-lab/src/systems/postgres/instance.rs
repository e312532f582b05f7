//! One running private server: started from a template's bytes, asked, toggled, stopped.
//!
//! Layout of an instance's directory: `data/` (the cluster), `s/` (the socket), `log`. The socket's directory
//! goes elsewhere when the path would not fit into a socket address.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use postgres::Client;

use super::conf::{self, Settings};
use super::programs::Programs;
use super::{client, describe, readback};
use crate::host::{
    Cancel, Freezer, HostChanges, MemoryGroup, ServerCommand, ServerProcess, UndoId, User, copy_template,
};
use crate::systems::SystemError;
use crate::systems::private::socket_dir;

/// Recovery after a crash, or a big shared memory, takes a while.
const READY_LIMIT: Duration = Duration::from_secs(120);
/// A reload is in force within milliseconds unless the server has rejected the file.
const RELOAD_LIMIT: Duration = Duration::from_secs(5);
const SOCKET_FILE: &str = ".s.PGSQL.5432";
const LOG_LINES: usize = 12;

/// What every instance of a run shares.
#[derive(Clone)]
pub(super) struct Shop {
    pub(super) programs: Programs,
    pub(super) changes: Arc<HostChanges>,
    pub(super) user: Option<User>,
    pub(super) cancel: Cancel,
    pub(super) clients_max: usize,
}

impl Shop {
    pub(super) fn major(&self) -> u32 {
        describe::major(&self.programs.version)
    }

    /// Makes a directory that the server's user owns.
    pub(super) fn make_dir(&self, path: &Path) -> Result<UndoId, SystemError> {
        let owner = self.user.clone().unwrap_or_else(User::own);
        Ok(self.changes.make_dir(path, Some(&owner))?)
    }
}

/// Where an instance lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home {
    /// `i0`, `t0`: also the name of its cgroup.
    pub(super) name: String,
    pub(super) dir: PathBuf,
    pub(super) socket_dir: PathBuf,
}

impl Home {
    /// Makes the directories of a new instance.
    ///
    /// # Errors
    /// When they cannot be made.
    pub(super) fn make(shop: &Shop, work_dir: &Path, name: &str) -> Result<Home, SystemError> {
        let dir = work_dir.join(name);
        shop.make_dir(&dir)?;
        let socket_dir = socket_dir(&dir, name, SOCKET_FILE)?;
        shop.make_dir(&socket_dir)?;
        Ok(Home { name: name.to_owned(), dir, socket_dir })
    }

    pub(super) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// Writes the configuration: the base of every private server, then `layers`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write_conf(&self, shop: &Shop, layers: &[&Settings]) -> Result<(), SystemError> {
        let base = conf::base(&self.socket_dir, shop.clients_max);
        let mut all = vec![&base];
        all.extend(layers);
        let text = conf::render(&all)?;
        let path = self.data().join(conf::FILE);
        // Written aside and renamed: a server that reads it at this moment sees the old or the new one.
        let aside = self.data().join("weigh.conf.new");
        fs::write(&aside, text)
            .and_then(|()| match &shop.user {
                Some(user) => std::os::unix::fs::chown(&aside, Some(user.uid), Some(user.gid)),
                None => Ok(()),
            })
            .and_then(|()| fs::rename(&aside, &path))
            .map_err(|error| SystemError::new(format!("cannot write `{}`", path.display())).caused_by(error))
    }
}

/// A running server.
pub(super) struct Instance {
    pub(super) home: Home,
    pub(super) process: ServerProcess,
    pub(super) freezer: Freezer,
    pub(super) admin: Client,
    /// What limits its memory.
    pub(super) memory: Option<MemoryGroup>,
    pub(super) ready_s: f64,
}

impl Instance {
    /// Puts a fresh copy of `template` into a home, with its configuration.
    ///
    /// # Errors
    /// When the copy fails.
    pub(super) fn copy_and_configure(
        shop: &Shop,
        home: &Home,
        template: &Path,
        layers: &[&Settings],
    ) -> Result<(), SystemError> {
        match fs::remove_dir_all(home.data()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let text = format!("cannot remove `{}`", home.data().display());
                return Err(SystemError::new(text).caused_by(error));
            }
            _ => {}
        }
        copy_template(template, &home.data())?;
        home.write_conf(shop, layers)
    }

    /// Starts a server on a home with a configured cluster, in no more memory than `memory_bytes`, and waits until it
    /// answers.
    ///
    /// # Errors
    /// With the server's own message and the last lines of its log.
    pub(super) fn start(
        shop: &Shop,
        home: &Home,
        extra: &[&str],
        memory_bytes: Option<u64>,
    ) -> Result<Instance, SystemError> {
        // Lines of an earlier start would be taken for those of this one.
        fs::remove_file(home.log()).ok();
        let memory =
            memory_bytes.map(|bytes| shop.changes.make_memory_group(&home.name, bytes)).transpose()?;
        let cgroup = match memory.as_ref().filter(|group| group.is_unified()) {
            // A process is in one group of version 2 only: this one freezes it too.
            Some(group) => Some(group.path().to_owned()),
            None => shop.changes.make_cgroup(&home.name)?,
        };
        let mut args = vec!["-D".into(), home.data().into_os_string()];
        args.extend(extra.iter().map(Into::into));
        let command = ServerCommand {
            program: shop.programs.postgres(),
            args,
            env: Vec::new(),
            dir: home.dir.clone(),
            log: home.log(),
            user: shop.user.clone(),
            cgroup,
            // An immediate shutdown: no checkpoint, but shared memory is given back.
            polite_signal: Some(Signal::SIGQUIT),
        };
        let began = Instant::now();
        let mut process = command.start_limited(&shop.changes, memory.as_ref())?;
        let admin = wait_until_ready(shop, home, &mut process)?;
        let ready_s = began.elapsed().as_secs_f64();
        process.note_shared_memory(&shop.changes)?;
        let freezer = Freezer::new(&process);
        Ok(Instance { home: home.clone(), process, freezer, admin, memory, ready_s })
    }

    /// A connection that sees what a client connecting now would get.
    ///
    /// # Errors
    /// In the server's words.
    pub(super) fn connect(&self, shop: &Shop) -> Result<Client, SystemError> {
        client::connect(&self.home.socket_dir, shop.major())
            .map_err(|error| client::failed("cannot connect to the private server", &error))
            .map_err(|error| error.with_log(self.process.log_tail(LOG_LINES)))
    }

    /// Reads `asked` back on a fresh connection, after setting `session` there.
    ///
    /// # Errors
    /// When a setting is refused or not in force.
    pub(super) fn read_back(
        &self,
        shop: &Shop,
        asked: &Settings,
        session: &Settings,
    ) -> Result<Settings, SystemError> {
        let mut connection = self.connect(shop)?;
        client::set_in_session(&mut connection, session)?;
        readback::check(&mut connection, asked)?.map_err(readback::Mismatch::into_error)
    }

    /// Has the configuration read again and waits until new connections see `asked`.
    ///
    /// # Errors
    /// When the server rejects the file, or something else keeps a setting from coming into force.
    pub(super) fn reload(&mut self, shop: &Shop, asked: &Settings) -> Result<(), SystemError> {
        self.admin
            .execute("SELECT pg_reload_conf()", &[])
            .map_err(|error| client::failed("cannot reload the configuration", &error))?;
        let began = Instant::now();
        loop {
            let mut connection = self.connect(shop)?;
            let Err(mismatch) = readback::check(&mut connection, asked)? else { return Ok(()) };
            if began.elapsed() > RELOAD_LIMIT || mismatch.server_says.is_some() {
                return Err(mismatch.into_error().with_log(self.process.log_tail(LOG_LINES)));
            }
            if shop.cancel.sleep(Duration::from_millis(2)) {
                return Err(SystemError::interrupted());
            }
        }
    }

    /// Stops at once, without a checkpoint: for data that is thrown away.
    ///
    /// # Errors
    /// When a process survives even SIGKILL.
    pub(super) fn discard(self, changes: &HostChanges) -> Result<(), SystemError> {
        let Instance { process, admin, memory, .. } = self;
        drop(admin);
        let groups = [process.cgroup().map(Path::to_owned), memory.map(|group| group.path().to_owned())];
        changes.undo(process.undo_id())?;
        drop(process);
        for group in groups.into_iter().flatten() {
            changes.remove_cgroup(&group)?;
        }
        Ok(())
    }

    /// Stops in order, everything on disk.
    ///
    /// # Errors
    /// When it does not end in time; it is then killed.
    pub(super) fn shut_down(mut self, changes: &HostChanges, limit: Duration) -> Result<(), SystemError> {
        self.freezer.thaw()?;
        // A fast shutdown: sessions are ended, a checkpoint is made.
        self.process.signal(Signal::SIGINT);
        let status = self.process.wait(limit)?;
        let log = self.process.log_tail(LOG_LINES);
        let clean = status.is_some_and(|status| status.success());
        self.discard(changes)?;
        match clean {
            true => Ok(()),
            false => Err(SystemError::new("the private server did not shut down in order").with_log(log)),
        }
    }
}

fn wait_until_ready(shop: &Shop, home: &Home, process: &mut ServerProcess) -> Result<Client, SystemError> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(2);
    loop {
        let refusal = match client::connect(&home.socket_dir, shop.major()) {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        process.note_shared_memory(&shop.changes)?;
        if let Some(status) = process.try_wait()? {
            let log = process.log_tail(LOG_LINES);
            let why = fatal_message(&log).unwrap_or_else(|| status.to_string());
            return Err(SystemError::new(format!("the private server did not start: {why}")).with_log(log));
        }
        if began.elapsed() > READY_LIMIT {
            let text = format!("the private server did not answer within {} s", READY_LIMIT.as_secs());
            let text = format!("{text}: {}", client::words(&refusal));
            return Err(SystemError::new(text).with_log(process.log_tail(LOG_LINES)));
        }
        if shop.cancel.sleep(pause) {
            return Err(SystemError::interrupted());
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// What the server said when it gave up.
pub(super) fn fatal_message(log: &[String]) -> Option<String> {
    let is_fatal = |line: &&String| line.contains("FATAL:") || line.contains("PANIC:");
    let line = log.iter().rev().find(is_fatal)?;
    let (_, text) = line.split_once("FATAL:").or_else(|| line.split_once("PANIC:"))?;
    let text = text.trim();
    // "configuration file … contains errors" says less than the lines above it.
    if text.contains("contains errors") {
        let before = log.iter().rev().find_map(|line| line.split_once("LOG:").map(|(_, text)| text.trim()));
        return Some(before.unwrap_or(text).to_owned());
    }
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_found_in_the_log() {
        // Captured from 15.18.
        let one =
            ["2026-11-21 22:30:01.1 UTC [12] FATAL:  invalid value for parameter \"max_connections\": \"x\""];
        let one: Vec<String> = one.map(str::to_owned).to_vec();
        assert_eq!(
            fatal_message(&one).as_deref(),
            Some("invalid value for parameter \"max_connections\": \"x\"")
        );
        let two = [
            "2026-11-21 22:30:01.1 UTC [12] LOG:  unrecognized configuration parameter \"x\" in file \"weigh.conf\" line 2",
            "2026-11-21 22:30:01.1 UTC [12] FATAL:  configuration file \"postgresql.conf\" contains errors",
        ];
        let two: Vec<String> = two.map(str::to_owned).to_vec();
        assert!(fatal_message(&two).unwrap().starts_with("unrecognized configuration parameter"));
        assert_eq!(fatal_message(&[]), None);
    }
}
