//! Just enough of SQL's surface: where statements end, which parameters they take, what they begin with.
//!
//! One scanner knows quotes, escapes, dollar quotes and nested comments for PostgreSQL and SQLite;
//! everything else here walks its tokens ([`split`], [`parameters`], [`repeat_values`], [`Kind::of`]).
//! It never judges whether a statement is valid: the server does.

use std::collections::BTreeSet;
use std::ops::Range;

/// A text that is not a list of statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SqlError {
    /// Byte offset.
    pub(super) offset: usize,
    /// A lowercase fragment.
    pub(super) what: String,
}

#[derive(Clone, Debug, PartialEq)]
struct Token {
    kind: TokenKind,
    range: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TokenKind {
    Space,
    Comment,
    /// A keyword, a name, or a number.
    Word,
    /// A quoted string or name.
    Quoted,
    /// `$1`
    Parameter(u32),
    Symbol(char),
}

/// Splits a text into tokens that cover it completely.
fn scan(text: &str) -> Result<Vec<Token>, SqlError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let (kind, length) = token_at(text, at, first)?;
        tokens.push(Token { kind, range: at..at + length });
        at += length;
    }
    Ok(tokens)
}

fn token_at(text: &str, at: usize, first: char) -> Result<(TokenKind, usize), SqlError> {
    let rest = &text[at..];
    let unterminated = |what: &str| SqlError { offset: at, what: format!("{what} that is not closed") };
    let run = |keep: fn(char) -> bool| rest.find(|c: char| !keep(c)).unwrap_or(rest.len());
    Ok(match first {
        c if c.is_whitespace() => (TokenKind::Space, run(char::is_whitespace)),
        '-' if rest.starts_with("--") => (TokenKind::Comment, rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => {
            (TokenKind::Comment, comment_length(rest).ok_or_else(|| unterminated("a comment"))?)
        }
        'e' | 'E' if rest[1..].starts_with('\'') => {
            let length = quoted_length(&rest[1..], '\'', true).ok_or_else(|| unterminated("a string"))?;
            (TokenKind::Quoted, length + 1)
        }
        '\'' => {
            (TokenKind::Quoted, quoted_length(rest, '\'', false).ok_or_else(|| unterminated("a string"))?)
        }
        '"' => {
            (TokenKind::Quoted, quoted_length(rest, '"', false).ok_or_else(|| unterminated("a quoted name"))?)
        }
        '$' => match rest[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - 1) {
            0 => match dollar_tag(rest) {
                Some(tag) => {
                    let body =
                        rest[tag.len()..].find(tag).ok_or_else(|| unterminated("a dollar-quoted string"))?;
                    (TokenKind::Quoted, body + 2 * tag.len())
                }
                None => (TokenKind::Symbol('$'), 1),
            },
            digits => {
                let number = rest[1..=digits].parse().map_err(|_| SqlError {
                    offset: at,
                    what: format!("parameter `{}` is out of range", &rest[..=digits]),
                })?;
                (TokenKind::Parameter(number), digits + 1)
            }
        },
        // `$` inside a word is part of it, as in PostgreSQL: `a$b$` opens no quote.
        c if is_word(c) => (TokenKind::Word, run(|c| is_word(c) || c == '$')),
        symbol => (TokenKind::Symbol(symbol), symbol.len_utf8()),
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of the nested `/* … */` a text begins with.
fn comment_length(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0);
    loop {
        let next = at + text[at..].find(['*', '/'])?;
        at = if text[next..].starts_with("/*") {
            depth += 1;
            next + 2
        } else if text[next..].starts_with("*/") {
            depth -= 1;
            next + 2
        } else {
            next + 1
        };
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Length of the quoted text a text begins with; a doubled quote does not end it, nor does one behind a
/// backslash where those escape.
fn quoted_length(text: &str, quote: char, backslashes: bool) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && backslashes {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + 1);
        }
    }
    None
}

/// The `$tag$` a text begins with.
fn dollar_tag(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 1;
    let tag = &text[1..end];
    let starts_well = !tag.starts_with(|c: char| c.is_ascii_digit());
    (starts_well && tag.chars().all(is_word)).then(|| &text[..=end])
}

/// The statements of a text, without the space and comments around them and without `;`.
///
/// A `;` inside parentheses, or in the body of a `CREATE FUNCTION`, `PROCEDURE` or `TRIGGER` between
/// `BEGIN` and `END`, ends nothing (psql's rule).
pub(super) fn split(text: &str) -> Result<Vec<String>, SqlError> {
    let mut statements = Vec::new();
    let mut current: Vec<Token> = Vec::new();
    let mut body = Body::default();
    for token in scan(text)? {
        if token.kind == TokenKind::Symbol('\\') && current.iter().all(is_filler) {
            let what = "a client command (`\\…`), which is not SQL".to_owned();
            return Err(SqlError { offset: token.range.start, what });
        }
        body.see(token.kind, &text[token.range.clone()]);
        if token.kind == TokenKind::Symbol(';') && body.is_closed() {
            statements.extend(trimmed(text, &current));
            current.clear();
            body = Body::default();
        } else {
            current.push(token);
        }
    }
    statements.extend(trimmed(text, &current));
    Ok(statements)
}

fn is_filler(token: &Token) -> bool {
    matches!(token.kind, TokenKind::Space | TokenKind::Comment)
}

fn trimmed(text: &str, tokens: &[Token]) -> Option<String> {
    let first = tokens.iter().find(|token| !is_filler(token))?;
    let last = tokens.iter().rfind(|token| !is_filler(token))?;
    Some(text[first.range.start..last.range.end].to_owned())
}

/// Whether a statement is inside something that may hold a `;`.
#[derive(Default)]
struct Body {
    words: usize,
    creates: bool,
    creates_code: bool,
    blocks: usize,
    parentheses: usize,
}

impl Body {
    fn see(&mut self, kind: TokenKind, text: &str) {
        match kind {
            TokenKind::Symbol('(') => self.parentheses += 1,
            TokenKind::Symbol(')') => self.parentheses = self.parentheses.saturating_sub(1),
            TokenKind::Word => self.word(&text.to_ascii_uppercase()),
            _ => {}
        }
    }

    fn word(&mut self, word: &str) {
        self.words += 1;
        match word {
            "CREATE" if self.words == 1 => self.creates = true,
            // `CREATE OR REPLACE FUNCTION`, `CREATE TEMP TRIGGER IF NOT EXISTS`
            "FUNCTION" | "PROCEDURE" | "TRIGGER" if self.creates && self.words <= 5 => {
                self.creates_code = true
            }
            "BEGIN" | "CASE" if self.creates_code => self.blocks += 1,
            "END" if self.creates_code => self.blocks = self.blocks.saturating_sub(1),
            _ => {}
        }
    }

    fn is_closed(&self) -> bool {
        self.blocks == 0 && self.parentheses == 0
    }
}

/// The numbers of the parameters (`$1`, `$2`, …) a statement takes.
pub(super) fn parameters(statement: &str) -> Result<BTreeSet<u32>, SqlError> {
    let number = |token: Token| match token.kind {
        TokenKind::Parameter(number) => Some(number),
        _ => None,
    };
    Ok(scan(statement)?.into_iter().filter_map(number).collect())
}

/// Repeats the group behind `VALUES`, `rows` times; the parameters of each copy are numbered on by `count`.
/// `INSERT … VALUES ($1, $2)` with 2 rows becomes `INSERT … VALUES ($1, $2), ($3, $4)`.
pub(super) fn repeat_values(statement: &str, rows: u32, count: u32) -> Result<String, String> {
    let tokens = scan(statement).map_err(|error| error.what)?;
    let is_values = |token: &Token| {
        token.kind == TokenKind::Word && statement[token.range.clone()].eq_ignore_ascii_case("values")
    };
    let values = tokens.iter().position(is_values).ok_or("no `VALUES (…)` to repeat")?;
    let open = values + 1 + tokens[values + 1..].iter().take_while(|token| is_filler(token)).count();
    let mut depth = 0usize;
    let close = tokens[open..].iter().position(|token| {
        match token.kind {
            TokenKind::Symbol('(') => depth += 1,
            TokenKind::Symbol(')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    let close = open + close.filter(|&length| length > 0).ok_or("no `VALUES (…)` to repeat")?;
    let after = &tokens[close + 1..];
    if after.iter().find(|token| !is_filler(token)).is_some_and(|token| token.kind == TokenKind::Symbol(','))
    {
        return Err("more than one row behind `VALUES`".to_owned());
    }
    let outside =
        tokens[..open].iter().chain(after).any(|token| matches!(token.kind, TokenKind::Parameter(_)));
    if outside {
        return Err("a parameter outside of `VALUES (…)`".to_owned());
    }
    let mut text = statement[..tokens[open].range.start].to_owned();
    for row in 0..rows {
        if row > 0 {
            text.push_str(", ");
        }
        for token in &tokens[open..=close] {
            match token.kind {
                TokenKind::Parameter(number) => {
                    text.push_str(&format!("${}", u64::from(number) + u64::from(row) * u64::from(count)));
                }
                _ => text.push_str(&statement[token.range.clone()]),
            }
        }
    }
    text.push_str(&statement[tokens[close].range.end..]);
    Ok(text)
}

/// What a statement does, as far as its words tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only reads (functions it calls may still write).
    Read,
    /// May write.
    Write,
    /// Begins or ends a transaction.
    Transaction,
}

impl Kind {
    /// Of a statement.
    pub(super) fn of(statement: &str) -> Kind {
        let words = words(statement);
        match words.first().map(String::as_str) {
            Some("BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT") => Kind::Transaction,
            Some("SELECT" | "WITH" | "EXPLAIN" | "VALUES" | "TABLE" | "SHOW") => {
                let writes = [
                    "INSERT",
                    "UPDATE",
                    "DELETE",
                    "MERGE",
                    "INTO",
                    "NEXTVAL",
                    "SETVAL",
                    "LO_CREATE",
                    "CREATE",
                ];
                if words.iter().any(|word| writes.contains(&word.as_str())) {
                    Kind::Write
                } else {
                    Kind::Read
                }
            }
            _ => Kind::Write,
        }
    }
}

/// The first word, as it is shown in a load summary: `INSERT`.
pub(super) fn verb(statement: &str) -> String {
    words(statement).into_iter().next().unwrap_or_default()
}

fn words(statement: &str) -> Vec<String> {
    let tokens = scan(statement).unwrap_or_default();
    let words = tokens.into_iter().filter(|token| token.kind == TokenKind::Word);
    words.map(|token| statement[token.range].to_ascii_uppercase()).collect()
}

/// The `parameters: […]` lists of the comments in a file, joined, each with its byte offset.
pub(super) fn comment_fields<'a>(text: &'a str, field: &str) -> Result<Vec<(usize, &'a str)>, SqlError> {
    let mut found = Vec::new();
    for token in scan(text)?.into_iter().filter(|token| token.kind == TokenKind::Comment) {
        let comment = &text[token.range.clone()];
        let body = comment.trim_start_matches("--").trim_start_matches("/*").trim_end_matches("*/");
        let rest = body
            .trim_start()
            .strip_prefix(field)
            .map(str::trim_start)
            .and_then(|rest| rest.strip_prefix(':'));
        if let Some(value) = rest {
            found.push((token.range.start, value.trim()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_where_they_end() {
        let check = |text: &str, expected: &[&str]| assert_eq!(split(text).unwrap(), expected, "{text}");
        check("", &[]);
        check(" ; ;\n-- nothing\n", &[]);
        check("SELECT 1; SELECT 2", &["SELECT 1", "SELECT 2"]);
        check("-- head\nSELECT 1 -- tail\n;", &["SELECT 1"]);
        check(
            "SELECT ';', 'it''s;', E'a\\';b', \"c;d\"; x",
            &["SELECT ';', 'it''s;', E'a\\';b', \"c;d\"", "x"],
        );
        check("SELECT $$a;b$$; SELECT $t$ $$;$$ $t$", &["SELECT $$a;b$$", "SELECT $t$ $$;$$ $t$"]);
        check("/* a /* ; */ ; */ SELECT 1; b", &["SELECT 1", "b"]);
        check("a$b$; c$b$", &["a$b$", "c$b$"]);
        check(
            "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); x",
            &["CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)", "x"],
        );
        let trigger =
            "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE WHEN 1 THEN 2 END; DELETE FROM b; END";
        check(&format!("{trigger};\nSELECT 1"), &[trigger, "SELECT 1"]);
        check("BEGIN; SELECT 1; END;", &["BEGIN", "SELECT 1", "END"]);
        check("SELECT 'ä;ö' AS ü; SELECT 2", &["SELECT 'ä;ö' AS ü", "SELECT 2"]);
    }

    #[test]
    fn what_is_not_closed_is_an_error_at_its_start() {
        for (text, offset) in
            [("SELECT 'a", 7), ("a; \"b", 3), ("/* /* */", 0), ("$t$ $$", 0), ("a; \\set x 1", 3)]
        {
            assert_eq!(split(text).unwrap_err().offset, offset, "{text}");
        }
    }

    #[test]
    fn parameters_are_found_outside_of_quotes() {
        let found = parameters("SELECT $2, '$3', $$ $4 $$, \"$5\", a$6, $10 -- $7").unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [2, 10]);
    }

    #[test]
    fn a_values_group_is_repeated_with_its_own_parameters() {
        let repeated =
            repeat_values("INSERT INTO t VALUES ($2, lower($1), '($9)') RETURNING a", 3, 2).unwrap();
        assert_eq!(
            repeated,
            "INSERT INTO t VALUES ($2, lower($1), '($9)'), ($4, lower($3), '($9)'), ($6, lower($5), '($9)') RETURNING a"
        );
        assert!(repeat_values("SELECT $1", 3, 1).is_err());
        assert!(repeat_values("INSERT INTO t VALUES ($1), ($2)", 3, 2).is_err());
        assert!(repeat_values("INSERT INTO t VALUES ($1) ON CONFLICT DO UPDATE SET a = $2", 3, 2).is_err());
        assert!(repeat_values("VALUES", 3, 2).is_err());
    }

    #[test]
    fn writes_are_told_from_reads() {
        assert_eq!(Kind::of("/* x */ select 'INSERT'"), Kind::Read);
        assert_eq!(Kind::of("WITH a AS (DELETE FROM b RETURNING *) SELECT * FROM a"), Kind::Write);
        assert_eq!(Kind::of("SELECT * INTO b FROM a"), Kind::Write);
        assert_eq!(Kind::of("truncate t"), Kind::Write);
        assert_eq!(Kind::of("commit"), Kind::Transaction);
    }
}
