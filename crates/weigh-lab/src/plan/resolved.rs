//! A plan and its variants, with nothing left to substitute.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use weigh_load::Schedule;
use weigh_results::model::Plan;

use super::operation::ResolvedOperation;
use crate::experiment::{Experiment, Level};

/// Everything decided, nothing started.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedPlan {
    /// What is stored.
    pub plan: Plan,
    /// The experiment it came from.
    pub experiment: Experiment,
    /// Per variant, in the order of [`Plan::variants`]: everything with `{vars}` replaced.
    pub variants: Vec<ResolvedVariant>,
}

/// One variant, with nothing left to substitute.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedVariant {
    /// Unique name.
    pub name: String,
    /// What the variant is made of: factor key to level. Common settings are not in it.
    pub levels: BTreeMap<String, Level>,
    /// Settings this variant asks for, common ones included.
    pub settings: BTreeMap<String, Level>,
    /// What its private server is made of.
    pub server: ServerPlan,
    /// Set-up statements.
    pub setup: Vec<String>,
    /// Statements or commands that every trial begins with, before its clients connect.
    pub prepare: Vec<String>,
    /// Operations with weight above 0; empty for a command.
    pub operations: Vec<ResolvedOperation>,
    /// The command to time; only, and always, for the system `commands`.
    pub command: Option<ResolvedCommand>,
    /// Connections.
    pub clients: usize,
    /// Worker threads.
    pub threads: usize,
    /// Operations in flight per connection.
    pub pipeline: usize,
    /// When operations are sent.
    pub schedule: Schedule,
    /// A reply later than this is an error; `None`: the engine's limit.
    pub reply_limit: Option<Duration>,
    /// A trial's measured part ends once this many operations were sent in it. There is no warm-up then.
    pub operations_limit: Option<u64>,
}

/// What a private server is made of, besides its settings: only what the experiment says.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerPlan {
    /// Which program serves.
    pub server: Option<String>,
    /// Its version: `16`, `16.4`.
    pub version: Option<String>,
    /// What it keeps its data in.
    pub backend: Option<String>,
    /// Most memory it may use, bytes, page cache included.
    pub memory_bytes: Option<u64>,
    /// What answers in front of it; `None`: nothing, and `none` was not said either.
    pub cache: Option<String>,
    /// How every trial starts.
    pub start: Option<Start>,
}

/// How a trial starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Start {
    /// The server restarted, its files in no cache.
    Cold,
    /// Everything read once.
    Warm,
}

/// One command, with nothing left to substitute. What runs once before anything is in
/// [`ResolvedVariant::setup`]: each distinct text of all variants is run once.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedCommand {
    /// What is timed.
    pub run: String,
    /// Run, untimed, before every execution.
    pub prepare: Option<String>,
    /// Run, untimed, after every execution.
    pub conclude: Option<String>,
    /// Run once at the end, also after an error; each distinct text of all variants once.
    pub cleanup: Vec<String>,
    /// `sh`, another shell's program, or `none`: the words of the command are executed directly.
    pub shell: String,
    /// Where it runs; `None`: a fresh directory of the run's own, removed afterwards.
    pub directory: Option<PathBuf>,
    /// Untimed executions before the first timed one.
    pub warmup: u32,
    /// Time executions that end with a failure too.
    pub ignore_failure: bool,
}
