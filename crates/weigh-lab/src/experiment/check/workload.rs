//! What is done to the system: operations or commands, and whether they may write.

use super::super::keys::SystemKey;
use super::super::{OperationSection, TextKind, sql};
use super::checker::Checker;
use crate::systems;

/// Operations of one workload.
pub(super) const OPERATIONS_MAX: usize = 100;
/// What allows writing.
pub(in crate::experiment) const PERMISSION: &str = "`allow_writes = true` if that server may be changed";

impl Checker<'_> {
    /// A commands experiment has commands and no server; the others have operations.
    pub(super) fn shape(&mut self) {
        let experiment = self.experiment;
        match (&experiment.commands, self.is_commands()) {
            (None, true) => {
                self.value_error("system", "no commands", "`[[commands.command]]` with `run = \"…\"`")
            }
            (Some(_), false) => {
                let what = format!("`commands` for the system `{}`", experiment.system.name);
                self.key_error("commands", what, "`system = \"commands\"`");
            }
            (Some(commands), true) => {
                if commands.list.is_empty() {
                    self.key_error("commands", "no commands", "`[[commands.command]]` with `run = \"…\"`");
                }
                self.only_commands();
            }
            (None, false) => self.operations(),
        }
    }

    fn only_commands(&mut self) {
        let experiment = self.experiment;
        let what = |part: &str| format!("`{part}` for the system `commands`");
        if !experiment.workload.operations.is_empty() {
            self.key_error("workload.operations", what("operations"), "`[[commands.command]]`");
        }
        if !experiment.workload.setup.is_empty() {
            self.key_error("workload.setup", what("workload.setup"), "`setup` in `[commands]`");
        }
        if !experiment.settings.is_empty() {
            self.key_error("settings", what("settings"), "variables (`[workload.vars]`) in the commands");
        }
        if !experiment.variants.is_empty() {
            self.key_error("variants", what("variants"), "factors: the commands themselves are the variants");
        }
    }

    /// Operations there are, in the words of their system, each with a name of its own.
    pub(super) fn operations(&mut self) {
        let operations = &self.experiment.workload.operations;
        let kind = systems::text_kind(&self.experiment.system.name);
        if operations.is_empty() {
            let key = kind.unwrap_or(TextKind::Sql).key();
            let expected = format!("`[[workload.operations]]` with `{key} = \"…\"`");
            self.key_error("workload", "no operations", &expected);
        }
        if operations.len() > OPERATIONS_MAX {
            let what = format!("{} operations", operations.len());
            self.key_error("workload.operations", what, &format!("at most {OPERATIONS_MAX}"));
            return;
        }
        for (index, operation) in operations.iter().enumerate() {
            if operations[..index].iter().any(|other| other.name == operation.name) {
                let path = format!("workload.operations[{index}].name");
                self.value_error(&path, format!("operation `{}` twice", operation.name), "a name of its own");
            }
            self.cached(index, operation);
            let given = operation.text.kind();
            if let Some(wanted) = kind.filter(|wanted| *wanted != given) {
                let path = format!("workload.operations[{index}].{}", given.key());
                let system = &self.experiment.system.name;
                let what = format!("`{}` in an operation of the system `{system}`", given.key());
                self.key_error(&path, what, &format!("`{} = \"…\"`", wanted.key()));
            }
        }
    }

    /// Only where weigh can put a cache in front of the server, and where something is kept.
    fn cached(&mut self, index: usize, operation: &OperationSection) {
        let system = &self.experiment.system;
        if operation.cached_as.is_none() {
            return;
        }
        let path = format!("workload.operations[{index}].cached_as");
        let has_caches = systems::private_keys(&system.name).iter().any(|(key, _)| *key == SystemKey::Cache);
        if !has_caches {
            let what = format!("`cached_as` for the system `{}`", system.name);
            self.key_error(&path, what, "an operation of `postgres`");
        } else if system.url.is_some() {
            self.key_error(&path, "both `url` and `cached_as`", "a private server (no `url`)");
        }
    }

    /// A server of the user's own is not written to without permission, and never reconfigured.
    pub(super) fn writes(&mut self) {
        let experiment = self.experiment;
        let kind = systems::text_kind(&experiment.system.name);
        if kind == Some(TextKind::Request) && !experiment.workload.setup.is_empty() {
            let what = "`setup` for the system `http`";
            self.key_error("workload.setup", what, "data that the server has already");
        }
        if kind == Some(TextKind::Request) && !experiment.workload.prepare.is_empty() {
            self.key_error("workload.prepare", "`prepare` for the system `http`", "none");
        }
        if !self.is_commands() && !self.has_settings() && !experiment.settings.is_empty() {
            let what = format!("`settings` for the system `{}`", experiment.system.name);
            self.key_error("settings", what, "no settings: a server at a URL is not reconfigured");
        }
        if experiment.system.url.is_none() || experiment.system.allow_writes {
            return;
        }
        if !experiment.workload.setup.is_empty() && kind != Some(TextKind::Request) {
            self.value_error("workload.setup[0]", "set-up would write to the server at `url`", PERMISSION);
        }
        if !experiment.workload.prepare.is_empty() && kind != Some(TextKind::Request) {
            self.value_error(
                "workload.prepare[0]",
                "`prepare` would write to the server at `url`",
                PERMISSION,
            );
        }
        let operations = experiment.workload.operations.iter().enumerate();
        for (index, operation) in operations.filter(|_| kind == Some(TextKind::Sql)) {
            // Commands and requests are looked at once their variables are filled in.
            for (at, statement) in operation.text.statements().iter().enumerate() {
                if sql::Kind::of(statement) == sql::Kind::Write {
                    let path = format!("workload.operations[{index}].sql[{at}]");
                    let what = format!("`{}` would write to the server at `url`", sql::verb(statement));
                    self.value_error(&path, what, PERMISSION);
                }
            }
        }
    }
}
