//! The command of an operation: Redis, memcached, MongoDB.

use std::collections::BTreeSet;

use weigh_load::generator::GeneratorSpec;

use super::super::{CommandText, OperationSection, text};
use super::operation::Counts;
use super::variant::Expander;
use crate::plan::{ResolvedCommandText, ResolvedText};

impl Expander<'_> {
    /// `None` when it was reported.
    pub(super) fn command_text(
        &mut self,
        path: &str,
        written: &CommandText,
        operation: &OperationSection,
        counts: Counts,
    ) -> Option<(ResolvedText, Vec<GeneratorSpec>)> {
        let before = self.errors.len();
        let command = self.fill(&format!("{path}.command"), &written.command);
        let expect = written.expect.as_ref().map(|text| self.fill(&format!("{path}.expect"), text));
        let parameters = self.parameters(path, operation);
        self.refuse_count(
            path,
            "repeat",
            counts.repeat,
            "one command; `load.pipeline` sends several at once",
        );
        if self.experiment.system.name != "mongodb" {
            self.refuse_count(path, "rows", counts.rows, "a command that takes several keys");
        }
        if self.errors.len() > before {
            return None;
        }
        if command.trim().is_empty() {
            self.error(&format!("{path}.command"), "an empty command", "what is sent");
            return None;
        }
        let texts = [Some(&command), expect.as_ref()];
        let used: BTreeSet<u32> =
            texts.into_iter().flatten().flat_map(|filled| text::parameters(filled)).collect();
        self.check_numbers((path, "command", "the command"), &used, parameters.len());
        Some((ResolvedText::Command(ResolvedCommandText { command, rows: counts.rows, expect }), parameters))
    }
}
