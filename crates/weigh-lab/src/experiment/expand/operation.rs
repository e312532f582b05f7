//! One operation: its text by kind, its parameters, and how often and for how many it counts.

use super::super::check::PERMISSION;
use super::super::origin::Half;
use super::super::{OperationSection, OperationText};
use super::variant::Expander;
use crate::plan::{ResolvedOperation, ResolvedText};

/// Rows of one statement, repetitions in one transaction, items of one operation: more is a mistake.
const COUNT_MAX: u32 = 1_000_000;

/// How often the parts of an operation are repeated.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    pub(super) repeat: u32,
    pub(super) rows: u32,
}

impl Expander<'_> {
    /// `None` when it was reported.
    pub(super) fn operation(
        &mut self,
        index: usize,
        operation: &OperationSection,
        weight: u32,
    ) -> Option<ResolvedOperation> {
        let before = self.errors.len();
        let path = format!("workload.operations[{index}]");
        let repeat = self.count(&format!("{path}.repeat"), "repeat", &operation.repeat);
        let rows = self.count(&format!("{path}.rows"), "rows", &operation.rows);
        let items = self.count(&format!("{path}.items"), "items", &operation.items);
        let counts = Counts { repeat, rows };
        let (text, parameters) = match &operation.text {
            OperationText::Sql(statements) => self.sql(&path, statements, operation, counts)?,
            OperationText::Command(command) => self.command_text(&path, command, operation, counts)?,
            OperationText::Request(request) => self.request(&path, request, operation, counts)?,
        };
        // SQL is repeated by the driver; what the other texts say about it was reported.
        let repeat = if matches!(text, ResolvedText::Sql(_)) { repeat } else { 1 };
        let cached_as =
            operation.cached_as.as_deref().map(|key| self.fill(&format!("{path}.cached_as"), key));
        let name = operation.name.clone();
        let resolved = ResolvedOperation { name, weight, text, parameters, repeat, items, cached_as };
        if self.errors.len() == before {
            self.check_by_driver(&path, &resolved);
        }
        if self.errors.len() == before {
            self.refuse_writes(&path, &resolved);
        }
        (self.errors.len() == before).then_some(resolved)
    }

    /// What the driver says about a text before there is a server.
    fn check_by_driver(&mut self, path: &str, operation: &ResolvedOperation) {
        let system = &self.experiment.system.name;
        if let Err(what) = crate::systems::drivers::check(system, operation) {
            let key = operation.text.kind().key();
            self.errors.push(self.experiment.origin.error(Half::Value, &format!("{path}.{key}"), what));
        }
    }

    /// A server of the user's own is not written to without permission.
    fn refuse_writes(&mut self, path: &str, operation: &ResolvedOperation) {
        let system = &self.experiment.system;
        if system.url.is_none() || system.allow_writes {
            return;
        }
        if let Some(word) = crate::systems::writing_word(&system.name, &operation.text.summary()) {
            let path = format!("{path}.{}", operation.text.kind().key());
            self.error(&path, format!("`{word}` would write to the server at `url`"), PERMISSION);
        }
    }

    /// Counts that this kind of text does not have.
    pub(super) fn refuse_count(&mut self, path: &str, name: &str, number: u32, expected: &str) {
        if number > 1 {
            let what = format!("`{name}` is {number} for the system `{}`", self.experiment.system.name);
            self.error(&format!("{path}.{name}"), what, expected);
        }
    }

    fn count(&mut self, path: &str, name: &str, text: &str) -> u32 {
        let before = self.errors.len();
        let filled = self.fill(path, text);
        let number = filled.trim().parse::<u32>().ok().filter(|number| (1..=COUNT_MAX).contains(number));
        if number.is_none() && self.errors.len() == before {
            let from = if filled == text { String::new() } else { format!(" (from `{text}`)") };
            self.error(
                path,
                format!("`{name}` is `{filled}`{from}"),
                &format!("an integer from 1 to {COUNT_MAX}"),
            );
        }
        number.unwrap_or(1)
    }
}
