//! `weigh list`: stored runs, newest first.

use clap::Args;
use serde_json::json;
use weigh_results::report::list;

use super::stored;
use crate::exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// List stored runs, newest first
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only the newest N
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ListArgs, screen: &Screen) -> Result<u8, Failure> {
    let store = stored::store()?;
    let (mut runs, unreadable) = store.list()?;
    runs.truncate(args.limit.unwrap_or(usize::MAX));
    for error in unreadable {
        screen.fail(&Failure::from(error));
    }
    if args.json {
        screen.print_json(&json!({ "report": "list", "report_version": 1, "runs": runs }))?;
    } else if runs.is_empty() {
        screen.note(&format!("no runs in {}; try `weigh run sqlite/durability`", store.root().display()));
    } else {
        screen.print(&list::render(&runs, &screen.style))?;
    }
    Ok(exit::OK)
}
