//! A validated experiment, before it meets a system.
//!
//! [`Experiment`] is the whole of it; every other type here is a section of the file. The fields are
//! plain data, public, and hold what was written with defaults filled in: nothing is substituted yet.
//! What is *not* here: anything a server would have to be asked for, and anything random.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use weigh_load::Arrivals;
use weigh_results::model::{Goal, Metric};

use super::keys::SystemKey;
use super::origin::Origin;
use crate::systems::Capability;

/// One question: a system, a workload, variants, a metric to judge by.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// `postgres/durability`, a file's stem, or a name made from the flags.
    pub name: String,
    /// The question in a sentence.
    pub question: String,
    /// The system under test.
    pub system: SystemSection,
    /// What the system must be able to do for the question to make sense.
    pub needs: Vec<Capability>,
    /// Settings common to every variant.
    pub settings: BTreeMap<String, Level>,
    /// What is done to it.
    pub workload: WorkloadSection,
    /// The commands to time; only, and always, for the system `commands`.
    pub commands: Option<CommandsSection>,
    /// How much of it.
    pub load: LoadSection,
    /// What is varied; the product of all levels, each a variant. Empty when `variants` is given.
    pub factors: Vec<Factor>,
    /// Explicit variants, in file order. Empty when `factors` is given.
    pub variants: Vec<VariantSection>,
    /// How the verdict is reached.
    pub judge: JudgeSection,
    /// What the field has seen, by variant name: compared by shape only.
    pub field_figures: BTreeMap<String, String>,
    /// Where its parts were written, for errors found later. Takes no part in equality.
    pub origin: Origin,
}

/// A value of a setting, a factor or a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Level {
    /// Text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
}

/// Which system, and where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemSection {
    /// `postgres`, `redis`, … or `commands`.
    pub name: String,
    /// A server of the user's own (`postgres://…`, `redis://…`) instead of a private one.
    pub url: Option<String>,
    /// Permission to write to the server at `url`.
    pub allow_writes: bool,
    /// Where the server's programs are, when not on `PATH` or in the distribution's place.
    pub bin_dir: Option<PathBuf>,
    /// With `url`: authorities to trust (PEM) instead of the host's.
    pub ca_file: Option<PathBuf>,
    /// With `url`: nothing is checked of the server's certificate.
    pub insecure: bool,
    /// With `url`: connect there (`host:port`, or a unix socket) instead; the URL's host stays what is asked for.
    pub connect_to: Option<String>,
    /// Without `url`: what the private servers are made of, common to every variant.
    pub private: BTreeMap<SystemKey, String>,
}

/// What is done to the system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadSection {
    /// Statements or commands that make the data, once, before anything is copied or measured.
    pub setup: Vec<String>,
    /// Statements or commands that every trial begins with, before its clients connect. Nothing of them is measured.
    pub prepare: Vec<String>,
    /// Variables: `{name}` in statements and in generator fields stands for their value.
    pub vars: BTreeMap<String, Level>,
    /// What one item of an operation is called (`row`), where operations count for several; `None`: an operation.
    pub unit: Option<String>,
    /// Weighted operations.
    pub operations: Vec<OperationSection>,
}

/// One kind of operation.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationSection {
    /// Name as reported.
    pub name: String,
    /// Relative frequency, at least 1; a factor may set `operations.NAME.weight` (0 switches it off).
    pub weight: u32,
    /// What it does, in the words of its system.
    pub text: OperationText,
    /// Parameters `$1`, `$2`, … numbered through all texts. Fields may hold `{var}` until resolved,
    /// so they are kept as TOML tables here.
    pub parameters: Vec<toml::Table>,
    /// SQL: repeat the (single) statement this many times in one transaction; may be `{var}`.
    pub repeat: String,
    /// SQL: repeat the statement's `VALUES (…)` group this many times, with parameters of its own for each
    /// row. MongoDB: the only element of `documents`, `updates` or `deletes`. May be `{var}`.
    pub rows: String,
    /// What one operation counts for in the throughput (rows written, say); may be `{var}`.
    pub items: String,
    /// SQL of a private server: the key its answer is kept under in the cache in front of the server, such as `user:$1`.
    pub cached_as: Option<String>,
}

/// What an operation does. Texts may hold `{var}` until resolved; `$1`, `$2`, … stand for its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum OperationText {
    /// SQL: one statement, or several that run as one transaction in this order.
    Sql(Vec<String>),
    /// One command of Redis, memcached or MongoDB.
    Command(CommandText),
    /// One HTTP request.
    Request(RequestText),
}

/// Which of the texts a system takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// `sql = "…"`
    Sql,
    /// `command = "…"`
    Command,
    /// `request = "…"`
    Request,
}

/// One command of Redis, memcached or MongoDB.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandText {
    /// Redis: words, quoted as in redis-cli. memcached: as typed into its text protocol, a value on the same line.
    /// MongoDB: the command as a JSON document.
    pub command: String,
    /// The reply must be this text; `None`: any reply that is no error.
    pub expect: Option<String>,
}

/// One HTTP request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestText {
    /// Method and target: `POST /items/$1`.
    pub request: String,
    /// Header fields in file order.
    pub headers: Vec<(String, String)>,
    /// The body; `None`: none.
    pub body: Option<String>,
    /// The status the reply must have: `200`, `2xx`, `any`; `None`: the driver's rule.
    pub expect: Option<String>,
    /// The reply's body must be this text.
    pub expect_body: Option<String>,
    /// The reply's body must be this long, bytes; may be `{var}`.
    pub expect_length: Option<String>,
}

impl OperationText {
    /// Which kind it is.
    pub fn kind(&self) -> TextKind {
        match self {
            OperationText::Sql(_) => TextKind::Sql,
            OperationText::Command(_) => TextKind::Command,
            OperationText::Request(_) => TextKind::Request,
        }
    }

    /// The statements of SQL; nothing for the others.
    pub fn statements(&self) -> &[String] {
        match self {
            OperationText::Sql(statements) => statements,
            _ => &[],
        }
    }
}

impl TextKind {
    /// The key it is written behind.
    pub fn key(self) -> &'static str {
        match self {
            TextKind::Sql => "sql",
            TextKind::Command => "command",
            TextKind::Request => "request",
        }
    }
}

/// Commands to time against each other. Each command, times each combination of the factors it uses,
/// is a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandsSection {
    /// The commands, in order.
    pub list: Vec<CommandSection>,
    /// `sh`, another shell's program, or `none`: the words of the command are executed directly.
    pub shell: String,
    /// Where the commands run; `None`: a fresh directory of the run's own, removed afterwards.
    pub directory: Option<PathBuf>,
    /// Run once before anything is timed; each distinct text once.
    pub setup: Vec<String>,
    /// Run once at the end, also after an error; each distinct text once.
    pub cleanup: Vec<String>,
    /// Untimed executions before each command's first timed one.
    pub warmup: u32,
    /// Time executions that end with a failure too, instead of counting them as errors.
    pub ignore_failure: bool,
}

/// One command.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandSection {
    /// Name as reported, with `{var}`; `None`: the command's own text.
    pub name: Option<String>,
    /// What is timed.
    pub run: String,
    /// Run, untimed, before every execution.
    pub prepare: Option<String>,
    /// Run, untimed, after every execution.
    pub conclude: Option<String>,
}

/// How much load, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSection {
    /// Connections.
    pub clients: u32,
    /// Worker threads; `None`: one per two CPUs, at most one per client.
    pub threads: Option<u32>,
    /// Operations in flight per connection.
    pub pipeline: u32,
    /// Open loop: operations per second over all clients. `None`: closed loop, as fast as the clients go.
    pub rate_per_s: Option<f64>,
    /// Open loop: how the intended starts are spaced; `None`: evenly.
    pub arrivals: Option<Arrivals>,
    /// A reply later than this is an error; `None`: the engine's limit.
    pub timeout: Option<Duration>,
    /// A trial's measured part ends once this many operations were sent in it; `None`: time alone ends it. There is
    /// no warm-up then.
    pub operations: Option<u64>,
    /// Measured part of a trial.
    pub trial: Duration,
    /// Warm-up before the pilot has been seen.
    pub settle: Duration,
}

/// One factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// `settings.NAME`, `load.clients` (`threads`, `pipeline`, `rate`, `arrivals`), `vars.NAME`,
    /// `operations.NAME.weight`, `system.version` (and the others of [`SystemKey`]).
    pub key: String,
    /// Its levels, at least one, no two equal, in file order.
    pub levels: Vec<Level>,
    /// Whether they came from a numeric sweep (`{ from, to, step | times }`).
    pub sweep: bool,
}

/// One explicit variant.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantSection {
    /// Unique name.
    pub name: String,
    /// Factor key to level.
    pub levels: BTreeMap<String, Level>,
}

/// How the verdict is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeSection {
    /// Name of the baseline variant; `None`: the first.
    pub baseline: Option<String>,
    /// Metrics that count.
    pub metrics: Vec<Metric>,
    /// The relative difference that matters.
    pub difference: f64,
    /// What is asked of a *different* verdict.
    pub goal: Goal,
    /// Time for the whole run.
    pub budget: Duration,
    /// Drain the debt after every trial.
    pub drain: bool,
    /// Keep decided variants in: what factors do together needs every variant in every round.
    pub factorial: bool,
}
