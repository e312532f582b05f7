//! What is different about each kind of private server.

use std::ffi::OsString;
use std::path::PathBuf;

use nix::sys::signal::Signal;
use weigh_load::Driver;

use super::home::{Address, Home, Listens};
use crate::host::Cancel;
use crate::plan::ResolvedVariant;
use crate::systems::SystemError;
use crate::systems::drivers::{self, DriverOptions};
use crate::systems::remote::{Admin, execute_lines};

pub(in crate::systems) use crate::systems::slots::Settings;

/// What a server is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::systems) enum Purpose {
    /// To make the data every instance starts from. Durability does not matter, and what would throw data away is off.
    Template,
    /// To be put under load.
    Trials,
}

/// What is executed.
#[derive(Clone, Debug)]
pub(in crate::systems) struct Launch {
    /// The program.
    pub(in crate::systems) program: PathBuf,
    /// Its arguments.
    pub(in crate::systems) args: Vec<OsString>,
    /// Its environment, beside what every server gets ([`ServerCommand`](crate::host::ServerCommand)).
    pub(in crate::systems) env: Vec<(OsString, OsString)>,
    /// Signal after which it ends at once, sent before SIGKILL; `None`: SIGKILL.
    pub(in crate::systems) polite_signal: Option<Signal>,
}

/// One kind of private server, of one version.
pub(in crate::systems) trait Kind {
    /// As in messages: `redis 7.0.15`.
    fn title(&self) -> String;

    /// Whether it listens at a unix socket or at a port of the loopback interface.
    fn listens(&self) -> Listens;

    /// Whether it keeps data in its directory. If not, the set-up runs after every start instead of once.
    fn keeps_data(&self) -> bool {
        true
    }

    /// Writes what the server reads (below `home`, which belongs to its user once this returns) and says what to
    /// execute. `settings` are everything asked of this instance, names and values as the experiment has them.
    ///
    /// # Errors
    /// When a file cannot be written, or a value cannot be said in it.
    fn launch(&self, home: &Home, settings: &Settings, purpose: Purpose) -> Result<Launch, SystemError>;

    /// A session with a running server. Tried again and again while it starts.
    ///
    /// # Errors
    /// When the server does not answer yet, or refuses us.
    fn connect(&self, home: &Home) -> Result<Box<dyn Session>, SystemError>;

    /// What the server said when it gave up: the telling line or lines of its log.
    fn last_words(&self, log: &[String]) -> Option<String>;

    /// Whether a value that was asked for means the one in force (`64mb` is `67108864`).
    fn is_same(&self, name: &str, asked: &str, in_force: &str) -> bool;

    /// The URL its drivers take.
    fn url(&self, address: &Address) -> String;

    /// Executes one text of a set-up or of `prepare`. Usually commands, one in each line, sent as the load sends them.
    ///
    /// # Errors
    /// In the server's words.
    fn execute(&self, home: &Home, text: &str, cancel: &Cancel) -> Result<(), SystemError> {
        execute_lines(&self.url(&home.address), text, &DriverOptions::default(), cancel)
    }

    /// The driver of a variant's load.
    ///
    /// # Errors
    /// When an operation makes no sense as it is written.
    fn driver(&self, home: &Home, variant: &ResolvedVariant) -> Result<Box<dyn Driver>, SystemError> {
        let url = self.url(&home.address);
        let driver = drivers::boxed(&url, &variant.operations, &DriverOptions::default());
        driver.map_err(|error| error.of(format_args!("variant `{}`", variant.name)))
    }
}

/// A session of our own with a private server, beside what can be asked of one at a URL.
pub(in crate::systems) trait Session: Admin {
    /// The values in force of settings, by name. A name the server does not have is missing.
    ///
    /// # Errors
    /// In the server's words.
    fn in_force(&mut self, names: &[&str]) -> Result<Settings, SystemError>;

    /// Changes settings on the running server and returns when they are in force, with everything the change set off.
    ///
    /// # Errors
    /// In the server's words.
    fn apply(&mut self, settings: &Settings, cancel: &Cancel) -> Result<(), SystemError>;

    /// Right after the start: what of `settings` the configuration could not say.
    ///
    /// # Errors
    /// In the server's words.
    fn begin(&mut self, _settings: &Settings, _cancel: &Cancel) -> Result<(), SystemError> {
        Ok(())
    }

    /// Works off what runs in the background (a rewrite, a save). The files are synced afterwards by the caller.
    ///
    /// # Errors
    /// In the server's words.
    fn drain(&mut self, _cancel: &Cancel) -> Result<(), SystemError> {
        Ok(())
    }

    /// Puts everything into the files an instance starts from. Asked of templates only; what follows is a stop.
    ///
    /// # Errors
    /// In the server's words.
    fn save(&mut self, _cancel: &Cancel) -> Result<(), SystemError> {
        Ok(())
    }
}
