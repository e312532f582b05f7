//! Every setting, and when a change of it comes into force, before anything runs.
//!
//! A private server is asked by `postgres --describe-config`, which starts nothing; a server at a URL by
//! its `pg_settings`. What the server calls the context of a setting is not quite the moment its change
//! comes into force for a workload ([`context`]): that is decided here, and nowhere else.

use std::path::Path;

use weigh_results::model::Column;

use super::{client, conf, programs::Programs};
use crate::experiment::{Experiment, Level, SystemKey, combinations};
use crate::host::run_tool;
use crate::systems::SystemError;
use crate::systems::description::{SettingContext, SettingFacts, SettingKind, SystemDescription};

/// Settings any session may set but that act outside the session that sets them: on autovacuum, on
/// the checkpointer, or only at the start of a connection. Set in a session, they would be "in
/// force" and do nothing.
const BEYOND_THE_SESSION: [&str; 16] = [
    "autovacuum_work_mem",
    "default_statistics_target",
    "local_preload_libraries",
    "maintenance_work_mem",
    "vacuum_buffer_usage_limit",
    "vacuum_cost_delay",
    "vacuum_cost_limit",
    "vacuum_cost_page_dirty",
    "vacuum_cost_page_hit",
    "vacuum_cost_page_miss",
    "vacuum_failsafe_age",
    "vacuum_freeze_min_age",
    "vacuum_freeze_table_age",
    "vacuum_multixact_failsafe_age",
    "vacuum_multixact_freeze_min_age",
    "vacuum_multixact_freeze_table_age",
];

/// Settings `--describe-config` hides (developers' options, extensions') that people do weigh, with their
/// contexts.
/// Those of extensions exist only once their library is preloaded, which takes a restart anyway.
const HIDDEN: [(&str, &str, &str); 13] = [
    ("application_name", "internal", "STRING"),
    ("auto_explain.log_analyze", "postmaster", "BOOLEAN"),
    ("auto_explain.log_min_duration", "postmaster", "INTEGER"),
    ("auto_explain.log_timing", "postmaster", "BOOLEAN"),
    ("debug_parallel_query", "user", "ENUM"),
    ("force_parallel_mode", "user", "ENUM"),
    ("ignore_checksum_failure", "superuser", "BOOLEAN"),
    ("jit_expressions", "user", "BOOLEAN"),
    ("jit_tuple_deforming", "user", "BOOLEAN"),
    ("pg_stat_statements.max", "postmaster", "INTEGER"),
    ("pg_stat_statements.track", "postmaster", "ENUM"),
    ("pg_stat_statements.track_planning", "postmaster", "BOOLEAN"),
    ("wal_consistency_checking", "superuser", "STRING"),
];

/// What PostgreSQL says about itself.
///
/// # Errors
/// When no server is installed, or the one at the URL cannot be read.
pub fn describe(experiment: &Experiment) -> Result<SystemDescription, SystemError> {
    match &experiment.system.url {
        Some(url) => describe_remote(url),
        None => describe_private(experiment),
    }
}

/// By the version of the baseline; other versions judge their settings themselves before anything is measured.
fn describe_private(experiment: &Experiment) -> Result<SystemDescription, SystemError> {
    let bin_dir = experiment.system.bin_dir.as_deref();
    let programs = Programs::find(bin_dir, version_of_baseline(experiment).as_deref())?;
    let output = run_tool(&programs.postgres(), &["--describe-config".into()], Path::new("/"), None)?;
    let settings = parse(&output.stdout);
    if settings.is_empty() {
        return Err(SystemError::new(format!(
            "`{} --describe-config` names no settings",
            programs.postgres().display()
        )));
    }
    let mut columns = columns(major(&programs.version), true);
    if is_said(experiment, SystemKey::Memory) || is_said(experiment, SystemKey::Start) {
        columns.extend(memory_columns());
    }
    Ok(SystemDescription { version: programs.version, settings, columns, ..SystemDescription::default() })
}

/// The version the baseline asks for, if it asks for any.
fn version_of_baseline(experiment: &Experiment) -> Option<String> {
    let mut all = combinations(experiment).into_iter();
    let baseline = match &experiment.judge.baseline {
        Some(name) => all.find(|combination| combination.name == *name),
        None => all.next(),
    };
    let level = baseline.and_then(|found| found.levels.get(SystemKey::Version.name()).map(Level::to_text));
    level.or_else(|| experiment.system.private.get(&SystemKey::Version).cloned())
}

/// Whether something is said of it for any variant.
fn is_said(experiment: &Experiment, key: SystemKey) -> bool {
    let varied = || combinations(experiment).iter().any(|found| found.levels.contains_key(key.name()));
    experiment.system.private.contains_key(&key) || varied()
}

/// Tab-separated: name, context, group, type, default, least, most, short and long description.
fn parse(text: &str) -> Vec<SettingFacts> {
    let shown = text.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        let (name, server_context) = (fields.next()?, fields.next()?);
        Some((name, server_context, fields.nth(1)?))
    });
    let mut settings: Vec<SettingFacts> =
        shown.map(|(name, server_context, kind)| facts(name, server_context, kind)).collect();
    if !settings.is_empty() {
        for (name, server_context, kind) in HIDDEN {
            if !settings.iter().any(|setting| setting.name == name) {
                settings.push(facts(name, server_context, kind));
            }
        }
    }
    settings.sort_by(|one, two| one.name.cmp(&two.name));
    settings
}

fn facts(name: &str, server_context: &str, kind: &str) -> SettingFacts {
    let context = if conf::is_managed(name) { SettingContext::Fixed } else { context(name, server_context) };
    SettingFacts { name: name.to_owned(), context, kind: kind_of(kind) }
}

/// When a change comes into force for a workload on a private server.
///
/// What only a superuser may set is reloaded, not set in the session: much of it acts in the
/// background (`wal_recycle` in the checkpointer), and new connections see a reload anyway.
fn context(name: &str, server_context: &str) -> SettingContext {
    match server_context {
        "internal" => SettingContext::Fixed,
        "postmaster" => SettingContext::Restart,
        "user" if !BEYOND_THE_SESSION.contains(&name) => SettingContext::Session,
        _ => SettingContext::Reload,
    }
}

/// The values of an enumeration are not listed by the server's program, and `pg_settings` leaves out
/// spellings it takes (`true` for `on`): the server itself judges them before anything is measured.
fn kind_of(kind: &str) -> SettingKind {
    match kind.to_ascii_uppercase().as_str() {
        "BOOLEAN" | "BOOL" => SettingKind::Boolean,
        "INTEGER" => SettingKind::Integer,
        "REAL" => SettingKind::Real,
        _ => SettingKind::Text,
    }
}

fn describe_remote(url: &str) -> Result<SystemDescription, SystemError> {
    let mut connection = client::connect_url(url)?;
    let rows = connection
        .query(
            "SELECT name, context, vartype, current_setting('is_superuser') = 'on' FROM pg_settings ORDER BY 1",
            &[],
        )
        .map_err(|error| client::failed("cannot read `pg_settings`", &error))?;
    let settings = rows
        .iter()
        .map(|row| {
            let (name, server_context, kind): (&str, &str, &str) = (row.get(0), row.get(1), row.get(2));
            let context = remote_context(name, server_context, row.get(3));
            SettingFacts { name: name.to_owned(), context, kind: kind_of(kind) }
        })
        .collect();
    let version = client::version(&mut connection)?;
    let columns = columns(major(&version), false);
    Ok(SystemDescription { version, settings, columns, ..SystemDescription::default() })
}

/// On a server that is not ours only what a session can set for itself, with effect, may be varied.
fn remote_context(name: &str, server_context: &str, is_superuser: bool) -> SettingContext {
    match server_context {
        "internal" => SettingContext::Fixed,
        "postmaster" => SettingContext::Restart,
        "user" if !BEYOND_THE_SESSION.contains(&name) => SettingContext::Session,
        "superuser" if is_superuser && !name.starts_with("wal_") && !name.contains("preload") => {
            SettingContext::Session
        }
        _ => SettingContext::Reload,
    }
}

/// `15.18` → 15; 0 when it cannot be read.
pub(super) fn major(version: &str) -> u32 {
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

fn columns(major: u32, ours: bool) -> Vec<Column> {
    let mut columns = Vec::new();
    if ours {
        columns.push(column("cpu", "server.cpu_us"));
    }
    columns.push(column("wal", "postgres.wal_bytes"));
    if major >= 14 {
        columns.push(column("syncs", "postgres.wal_syncs"));
    }
    if ours {
        columns.push(column("written", "disk.write_bytes"));
    }
    columns
}

/// Where memory is short, or empty at first: what came from storage, and what clients waited for.
fn memory_columns() -> Vec<Column> {
    vec![
        column("read", "server.read_bytes"),
        column("io wait", "postgres.io_wait_us"),
        column("lock wait", "postgres.lock_wait_us"),
        column("refaults", "server.refaults"),
        column("major faults", "server.major_faults"),
    ]
}

fn column(heading: &str, counter: &str) -> Column {
    Column { heading: heading.into(), counter: counter.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Captured from PostgreSQL 15.18, shortened to a line of each context.
    const CAPTURED: &str = "commit_delay\tsuperuser\tWrite-Ahead Log / Settings\tINTEGER\t0\t0\t100000\tSets the delay.\t\n\
        fsync\tsighup\tWrite-Ahead Log / Settings\tBOOLEAN\tTRUE\t\t\tForces synchronization.\t\n\
        listen_addresses\tpostmaster\tConnections\tSTRING\tlocalhost\t\t\tSets the host name.\t\n\
        log_connections\tsuperuser-backend\tReporting\tBOOLEAN\tFALSE\t\t\tLogs.\t\n\
        shared_buffers\tpostmaster\tResource Usage / Memory\tINTEGER\t16384\t16\t1073741823\tSets.\t\n\
        synchronous_commit\tuser\tWrite-Ahead Log / Settings\tENUM\ton\t\t\tSets.\t\n\
        vacuum_cost_delay\tuser\tResource Usage\tREAL\t0\t0\t100\tVacuum cost delay.\t\n";

    #[test]
    fn contexts_are_what_a_workload_sees() {
        let settings = parse(CAPTURED);
        let context =
            |name: &str| settings.iter().find(|setting| setting.name == name).map(|found| found.context);
        assert_eq!(context("commit_delay"), Some(SettingContext::Reload));
        assert_eq!(context("fsync"), Some(SettingContext::Reload));
        assert_eq!(context("listen_addresses"), Some(SettingContext::Fixed), "managed by weigh");
        assert_eq!(context("log_connections"), Some(SettingContext::Reload));
        assert_eq!(context("shared_buffers"), Some(SettingContext::Restart));
        assert_eq!(context("synchronous_commit"), Some(SettingContext::Session));
        assert_eq!(context("vacuum_cost_delay"), Some(SettingContext::Reload), "acts on autovacuum");
        assert_eq!(context("no_such_setting"), None);
    }

    #[test]
    fn versions_have_a_major() {
        assert_eq!((major("15.18"), major("17beta1"), major("9.6.24"), major("")), (15, 17, 9, 0));
    }
}
