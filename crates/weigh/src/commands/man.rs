//! `weigh man`: the manual page.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_mangen::{Man, generate_to};

use crate::args::Cli;
use crate::exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// Print the manual page, or write one per subcommand
///
/// For example: weigh man | man -l -
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write weigh.1, weigh-run.1, … into this directory instead
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs, screen: &Screen) -> Result<u8, Failure> {
    let failed = |error: std::io::Error| Failure::of(exit::FAILED, &error);
    match &args.dir {
        Some(dir) => {
            std::fs::create_dir_all(dir).map_err(failed)?;
            generate_to(Cli::command(), dir).map_err(failed)?;
        }
        None => {
            let mut page = Vec::new();
            Man::new(Cli::command()).render(&mut page).map_err(failed)?;
            screen.print(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(exit::OK)
}
