//! Pragmas: applied, read back, compared.
//!
//! SQLite ignores a pragma or a value it does not know, and some it silently refuses (`page_size` of a database
//! that has pages, `journal_mode` of one in memory). Only what is read back is believed.

use rusqlite::Connection;
use rusqlite::types::Value;
use weigh_load::DriverError;

/// Names SQLite reads back as numbers.
const NUMBERED: &[(&str, &[(&str, i64)])] = &[
    ("auto_vacuum", &[("none", 0), ("full", 1), ("incremental", 2)]),
    ("secure_delete", &[("fast", 2)]),
    ("synchronous", &[("off", 0), ("normal", 1), ("full", 2), ("extra", 3)]),
    ("temp_store", &[("default", 0), ("file", 1), ("memory", 2)]),
];

/// Executes `PRAGMA name = value`.
pub(super) fn apply(session: &Connection, name: &str, value: &str) -> Result<(), DriverError> {
    check_name(name)?;
    let sql = format!("PRAGMA {name} = '{}'", value.replace('\'', "''"));
    let executed = session.prepare(&sql).and_then(|mut statement| {
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {}
        Ok(())
    });
    executed
        .map_err(|error| DriverError::caused(format!("pragma `{name}` cannot be set to `{value}`"), error))
}

/// Fails unless the value in force means what was asked.
pub(super) fn read_back(session: &Connection, name: &str, asked: &str) -> Result<(), DriverError> {
    let effective =
        session.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, Value>(0)).map_err(|error| {
            match error {
                rusqlite::Error::QueryReturnedNoRows => {
                    DriverError::new(format!("pragma `{name}` is unknown to SQLite or cannot be read back"))
                }
                other => DriverError::caused(format!("pragma `{name}` cannot be read back"), other),
            }
        })?;
    if means(name, asked, &effective) {
        return Ok(());
    }
    let shown = match &effective {
        Value::Null => "null".into(),
        Value::Integer(number) => spelled(name, *number),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Blob(_) => "a blob".into(),
    };
    Err(DriverError::new(format!("pragma `{name}` is `{shown}` in force, not `{asked}` as asked")))
}

fn check_name(name: &str) -> Result<(), DriverError> {
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
    is_name.then_some(()).ok_or_else(|| DriverError::new(format!("`{name}` is not the name of a pragma")))
}

fn means(name: &str, asked: &str, effective: &Value) -> bool {
    let asked = asked.trim();
    match effective {
        Value::Integer(number) => as_number(name, asked) == Some(*number),
        Value::Real(number) => asked.parse() == Ok(*number),
        Value::Text(text) => text.eq_ignore_ascii_case(asked),
        Value::Null | Value::Blob(_) => false,
    }
}

fn as_number(name: &str, asked: &str) -> Option<i64> {
    let lower = asked.to_ascii_lowercase();
    let named = names(name).iter().find(|(known, _)| *known == lower).map(|(_, number)| *number);
    named.or_else(|| asked.parse().ok()).or(match lower.as_str() {
        "on" | "true" | "yes" => Some(1),
        "off" | "false" | "no" => Some(0),
        _ => None,
    })
}

fn spelled(name: &str, number: i64) -> String {
    let known = names(name).iter().find(|(_, value)| *value == number);
    known.map_or_else(|| number.to_string(), |(word, _)| (*word).to_owned())
}

fn names(pragma: &str) -> &'static [(&'static str, i64)] {
    let pragma = pragma.rsplit('.').next().unwrap_or(pragma);
    NUMBERED.iter().find(|(name, _)| name.eq_ignore_ascii_case(pragma)).map_or(&[], |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_meaning_is_equal() {
        assert!(means("synchronous", "FULL", &Value::Integer(2)));
        assert!(means("synchronous", "2", &Value::Integer(2)));
        assert!(!means("synchronous", "normal", &Value::Integer(2)));
        assert!(means("main.synchronous", "off", &Value::Integer(0)));
        assert!(means("journal_mode", "WAL", &Value::Text("wal".into())));
        assert!(means("foreign_keys", "on", &Value::Integer(1)));
        assert!(means("cache_size", "-2000", &Value::Integer(-2000)));
        assert!(!means("cache_size", "many", &Value::Integer(0)));
    }

    #[test]
    fn refusals_name_both_values() {
        let session = Connection::open_in_memory().unwrap();
        let message = |name, value| {
            apply(&session, name, value)
                .and_then(|()| read_back(&session, name, value))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            message("journal_mode", "wal"),
            "pragma `journal_mode` is `memory` in force, not `wal` as asked"
        );
        assert_eq!(
            message("synchronous", "often"),
            "pragma `synchronous` is `normal` in force, not `often` as asked"
        );
        assert_eq!(message("no_such", "1"), "pragma `no_such` is unknown to SQLite or cannot be read back");
        assert_eq!(message("a; drop", "1"), "`a; drop` is not the name of a pragma");
    }
}
