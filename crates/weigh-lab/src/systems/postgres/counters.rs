//! What the server counted: one query, by version.
//!
//! Views come and go between versions: `pg_stat_wal` from 14 on, its writes and syncs in `pg_stat_io` from 18 on,
//! the checkpointer's own view from 17 on. [`Reader`] prepares the one query that fits and gives the same
//! keys wherever a version has the figure. A key a version cannot supply is absent, never 0.
//!
//! **Lag.** `postgres.wal_bytes` is the distance the log has grown and exact at any moment. Everything else comes
//! from cumulative statistics, which a busy backend hands over at most once per second and every backend
//! when it exits: differences over a whole trial, with clients connecting after the first reading or just
//! before it and gone before the last, are exact; over a stretch inside a trial they may be off by what
//! one second of work amounts to. Before version 15 a reading may be half a second old besides.

use postgres::{Client, Statement};

use super::client;
use crate::systems::{Counters, SystemError};

/// A prepared query on one connection.
pub(super) struct Reader {
    statement: Statement,
}

/// Whose databases count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The whole cluster: it is ours.
    Cluster,
    /// The database we are connected to.
    Database,
}

impl Reader {
    /// Prepares the query for a server of this major version.
    ///
    /// # Errors
    /// In the server's words.
    pub(super) fn new(connection: &mut Client, major: u32, scope: Scope) -> Result<Reader, SystemError> {
        let statement = connection
            .prepare(&query(major, scope))
            .map_err(|error| client::failed("cannot prepare the counters' query", &error))?;
        Ok(Reader { statement })
    }

    /// Every counter now.
    ///
    /// # Errors
    /// In the server's words.
    pub(super) fn read(&self, connection: &mut Client) -> Result<Counters, SystemError> {
        let row = connection
            .query_one(&self.statement, &[])
            .map_err(|error| client::failed("cannot read the server's counters", &error))?;
        let value = |index: usize| row.get::<_, Option<f64>>(index);
        Ok(row
            .columns()
            .iter()
            .enumerate()
            .filter_map(|(index, column)| Some((format!("postgres.{}", column.name()), value(index)?)))
            .collect())
    }
}

/// Source → counter. Times are in milliseconds on the server, in microseconds in counters.
type Figure = (&'static str, &'static str);

const DATABASE: [Figure; 13] = [
    ("xact_commit", "commits"),
    ("xact_rollback", "rollbacks"),
    ("blks_read", "blocks_read"),
    ("blks_hit", "blocks_hit"),
    ("tup_returned", "rows_returned"),
    ("tup_fetched", "rows_fetched"),
    ("tup_inserted", "rows_inserted"),
    ("tup_updated", "rows_updated"),
    ("tup_deleted", "rows_deleted"),
    ("temp_files", "temp_files"),
    ("temp_bytes", "temp_bytes"),
    ("deadlocks", "deadlocks"),
    ("blk_read_time * 1000", "block_read_us"),
];

/// Of the tables that are there: what went by index and what by walking through, and updates that touched no index. They
/// fall when a table is dropped, and have no difference then.
const TABLES: [Figure; 5] = [
    ("coalesce(sum(seq_scan), 0)", "sequential_scans"),
    ("coalesce(sum(idx_scan), 0)", "index_scans"),
    ("coalesce(sum(idx_tup_fetch), 0)", "rows_fetched_by_index"),
    ("coalesce(sum(n_tup_hot_upd), 0)", "hot_updates"),
    ("pg_database_size(current_database())", "data_grown_bytes"),
];

const WAL: [Figure; 3] = [
    ("wal_records", "wal_records"),
    ("wal_fpi", "wal_full_page_images"),
    ("wal_buffers_full", "wal_buffers_full"),
];

const WAL_WRITES_14: [Figure; 4] = [
    ("wal_write", "wal_writes"),
    ("wal_sync", "wal_syncs"),
    ("wal_write_time * 1000", "wal_write_us"),
    ("wal_sync_time * 1000", "wal_sync_us"),
];

const WAL_WRITES_18: [Figure; 4] = [
    ("sum(writes)", "wal_writes"),
    ("sum(fsyncs)", "wal_syncs"),
    ("sum(write_time) * 1000", "wal_write_us"),
    ("sum(fsync_time) * 1000", "wal_sync_us"),
];

const WRITERS_16: [Figure; 8] = [
    ("checkpoints_timed", "checkpoints_timed"),
    ("checkpoints_req", "checkpoints_requested"),
    ("checkpoint_write_time * 1000", "checkpoint_write_us"),
    ("checkpoint_sync_time * 1000", "checkpoint_sync_us"),
    ("buffers_checkpoint", "checkpoint_buffers"),
    ("buffers_clean", "background_buffers"),
    ("buffers_backend", "backend_buffers"),
    ("buffers_alloc", "buffers_allocated"),
];

const CHECKPOINTER_17: [Figure; 5] = [
    ("num_timed", "checkpoints_timed"),
    ("num_requested", "checkpoints_requested"),
    ("write_time * 1000", "checkpoint_write_us"),
    ("sync_time * 1000", "checkpoint_sync_us"),
    ("buffers_written", "checkpoint_buffers"),
];

const WRITER_17: [Figure; 2] =
    [("buffers_clean", "background_buffers"), ("buffers_alloc", "buffers_allocated")];

/// `SELECT a::float8 AS "x", … FROM (one row) , (one row) …`
fn query(major: u32, scope: Scope) -> String {
    let databases = match scope {
        Scope::Cluster => "",
        Scope::Database => " WHERE datname = current_database()",
    };
    let summed: Vec<(String, &str)> =
        DATABASE.iter().map(|(source, name)| (format!("sum({source})"), *name)).collect();
    let summed: Vec<(&str, &str)> = summed.iter().map(|(source, name)| (source.as_str(), *name)).collect();
    let mut parts = vec![
        part(
            "",
            &[(
                "CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') END",
                "wal_bytes",
            )],
        ),
        part(&format!("FROM pg_stat_database{databases}"), &summed),
    ];
    // Walking through all tables and their files takes too long where there are thousands: only in our own.
    if scope == Scope::Cluster {
        parts.push(part("FROM pg_stat_user_tables", &TABLES));
    }
    if major >= 14 {
        parts.push(part("FROM pg_stat_wal", &WAL));
    }
    match major {
        0..=13 => {}
        14..=17 => parts.push(part("FROM pg_stat_wal", &WAL_WRITES_14)),
        _ => parts.push(part("FROM pg_stat_io WHERE object = 'wal'", &WAL_WRITES_18)),
    }
    if major >= 17 {
        parts.push(part("FROM pg_stat_checkpointer", &CHECKPOINTER_17));
        parts.push(part("FROM pg_stat_bgwriter", &WRITER_17));
    } else {
        parts.push(part("FROM pg_stat_bgwriter", &WRITERS_16));
    }
    let tables: Vec<String> =
        parts.iter().enumerate().map(|(number, part)| format!("({part}) AS p{number}")).collect();
    format!("SELECT * FROM {}", tables.join(", "))
}

fn part(from: &str, figures: &[(&str, &str)]) -> String {
    let columns: Vec<String> =
        figures.iter().map(|(source, name)| format!("({source})::float8 AS {name}")).collect();
    format!("SELECT {} {from}", columns.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_asked_for_what_it_has() {
        let has = |major, text: &str| query(major, Scope::Cluster).contains(text);
        assert!(!has(13, "pg_stat_wal"));
        assert!(has(15, "(wal_sync)::float8 AS wal_syncs"));
        assert!(has(15, "checkpoints_req") && !has(15, "pg_stat_checkpointer"));
        assert!(has(17, "pg_stat_checkpointer") && has(17, "(wal_sync)::float8"));
        assert!(has(18, "pg_stat_io") && !has(18, "(wal_sync)::float8"));
        assert!(query(15, Scope::Database).contains("current_database()"));
        assert!(has(15, "hot_updates") && !query(15, Scope::Database).contains("pg_stat_user_tables"));
    }
}
