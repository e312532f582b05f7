//! Every variant's ratio to the baseline with its interval, the A/A check among them.

use weigh_stats::Interval;
use weigh_stats::verdict::Decision;

use super::super::{Chart, ChartKind, Point, Series, Shape};
use super::{Source, axes};
use crate::analysis::{AaCheck, AaOutcome, Comparison};
use crate::model::{Metric, Plan};
use crate::report::{units, words};

/// Rows above which what is only for information is left out: the verdicts are what a reader came for.
const ROWS_MAX: usize = 40;

/// What can be said of a row, and so how it is drawn and named in the legend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Decided,
    Undecided,
    Withheld,
    Copies,
    Information,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Decided, Kind::Undecided, Kind::Withheld, Kind::Copies, Kind::Information];

    fn name(self) -> &'static str {
        match self {
            Kind::Decided => "decided",
            Kind::Undecided => "undecided",
            Kind::Withheld => "verdict withheld",
            Kind::Copies => "A/A check",
            Kind::Information => "for information",
        }
    }
}

/// One row: the name, and its point unless there is no interval yet.
pub(super) struct Row {
    pub(super) name: String,
    /// The variant's own name, and the metric: what rows of several runs are put together by.
    pub(super) of: (String, Metric),
    pub(super) kind: Kind,
    pub(super) ink: usize,
    pub(super) interval: Option<Interval>,
    pub(super) note: String,
}

pub(super) fn chart(source: &Source<'_>) -> Option<Chart> {
    let plan = source.plan();
    let rows = rows(source);
    if rows.iter().all(|row| row.interval.is_none()) {
        return None;
    }
    let baseline = words::quoted(plan, plan.baseline);
    Some(Chart {
        kind: ChartKind::Forest.name(),
        title: format!(
            "Every variant against the baseline ({})",
            axes::one_line(words::variant_name(plan, plan.baseline))
        ),
        summary: summary(source, &rows),
        x: axes::ratio(format!("ratio to {}", axes::one_line(&baseline))),
        y: axes::categories(rows.iter().map(|row| row.name.clone()).collect()),
        series: series(&rows),
        bands: vec![axes::matters(plan)],
        lines: vec![axes::at_baseline(format!("baseline {}", axes::one_line(&baseline)))],
    })
}

/// Verdicts and A/A checks, then what is for information if there is room.
fn rows(source: &Source<'_>) -> Vec<Row> {
    let mut rows = deciding(source);
    let information = information(source);
    if rows.len() + information.len() <= ROWS_MAX {
        rows.extend(information);
    }
    rows
}

/// Verdicts and A/A checks, metric by metric.
pub(super) fn deciding(source: &Source<'_>) -> Vec<Row> {
    let plan = source.plan();
    let mut rows = Vec::new();
    for metric in &plan.judge.decide {
        let of_metric = source.analysis.comparisons.iter().filter(|found| found.metric == *metric);
        rows.extend(of_metric.map(|found| compared(source, found)));
        let checks = source.analysis.aa.iter().filter(|check| check.metric == *metric);
        rows.extend(checks.map(|check| copies(source, check)));
    }
    rows
}

fn row_name(plan: &Plan, name: &str, metric: Metric) -> String {
    format!("{} · {}", axes::one_line(name), words::heading_in(plan, metric))
}

fn compared(source: &Source<'_>, found: &Comparison) -> Row {
    let (run, plan) = (source.run, source.plan());
    let withheld = source.analysis.verdict_withheld;
    let sentence = match withheld {
        Some(kind) => format!(
            "{}: {}. The verdict is withheld, because {}.",
            words::quoted(plan, found.variant),
            found.interval.as_ref().map_or_else(|| "nothing yet".to_owned(), units::ratio),
            kind.text().title
        ),
        None => words::verdict(run, source.analysis, found),
    };
    let kind = match (withheld, found.decision) {
        (Some(_), _) => Kind::Withheld,
        (None, Decision::Undecided) => Kind::Undecided,
        (None, _) => Kind::Decided,
    };
    Row {
        name: row_name(plan, words::variant_name(plan, found.variant), found.metric),
        of: (words::variant_name(plan, found.variant).to_owned(), found.metric),
        kind,
        ink: found.variant,
        interval: found.interval,
        note: sentence,
    }
}

fn copies(source: &Source<'_>, check: &AaCheck) -> Row {
    let plan = source.plan();
    let name = format!("A/A: {} twice", words::variant_name(plan, plan.baseline));
    let outcome = if check.outcome == AaOutcome::Pending { None } else { check.interval };
    Row {
        name: row_name(plan, &name, check.metric),
        of: (name, check.metric),
        kind: Kind::Copies,
        ink: plan.baseline,
        interval: outcome,
        note: format!("A/A check {}", words::aa(source.run, check)),
    }
}

/// Told by another metric already: an operation's time is its mean latency, a command's throughput is its time upside down.
fn is_twice(plan: &Plan, metric: Metric) -> bool {
    let commands = plan.system == "commands";
    match metric {
        Metric::Throughput => commands,
        Metric::LatencyMean => commands || plan.judge.decide.contains(&Metric::Time),
        Metric::Time => !commands,
        _ => false,
    }
}

/// Metrics that decide nothing, metric by metric.
fn information(source: &Source<'_>) -> Vec<Row> {
    let plan = source.plan();
    let mut rows = Vec::new();
    let wanted = |metric: &Metric| !plan.judge.decide.contains(metric) && !is_twice(plan, *metric);
    for metric in Metric::ALL.into_iter().filter(wanted) {
        for summary in &source.analysis.variants {
            let Some(found) = summary.information.iter().find(|found| found.metric == metric) else {
                continue;
            };
            let (variant, noun) = (summary.variant, words::noun(metric));
            rows.push(Row {
                name: row_name(plan, words::variant_name(plan, variant), metric),
                of: (words::variant_name(plan, variant).to_owned(), metric),
                kind: Kind::Information,
                ink: variant,
                interval: Some(found.interval),
                note: format!(
                    "{}, {noun}: {} against {} (95 % by itself, for information).",
                    words::quoted(plan, variant),
                    units::ratio(&found.interval),
                    words::quoted(plan, plan.baseline)
                ),
            });
        }
    }
    rows
}

/// Series by kind and ink; a reader tells kinds apart by filled, hollow and faint.
pub(super) fn series(rows: &[Row]) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for kind in Kind::ALL {
        for (place, row) in rows.iter().enumerate().filter(|(_, row)| row.kind == kind) {
            let Some(point) = row.interval.as_ref().and_then(|found| point(place, found, &row.note)) else {
                continue;
            };
            match series.iter_mut().find(|of| of.name == kind.name() && of.ink == Some(row.ink)) {
                Some(of) => of.points.push(point),
                None => series.push(Series {
                    name: kind.name().to_owned(),
                    ink: Some(row.ink),
                    shape: Shape::Interval,
                    faint: kind == Kind::Information,
                    hollow: matches!(kind, Kind::Undecided | Kind::Withheld),
                    points: vec![point],
                }),
            }
        }
    }
    series
}

/// `None` for a ratio that no axis can show.
fn point(place: usize, interval: &Interval, note: &str) -> Option<Point> {
    let (estimate, low, high) = interval.ratio();
    #[expect(clippy::cast_precision_loss, reason = "there are at most some hundred rows")]
    let y = place as f64;
    (estimate.is_finite() && estimate > 0.0).then(|| Point {
        x: estimate,
        y,
        low: Some(low),
        high: Some(high),
        note: note.to_owned(),
    })
}

fn summary(source: &Source<'_>, rows: &[Row]) -> String {
    let plan = source.plan();
    let mut text: Vec<String> = match source.analysis.verdict_withheld {
        Some(_) => words::verdicts(source.run, source.analysis),
        None => {
            let decided = rows.iter().filter(|row| matches!(row.kind, Kind::Decided | Kind::Undecided));
            decided.take(3).map(|row| row.note.clone()).collect()
        }
    };
    let mut shown = plan.judge.decide.clone();
    if rows.iter().any(|row| row.kind == Kind::Information) {
        let told = |metric: &Metric| {
            source
                .analysis
                .variants
                .iter()
                .any(|of| of.information.iter().any(|found| found.metric == *metric))
        };
        let drawn = |metric: &Metric| !plan.judge.decide.contains(metric) && !is_twice(plan, *metric);
        shown.extend(Metric::ALL.into_iter().filter(drawn).filter(told));
    } else if plan.variants.len() > 2 {
        text.push("Only what decides is drawn.".to_owned());
    }
    text.push(axes::which_way(plan, &shown));
    text.join(" ")
}
