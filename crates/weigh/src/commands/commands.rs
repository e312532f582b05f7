//! `weigh commands`: commands against each other.

use std::path::PathBuf;

use clap::Args;
use weigh_lab::experiment::{CommandFlags, Experiment, from_commands};

use super::finish::{ConductArgs, finish};
use super::judge::JudgeArgs;
use super::{preview, stored};
use crate::exit;
use crate::failure::Failure;
use crate::lab;
use crate::screen::Screen;

/// Weigh commands against each other
///
/// Every command runs once per round, in random order, and the first one twice under a hidden second name: the A/A
/// check. Reported are the time with an interval on the ratio, CPU time, peak memory, page faults and context switches.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, args_override_self = true)]
pub(crate) struct CommandsArgs {
    /// The commands; the first is the baseline
    #[arg(value_name = "COMMAND", required = true)]
    commands: Vec<String>,
    /// Run before every execution, untimed: one for all commands, or one for each
    #[arg(short, long, value_name = "COMMAND")]
    prepare: Vec<String>,
    /// Run after every execution, untimed: one for all commands, or one for each
    #[arg(long, value_name = "COMMAND")]
    conclude: Vec<String>,
    /// Run once at the beginning
    #[arg(short, long, value_name = "COMMAND")]
    setup: Option<String>,
    /// Run once at the end, whatever happens
    #[arg(short, long, value_name = "COMMAND")]
    cleanup: Option<String>,
    /// Untimed executions of each command before the first timed one
    #[arg(short, long, value_name = "N")]
    warmup: Option<u32>,
    /// A parameter and its values: {NAME} in a command stands for each in turn (repeatable)
    #[arg(short = 'L', long, num_args = 2, value_names = ["NAME", "VALUES"], action = clap::ArgAction::Append)]
    parameter_list: Vec<String>,
    /// The shell that runs the commands, or none to execute them directly [default: sh]
    #[arg(short = 'S', long, value_name = "SHELL")]
    shell: Option<String>,
    /// Time executions that fail, too
    #[arg(short, long)]
    ignore_failure: bool,
    /// A name for a command, in the order of the commands (repeatable)
    #[arg(short = 'n', long, value_name = "NAME")]
    name: Vec<String>,
    /// Where the commands run [default: here]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    directory: Option<PathBuf>,
    /// The question in a sentence
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    question: Option<String>,

    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    conduct: ConductArgs,
}

const EXAMPLES: &str = "\
Examples:
  weigh commands 'gzip -1 <f' 'gzip -6 <f'
  weigh commands --shell none 'fd .' 'find .'
  weigh commands -L level 1,6,9 'gzip -{level} <f'
  weigh commands --prepare 'sync; echo 3 > /proc/sys/vm/drop_caches' 'cat f' 'dd if=f bs=1M'
";

pub(crate) fn run(args: &CommandsArgs, screen: &Screen) -> Result<u8, Failure> {
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

fn experiment(args: &CommandsArgs) -> Result<Experiment, Failure> {
    let judge = &args.judge;
    // Commands name files of the reader's own: they run where the reader is.
    let directory = match &args.directory {
        Some(directory) => directory.clone(),
        None => std::env::current_dir().map_err(|error| Failure::of(exit::FAILED, &error))?,
    };
    let pairs = args.parameter_list.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
    let flags = CommandFlags {
        commands: args.commands.clone(),
        names: args.name.clone(),
        question: args.question.clone(),
        prepare: args.prepare.clone(),
        conclude: args.conclude.clone(),
        setup: args.setup.clone(),
        cleanup: args.cleanup.clone(),
        warmup: args.warmup,
        parameter_lists: pairs.collect(),
        shell: args.shell.clone(),
        ignore_failure: args.ignore_failure,
        directory: Some(directory),
        trial: judge.trial.clone(),
        budget: judge.budget.clone(),
        difference: judge.difference.clone(),
        goal: judge.goal.clone(),
        metrics: judge.metric.clone(),
        baseline: judge.baseline.clone(),
    };
    Ok(from_commands(&flags)?)
}
