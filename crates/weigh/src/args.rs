//! What can be typed. Nothing is opened or checked here beyond its shape.
//!
//! [`Cli`] is the root; every subcommand's own arguments stand in its file in [`crate::commands`]. Help,
//! completions and the man page are made from this one definition.

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands;
use crate::exit;

/// Weigh what a change really costs, on your own machine.
#[derive(Debug, Parser)]
#[command(
    name = "weigh",
    version,
    about = "Weigh what a change really costs, on your own machine",
    long_about = "Weigh what a change really costs, on your own machine.\n\n\
        weigh runs variants of a setting, a query or a command against each other: real servers, short trials in \
        random order, honest intervals, the counters that explain why, and a verdict in a sentence.",
    after_long_help = after_help(),
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    /// When to use colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto, hide_short_help = true)]
    pub(crate) color: Color,

    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  weigh run postgres/durability
      what synchronous_commit costs on a private PostgreSQL
  weigh run --system postgres --set synchronous_commit=on,off --sql insert.sql --clients 4
      the same question about your own statement, without a file
  weigh commands 'gzip -1 <f' 'gzip -6 <f'
      two commands against each other
  weigh show last
      the report of the last run, again

Environment:
  WEIGH_HOME       where runs are stored, below runs/ (else $XDG_DATA_HOME/weigh, else ~/.local/share/weigh)
  WEIGH_WORK_DIR   where servers keep their data while a run goes on (else /var/tmp)
  WEIGH_STATE_DIR  what has to be undone if weigh is killed (else $XDG_STATE_HOME/weigh, else ~/.local/state/weigh)
  NO_COLOR, CLICOLOR, CLICOLOR_FORCE, COLUMNS, TERM, LC_ALL, LANG   are respected
";

/// Examples, environment and exit codes: the end of the long help and of the man page.
fn after_help() -> String {
    format!("{EXAMPLES}\n{}", exit::HELP)
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// If the output is a terminal and the environment does not forbid it
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// In the words of the library that decides for both streams.
    pub(crate) fn choice(self) -> anstream::ColorChoice {
        match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
    }
}

/// What to do. The help of each is the documentation of its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<commands::run::RunArgs>),
    Commands(Box<commands::commands::CommandsArgs>),
    Load(Box<commands::load::LoadArgs>),
    List(commands::list::ListArgs),
    Show(commands::show::ShowArgs),
    Compare(commands::compare::CompareArgs),
    Open(commands::open::OpenArgs),
    Delete(commands::delete::DeleteArgs),
    Resume(commands::resume::ResumeArgs),
    Selftest(commands::selftest::SelftestArgs),
    Experiments(commands::experiments::ExperimentsArgs),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::man::ManArgs),
    #[command(name = "__guard", hide = true)]
    Guard(commands::guard::GuardArgs),
    #[command(name = "__answer", hide = true)]
    Answer(commands::selftest::AnswerArgs),
}

/// A duration as people type it: `5min`, `90s`, `200ms`.
pub(crate) fn duration(text: &str) -> Result<std::time::Duration, String> {
    let duration =
        humantime::parse_duration(text).map_err(|error| format!("{error} (like `5min`, `90s`, `200ms`)"))?;
    if duration.is_zero() { Err("must be longer than nothing".into()) } else { Ok(duration) }
}

/// Like [`duration`], but nothing at all is allowed.
pub(crate) fn duration_or_none(text: &str) -> Result<std::time::Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error} (like `1s`, `200ms`, `0s`)"))
}

/// A relative difference: `2%` or `0.02`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent.trim(), 0.01),
        None => (text.trim(), 1.0),
    };
    let value = number.parse::<f64>().map_err(|_| "must be a percentage like `2%`".to_owned())? * scale;
    if value > 0.0 && value < 1.0 { Ok(value) } else { Err("must be above 0 % and below 100 %".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn values_as_people_type_them() {
        assert_eq!(duration("5min").unwrap().as_secs(), 300);
        assert!(duration("0s").is_err());
        assert_eq!(duration_or_none("0s").unwrap().as_secs(), 0);
        assert!((share("2%").unwrap() - 0.02).abs() < 1e-12);
        assert!((share("0.5").unwrap() - 0.5).abs() < 1e-12);
        for wrong in ["2", "0", "-1%", "100%", "x", "nan"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_subcommand_says_what_it_does() {
        for command in Cli::command().get_subcommands() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(
                about.starts_with(char::is_uppercase) && !about.ends_with('.'),
                "{}: {about}",
                command.get_name()
            );
        }
    }
}
