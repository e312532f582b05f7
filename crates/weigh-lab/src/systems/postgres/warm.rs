//! Trials that start warm: everything of the user's tables and indexes read once, and proved to be in memory.
//!
//! `pg_prewarm` reads it into the server's buffers, and so through the operating system's cache; a build
//! without contrib reads the files (`pg_read_binary_file`). Either way it is the server that reads, so that the
//! pages count for the memory it may use. A second pass proves it: what is in neither place has to be read
//! from storage again.

use postgres::{Client, Transaction};

use super::client;
use crate::systems::SystemError;

/// Tables, materialized views, their TOAST tables, then indexes, which are used most.
const RELATIONS: &str = "FROM pg_class WHERE oid >= 16384 AND relkind IN ('r', 'm', 't', 'i') \
                         AND relpersistence <> 't' AND pg_relation_filepath(oid) IS NOT NULL";
/// Read at once from a file, bytes.
const CHUNK_BYTES: i64 = 8 << 20;

/// What a pass over everything found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pass {
    /// Of all tables and indexes.
    pub(super) total_bytes: u64,
    /// Not found in the server's buffers; `None` when the server did not count.
    pub(super) unbuffered_bytes: Option<u64>,
}

/// Makes `pg_prewarm` known to a template, where it is installed: the same bytes for every variant.
///
/// # Errors
/// In the server's words.
pub(super) fn install(admin: &mut Client) -> Result<(), SystemError> {
    let failed = |error: &postgres::Error| client::failed("cannot install `pg_prewarm`", error);
    let there = admin
        .query("SELECT FROM pg_available_extensions WHERE name = 'pg_prewarm'", &[])
        .map_err(|error| failed(&error))?;
    if there.is_empty() {
        return Ok(());
    }
    admin.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm").map_err(|error| failed(&error))
}

/// Reads everything once.
///
/// # Errors
/// In the server's words.
pub(super) fn pass(connection: &mut Client) -> Result<Pass, SystemError> {
    run(connection).map_err(|error| client::failed("cannot read everything into memory", &error))
}

fn run(connection: &mut Client) -> Result<Pass, postgres::Error> {
    // Figures of the transaction are exact at once; the cumulative ones lag.
    let mut transaction = connection.transaction()?;
    let schema = transaction.query_opt(
        "SELECT quote_ident(nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace \
         WHERE extname = 'pg_prewarm'",
        &[],
    )?;
    let pass = match schema {
        Some(row) => buffers(&mut transaction, row.get(0))?,
        None => Pass { total_bytes: files(&mut transaction)?, unbuffered_bytes: None },
    };
    transaction.commit()?;
    Ok(pass)
}

fn buffers(transaction: &mut Transaction<'_>, schema: &str) -> Result<Pass, postgres::Error> {
    let oids: Vec<u32> = oids(transaction)?;
    for oid in &oids {
        transaction.execute(&format!("SELECT {schema}.pg_prewarm($1::oid::regclass, 'buffer')"), &[oid])?;
    }
    let row = transaction.query_one(
        "SELECT coalesce(sum(pg_relation_size(x)), 0)::int8, \
         (coalesce(sum(pg_stat_get_xact_blocks_fetched(x) - pg_stat_get_xact_blocks_hit(x)), 0) \
         * current_setting('block_size')::int8)::int8 FROM unnest($1::oid[]) AS x",
        &[&oids],
    )?;
    Ok(Pass { total_bytes: bytes(row.get(0)), unbuffered_bytes: Some(bytes(row.get(1))) })
}

/// Every segment of every file, in chunks.
fn files(transaction: &mut Transaction<'_>) -> Result<u64, postgres::Error> {
    let mut total = 0;
    for oid in oids(transaction)? {
        let path: String = transaction.query_one("SELECT pg_relation_filepath($1::oid)", &[&oid])?.get(0);
        for segment in 0.. {
            let file = if segment == 0 { path.clone() } else { format!("{path}.{segment}") };
            let size = transaction.query_one("SELECT (pg_stat_file($1, true)).size", &[&file])?;
            let Some(size) = size.get::<_, Option<i64>>(0) else { break };
            transaction.query_one(
                "SELECT sum(length(pg_read_binary_file($1, at, $3::int8, true))) \
                 FROM generate_series(0, $2::int8, $3::int8) AS at",
                &[&file, &size, &CHUNK_BYTES],
            )?;
            total += bytes(size);
        }
    }
    Ok(total)
}

fn oids(transaction: &mut Transaction<'_>) -> Result<Vec<u32>, postgres::Error> {
    let query = format!("SELECT oid {RELATIONS} ORDER BY relkind = 'i', oid");
    Ok(transaction.query(&query, &[])?.iter().map(|row| row.get(0)).collect())
}

fn bytes(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}
