//! The statements of an operation: one transaction, rows behind `VALUES`, parameters numbered through.

use weigh_load::generator::GeneratorSpec;

use super::super::{OperationSection, sql};
use super::operation::Counts;
use super::variant::Expander;
use crate::plan::ResolvedText;

impl Expander<'_> {
    /// `None` when it was reported.
    pub(super) fn sql(
        &mut self,
        path: &str,
        statements: &[String],
        operation: &OperationSection,
        counts: Counts,
    ) -> Option<(ResolvedText, Vec<GeneratorSpec>)> {
        let before = self.errors.len();
        let sql = self.fill_all(&format!("{path}.sql"), statements);
        let parameters = self.parameters(path, operation);
        if self.errors.len() > before {
            return None;
        }
        for (name, number) in [("repeat", counts.repeat), ("rows", counts.rows)] {
            if number > 1 && sql.len() > 1 {
                let what = format!("`{name}` is {number}, but the operation has {} statements", sql.len());
                self.error(&format!("{path}.{name}"), what, "a single statement");
                return None;
            }
        }
        self.check_sql(path, &sql, parameters.len());
        let (sql, parameters) = self.rows(path, sql, parameters, counts.rows);
        Some((ResolvedText::Sql(sql), parameters))
    }

    /// Parameters `$1` … `$n`, each used, none missing; no transactions of its own.
    fn check_sql(&mut self, path: &str, statements: &[String], given: usize) {
        if statements.is_empty() {
            self.error(&format!("{path}.sql"), "an operation without a statement", "SQL");
        }
        let mut used = std::collections::BTreeSet::new();
        for (index, statement) in statements.iter().enumerate() {
            let path = format!("{path}.sql[{index}]");
            if sql::Kind::of(statement) == sql::Kind::Transaction {
                let what = format!("`{}` in an operation", sql::verb(statement));
                self.error(&path, what, "the statements alone: several of them run as one transaction");
            }
            match sql::parameters(statement) {
                Ok(numbers) => used.extend(numbers),
                Err(error) => self.error(&path, error.what, "SQL"),
            }
        }
        self.check_numbers((path, "sql", "the SQL"), &used, given);
    }

    /// Several rows behind `VALUES`, each with parameters of its own.
    fn rows(
        &mut self,
        path: &str,
        mut sql: Vec<String>,
        parameters: Vec<GeneratorSpec>,
        rows: u32,
    ) -> (Vec<String>, Vec<GeneratorSpec>) {
        let [statement] = sql.as_mut_slice() else { return (sql, parameters) };
        if rows <= 1 {
            return (sql, parameters);
        }
        // What the wire (16 bits) and SQLite's default limit allow.
        let most = if self.experiment.system.name == "sqlite" { 32_766 } else { 65_535 };
        let total = parameters.len().saturating_mul(rows as usize);
        if total > most {
            let what = format!("`rows` is {rows}: {total} parameters in one statement");
            self.error(&format!("{path}.rows"), what, &format!("at most {most}"));
            return (sql, parameters);
        }
        let count = u32::try_from(parameters.len()).unwrap_or(u32::MAX);
        match sql::repeat_values(statement, rows, count) {
            Ok(repeated) => *statement = repeated,
            Err(what) => {
                self.error(
                    &format!("{path}.rows"),
                    format!("`rows` is {rows}, but the SQL has {what}"),
                    "an `INSERT … VALUES (…)` with one row",
                );
            }
        }
        let parameters = parameters.iter().cycle().take(total).cloned().collect();
        (sql, parameters)
    }
}
