//! Checkpoints of FerretDB's SQLite files, which its protocol has no command for.
//!
//! A file of SQLite may be opened by several processes; the checkpoint is made by this one while the server runs. What
//! it costs is in the debt's time and in the disk's counters, and not in the CPU time of the server.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::systems::SystemError;

/// Brings what is in the write-ahead logs of a directory's databases into the databases.
///
/// # Errors
/// When a file cannot be read, or SQLite refuses.
pub(super) fn checkpoint(dir: &Path) -> Result<(), SystemError> {
    let entries = std::fs::read_dir(dir)
        .map_err(|error| SystemError::new(format!("cannot read `{}`", dir.display())).caused_by(error))?;
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| has_log(path)).try_for_each(|path| {
        checkpoint_one(&path).map_err(|error| {
            SystemError::new(format!("cannot checkpoint `{}`", path.display())).caused_by(error)
        })
    })
}

/// Whether it is a database with a log: one without, or with an empty one, has nothing to bring in.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    path.extension().is_some_and(|ending| ending == "sqlite")
        && std::fs::metadata(PathBuf::from(log)).is_ok_and(|data| data.len() > 0)
}

fn checkpoint_one(path: &Path) -> Result<(), rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // FerretDB may hold a reader open for as long as it likes; waiting for it to go would be no work of the trial's.
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_log_is_in_the_database_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sqlite");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
            .unwrap();
        // A reader that never ends.
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        assert!(has_log(&path));
        checkpoint(dir.path()).unwrap();
        let alone = dir.path().join("alone");
        std::fs::copy(&path, &alone).unwrap();
        let copied = Connection::open(&alone).unwrap();
        assert_eq!(copied.query_row("SELECT a FROM t", [], |row| row.get::<_, i64>(0)), Ok(1));
        std::fs::write(dir.path().join("b.sqlite"), "no database, and no log").unwrap();
        checkpoint(dir.path()).unwrap();
        std::fs::write(dir.path().join("b.sqlite-wal"), "x").unwrap();
        let error = checkpoint(dir.path()).unwrap_err();
        assert!(error.message.starts_with("cannot checkpoint"), "{}", error.message);
    }
}
