//! `weigh commands 'gzip -1 <f' 'zstd -1 <f'` → an experiment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::levels::{FlagReader, JudgeFlags};
use crate::experiment::read::{default_judge, default_load};
use crate::experiment::{
    CommandSection, CommandsSection, Experiment, ExperimentErrors, Factor, LoadSection, SystemSection,
    WorkloadSection, vars,
};

/// The arguments of `weigh commands`, as typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandFlags {
    /// The commands to compare.
    pub commands: Vec<String>,
    /// `--name`, in the order of the commands.
    pub names: Vec<String>,
    /// `--question`
    pub question: Option<String>,
    /// `--prepare`: one for all commands, or one each.
    pub prepare: Vec<String>,
    /// `--conclude`: one for all commands, or one each.
    pub conclude: Vec<String>,
    /// `--setup`
    pub setup: Option<String>,
    /// `--cleanup`
    pub cleanup: Option<String>,
    /// `--warmup`
    pub warmup: Option<u32>,
    /// `-L name a,b,c`: name and values.
    pub parameter_lists: Vec<(String, String)>,
    /// `--shell`; default `sh`.
    pub shell: Option<String>,
    /// `--ignore-failure`
    pub ignore_failure: bool,
    /// Where the commands run; `None`: a fresh directory of the run's own.
    pub directory: Option<PathBuf>,
    /// `--trial`: executions go on for this long (at least one).
    pub trial: Option<String>,
    /// `--budget`
    pub budget: Option<String>,
    /// `--difference`
    pub difference: Option<String>,
    /// `--goal`
    pub goal: Option<String>,
    /// `--metric`, repeatable or with commas.
    pub metrics: Vec<String>,
    /// `--baseline`
    pub baseline: Option<String>,
}

/// Makes an experiment from commands.
///
/// # Errors
///
/// Every mistake with the flag it was typed in.
pub fn from_commands(flags: &CommandFlags) -> Result<Experiment, ExperimentErrors> {
    let mut reader = FlagReader::new();
    let system = SystemSection { name: "commands".to_owned(), ..SystemSection::default() };
    let judge_flags = JudgeFlags {
        baseline: flags.baseline.as_ref(),
        metrics: &flags.metrics,
        difference: flags.difference.as_ref(),
        goal: flags.goal.as_ref(),
        budget: flags.budget.as_ref(),
    };
    let judge = reader.judge(&judge_flags, default_judge(&system, false));
    let default = default_load(&system);
    reader.origin.mark_flag("load.trial".to_owned(), "--trial".to_owned());
    let trial = reader.duration("--trial", flags.trial.as_ref()).unwrap_or(default.trial);
    let commands = commands(&mut reader, flags);
    let (factors, vars) = parameters(&mut reader, &flags.parameter_lists);
    reader.origin.mark_flag("factors".to_owned(), "-L".to_owned());
    ExperimentErrors::check(reader.errors)?;
    let experiment = Experiment {
        name: "commands".to_owned(),
        question: flags.question.clone().unwrap_or_default(),
        workload: WorkloadSection { vars, ..WorkloadSection::default() },
        commands: Some(commands),
        load: LoadSection { trial, ..default },
        factors,
        judge,
        origin: reader.origin,
        ..Experiment::of_system(system)
    };
    experiment.check()?;
    Ok(experiment)
}

fn commands(reader: &mut FlagReader, flags: &CommandFlags) -> CommandsSection {
    for (path, flag) in
        [("commands", "COMMAND"), ("commands.setup", "--setup"), ("commands.cleanup", "--cleanup")]
    {
        reader.origin.mark_flag(path.to_owned(), flag.to_owned());
    }
    if flags.names.len() > flags.commands.len() {
        let what = format!("{} names for {} commands", flags.names.len(), flags.commands.len());
        reader.error("--name", what, "at most one for each command");
    }
    let prepare = each(reader, "--prepare", &flags.prepare, flags.commands.len());
    let conclude = each(reader, "--conclude", &flags.conclude, flags.commands.len());
    let mut list = Vec::new();
    for (index, run) in flags.commands.iter().enumerate() {
        let path = format!("commands.command[{index}]");
        reader.origin.mark_flag(path.clone(), format!("COMMAND {}", index + 1));
        for (part, flag) in [("prepare", "--prepare"), ("conclude", "--conclude"), ("name", "--name")] {
            reader.origin.mark_flag(format!("{path}.{part}"), flag.to_owned());
        }
        if run.trim().is_empty() {
            reader.error(&format!("COMMAND {}", index + 1), "an empty command", "what is timed");
        }
        list.push(CommandSection {
            name: flags.names.get(index).filter(|name| !name.trim().is_empty()).cloned(),
            run: run.clone(),
            prepare: prepare.get(index).cloned().flatten(),
            conclude: conclude.get(index).cloned().flatten(),
        });
    }
    let one = |text: &Option<String>| text.iter().filter(|text| !text.trim().is_empty()).cloned().collect();
    let shell = flags.shell.clone().filter(|shell| !shell.trim().is_empty());
    CommandsSection {
        list,
        shell: shell.unwrap_or_else(|| "sh".to_owned()),
        directory: flags.directory.clone(),
        setup: one(&flags.setup),
        cleanup: one(&flags.cleanup),
        warmup: flags.warmup.unwrap_or(0),
        ignore_failure: flags.ignore_failure,
    }
}

/// One text for all commands, or one for each; an empty one means none.
fn each(reader: &mut FlagReader, flag: &str, texts: &[String], commands: usize) -> Vec<Option<String>> {
    let texts: Vec<Option<String>> =
        texts.iter().map(|text| Some(text.clone()).filter(|text| !text.trim().is_empty())).collect();
    match texts.len() {
        0 => Vec::new(),
        1 => vec![texts[0].clone(); commands],
        n if n == commands => texts,
        n => {
            reader.error(
                flag,
                format!("`{flag}` {n} times for {commands} commands"),
                "once, or once for each command",
            );
            Vec::new()
        }
    }
}

type Parameters = (Vec<Factor>, BTreeMap<String, crate::experiment::Level>);

/// `-L name a,b,c`: several values are a factor, one is a variable.
fn parameters(reader: &mut FlagReader, lists: &[(String, String)]) -> Parameters {
    let (mut factors, mut single) = (Vec::new(), BTreeMap::new());
    for (name, values) in lists {
        let flag = format!("-L {name}");
        let path = format!("factors.vars.{name}");
        if !vars::is_name(name) {
            reader.error(
                &flag,
                format!("`{name}` is not a name"),
                "letters, digits and `_`, not beginning with a digit",
            );
        } else if reader.origin.has(&path) {
            reader.error(&flag, format!("`{name}` twice"), "all values behind one flag");
        } else if values.trim().is_empty() {
            reader.error(&flag, format!("no values for `{name}`"), "`-L name a,b,c`");
        } else if let Some(factor) = reader.levels(&flag, &format!("vars.{name}"), values) {
            reader.origin.mark_flag(path, flag.clone());
            reader.origin.mark_flag(format!("workload.vars.{name}"), flag);
            match factor.levels.as_slice() {
                [only] => {
                    single.insert(name.clone(), only.clone());
                }
                _ => factors.push(factor),
            }
        }
    }
    (factors, single)
}
