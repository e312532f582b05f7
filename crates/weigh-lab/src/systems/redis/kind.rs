//! What is executed as a private Redis or Valkey, and with which configuration.

use std::fmt::Write;
use std::path::PathBuf;

use weigh_drivers::ServerUrl;

use super::session::PrivateSession;
use super::settings;
use crate::systems::SystemError;
use crate::systems::drivers;
use crate::systems::private::{Address, Home, Kind, Launch, Listens, Purpose, Session, Settings};

const FILE: &str = "redis.conf";

/// Settings a template's server does not get: they would throw data away, or write what no instance reads.
const NOT_FOR_TEMPLATES: [&str; 3] = ["appendonly", "maxmemory", "save"];

/// How lines begin that every start marks as warnings and that say nothing about its end.
const EVERY_START: [&str; 5] = ["Configuration loaded", "Redis", "Server initialized", "Valkey", "WARNING"];

/// Redis or Valkey, of the version that is on the host.
#[derive(Clone, Debug)]
pub(in crate::systems) struct RedisKind {
    pub(super) program: PathBuf,
    /// `redis 7.0.15`.
    pub(super) title: String,
    /// What the load will send.
    pub(super) commands: Vec<String>,
}

impl Kind for RedisKind {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn listens(&self) -> Listens {
        Listens::Socket
    }

    fn launch(&self, home: &Home, settings: &Settings, purpose: Purpose) -> Result<Launch, SystemError> {
        let Address::Socket(socket) = &home.address else {
            return Err(SystemError::new("a private redis listens at a unix socket"));
        };
        let mut text = String::from("# Written by weigh.\n");
        let data = home.data();
        let ours = [
            ("port", "0".to_owned()),
            ("unixsocket", settings::quoted(&socket.display().to_string())),
            // Nobody but the server's user (and root) may connect.
            ("unixsocketperm", "700".to_owned()),
            ("dir", settings::quoted(&data.display().to_string())),
            ("daemonize", "no".to_owned()),
            ("logfile", "\"\"".to_owned()),
        ];
        for (name, value) in ours {
            // Writing to a string cannot fail.
            writeln!(text, "{name} {value}").ok();
        }
        let is_template = purpose == Purpose::Template;
        if is_template {
            text.push_str("save \"\"\n");
        }
        for (name, value) in settings {
            if name == "appendonly" || (is_template && NOT_FOR_TEMPLATES.contains(&name.as_str())) {
                continue;
            }
            writeln!(text, "{name} {}", settings::in_file(name, value)?).ok();
        }
        let file = home.write(FILE, &text)?;
        Ok(Launch {
            program: self.program.clone(),
            args: vec![file.into_os_string()],
            env: Vec::new(),
            // Its data are copied afresh or saved already: told to end in order it would save them first.
            polite_signal: None,
        })
    }

    fn connect(&self, home: &Home) -> Result<Box<dyn Session>, SystemError> {
        let url = ServerUrl::parse(&self.url(&home.address)).map_err(drivers::failed)?;
        let commands = self.commands.iter().map(String::as_str);
        Ok(Box::new(PrivateSession::open(&url, commands)?))
    }

    /// `*** FATAL CONFIG FILE ERROR`, the line it is about and what is wrong with it; or the last warning.
    fn last_words(&self, log: &[String]) -> Option<String> {
        let fatal = log.iter().position(|line| line.contains("FATAL CONFIG FILE ERROR"));
        if let Some(fatal) = fatal {
            let rest = log[fatal + 1..].iter().filter(|line| !line.starts_with("Reading the configuration"));
            let words: Vec<&str> = rest.map(|line| line.trim_start_matches('>').trim()).collect();
            return Some(words.join(": "));
        }
        // `12:M 22 Nov 2026 07:55:01.123 # Failed opening Unix socket: bind: Permission denied`
        let marked = log.iter().rev().filter_map(|line| line.split_once(" # ")).map(|(_, text)| text);
        marked
            .into_iter()
            .find(|text| !EVERY_START.iter().any(|begin| text.starts_with(begin)))
            .map(str::to_owned)
    }

    fn is_same(&self, name: &str, asked: &str, in_force: &str) -> bool {
        settings::is_same(name, asked, in_force)
    }

    fn url(&self, address: &Address) -> String {
        match address {
            Address::Socket(path) => format!("redis://{}", path.display()),
            Address::Port(port) => format!("redis://127.0.0.1:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_found_in_the_log() {
        let kind = RedisKind { program: PathBuf::new(), title: String::new(), commands: Vec::new() };
        let words =
            |log: &[&str]| kind.last_words(&log.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
        // Captured from 7.0.15.
        let config = [
            "*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***",
            "Reading the configuration file, at line 2",
            ">>> 'appendfsync never'",
            "argument(s) must be one of the following: everysec, always, no",
        ];
        let expected = "'appendfsync never': argument(s) must be one of the following: everysec, always, no";
        assert_eq!(words(&config).as_deref(), Some(expected));
        let socket = ["7:M 22 Nov 2026 07:52:00.123 # Failed opening Unix socket: bind: Permission denied"];
        assert_eq!(words(&socket).as_deref(), Some("Failed opening Unix socket: bind: Permission denied"));
        assert_eq!(words(&["7:M 22 Nov 2026 07:52:00.123 # Server initialized"]), None);
        assert_eq!(words(&["7:M 22 Nov 2026 07:52:00.123 * Ready to accept connections"]), None);
    }
}
