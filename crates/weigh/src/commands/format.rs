//! The form a report takes, the same for `show` and `compare`: one of them at a time.
//!
//! [`FormatArgs`] is what both take; [`ShowFormatArgs`] adds what only a single run has. All arguments belong to the
//! group `format`, so that clap refuses two of them. A page and a picture go to a [`Target`].

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// What a report of one or of several runs can be printed as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Text for the terminal.
    Terminal,
    /// JSON, for programs.
    Json,
    /// GitHub-flavoured Markdown, for a pull request.
    Markdown,
    /// CSV, for a spreadsheet.
    Csv(CsvOf),
    /// A page that stands alone.
    Html(Target),
    /// One chart as a picture, by its name.
    Svg(String, Target),
}

/// Where a page or a picture goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Where this form usually goes.
    Usual,
    /// Standard output.
    Output,
    /// A file.
    File(PathBuf),
}

impl Target {
    fn of(typed: Option<&str>) -> Target {
        match typed {
            None | Some("") => Target::Usual,
            Some("-") => Target::Output,
            Some(path) => Target::File(path.into()),
        }
    }

    /// Writes the text; `usual` is the file it usually goes to, `None`: standard output.
    pub(super) fn write(&self, usual: Option<&str>, text: &str, screen: &Screen) -> Result<(), Failure> {
        let path = match (self, usual) {
            (Target::File(path), _) => path.clone(),
            (Target::Usual, Some(usual)) => PathBuf::from(usual),
            (Target::Usual, None) | (Target::Output, _) => return screen.print(text),
        };
        std::fs::write(&path, text).map_err(|error| {
            Failure::caused(exit::FAILED, format!("cannot write `{}`", path.display()), &error)
        })?;
        screen.note(&format!("written to {}", path.display()));
        Ok(())
    }
}

/// What the rows of a CSV file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CsvOf {
    /// One row per trial
    Trials,
    /// One row per variant and metric
    Summary,
}

/// The forms that a run has and several runs have.
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct FormatArgs {
    /// Print the report as JSON
    #[arg(long, group = "format")]
    json: bool,
    /// Print it as Markdown, for a pull request
    #[arg(long, group = "format")]
    markdown: bool,
    /// Write it as a page that stands alone, to a file (weigh-RUN.html if none is named) or with - to the output
    #[arg(long, group = "format", value_name = "FILE", num_args = 0..=1, default_missing_value = "")]
    html: Option<String>,
}

/// The forms that one run has.
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct ShowFormatArgs {
    #[command(flatten)]
    common: FormatArgs,
    /// Print it as CSV: trials (one row each, the default) or summary (one row per variant and metric)
    #[arg(long, group = "format", value_name = "ROWS", value_enum, num_args = 0..=1, default_missing_value = "trials",
        hide_possible_values = true)]
    csv: Option<CsvOf>,
    /// Print one chart as a picture, or write it to a file: forest, quantiles, ecdf, trials, costs, growth …
    #[arg(long, group = "format", value_names = ["CHART", "FILE"], num_args = 1..=2)]
    svg: Option<Vec<String>>,
}

impl FormatArgs {
    /// The one that was asked for.
    pub(super) fn format(&self) -> Format {
        match self {
            FormatArgs { json: true, .. } => Format::Json,
            FormatArgs { markdown: true, .. } => Format::Markdown,
            FormatArgs { html: Some(typed), .. } => Format::Html(Target::of(Some(typed))),
            _ => Format::Terminal,
        }
    }
}

impl ShowFormatArgs {
    /// The one that was asked for.
    pub(super) fn format(&self) -> Format {
        match (&self.svg, self.csv) {
            (Some(typed), _) => {
                let chart = typed.first().cloned().unwrap_or_default();
                Format::Svg(chart, Target::of(typed.get(1).map(String::as_str)))
            }
            (None, Some(rows)) => Format::Csv(rows),
            (None, None) => self.common.format(),
        }
    }
}
