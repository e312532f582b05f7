//! Error replies as messages to count by.

/// Longest message that is kept, characters.
const LONGEST: usize = 160;

/// The same for every failure of the same kind: what the server quotes is left out unless it is one of the
/// command's unchanging words or a name (`'maxmemory'`), and so are slots of a cluster.
pub(super) fn countable(error: &[u8], literals: &[Vec<u8>]) -> String {
    let text = String::from_utf8_lossy(error);
    let mut words = text.split(' ');
    let mut kept = match (words.next(), words.next(), words.next()) {
        (Some(code @ ("MOVED" | "ASK")), Some(_slot), Some(node)) => {
            format!("{code} to {node}: redirections of a cluster are not followed")
        }
        _ => without_quoted(&text, literals),
    };
    if let Some((end, _)) = kept.char_indices().nth(LONGEST) {
        kept.truncate(end);
        kept.push('…');
    }
    kept
}

/// Replaces what stands between quotes of either kind; `literals` and names stay. A run of quoted texts counts as one.
fn without_quoted(text: &str, literals: &[Vec<u8>]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    // Here everything quoted but the command itself is a value.
    let values_only = text.contains("args beginning with");
    while let Some(at) = rest.find(['\'', '"']) {
        let quote = &rest[at..=at];
        let Some(length) = rest[at + 1..].find(quote) else { break };
        let quoted = &rest[at + 1..at + 1 + length];
        let is_literal = literals.iter().any(|literal| literal.eq_ignore_ascii_case(quoted.as_bytes()));
        let known = is_literal || (!values_only && is_name(quoted));
        kept.push_str(&rest[..at]);
        let shown = format!("{quote}{}{quote}", if known { quoted } else { "…" });
        // The arguments of an unknown command come one by one, as many as there are.
        if known || !kept.trim_end().ends_with(&shown) {
            kept.push_str(&shown);
        } else {
            kept.truncate(kept.trim_end().len());
        }
        rest = &rest[at + length + 2..];
    }
    kept.push_str(rest);
    kept.truncate(kept.trim_end().len());
    kept
}

/// Whether a quoted text is a name of the server's own: of a setting, of a command.
fn is_name(quoted: &str) -> bool {
    !quoted.is_empty() && quoted.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-|".contains(&byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(error: &str) -> String {
        countable(error.as_bytes(), &[b"FOO".to_vec(), b"on".to_vec()])
    }

    #[test]
    fn values_are_left_out_and_the_commands_own_words_stay() {
        let wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";
        assert_eq!(shown(wrong_type), wrong_type);
        assert_eq!(
            shown("ERR unknown command 'foo', with args beginning with: 'k:17' 'x y' 'abc' 'on' "),
            "ERR unknown command 'foo', with args beginning with: '…' 'on'"
        );
        assert_eq!(shown("ERR no \"A\" and '1'"), "ERR no \"…\" and '…'");
        assert_eq!(shown("ERR can't"), "ERR can't");
        let oom = "OOM command not allowed when used memory > 'maxmemory'.";
        assert_eq!(shown(oom), oom);
        assert_eq!(
            shown("MOVED 3999 127.0.0.1:6381"),
            "MOVED to 127.0.0.1:6381: redirections of a cluster are not followed"
        );
        assert_eq!(shown(&"é".repeat(500)).chars().count(), LONGEST + 1);
    }

    proptest! {
        #[test]
        fn any_error_is_a_message(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(countable(&bytes, &[]).chars().count() <= LONGEST + 1);
        }
    }
}
