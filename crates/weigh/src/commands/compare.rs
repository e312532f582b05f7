//! `weigh compare`: stored runs side by side.

use clap::Args;
use weigh_results::analysis::Analysis;
use weigh_results::model::Run;
use weigh_results::report::html::{self, Links};
use weigh_results::report::{compare, markdown};

use super::format::{Format, FormatArgs};
use super::stored;
use crate::exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// Put stored runs side by side
///
/// Variants are matched by name. A ratio across runs is never a verdict, because their trials were not taken in
/// turn; what compares is each variant against the baseline of its own run.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[arg(value_name = "RUN", help = stored::RUN_HELP)]
    first: String,
    #[arg(value_name = "OTHER", required = true, help = "The runs to put beside it")]
    others: Vec<String>,
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(args: &CompareArgs, screen: &Screen) -> Result<u8, Failure> {
    let store = stored::store()?;
    let mut loaded: Vec<(Run, Analysis)> = Vec::new();
    for selector in std::iter::once(&args.first).chain(&args.others) {
        let (_, run, analysis) = stored::load_analysed(&store, selector)?;
        loaded.push((run, analysis));
    }
    let runs: Vec<(&Run, &Analysis)> = loaded.iter().map(|(run, analysis)| (run, analysis)).collect();
    let compared = compare::compare(&runs)?;
    match args.format.format() {
        Format::Json => screen.print_json(&compare::json(&compared))?,
        Format::Markdown => screen.print(&markdown::several(&runs))?,
        Format::Html(target) => {
            let usual = format!("weigh-compare-{}.html", first_id(&runs));
            target.write(Some(&usual), &html::several(&runs, &Links::default()), screen)?;
        }
        // Forms that only one run has are not among the arguments.
        Format::Terminal | Format::Csv(_) | Format::Svg(..) => {
            screen.print(&compare::render(&compared, &screen.style))?;
        }
    }
    Ok(exit::OK)
}

/// What the page of several runs is called after.
fn first_id<'a>(runs: &[(&'a Run, &Analysis)]) -> &'a str {
    runs.first().map_or("", |(run, _)| &run.header.run_id)
}
