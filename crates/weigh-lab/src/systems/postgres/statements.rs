//! Which statements write, as far as their text tells.
//!
//! Used for servers at a URL, where nothing may be written without permission. The text is only the
//! first gate: sessions there are read-only besides ([`remote`](super::remote)), so that the server refuses
//! a write that hides in a function.

/// Statements that only read begin with one of these.
const READS: [&str; 6] = ["SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN"];
/// Anywhere in a statement, these write, lock, or end the session's read-only state.
const WRITES: [&str; 16] = [
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "INTO",
    "CREATE",
    "ALTER",
    "DROP",
    "TRUNCATE",
    "COPY",
    "SET_CONFIG",
    "NEXTVAL",
    "SETVAL",
    "PG_RELOAD_CONF",
    "PG_TERMINATE_BACKEND",
    "PG_CANCEL_BACKEND",
];

/// The word for which a statement counts as writing; `None` if its text only reads.
pub(super) fn writing_word(sql: &str) -> Option<String> {
    let words = words(sql);
    let first = words.first()?;
    if !READS.contains(&first.as_str()) {
        return Some(first.clone());
    }
    words.into_iter().find(|word| WRITES.contains(&word.as_str()))
}

/// Words outside of literals, quoted names and comments, in capitals.
fn words(sql: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut rest = sql;
    while let Some(letter) = rest.chars().next() {
        let skipped = skip(rest);
        if skipped == 0 && (letter.is_alphanumeric() || letter == '_') {
            word.extend(letter.to_uppercase());
        } else if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        rest = &rest[skipped.max(letter.len_utf8())..];
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Bytes of the literal, quoted name or comment that begins here; 0 if none does.
fn skip(text: &str) -> usize {
    let until = |opening: usize, end: &str| {
        text[opening..].find(end).map_or(text.len(), |position| opening + position + end.len())
    };
    match text.as_bytes() {
        [b'\'', ..] => until(1, "'"),
        [b'"', ..] => until(1, "\""),
        [b'-', b'-', ..] => until(2, "\n"),
        [b'/', b'*', ..] => until(2, "*/"),
        [b'$', ..] => match text[1..].find('$') {
            Some(length)
                if text[1..=length].chars().all(|l| l.is_alphanumeric() || l == '_')
                    && !text[1..].starts_with(|l: char| l.is_ascii_digit()) =>
            {
                let tag = &text[..length + 2];
                until(tag.len(), tag)
            }
            _ => 0,
        },
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sql: &str, expected: Option<&str>) {
        assert_eq!(writing_word(sql).as_deref(), expected, "{sql}");
    }

    #[test]
    fn reads_are_told_from_writes() {
        check("SELECT * FROM t WHERE id = $1", None);
        check("  -- INSERT\n select 'delete' , \"update\" from t /* drop */", None);
        check("SELECT $$insert$$, $tag$update$tag$ FROM t", None);
        check("SELECT $1, $2 FROM updates", None);
        check("VALUES (1)", None);
        check("INSERT INTO t VALUES ($1)", Some("INSERT"));
        check("WITH x AS (delete FROM t RETURNING *) SELECT * FROM x", Some("DELETE"));
        check("SELECT * INTO n FROM t", Some("INTO"));
        check("SELECT * FROM t FOR UPDATE", Some("UPDATE"));
        check("SELECT set_config('default_transaction_read_only', 'off', false)", Some("SET_CONFIG"));
        check("EXPLAIN ANALYZE UPDATE t SET a = 1", Some("UPDATE"));
        check("BEGIN READ WRITE", Some("BEGIN"));
        check("SET default_transaction_read_only = off", Some("SET"));
        check("VACUUM t", Some("VACUUM"));
        check("", None);
    }
}
