//! Operations in SQL, and the numbers of their parameters.
//!
//! Parameters `$1`, `$2`, … are numbered through all statements of an operation, and a number may occur in
//! several of them: `[UPDATE a SET n = n + $2 WHERE id = $1, INSERT INTO log VALUES ($1, $2)]`. A server numbers
//! them per statement, so each [`Statement`] is renumbered and remembers which parameters it takes.

use weigh_load::DriverError;

/// One operation: a statement, or several that run as one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlOperation {
    /// Name, for messages.
    pub name: String,
    /// The statements, in order. More than one, or a `repeat` above 1, run as one transaction.
    pub sql: Vec<String>,
    /// How many parameters the operation draws.
    pub parameters: usize,
    /// How often the statements are repeated in the transaction, each time with fresh parameters. At least 1.
    pub repeat: u32,
}

/// What is wrong with an operation's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// Nothing to execute.
    #[error("operation `{operation}` has no statement")]
    NoStatement {
        /// The operation.
        operation: String,
    },
    /// Executed no times.
    #[error("operation `{operation}` is repeated 0 times")]
    NoRepetition {
        /// The operation.
        operation: String,
    },
    /// A number without a generator.
    #[error("operation `{operation}` uses `${number}` but has {parameters} parameters")]
    MissingParameter {
        /// The operation.
        operation: String,
        /// The number used.
        number: usize,
        /// How many there are.
        parameters: usize,
    },
}

impl From<StatementError> for DriverError {
    fn from(error: StatementError) -> Self {
        Self::new(error.to_string())
    }
}

/// One statement with parameters numbered from `$1` without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// The renumbered text.
    pub(crate) text: String,
    /// For `$1`, `$2`, … of the text: index of the operation's parameter, from 0.
    pub(crate) parameters: Vec<usize>,
}

impl SqlOperation {
    /// Renumbers the statements and checks them, without a server.
    pub(crate) fn statements(&self) -> Result<Vec<Statement>, StatementError> {
        let operation = || self.name.clone();
        if self.sql.is_empty() {
            return Err(StatementError::NoStatement { operation: operation() });
        }
        if self.repeat == 0 {
            return Err(StatementError::NoRepetition { operation: operation() });
        }
        let statements: Vec<Statement> = self.sql.iter().map(|sql| renumber(sql)).collect();
        let used = statements.iter().flat_map(|s| &s.parameters);
        match used.map(|index| index + 1).find(|number| *number > self.parameters) {
            Some(number) => {
                let parameters = self.parameters;
                Err(StatementError::MissingParameter { operation: operation(), number, parameters })
            }
            None => Ok(statements),
        }
    }

    /// Whether it is a transaction of several statements.
    #[cfg(feature = "sqlite")]
    pub(crate) fn is_transaction(&self) -> bool {
        self.sql.len() > 1 || self.repeat > 1
    }
}

/// Gives the parameters of a statement the numbers 1, 2, … in order of first use.
pub(crate) fn renumber(sql: &str) -> Statement {
    let mut text = String::with_capacity(sql.len());
    let mut parameters = Vec::new();
    let mut rest = sql;
    while !rest.is_empty() {
        let opaque = opaque_prefix(rest);
        if opaque > 0 {
            text.push_str(&rest[..opaque]);
            rest = &rest[opaque..];
            continue;
        }
        if let Some((number, length)) = parameter_prefix(rest) {
            let place = parameters.iter().position(|known| *known == number - 1).unwrap_or_else(|| {
                parameters.push(number - 1);
                parameters.len() - 1
            });
            text.push('$');
            text.push_str(&(place + 1).to_string());
            rest = &rest[length..];
            continue;
        }
        // A word is copied whole: `a$1` is a name.
        let word = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let length = if word > 0 { word } else { rest.chars().next().map_or(1, char::len_utf8) };
        text.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    Statement { text, parameters }
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

/// `$n` at the start: its number (at least 1) and length.
fn parameter_prefix(text: &str) -> Option<(usize, usize)> {
    let digits = text.strip_prefix('$')?;
    let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let number: usize = digits[..length].parse().ok()?;
    (number > 0).then_some((number, length + 1))
}

/// Length of the literal, quoted name or comment at the start, 0 if there is none.
fn opaque_prefix(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes {
        [b'\'', ..] => quoted(bytes, 0, b'\'', false),
        [b'e' | b'E', b'\'', ..] => quoted(bytes, 1, b'\'', true),
        [b'"', ..] => quoted(bytes, 0, b'"', false),
        [b'-', b'-', ..] => text.find('\n').map_or(text.len(), |at| at + 1),
        [b'/', b'*', ..] => block_comment(bytes),
        [b'$', ..] => dollar_quoted(text),
        _ => 0,
    }
}

/// A quoted stretch from `open` on; a doubled quote stays inside, and with `escapes` a backslash protects.
fn quoted(bytes: &[u8], open: usize, quote: u8, escapes: bool) -> usize {
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Block comments nest in PostgreSQL.
fn block_comment(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// `$tag$ … $tag$`.
fn dollar_quoted(text: &str) -> usize {
    let Some(tag_end) = text[1..].find('$').map(|at| at + 1) else { return 0 };
    let tag = &text[1..tag_end];
    if tag.starts_with(|c: char| c.is_ascii_digit()) || !tag.chars().all(|c| c.is_alphanumeric() || c == '_')
    {
        return 0;
    }
    let delimiter = &text[..=tag_end];
    text[delimiter.len()..].find(delimiter).map_or(text.len(), |at| at + 2 * delimiter.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sql: &str, text: &str, parameters: &[usize]) {
        assert_eq!(renumber(sql), Statement { text: text.into(), parameters: parameters.into() }, "{sql}");
    }

    #[test]
    fn parameters_are_renumbered_and_only_they() {
        check("SELECT 1", "SELECT 1", &[]);
        check("UPDATE t SET n = n + $2 WHERE id = $1", "UPDATE t SET n = n + $1 WHERE id = $2", &[1, 0]);
        check("VALUES ($3, $3, $12)", "VALUES ($1, $1, $2)", &[2, 11]);
        check("SELECT '$2', \"$3\", $5 -- $6\n, $5", "SELECT '$2', \"$3\", $1 -- $6\n, $1", &[4]);
        check("SELECT 'it''s $2' || e'\\'$3' || $4", "SELECT 'it''s $2' || e'\\'$3' || $1", &[3]);
        check("SELECT /* $1 /* $2 */ $3 */ $2", "SELECT /* $1 /* $2 */ $3 */ $1", &[1]);
        check("SELECT $$ $2 $$, $a$ $$ $3 $a$, $2", "SELECT $$ $2 $$, $a$ $$ $3 $a$, $1", &[1]);
        check("SELECT a$2, é$3, $2::int", "SELECT a$2, é$3, $1::int", &[1]);
        check("SELECT $0, 'open", "SELECT $0, 'open", &[]);
    }

    #[test]
    fn impossible_operations_are_named() {
        let operation = |sql: &[&str], parameters, repeat| SqlOperation {
            name: "pay".into(),
            sql: sql.iter().map(ToString::to_string).collect(),
            parameters,
            repeat,
        };
        let message = |operation: SqlOperation| operation.statements().unwrap_err().to_string();
        assert_eq!(message(operation(&[], 0, 1)), "operation `pay` has no statement");
        assert_eq!(message(operation(&["SELECT 1"], 0, 0)), "operation `pay` is repeated 0 times");
        let sql = ["SELECT $1", "SELECT $3"];
        assert_eq!(message(operation(&sql, 2, 1)), "operation `pay` uses `$3` but has 2 parameters");
        assert_eq!(operation(&sql, 3, 1).statements().unwrap().len(), 2);
    }
}
