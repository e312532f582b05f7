//! What was asked, compared with what is in force.
//!
//! [`check`] reads every asked setting through `pg_settings` on a connection made for it, so that it sees
//! what a client that connects now would get. A value that means the same in another notation is the
//! same ([`value`](super::value)); an alias only the server knows is accepted if the server says that it
//! took it from where we put it.

use std::collections::BTreeMap;

use postgres::Client;

use super::client;
use super::conf::Settings;
use super::value::{Shown, same};
use crate::systems::SystemError;

/// Recorded of every instance, asked for or not: what most often explains a result.
const ALWAYS: [&str; 18] = [
    "autovacuum",
    "checkpoint_timeout",
    "data_checksums",
    "effective_cache_size",
    "fsync",
    "full_page_writes",
    "huge_pages",
    "jit",
    "max_connections",
    "max_wal_size",
    "server_version",
    "shared_buffers",
    "synchronous_commit",
    "wal_buffers",
    "wal_compression",
    "wal_level",
    "wal_sync_method",
    "work_mem",
];

/// A setting that is not in force as asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mismatch {
    pub(super) name: String,
    pub(super) asked: String,
    /// What is in force, as `SHOW` prints it; `None` when the server has no such setting.
    pub(super) effective: Option<String>,
    /// Where the effective value comes from: `configuration file`, `default`, `database`, …
    pub(super) source: String,
    /// It waits for a restart.
    pub(super) pending_restart: bool,
    /// What the server said about it when it read its configuration.
    pub(super) server_says: Option<String>,
}

impl Mismatch {
    /// The error for a reader.
    pub(super) fn into_error(self) -> SystemError {
        let Mismatch { name, asked, effective, source, pending_restart, server_says } = self;
        let text = match effective {
            None => format!("the server has no setting `{name}`"),
            Some(effective) => format!(
                "`{name}` is `{effective}` instead of `{asked}`: in force is what comes from `{source}`{}",
                if pending_restart { ", the change waits for a restart" } else { "" }
            ),
        };
        let error = SystemError::new(text);
        match server_says {
            Some(said) => error.with_log(vec![said]),
            None => error,
        }
    }
}

/// The effective values of `asked` and of what is always recorded, if everything is in force.
///
/// # Errors
/// The outer error when the server cannot be asked; the inner one is the first mismatch.
pub(super) fn check(
    connection: &mut Client,
    asked: &Settings,
) -> Result<Result<Settings, Mismatch>, SystemError> {
    let mut names: Vec<&str> = ALWAYS.to_vec();
    names.extend(asked.keys().map(String::as_str));
    let rows = read(connection, &names)?;
    for (name, value) in asked {
        let Some(row) = rows.get(&name.to_ascii_lowercase()) else {
            return Ok(Err(Mismatch {
                name: name.clone(),
                asked: value.clone(),
                effective: None,
                source: String::new(),
                pending_restart: false,
                server_says: None,
            }));
        };
        if row.pending_restart || !is_in_force(value, row) {
            return Ok(Err(mismatch(connection, name, value, row)));
        }
    }
    Ok(Ok(rows.into_iter().map(|(name, row)| (name, row.display)).collect()))
}

struct Row {
    shown: Shown,
    display: String,
    source: String,
    from_our_file: bool,
    pending_restart: bool,
}

fn read(connection: &mut Client, names: &[&str]) -> Result<BTreeMap<String, Row>, SystemError> {
    // `sourcefile` is shown to superusers only; elsewhere it is empty and no alias is taken on trust.
    let query = "SELECT lower(name), setting, coalesce(unit, ''), vartype, coalesce(boot_val, ''), \
                 current_setting(name, true), source, coalesce(sourcefile LIKE '%/weigh.conf', false), \
                 pending_restart FROM pg_settings \
                 WHERE lower(name) = ANY (SELECT lower(x) FROM unnest($1::text[]) AS x)";
    let rows = connection
        .query(query, &[&names])
        .map_err(|error| client::failed("cannot read `pg_settings`", &error))?;
    Ok(rows
        .iter()
        .map(|row| {
            let shown = Shown { setting: row.get(1), unit: row.get(2), kind: row.get(3), boot: row.get(4) };
            let display = row.get::<_, Option<String>>(5).unwrap_or_else(|| shown.setting.clone());
            let row_facts = Row {
                shown,
                display,
                source: row.get(6),
                from_our_file: row.get(7),
                pending_restart: row.get(8),
            };
            (row.get(0), row_facts)
        })
        .collect())
}

/// The texts decide where they can; otherwise the server's word that it took the value from where we
/// put it (our file, or this session).
fn is_in_force(asked: &str, row: &Row) -> bool {
    same(asked, &row.shown).unwrap_or(row.from_our_file || row.source == "session")
}

fn mismatch(connection: &mut Client, name: &str, asked: &str, row: &Row) -> Mismatch {
    // Only a superuser may read it; then the reason is not known, and the mismatch stands.
    let said = connection
        .query_opt(
            "SELECT error FROM pg_file_settings WHERE lower(name) = lower($1) AND error IS NOT NULL LIMIT 1",
            &[&name],
        )
        .ok()
        .flatten()
        .map(|found| format!("{name} = '{asked}': {}", found.get::<_, String>(0)));
    Mismatch {
        name: name.to_owned(),
        asked: asked.to_owned(),
        effective: Some(row.display.clone()),
        source: row.source.clone(),
        pending_restart: row.pending_restart,
        server_says: said,
    }
}
