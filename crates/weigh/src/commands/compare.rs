//! `weigh compare`: two stored runs side by side.

use clap::Args;
use weigh_results::report::compare;

use super::stored;
use crate::exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// Put two stored runs side by side
///
/// Variants are matched by name. A ratio across runs is never a verdict, because their trials were not taken in
/// turn; what compares is each variant against the baseline of its own run.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[arg(value_name = "RUN", help = stored::RUN_HELP)]
    first: String,
    #[arg(value_name = "OTHER", help = "The run to put beside it")]
    second: String,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &CompareArgs, screen: &Screen) -> Result<u8, Failure> {
    let store = stored::store()?;
    let (_, first, first_analysis) = stored::load_analysed(&store, &args.first)?;
    let (_, second, second_analysis) = stored::load_analysed(&store, &args.second)?;
    let pair = compare::compare((&first, &first_analysis), (&second, &second_analysis))?;
    if args.json {
        screen.print_json(&compare::json(&pair))?;
    } else {
        screen.print(&compare::render(&pair, &screen.style))?;
    }
    Ok(exit::OK)
}
