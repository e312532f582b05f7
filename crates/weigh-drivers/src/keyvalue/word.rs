//! Commands as words.

use weigh_load::DriverError;
use weigh_load::generator::Row;

use crate::command::CommandOperation;
use crate::text::TextTemplate;

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// The same every time; any bytes.
    Literal(Vec<u8>),
    /// With parameters in it.
    Template(TextTemplate),
}

impl Word {
    /// Takes a word of an operation with so many `parameters` apart.
    ///
    /// # Errors
    /// A number without a parameter; a `$` among bytes that are no text.
    pub(crate) fn parse(bytes: Vec<u8>, parameters: usize) -> Result<Self, DriverError> {
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) if error.as_bytes().contains(&b'$') => {
                let message = "a word with `\\x` bytes that are not UTF-8 cannot have `$` in it";
                return Err(DriverError::caused(message, error.utf8_error()));
            }
            Err(error) => return Ok(Self::Literal(error.into_bytes())),
        };
        let template = TextTemplate::parse(&text, parameters)?;
        Ok(match template.literal() {
            Some(literal) => Self::Literal(literal.to_vec()),
            None => Self::Template(template),
        })
    }

    /// The word itself, if no parameter is in it.
    pub(crate) fn literal(&self) -> Option<&[u8]> {
        match self {
            Self::Literal(bytes) => Some(bytes),
            Self::Template(_) => None,
        }
    }

    /// Appends the word with the values of `row`.
    #[inline]
    pub(crate) fn render(&self, row: Row<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Literal(bytes) => out.extend_from_slice(bytes),
            Self::Template(template) => template.render(row, out),
        }
    }
}

/// The words of an operation's command, at least one; the first, the command's name, is written out.
///
/// # Errors
/// What makes them impossible: see [`split`] and [`Word::parse`]; a name with a parameter in it; a bulk.
pub(crate) fn words_of(operation: &CommandOperation) -> Result<Vec<Word>, DriverError> {
    if operation.rows > 1 {
        return Err(DriverError::new("`rows` is for bulks of MongoDB; a command is sent once"));
    }
    let words = split(&operation.command)?.into_iter();
    let words: Vec<Word> =
        words.map(|word| Word::parse(word, operation.parameters)).collect::<Result<_, _>>()?;
    match words.first().and_then(Word::literal) {
        Some(_) => Ok(words),
        None => Err(DriverError::new("the command's name must be written out; it has a parameter in it")),
    }
}

/// Splits a command into its words, quoted as in redis-cli: `"…"` with `\n`, `\r`, `\t`, `\b`, `\a`, `\xHH` and
/// `\` before anything else, `'…'` with `\'`.
///
/// # Errors
/// A quote that is not closed, or closed in the middle of a word; a command without words.
fn split(command: &str) -> Result<Vec<Vec<u8>>, DriverError> {
    let mut words = Vec::new();
    let mut rest = command.trim_ascii_start().as_bytes();
    while !rest.is_empty() {
        let mut word = Vec::new();
        rest = take_word(rest, &mut word)?.trim_ascii_start();
        words.push(word);
    }
    if words.is_empty() { Err(DriverError::new("the command is empty")) } else { Ok(words) }
}

/// Appends one word; gives what follows it.
fn take_word<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Result<&'a [u8], DriverError> {
    while let [byte, behind @ ..] = rest {
        match byte {
            b'"' | b'\'' => {
                rest = take_quoted(behind, *byte, word)?;
                if rest.first().is_some_and(|next| !next.is_ascii_whitespace()) {
                    return Err(DriverError::new("a closing quote must be followed by a blank"));
                }
            }
            byte if byte.is_ascii_whitespace() => break,
            byte => {
                word.push(*byte);
                rest = behind;
            }
        }
    }
    Ok(rest)
}

/// Appends what stands before the closing `quote`; gives what follows it.
fn take_quoted<'a>(mut rest: &'a [u8], quote: u8, word: &mut Vec<u8>) -> Result<&'a [u8], DriverError> {
    loop {
        rest = match rest {
            [] => return Err(DriverError::new("a quote is not closed")),
            [byte, behind @ ..] if *byte == quote => return Ok(behind),
            [b'\\', b'\'', behind @ ..] if quote == b'\'' => {
                word.push(b'\'');
                behind
            }
            [b'\\', b'x', high, low, behind @ ..] if quote == b'"' && is_hex(*high, *low) => {
                word.push(hex(*high) << 4 | hex(*low));
                behind
            }
            [b'\\', escaped, behind @ ..] if quote == b'"' => {
                word.push(unescaped(*escaped));
                behind
            }
            [byte, behind @ ..] => {
                word.push(*byte);
                behind
            }
        }
    }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    }
}

fn is_hex(high: u8, low: u8) -> bool {
    high.is_ascii_hexdigit() && low.is_ascii_hexdigit()
}

/// The value of a hexadecimal digit.
fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => digit.to_ascii_lowercase() - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_split_as_in_redis_cli() {
        let check = |command: &str, words: &[&[u8]]| assert_eq!(split(command).unwrap(), words, "{command}");
        check("SET user:$1 hello", &[b"SET", b"user:$1", b"hello"]);
        check("  a\t \"b c\"  '' ", &[b"a", b"b c", b""]);
        check(r#""\x41\xff\n\"\\\q" '\n it\'s'"#, &[b"A\xff\n\"\\q", b"\\n it's"]);
        check(r#""\xg1""#, &[b"xg1"]);
        check("key\"with quotes\" é", &[b"keywith quotes", "é".as_bytes()]);
    }

    #[test]
    fn what_is_no_command_is_refused() {
        let message = |command: &str| split(command).unwrap_err().to_string();
        assert_eq!(message(" "), "the command is empty");
        assert_eq!(message("SET 'a"), "a quote is not closed");
        assert_eq!(message("SET \"a\\"), "a quote is not closed");
        assert_eq!(message("SET \"a\"b"), "a closing quote must be followed by a blank");
    }

    #[test]
    fn words_know_whether_they_change() {
        let parse = |bytes: &[u8]| Word::parse(bytes.to_vec(), 1);
        assert_eq!(parse(b"\xff").unwrap().literal(), Some(&b"\xff"[..]));
        assert_eq!(parse(b"a$$b").unwrap().literal(), Some(&b"a$b"[..]));
        assert_eq!(parse(b"a$1").unwrap().literal(), None);
        assert!(parse(b"$2").is_err() && parse(b"\xff$1").is_err());
    }

    proptest! {
        #[test]
        fn any_command_is_split_or_refused(command in any::<String>()) {
            if let Ok(words) = split(&command) {
                prop_assert!(!words.is_empty());
            }
        }

        #[test]
        fn quoted_words_come_back(words in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..5)) {
            let quote = |word: &Vec<u8>| {
                let bytes: String = word.iter().map(|byte| format!("\\x{byte:02x}")).collect();
                format!("\"{bytes}\"")
            };
            let command = words.iter().map(quote).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(split(&command).unwrap(), words);
        }
    }
}
