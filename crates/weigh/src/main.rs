//! The `weigh` command: arguments, progress, printing, exit codes.
//!
//! - [`args`]: what can be typed; help, completions and the man page come from the same place.
//! - [`commands`]: one file per subcommand.
//! - [`lab`]: the way from arguments to a finished run; the only file that calls `weigh-lab`'s runner.
//! - [`gallery`]: the stored runs in the reader's browser.
//! - [`screen`], [`progress`]: the only code of the project that writes to a terminal.
//! - [`failure`], [`exit`]: how errors are told, and what the exit codes mean.
//!
//! Everything this program knows it has from `weigh-lab` and `weigh-results`; it decides nothing.

mod args;
mod commands;
mod exit;
mod failure;
mod gallery;
mod lab;
mod progress;
mod screen;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    // clap prints usage errors itself, with exit code 2.
    let typed = args::Cli::parse();
    typed.color.choice().write_global();
    let screen = screen::Screen::look();
    let code = commands::run(typed, &screen).unwrap_or_else(|failure| {
        screen.fail(&failure);
        failure.code
    });
    ExitCode::from(code)
}
