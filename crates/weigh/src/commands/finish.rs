//! What follows a run, however it was begun: the report, and the exit code.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weigh_results::analysis::{Analysis, analyse};
use weigh_results::report::html::{self, Links};
use weigh_results::report::{json, terminal, words};

use super::stored;
use crate::exit;
use crate::failure::Failure;
use crate::lab::{Conduct, Outcome};
use crate::screen::Screen;

/// How a run is carried out and told, the same for `run`, `commands` and `resume`.
#[derive(Debug, Args)]
pub(crate) struct ConductArgs {
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
    /// Leave the servers' directories in place afterwards
    #[arg(long, hide_short_help = true)]
    keep: bool,
    /// Where servers keep their data while the run goes on
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    work_dir: Option<std::path::PathBuf>,
    /// Exit with code 10 if any variant is so
    #[arg(long, value_name = "WHAT", value_enum, hide_short_help = true)]
    fail_if: Option<FailIf>,
}

impl ConductArgs {
    /// In the lab's words.
    pub(crate) fn conduct(&self) -> Conduct {
        Conduct { keep: self.keep, quiet: self.quiet, work_dir: self.work_dir.clone() }
    }
}

/// When a completed run counts as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailIf {
    /// A variant is different from the baseline, and worse
    Worse,
    /// A variant is different from the baseline
    Different,
}

/// Prints the report of a run that has just ended and says how it went.
pub(crate) fn finish(outcome: Outcome, args: &ConductArgs, screen: &Screen) -> Result<u8, Failure> {
    let analysis = analyse(&outcome.run);
    // A run that failed before its first trial has no report worth reading, only an error.
    let failed_early = outcome.error.is_some() && outcome.run.trials.is_empty();
    let written = if failed_early { None } else { write_page(&outcome, &analysis, screen) };
    if args.json {
        screen.print_json(&json::render(&outcome.run, &analysis))?;
    } else if !failed_early {
        let mut page = terminal::render(&outcome.run, &analysis, &screen.style);
        page.push_str(&terminal::whereabouts(&outcome.run, &outcome.dir, written.as_deref(), &screen.style));
        screen.print(&page)?;
    }
    if let Some(signal) = outcome.signal {
        let id = &outcome.run.header.run_id;
        screen.note(&format!("interrupted; `weigh resume {id}` goes on with it"));
        return Ok(exit::INTERRUPTED_BASE + u8::try_from(signal).unwrap_or(0));
    }
    match outcome.error {
        Some(error) => Err(Failure::from(error)),
        None => Ok(code(&analysis, args.fail_if)),
    }
}

/// The page in the run's own directory, so that there is something to send at once. That it could not be written is no
/// reason for a run to fail: it can be made again at any time.
fn write_page(outcome: &Outcome, analysis: &Analysis, screen: &Screen) -> Option<PathBuf> {
    let path = stored::page_path(&outcome.dir);
    match std::fs::write(&path, html::run(&outcome.run, analysis, &Links::default())) {
        Ok(()) => Some(path),
        Err(error) => {
            screen.note(&format!("no page was written: {}: {error}", path.display()));
            None
        }
    }
}

fn code(analysis: &Analysis, fail_if: Option<FailIf>) -> u8 {
    if analysis.verdict_withheld.is_some() {
        return exit::NO_VERDICT;
    }
    let fails = analysis.comparisons.iter().any(|comparison| match fail_if {
        None => false,
        Some(FailIf::Different) => words::is_different(comparison).is_some(),
        Some(FailIf::Worse) => words::is_different(comparison) == Some(false),
    });
    if fails { exit::FAIL_IF } else { exit::OK }
}
