//! `weigh show`: the report of a stored run.

use clap::Args;
use weigh_results::analysis::Analysis;
use weigh_results::model::{Metric, Run};
use weigh_results::report::chart::svg::{self, SvgStyle};
use weigh_results::report::chart::{self, ChartKind};
use weigh_results::report::html::{self, Links};
use weigh_results::report::{csv, json, markdown, terminal};

use super::format::{CsvOf, Format, ShowFormatArgs};
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
    #[command(flatten)]
    format: ShowFormatArgs,
}

pub(crate) fn run(args: &ShowArgs, screen: &Screen) -> Result<u8, Failure> {
    let store = stored::store()?;
    let (dir, run, analysis) = stored::load_analysed(&store, &args.run)?;
    match args.format.format() {
        Format::Json => screen.print_json(&json::render(&run, &analysis))?,
        Format::Markdown => screen.print(&markdown::run(&run, &analysis))?,
        Format::Csv(CsvOf::Trials) => screen.print(&csv::trials(&run))?,
        Format::Csv(CsvOf::Summary) => screen.print(&csv::summary(&run, &analysis))?,
        Format::Html(target) => {
            let usual = format!("weigh-{}.html", run.header.run_id);
            target.write(Some(&usual), &html::run(&run, &analysis, &Links::default()), screen)?;
        }
        Format::Svg(name, target) => target.write(None, &picture(&name, &run, &analysis)?, screen)?,
        Format::Terminal => {
            let written = Some(stored::page_path(&dir)).filter(|path| path.is_file());
            let mut page = terminal::render(&run, &analysis, &screen.style);
            page.push_str(&terminal::whereabouts(&run, &dir, written.as_deref(), &screen.style));
            screen.print(&page)?;
        }
    }
    Ok(exit::OK)
}

/// Width of a picture, pixels; it can be scaled.
const PICTURE_WIDTH_PX: u32 = 880;

/// One chart by its name.
fn picture(name: &str, run: &Run, analysis: &Analysis) -> Result<String, Failure> {
    let by = run.header.plan.judge.decide.first().copied().unwrap_or(Metric::Throughput);
    let found = ChartKind::from_name(name, by).and_then(|kind| chart::of(kind, run, analysis));
    let Some(chart) = found else {
        let names: Vec<String> = chart::all(run, analysis).into_iter().map(|chart| chart.kind).collect();
        let known = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
        return Err(Failure::new(exit::USAGE, format!("this run has no chart `{name}` (it has: {known})")));
    };
    Ok(svg::render(&chart, SvgStyle { width_px: PICTURE_WIDTH_PX, theme: None }))
}
