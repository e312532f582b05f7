//! The pragmas an experiment may set, how they are set, and what counts as in force.
//!
//! SQLite ignores an unknown pragma and answers a bad value with the old one, so every pragma is in this
//! table, and every one is read back.

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::systems::SystemError;
use crate::systems::description::{SettingContext, SettingFacts, SettingKind};

/// A pragma.
pub(super) struct Pragma {
    pub(super) name: &'static str,
    /// When it has to be set.
    pub(super) moment: Moment,
    values: Values,
}

/// When a pragma has to be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before the first table exists.
    Creation,
    /// Once per file; it stays in the file.
    File,
    /// By every connection.
    Connection,
}

/// What it takes.
enum Values {
    Integer,
    Boolean,
    /// Words, each with the number SQLite may show in its place.
    Words(&'static [(&'static str, i64)]),
}

const fn pragma(name: &'static str, moment: Moment, values: Values) -> Pragma {
    Pragma { name, moment, values }
}

/// Words that SQLite shows as words.
const SHOWN_AS_WORD: i64 = -1;

/// Every pragma, in alphabetical order.
pub(super) const PRAGMAS: [Pragma; 21] = [
    pragma("auto_vacuum", Moment::Creation, Values::Words(&[("none", 0), ("full", 1), ("incremental", 2)])),
    pragma("automatic_index", Moment::Connection, Values::Boolean),
    pragma("busy_timeout", Moment::Connection, Values::Integer),
    pragma("cache_size", Moment::Connection, Values::Integer),
    pragma("cell_size_check", Moment::Connection, Values::Boolean),
    pragma("checkpoint_fullfsync", Moment::Connection, Values::Boolean),
    pragma(
        "encoding",
        Moment::Creation,
        Values::Words(&[("utf-8", SHOWN_AS_WORD), ("utf-16le", SHOWN_AS_WORD), ("utf-16be", SHOWN_AS_WORD)]),
    ),
    pragma("foreign_keys", Moment::Connection, Values::Boolean),
    pragma("fullfsync", Moment::Connection, Values::Boolean),
    pragma("hard_heap_limit", Moment::Connection, Values::Integer),
    pragma(
        "journal_mode",
        Moment::File,
        Values::Words(&[
            ("delete", SHOWN_AS_WORD),
            ("truncate", SHOWN_AS_WORD),
            ("persist", SHOWN_AS_WORD),
            ("memory", SHOWN_AS_WORD),
            ("wal", SHOWN_AS_WORD),
            ("off", SHOWN_AS_WORD),
        ]),
    ),
    pragma("journal_size_limit", Moment::Connection, Values::Integer),
    pragma(
        "locking_mode",
        Moment::Connection,
        Values::Words(&[("normal", SHOWN_AS_WORD), ("exclusive", SHOWN_AS_WORD)]),
    ),
    pragma("mmap_size", Moment::Connection, Values::Integer),
    pragma("page_size", Moment::Creation, Values::Integer),
    pragma("secure_delete", Moment::Connection, Values::Words(&[("off", 0), ("on", 1), ("fast", 2)])),
    pragma("soft_heap_limit", Moment::Connection, Values::Integer),
    pragma(
        "synchronous",
        Moment::Connection,
        Values::Words(&[("off", 0), ("normal", 1), ("full", 2), ("extra", 3)]),
    ),
    pragma("temp_store", Moment::Connection, Values::Words(&[("default", 0), ("file", 1), ("memory", 2)])),
    pragma("threads", Moment::Connection, Values::Integer),
    pragma("wal_autocheckpoint", Moment::Connection, Values::Integer),
];

impl Pragma {
    /// For a plan to check settings against.
    pub(super) fn facts(&self) -> SettingFacts {
        let context = match self.moment {
            Moment::Creation => SettingContext::Restart,
            Moment::File => SettingContext::Reload,
            Moment::Connection => SettingContext::Session,
        };
        let kind = match &self.values {
            Values::Integer => SettingKind::Integer,
            Values::Boolean => SettingKind::Boolean,
            // Numbers and other cases are taken too; the table judges, with the words in its message.
            Values::Words(_) => SettingKind::Text,
        };
        SettingFacts { name: self.name.to_owned(), context, kind }
    }

    /// The value in one spelling, if it is one of this pragma's.
    pub(super) fn canonical(&self, asked: &str) -> Option<String> {
        let asked = asked.trim().to_ascii_lowercase();
        match &self.values {
            Values::Integer => asked.parse::<i64>().ok().map(|number| number.to_string()),
            Values::Boolean => match asked.as_str() {
                "1" | "on" | "true" | "yes" => Some("1".to_owned()),
                "0" | "off" | "false" | "no" => Some("0".to_owned()),
                _ => None,
            },
            Values::Words(words) => words
                .iter()
                .find(|(word, number)| {
                    asked == *word || (*number >= 0 && asked == number.to_string()) || is_switch(&asked, word)
                })
                .map(|(word, _)| (*word).to_owned()),
        }
    }

    fn expected(&self) -> String {
        match &self.values {
            Values::Integer => "an integer".to_owned(),
            Values::Boolean => "`on` or `off`".to_owned(),
            Values::Words(words) => {
                words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// `true` and `false` from a TOML file, where the words are `on` and `off`.
fn is_switch(asked: &str, word: &str) -> bool {
    matches!((asked, word), ("true" | "yes", "on") | ("false" | "no", "off"))
}

/// The pragma of that name, and the value in one spelling.
///
/// # Errors
/// Names what is not one of SQLite's, and what it takes.
pub(super) fn resolve(name: &str, asked: &str) -> Result<(&'static Pragma, String), SystemError> {
    let Some(pragma) = PRAGMAS.iter().find(|pragma| pragma.name == name) else {
        return Err(SystemError::new(format!("sqlite has no setting `{name}`")));
    };
    let value = pragma.canonical(asked).ok_or_else(|| {
        SystemError::new(format!("`{name}` cannot be `{asked}`: it is {}", pragma.expected()))
    })?;
    Ok((pragma, value))
}

/// What SQLite says a pragma is, in the spelling of [`Pragma::canonical`].
///
/// # Errors
/// When SQLite does not answer.
pub(super) fn read(connection: &Connection, pragma: &Pragma) -> Result<String, SystemError> {
    let shown =
        connection.query_row(&format!("PRAGMA {}", pragma.name), [], |row| row.get::<_, Value>(0)).map_err(
            |error| SystemError::new(format!("cannot read pragma `{}`", pragma.name)).caused_by(error),
        )?;
    let text = match shown {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text,
        other => format!("{other:?}"),
    };
    Ok(pragma.canonical(&text).unwrap_or(text))
}

/// Sets a pragma and reads it back.
///
/// # Errors
/// When something else is in force afterwards.
pub(super) fn set(connection: &Connection, name: &str, asked: &str) -> Result<(), SystemError> {
    let (pragma, value) = resolve(name, asked)?;
    // Some pragmas answer with a row, some with none; both are read to the end.
    connection
        .prepare(&format!("PRAGMA {name} = '{value}'"))
        .and_then(|mut statement| {
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
            Ok(())
        })
        .map_err(|error| SystemError::new(format!("sqlite refuses `{name} = {asked}`")).caused_by(error))?;
    let effective = read(connection, pragma)?;
    match effective == value {
        true => Ok(()),
        false => Err(SystemError::new(format!("`{name}` is `{effective}` instead of `{asked}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_value_is_one() {
        let canonical = |name: &str, value: &str| resolve(name, value).map(|(_, value)| value).ok();
        assert_eq!(canonical("synchronous", "FULL").as_deref(), Some("full"));
        assert_eq!(canonical("synchronous", "2").as_deref(), Some("full"));
        assert_eq!(canonical("synchronous", "false").as_deref(), Some("off"));
        assert_eq!(canonical("journal_mode", "WAL").as_deref(), Some("wal"));
        assert_eq!(canonical("cache_size", "-2000").as_deref(), Some("-2000"));
        assert_eq!(canonical("foreign_keys", "true").as_deref(), Some("1"));
        let error = resolve("synchronous", "often").map(|_| ()).unwrap_err();
        assert_eq!(error.message, "`synchronous` cannot be `often`: it is `off`, `normal`, `full`, `extra`");
        assert!(resolve("no_such", "1").is_err());
    }

    #[test]
    fn every_pragma_is_one_that_sqlite_knows_and_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        for pragma in &PRAGMAS {
            let connection = Connection::open(dir.path().join(pragma.name)).unwrap();
            let now = read(&connection, pragma).unwrap();
            assert!(pragma.canonical(&now).is_some(), "{} shows {now}", pragma.name);
            let value = match &pragma.values {
                Values::Integer if pragma.name == "page_size" => "8192",
                Values::Integer if pragma.name == "threads" => "2",
                // A heap limit is the whole process's: off, so that other tests keep their memory.
                Values::Integer if pragma.name.ends_with("heap_limit") => "0",
                Values::Integer => "4321",
                Values::Boolean => "on",
                Values::Words(words) => words[1].0,
            };
            set(&connection, pragma.name, value).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
