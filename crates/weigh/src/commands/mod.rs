//! One file per subcommand: its arguments and what it does.
//!
//! Each returns its exit code or a [`Failure`]; none of them exits or prints an error itself.

#[expect(
    clippy::module_inception,
    reason = "a file is called after its subcommand, and this one is `commands`"
)]
pub(crate) mod commands;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod delete;
pub(crate) mod experiments;
mod finish;
mod format;
pub(crate) mod guard;
mod judge;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod open;
mod overrides;
mod preview;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod selftest;
pub(crate) mod show;
mod stored;

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::screen::Screen;

/// Does what was typed.
pub(crate) fn run(typed: Cli, screen: &Screen) -> Result<u8, Failure> {
    match typed.command {
        Command::Run(args) => run::run(&args, screen),
        Command::Commands(args) => commands::run(&args, screen),
        Command::Load(args) => load::run(&args, screen),
        Command::List(args) => list::run(&args, screen),
        Command::Show(args) => show::run(&args, screen),
        Command::Compare(args) => compare::run(&args, screen),
        Command::Open(args) => open::run(&args, screen),
        Command::Delete(args) => delete::run(&args, screen),
        Command::Resume(args) => resume::run(&args, screen),
        Command::Experiments(args) => experiments::run(&args, screen),
        Command::Completions(args) => completions::run(&args, screen),
        Command::Man(args) => man::run(&args, screen),
        Command::Selftest(args) => selftest::run(&args, screen),
        Command::Answer(args) => selftest::answer(&args),
        Command::Guard(args) => guard::run(&args),
    }
}
