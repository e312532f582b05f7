//! `weigh show`: the report of a stored run.

use clap::Args;
use weigh_results::report::{json, terminal};

use super::stored;
use crate::exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// Show the report of a stored run
///
/// The report is made from the stored run alone: it is the same on every machine and every day.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[arg(value_name = "RUN", default_value = "last", help = stored::RUN_HELP)]
    run: String,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ShowArgs, screen: &Screen) -> Result<u8, Failure> {
    let store = stored::store()?;
    let (dir, run, analysis) = stored::load_analysed(&store, &args.run)?;
    if args.json {
        screen.print_json(&json::render(&run, &analysis))?;
    } else {
        let mut page = terminal::render(&run, &analysis, &screen.style);
        page.push_str(&terminal::whereabouts(&run, &dir, &screen.style));
        screen.print(&page)?;
    }
    Ok(exit::OK)
}
