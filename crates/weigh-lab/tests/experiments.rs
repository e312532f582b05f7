//! Experiments from files and flags, and the plans they resolve to.

mod bad_files;
mod flags;
mod fuzz;
mod resolve;
mod round_trip;
mod workload_file;

use weigh_lab::systems::description::{SettingContext, SettingFacts, SettingKind, SystemDescription};
use weigh_results::model::Column;

/// A small server: a few of PostgreSQL's settings.
fn postgres() -> SystemDescription {
    let setting = |name: &str, context, kind| SettingFacts { name: name.to_owned(), context, kind };
    let choice =
        |values: &[&str]| SettingKind::Choice(values.iter().map(|&value| value.to_owned()).collect());
    SystemDescription {
        lacks: Vec::new(),
        version: "15.18".to_owned(),
        settings: vec![
            setting(
                "synchronous_commit",
                SettingContext::Session,
                choice(&["local", "remote_write", "remote_apply", "on", "off"]),
            ),
            setting("fsync", SettingContext::Reload, SettingKind::Boolean),
            setting("autovacuum", SettingContext::Reload, SettingKind::Boolean),
            setting("shared_buffers", SettingContext::Restart, SettingKind::Integer),
            setting("work_mem", SettingContext::Session, SettingKind::Integer),
            setting("max_wal_size", SettingContext::Reload, SettingKind::Integer),
            setting("checkpoint_timeout", SettingContext::Reload, SettingKind::Integer),
            setting("random_page_cost", SettingContext::Session, SettingKind::Real),
            setting("TimeZone", SettingContext::Session, SettingKind::Text),
            setting("block_size", SettingContext::Fixed, SettingKind::Integer),
        ],
        columns: vec![Column { heading: "written".to_owned(), counter: "postgres.wal_bytes".to_owned() }],
    }
}
