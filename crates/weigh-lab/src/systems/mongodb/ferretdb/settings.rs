//! Settings of FerretDB: its own options by their names, and pragmas of SQLite.
//!
//! FerretDB tells none of them back. They are read from the command line of the process that serves, which FerretDB
//! refuses to start with if it does not know an option; values are checked here, for SQLite ignores a pragma's wrong
//! value. That `sqlite.synchronous` is in force shows in the flushes per operation.

use std::ffi::OsString;

use super::super::make::Backend;
use crate::systems::description::{SettingContext, SettingFacts, SettingKind};
use crate::systems::private::Settings;

/// What makes a setting one of SQLite's.
const PRAGMA: &str = "sqlite.";

/// Everything that can be varied.
pub(in crate::systems::mongodb) fn settings(backend: Backend) -> Vec<SettingFacts> {
    let facts =
        |name: &str, kind| SettingFacts { name: name.to_owned(), context: SettingContext::Restart, kind };
    let choice =
        |values: &[&str]| SettingKind::Choice(values.iter().map(|value| (*value).to_owned()).collect());
    let mut all = vec![
        // Documents in one transaction of the back end.
        facts("test-batch-size", SettingKind::Integer),
        facts("test-disable-pushdown", SettingKind::Boolean),
        facts("test-enable-nested-pushdown", SettingKind::Boolean),
    ];
    if backend == Backend::Sqlite {
        all.extend([
            facts("sqlite.synchronous", choice(&["off", "normal", "full", "extra"])),
            facts("sqlite.journal_mode", choice(&["wal", "delete", "truncate", "persist"])),
            facts("sqlite.wal_autocheckpoint", SettingKind::Integer),
            facts("sqlite.cache_size", SettingKind::Integer),
        ]);
    }
    all
}

/// FerretDB's own options as arguments.
pub(super) fn arguments(settings: &Settings) -> Vec<OsString> {
    let own = settings.iter().filter(|(name, _)| !name.starts_with(PRAGMA));
    own.map(|(name, value)| match switch(value) {
        Some(true) if name != "test-batch-size" => format!("--{name}").into(),
        Some(false) if name != "test-batch-size" => format!("--{name}=false").into(),
        _ => format!("--{name}={value}").into(),
    })
    .collect()
}

/// SQLite's pragmas as the query of its URL: `_pragma=synchronous(off)&…`.
pub(super) fn query(settings: &Settings) -> String {
    let pragmas = settings.iter().filter_map(|(name, value)| Some((name.strip_prefix(PRAGMA)?, value)));
    let parts: Vec<String> = pragmas.map(|(name, value)| format!("_pragma={name}({value})")).collect();
    parts.join("&")
}

/// The settings a command line gives.
pub(super) fn of_command_line(words: &[String]) -> Settings {
    let mut found = Settings::new();
    for word in words {
        let Some(option) = word.strip_prefix("--") else { continue };
        match option.split_once('=') {
            Some(("sqlite-url", url)) => {
                let query = url.split_once('?').map(|(_, query)| query).unwrap_or_default();
                let pragmas = query.split('&').filter_map(|part| part.strip_prefix("_pragma="));
                for (name, value) in pragmas.filter_map(|pragma| pragma.strip_suffix(')')?.split_once('(')) {
                    found.insert(format!("{PRAGMA}{name}"), value.to_owned());
                }
            }
            Some((name, value)) if name.starts_with("test-") => {
                found.insert(name.to_owned(), value.to_owned());
            }
            None if option.starts_with("test-") => {
                found.insert(option.to_owned(), "true".to_owned());
            }
            _ => {}
        }
    }
    found
}

/// Whether two spellings mean the same.
pub(super) fn is_same(asked: &str, in_force: &str) -> bool {
    asked.eq_ignore_ascii_case(in_force) || (switch(asked).is_some() && switch(asked) == switch(in_force))
}

fn switch(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_what_the_command_line_says() {
        let asked: Settings = [
            ("sqlite.synchronous", "off"),
            ("sqlite.cache_size", "-8000"),
            ("test-batch-size", "1"),
            ("test-disable-pushdown", "on"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let mut words: Vec<String> =
            arguments(&asked).into_iter().map(|word| word.into_string().unwrap()).collect();
        assert_eq!(words, ["--test-batch-size=1", "--test-disable-pushdown"]);
        words.push(format!("--sqlite-url=file:/data/?{}", query(&asked)));
        words.extend(["--debug-addr=-".to_owned(), "x".to_owned()]);
        let found = of_command_line(&words);
        assert_eq!(found.keys().collect::<Vec<_>>(), asked.keys().collect::<Vec<_>>());
        assert!(asked.iter().all(|(name, value)| is_same(value, &found[name])), "{found:?}");
        assert!(!is_same("off", "normal") && !is_same("1", "2"));
    }

    #[test]
    fn pragmas_belong_to_sqlite() {
        let names = |backend| settings(backend).iter().filter(|facts| facts.name.starts_with(PRAGMA)).count();
        assert_eq!((names(Backend::Sqlite), names(Backend::Postgres)), (4, 0));
    }
}
