//! Charts as data: what is drawn, without how.
//!
//! - [`Chart`]: axes, series, bands and reference lines; [`ChartKind`]: the closed set of charts, by the names that
//!   `--svg` takes; [`of`] draws one chart of a run, [`all`] every chart that a run has something for.
//! - [`svg`]: a chart as a picture that stands alone.
//!
//! The page ([`super::html`]) embeds the same charts as JSON and draws them with a library, so that picture and page
//! cannot tell different stories. Nothing here decides anything: what is *different* was decided in
//! [`crate::analysis`]. Colour never carries meaning alone: a variant also has a marker and a dash of its own.

mod build;
mod kind;
mod palette;
pub mod svg;

pub use build::{across, all, of};
pub use kind::{ChartKind, Clock};
pub use palette::{Ink, MARKERS, Marker, Theme, ink};

use serde::Serialize;

/// One chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// Which, by the name that `--svg` takes.
    pub kind: String,
    /// Its heading, without a full stop.
    pub title: String,
    /// What it shows, with this run's figures, in one to three sentences: what a reader who cannot see it is told.
    pub summary: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis. Of [`Scale::Category`]: from top to bottom.
    pub y: Axis,
    /// What is drawn, in this order.
    pub series: Vec<Series>,
    /// Shaded stretches of the x axis, from and to.
    pub bands: Vec<Band>,
    /// Reference lines across the x axis.
    pub lines: Vec<Line>,
}

/// One axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// What is on it, with the unit if ticks do not carry one (`latency`, `seconds since the run began`).
    pub label: String,
    /// How values become text.
    pub unit: AxisUnit,
    /// How values become places.
    pub scale: Scale,
    /// Of [`Scale::Category`]: the names of 0, 1, 2 …; else empty.
    pub categories: Vec<String>,
}

/// How values become text; the same letters as in every other report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisUnit {
    /// Seconds, shown as µs, ms, s.
    Seconds,
    /// Per second.
    PerSecond,
    /// A factor: `1.5x`.
    Ratio,
    /// A share of one, shown in per cent.
    Share,
    /// Bytes.
    Bytes,
    /// A bare number.
    Number,
}

/// How values become places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By the logarithm; values are above 0.
    Log,
    /// Of quantiles q from 0 to below 1: by −log10(1 − q), so that 90 %, 99 %, 99.9 % are equally far apart.
    Tail,
    /// By number, with a name each.
    Category,
}

/// One line, or set of points or bars.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Place in the palette: the variant's index. `None`: belongs to no variant (grey).
    pub ink: Option<usize>,
    /// How it is drawn.
    pub shape: Shape,
    /// Drawn fainter: the hidden copy of the baseline, what was set aside, a fit.
    pub faint: bool,
    /// Markers are outlines: nothing was decided here (an undecided or withheld verdict), or it does not count.
    pub hollow: bool,
    /// The points.
    pub points: Vec<Point>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Straight lines from point to point.
    Line,
    /// A staircase: constant until the next point.
    Step,
    /// Markers only.
    Points,
    /// A marker with its interval, `low` to `high`, along the x axis (category on y) or the y axis (else).
    Interval,
    /// Bars from zero.
    Bars,
}

/// One point.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Place on the x axis.
    pub x: f64,
    /// Place on the y axis.
    pub y: f64,
    /// Lower end of its interval, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of its interval, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// What is told of this point when it is pointed at; never empty, plain text.
    pub note: String,
}

/// A shaded stretch of the x axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Band {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// What it means (`the same within 2 %`).
    pub label: String,
}

/// A reference line across the x axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Where.
    pub at: f64,
    /// What it means (`baseline on`).
    pub label: String,
}
