//! The configuration file of a private server: what every one of them has, and the settings of a variant.
//!
//! `postgresql.conf` stays as `initdb` wrote it and includes `weigh.conf` last; that file is rewritten as a whole
//! whenever a setting changes, so that what is in force can be read in one place.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::systems::SystemError;

pub(super) use crate::systems::slots::Settings;

/// The file every private server includes last.
pub(super) const FILE: &str = "weigh.conf";

/// What weigh itself decides for a private server; an experiment cannot set it.
const MANAGED: [&str; 14] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "log_destination",
    "log_directory",
    "logging_collector",
    "port",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
    "restart_after_crash",
];

/// Whether an experiment cannot set it.
pub(super) fn is_managed(name: &str) -> bool {
    MANAGED.contains(&name)
}

/// Connections beside the clients': ours, the sampler's, the checks', and those of clients that are being
/// replaced.
const SPARE_CONNECTIONS: usize = 30;

/// What every private server has before any setting of an experiment. Everything else is the server's
/// own default.
pub(super) fn base(socket_dir: &Path, clients: usize) -> Settings {
    let mut base = BTreeMap::new();
    let mut set = |name: &str, value: &str| base.insert(name.to_owned(), value.to_owned());
    set("listen_addresses", "");
    set("port", "5432");
    set("unix_socket_directories", &socket_dir.display().to_string());
    // Nobody but the server's user (and root) may connect: the cluster trusts whoever reaches it.
    set("unix_socket_permissions", "0700");
    set("log_destination", "stderr");
    set("logging_collector", "off");
    // A crash is an error to report, not something to recover from between two trials.
    set("restart_after_crash", "off");
    // The default suffices for most; more clients get room, the same for every variant.
    if clients + SPARE_CONNECTIONS > 100 {
        set("max_connections", &(clients + SPARE_CONNECTIONS).to_string());
    }
    base
}

/// The text of the file. Later settings win, so `layers` go from general to particular.
///
/// # Errors
/// When a value cannot be written in a configuration file.
pub(super) fn render(layers: &[&Settings]) -> Result<String, SystemError> {
    let mut merged = Settings::new();
    for layer in layers {
        merged.extend(layer.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    let mut text = String::from("# Written by weigh; rewritten when a setting is toggled.\n");
    for (name, value) in &merged {
        if value.contains(['\n', '\r', '\0']) {
            return Err(SystemError::new(format!("the value of `{name}` has a line break in it")));
        }
        let quoted = value.replace('\\', "\\\\").replace('\'', "''");
        // Writing to a string cannot fail.
        writeln!(text, "{name} = '{quoted}'").ok();
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_and_later_layers_win() {
        let one = Settings::from([("a".to_owned(), "1".to_owned()), ("b".to_owned(), "it's \\".to_owned())]);
        let two = Settings::from([("a".to_owned(), "2".to_owned())]);
        let text = render(&[&one, &two]).unwrap();
        assert!(text.ends_with("a = '2'\nb = 'it''s \\\\'\n"), "{text}");
        let broken = Settings::from([("a".to_owned(), "x\nfsync = off".to_owned())]);
        assert_eq!(render(&[&broken]).unwrap_err().message, "the value of `a` has a line break in it");
    }

    #[test]
    fn many_clients_get_connections() {
        let dir = Path::new("/s");
        assert_eq!(base(dir, 8).get("max_connections"), None);
        assert_eq!(base(dir, 500).get("max_connections").map(String::as_str), Some("530"));
    }
}
