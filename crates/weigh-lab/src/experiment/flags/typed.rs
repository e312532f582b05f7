//! An operation typed behind `--operation`, in the words of its system.

use super::levels::FlagReader;
use super::sql_file::plain;
use crate::experiment::{CommandText, OperationSection, OperationText, RequestText, SqlSource, TextKind};

/// Names are cut to this, characters: they head lines and columns.
const NAME_CHARS: usize = 40;

impl FlagReader {
    /// A statement, a command, or a method and a path (a path alone is read).
    pub(super) fn typed_operation(&mut self, text: &str, kind: TextKind) -> OperationSection {
        let text = text.trim();
        let operation = match kind {
            TextKind::Sql => {
                let source = SqlSource { name: format!("--operation {text}"), text: text.to_owned() };
                self.operation(&source).text
            }
            TextKind::Command => {
                OperationText::Command(CommandText { command: text.to_owned(), expect: None })
            }
            TextKind::Request => {
                let request = if text.starts_with('/') { format!("GET {text}") } else { text.to_owned() };
                OperationText::Request(RequestText { request, ..RequestText::default() })
            }
        };
        plain(&name(text), operation)
    }
}

/// The text on one line, cut where it is long.
fn name(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None if text.is_empty() => "operation".to_owned(),
        None => text,
    }
}
