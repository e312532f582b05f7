//! `weigh run`: variants of a system against each other.

use std::path::{Path, PathBuf};

use clap::Args;
use weigh_lab::experiment::{self, Experiment, FlagExperiment, SqlSource, from_flags};

use super::finish::{ConductArgs, finish};
use super::judge::JudgeArgs;
use super::{overrides, preview, stored};
use crate::exit;
use crate::failure::Failure;
use crate::lab;
use crate::screen::Screen;

/// Weigh variants of a system against each other
///
/// An experiment is a file, the name of one that comes with weigh, or flags that say the same: `--print` shows the
/// file they make. Beside a file, flags change what it says.
///
/// Every factor is varied (`--set synchronous_commit=on,off`); every combination of levels is a variant, and the first
/// is the baseline. Variants take turns in random order, for one short trial each per round, until every comparison
/// with the baseline is decided or the budget is spent.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, args_override_self = true)]
pub(crate) struct RunArgs {
    /// The name of an experiment that comes with weigh, or a file
    #[arg(value_name = "EXPERIMENT", required_unless_present = "system", conflicts_with_all = FROM_FLAGS)]
    experiment: Option<String>,

    /// The system to weigh: postgres, sqlite, redis, memcached, mongodb, or with --url http
    #[arg(long, value_name = "NAME", help_heading = "An experiment from flags")]
    system: Option<String>,
    /// A setting and its levels, like synchronous_commit=on,off; one level is the same for all (repeatable)
    #[arg(long, value_name = "NAME=LEVELS", help_heading = "An experiment from flags")]
    set: Vec<String>,
    /// An operation: a file of SQL, or the SQL itself; several statements are one transaction (repeatable)
    #[arg(long, value_name = "FILE|SQL", help_heading = "An experiment from flags")]
    sql: Vec<String>,
    /// An operation in the words of the system: a statement, a command (GET user:$1), a request (GET /path) (repeatable)
    #[arg(long, value_name = "TEXT", help_heading = "An experiment from flags")]
    operation: Vec<String>,
    /// What makes the data, once, before anything is measured: a file, or the SQL or command itself (repeatable)
    #[arg(
        long,
        visible_alias = "setup-sql",
        value_name = "FILE|SQL",
        help_heading = "An experiment from flags"
    )]
    setup: Vec<String>,
    /// A parameter of the operation, in the order of $1, $2 …, like kind=uniform,min=1,max=1000 (repeatable)
    #[arg(long, value_name = "GENERATOR", help_heading = "An experiment from flags")]
    param: Vec<String>,
    /// The question in a sentence
    #[arg(long, value_name = "TEXT", help_heading = "An experiment from flags", hide_short_help = true)]
    question: Option<String>,

    /// Connections; with commas, a factor
    #[arg(long, value_name = "N")]
    pub(super) clients: Option<String>,
    /// Client threads [default: one per two CPUs]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(super) threads: Option<u32>,
    /// Operations in flight per connection [default: 1]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(super) pipeline: Option<u32>,
    /// Open loop: operations per second over all clients, like 5000/s or 300/min; with commas, a factor
    #[arg(long, value_name = "RATE")]
    pub(super) rate: Option<String>,
    /// Open loop: constant or poisson arrivals; with commas, a factor [default: constant]
    #[arg(long, value_name = "ARRIVALS", hide_short_help = true)]
    pub(super) arrivals: Option<String>,
    /// A reply later than this is an error [default: 30s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(super) timeout: Option<String>,
    /// Warm-up of a trial, before the pilot has shown how long it has to be
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(super) settle: Option<String>,
    /// Leave the debt of a trial to the next one
    #[arg(long, hide_short_help = true)]
    pub(super) no_drain: bool,
    /// A server of your own (postgres://…, redis://…, http://…) instead of a private one
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// Allow writing to the server at --url
    #[arg(long)]
    pub(super) allow_writes: bool,
    /// Where the server's programs are
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(super) bin_dir: Option<PathBuf>,
    /// Authorities to trust (PEM) instead of the host's, for the server at --url
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) ca_file: Option<PathBuf>,
    /// Do not check the certificate of the server at --url
    #[arg(long, hide_short_help = true)]
    pub(super) insecure: bool,
    /// Connect there instead of to the host of --url, whose name stays what is asked for
    #[arg(long, value_name = "HOST:PORT", hide_short_help = true)]
    pub(super) connect_to: Option<String>,

    #[command(flatten)]
    pub(super) judge: JudgeArgs,
    #[command(flatten)]
    conduct: ConductArgs,
}

/// What a file says itself.
const FROM_FLAGS: [&str; 7] = ["system", "set", "sql", "operation", "setup", "param", "question"];

const EXAMPLES: &str = "\
Examples:
  weigh run postgres/durability
  weigh run my.toml --budget 10min
  weigh run --system postgres --set synchronous_commit=on,off,local --sql insert.sql --clients 4
  weigh run --system sqlite --set synchronous=FULL,NORMAL --setup 'CREATE TABLE t (v TEXT)' \\
      --sql 'INSERT INTO t VALUES ($1)' --param kind=string,size=100
  weigh run --system redis --url redis://127.0.0.1 --set load.pipeline=1,16 \\
      --operation 'GET user:$1' --param kind=uniform,min=1,max=1000
  weigh run postgres/durability --rate 500/s
  weigh run postgres/durability --dry-run
";

pub(crate) fn run(args: &RunArgs, screen: &Screen) -> Result<u8, Failure> {
    let experiment = experiment(args)?;
    if args.judge.print {
        screen.print(&experiment.to_toml())?;
        return Ok(exit::OK);
    }
    let plan = lab::plan(&experiment, args.judge.seed())?;
    if args.judge.dry_run {
        return preview::show(&plan, args.conduct.json, screen);
    }
    let outcome = lab::start(&plan, &stored::store()?, &args.conduct.conduct(), screen)?;
    finish(outcome, &args.conduct, screen)
}

/// From a name, a file, or flags.
fn experiment(args: &RunArgs) -> Result<Experiment, Failure> {
    let Some(name) = &args.experiment else { return from_typed(args) };
    let mut found = experiment::find(name)?;
    overrides::apply(&mut found, args)?;
    Ok(found)
}

fn from_typed(args: &RunArgs) -> Result<Experiment, Failure> {
    let system = args.system.clone().unwrap_or_default();
    let sources = |flag: &str, typed: &[String]| {
        typed.iter().map(|text| source(flag, text, &system)).collect::<Result<_, _>>()
    };
    let judge = &args.judge;
    let flags = FlagExperiment {
        question: args.question.clone(),
        system: args.system.clone().unwrap_or_default(),
        url: args.url.clone(),
        allow_writes: args.allow_writes,
        bin_dir: args.bin_dir.clone(),
        ca_file: args.ca_file.clone(),
        insecure: args.insecure,
        connect_to: args.connect_to.clone(),
        set: args.set.clone(),
        sql: sources("--sql", &args.sql)?,
        operations: args.operation.clone(),
        setup: sources("--setup", &args.setup)?,
        parameters: args.param.clone(),
        clients: args.clients.clone(),
        threads: args.threads,
        pipeline: args.pipeline,
        rate: args.rate.clone(),
        arrivals: args.arrivals.clone(),
        timeout: args.timeout.clone(),
        trial: judge.trial.clone(),
        settle: args.settle.clone(),
        budget: judge.budget.clone(),
        difference: judge.difference.clone(),
        goal: judge.goal.clone(),
        metrics: judge.metric.clone(),
        baseline: judge.baseline.clone(),
        no_drain: args.no_drain,
    };
    Ok(from_flags(&flags)?)
}

/// A file if there is one of that name; the text itself if it cannot be a file's name, as a command may be a single
/// word.
fn source(flag: &str, typed: &str, system: &str) -> Result<SqlSource, Failure> {
    let path = Path::new(typed);
    let sql = ["postgres", "sqlite"].contains(&system);
    if !path.is_file() && (!sql || typed.trim().contains(char::is_whitespace)) {
        return Ok(SqlSource { name: flag.to_owned(), text: typed.to_owned() });
    }
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(SqlSource { name: typed.to_owned(), text }),
        Err(error) => {
            let message = format!("{flag}: cannot read `{typed}`");
            Err(Failure::caused(exit::USAGE, message, &error))
        }
    }
}
