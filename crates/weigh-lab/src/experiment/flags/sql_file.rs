//! An SQL file as one operation: its statements, and what its comments say about them.

use crate::experiment::error::{ExperimentError, Position};
use crate::experiment::sql::{self, Kind, SqlError};
use crate::experiment::{OperationSection, OperationText, SqlSource};

use super::levels::FlagReader;

/// What a comment may say: `-- rows: 100`.
const FIELDS: [&str; 6] = ["parameters", "name", "weight", "repeat", "rows", "items"];

impl FlagReader {
    /// The statements of a set-up file.
    pub(super) fn statements(&mut self, source: &SqlSource) -> Vec<String> {
        sql::split(&source.text).unwrap_or_else(|error| {
            self.errors.push(in_sql(source, &error));
            Vec::new()
        })
    }

    /// One operation: all statements of the file, as one transaction when there are several.
    pub(super) fn operation(&mut self, source: &SqlSource) -> OperationSection {
        let mut sql = self.statements(source);
        unwrap_transaction(&mut sql);
        let stem = source.name.rsplit('/').next().unwrap_or(&source.name);
        let stem = stem.strip_suffix(".sql").unwrap_or(stem);
        let name = if stem.is_empty() || stem.starts_with("--") { "operation" } else { stem };
        let mut operation = plain(name, OperationText::Sql(sql));
        for field in FIELDS {
            // What does not scan was reported with the statements.
            for (offset, value) in sql::comment_fields(&source.text, field).unwrap_or_default() {
                if let Err(what) = set_field(&mut operation, field, value) {
                    self.errors.push(in_sql(source, &SqlError { offset, what }));
                }
            }
        }
        operation
    }
}

/// An operation without parameters that counts for itself.
pub(super) fn plain(name: &str, text: OperationText) -> OperationSection {
    let one = || "1".to_owned();
    let name = name.to_owned();
    OperationSection {
        name,
        weight: 1,
        text,
        parameters: Vec::new(),
        repeat: one(),
        rows: one(),
        items: one(),
        cached_as: None,
    }
}

/// The tool makes the transaction itself: `BEGIN` and `COMMIT` around everything say nothing new.
fn unwrap_transaction(sql: &mut Vec<String>) {
    let is_transaction =
        |statement: Option<&String>| statement.is_some_and(|s| Kind::of(s) == Kind::Transaction);
    if sql.len() > 2 && is_transaction(sql.first()) && is_transaction(sql.last()) {
        sql.pop();
        sql.remove(0);
    }
}

fn set_field(operation: &mut OperationSection, field: &str, value: &str) -> Result<(), String> {
    match field {
        "parameters" => {
            let table = toml::from_str::<toml::Table>(&format!("parameters = {value}"));
            let list = table.map_err(|error| format!("`parameters` is not TOML: {}", error.message()))?;
            let list = list.get("parameters").and_then(toml::Value::as_array).cloned().unwrap_or_default();
            for item in list {
                let toml::Value::Table(table) = item else {
                    return Err("`parameters` holds something that is not a table".to_owned());
                };
                operation.parameters.push(table);
            }
        }
        "weight" => {
            operation.weight = value.parse().map_err(|_| format!("`weight` is `{value}`, not an integer"))?
        }
        "name" => operation.name = value.to_owned(),
        "repeat" => operation.repeat = value.to_owned(),
        "rows" => operation.rows = value.to_owned(),
        _ => operation.items = value.to_owned(),
    }
    Ok(())
}

fn in_sql(source: &SqlSource, error: &SqlError) -> ExperimentError {
    let position = Position::in_text(&source.text, error.offset..error.offset + 1);
    ExperimentError::new(source.name.clone(), Some(position), error.what.clone())
}
