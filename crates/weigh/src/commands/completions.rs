//! `weigh completions`: completions for a shell.

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::args::Cli;
use crate::exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// Print completions for a shell
///
/// For example: weigh completions bash > /etc/bash_completion.d/weigh
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, screen: &Screen) -> Result<u8, Failure> {
    let mut text = Vec::new();
    generate(args.shell, &mut Cli::command(), "weigh", &mut text);
    screen.print(&String::from_utf8_lossy(&text))?;
    Ok(exit::OK)
}
