//! The server's error messages, as text for people and as text to count by.

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::ErrorResponseBody;

/// Longest message that is kept.
const LONGEST: usize = 160;

/// An error the server reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) severity: String,
    pub(super) code: String,
    pub(super) message: String,
}

impl Failure {
    /// From a message of `postgres-protocol`.
    pub(super) fn read(body: &ErrorResponseBody) -> Self {
        let mut failure = Self::default();
        let mut fields = body.fields();
        while let Ok(Some(field)) = fields.next() {
            failure.set(field.type_(), field.value_bytes());
        }
        failure
    }

    /// From the body of an ErrorResponse: fields of a type byte and a string ended by zero.
    pub(super) fn parse(mut body: &[u8]) -> Self {
        let mut failure = Self::default();
        while let [kind, rest @ ..] = body
            && *kind != 0
        {
            let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
            failure.set(*kind, &rest[..end]);
            body = rest.get(end + 1..).unwrap_or_default();
        }
        failure
    }

    fn set(&mut self, kind: u8, value: &[u8]) {
        let text = || String::from_utf8_lossy(value).into_owned();
        match kind {
            // `V` is never translated; servers before 9.6 have `S` only.
            b'V' => self.severity = text(),
            b'S' if self.severity.is_empty() => self.severity = text(),
            b'C' => self.code = text(),
            b'M' => self.message = text(),
            _ => {}
        }
    }

    /// Whether the server ends the session after it.
    pub(super) fn is_fatal(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }

    /// The server's own words.
    pub(super) fn full(&self) -> String {
        format!("{} ({})", self.message, self.code)
    }

    /// The same for every failure of the same kind: data exceptions (class 22) quote the offending value, so
    /// what they quote is left out.
    pub(super) fn countable(&self) -> String {
        let message =
            if self.code.starts_with("22") { without_quoted(&self.message) } else { self.message.clone() };
        let mut text = format!("{} {message}", self.code);
        if let Some((end, _)) = text.char_indices().nth(LONGEST) {
            text.truncate(end);
            text.push('…');
        }
        text
    }
}

/// Replaces what stands between double quotes.
fn without_quoted(message: &str) -> String {
    let parts: Vec<&str> = message.split('"').collect();
    let quoted = |index: usize| index % 2 == 1 && index + 1 < parts.len();
    let kept = parts.iter().enumerate().map(|(index, part)| if quoted(index) { "…" } else { part });
    kept.collect::<Vec<_>>().join("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"SFEHLER\0VERROR\0C22P02\0Minvalid input syntax for type integer: \"x1\"\0Dd\0\0";

    #[test]
    fn fields_are_read_and_values_left_out_of_what_is_counted() {
        let failure = Failure::parse(BODY);
        assert_eq!(failure.full(), "invalid input syntax for type integer: \"x1\" (22P02)");
        assert_eq!(failure.countable(), "22P02 invalid input syntax for type integer: \"…\"");
        assert!(!failure.is_fatal());
    }

    #[test]
    fn names_stay_and_long_messages_are_cut() {
        let duplicate =
            Failure { code: "23505".into(), message: "constraint \"t_pkey\"".into(), ..Failure::default() };
        assert_eq!(duplicate.countable(), "23505 constraint \"t_pkey\"");
        let long = Failure { code: "XX000".into(), message: "é".repeat(500), ..Failure::default() };
        assert_eq!(long.countable().chars().count(), LONGEST + 1);
    }

    #[test]
    fn a_cut_body_is_no_panic() {
        for end in 0..BODY.len() {
            Failure::parse(&BODY[..end]);
        }
        assert_eq!(without_quoted("a \"b"), "a \"b");
        assert_eq!(without_quoted("\"a\" \"b\" c"), "\"…\" \"…\" c");
    }
}
