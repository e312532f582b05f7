//! The server's error messages as text to count by: the same for every failure of the same kind.

/// Longest message that is kept, in characters.
const LONGEST: usize = 160;

/// What stands before the values of a duplicate key.
const DUPLICATE_VALUES: &str = " dup key:";

/// Code, name and message, without the values of parameters: a word with a digit, or what stands in quotes, is left out
/// unless it stands in the command itself.
pub(super) fn countable(code: i64, name: &str, message: &str, command: &str) -> String {
    let message = message.split(DUPLICATE_VALUES).next().unwrap_or_default();
    let space = if name.is_empty() { "" } else { " " };
    let mut text = format!("{code}{space}{name} {}", without_values(message, command));
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
}

fn without_values(message: &str, command: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '"' | '\'' if !before.is_alphanumeric() => quoted(rest, first),
            _ if first.is_alphanumeric() && !before.is_alphanumeric() => word(rest),
            _ => None,
        };
        match taken {
            Some((whole, value)) if !value.is_empty() && !command.contains(value) => {
                let quote = if whole.len() > value.len() { &whole[..1] } else { "" };
                out.push_str(quote);
                out.push('…');
                out.push_str(quote);
            }
            Some((whole, _)) => out.push_str(whole),
            None => out.push(first),
        }
        let length = taken.map_or(first.len_utf8(), |(whole, _)| whole.len());
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    out
}

/// A text in quotes: with them, and without.
fn quoted(rest: &str, quote: char) -> Option<(&str, &str)> {
    let end = rest[1..].find(quote)? + 1;
    Some((&rest[..=end], &rest[1..end]))
}

/// A word, which is taken for a value if it has a digit and is no error code (`E11000`).
fn word(rest: &str) -> Option<(&str, &str)> {
    let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    let whole = &rest[..end];
    let is_code = whole
        .strip_prefix('E')
        .is_some_and(|rest| rest.len() >= 4 && rest.bytes().all(|b| b.is_ascii_digit()));
    let is_value = !is_code && whole.contains(|c: char| c.is_ascii_digit());
    Some((whole, if is_value { whole } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = r#"{"find": "users", "fliter": {"a": {"$bad": "$1"}}, "limit": 7}"#;

    #[test]
    fn values_are_left_out_and_words_of_the_command_stay() {
        let text = |message: &str| countable(9, "Failed", message, COMMAND);
        assert_eq!(
            text("E11000 duplicate key error collection: t.users index: _id_ dup key: { _id: 12 }"),
            "9 Failed E11000 duplicate key error collection: t.users index: _id_"
        );
        assert_eq!(text("unknown field \"fliter\" of 'x17'"), "9 Failed unknown field \"fliter\" of '…'");
        assert_eq!(text("cursor id 3696886136 not found"), "9 Failed cursor id … not found");
        assert_eq!(text("limit 7 of {_id: 5} isn't 5.25"), "9 Failed limit 7 of {_id: …} isn't ….…");
        assert_eq!(text("Illegal key: n: 0EbTs511"), "9 Failed Illegal key: n: …");
        assert_eq!(text("ObjectId('65aa') \"open"), "9 Failed ObjectId('…') \"open");
        assert_eq!(countable(59, "", "x\"", ""), "59 x\"");
    }

    #[test]
    fn any_text_is_dealt_with_and_cut() {
        let long = countable(1, "N", &"é\"'1 ".repeat(500), "");
        assert_eq!(long.chars().count(), LONGEST + 1);
        countable(1, "", "", "");
    }
}
