//! A chart as a figure: caption, picture, the same as a live chart, and its data as a table.
//!
//! The picture is [`still::picture`]'s. Charts of lines and points are also embedded as JSON ([`live`]), which the
//! page's script draws over the picture; print and readers without script keep the picture.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::head::unbroken;
use super::scope::Scope;
use super::{live, still};
use crate::report::chart::{AxisUnit, Chart, Point, Scale, Series, Shape};
use crate::report::units;

/// Longest table of a chart's data, rows.
const MOST_ROWS: usize = 50;
/// Quantiles worth a row of a table.
const QUANTILES: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// The figure of a chart.
pub(super) fn figure(scope: &Scope, chart: &Chart) -> Markup {
    let id = scope.id(&format!("chart-{}", chart.kind));
    let title = format!("{id}-title");
    let live = scope.live && live::can_be(chart);
    html! {
        figure.chart id=(id) data-chart=(chart.kind) aria-labelledby=(title) {
            figcaption {
                (scope.heading(1, Some(&title), &html! { (chart.title) }))
                // The verdicts stand above the forest already; they are told again to those who cannot see it.
                p class=(if chart.kind == "forest" { "summary sr" } else { "summary" }) { (unbroken(&chart.summary)) }
            }
            (picture(scope, chart, live))
            @if live { (live::embedded(&id, chart)) }
            (table(scope, &id, chart))
        }
    }
}

/// The picture; beside a live chart only as far as there is room, for print and for readers without script. A picture
/// that stays is there in two widths, because letters do not shrink well.
fn picture(scope: &Scope, chart: &Chart, live: bool) -> Markup {
    if !live {
        return html! {
            div.still.broad { (PreEscaped(still::picture(chart, still::BROAD_PX, scope.prefix()))) }
            div.still.slim { (PreEscaped(still::picture(chart, still::SLIM_PX, &format!("{}slim-", scope.prefix())))) }
        };
    }
    let svg = still::without_points(&still::picture(chart, still::BROAD_PX, scope.prefix()));
    if !scope.takes_still(svg.len()) {
        return html! {
            p.still.note {
                "This chart is drawn by the page's script; its picture would be too large here: "
                code { "weigh show RUN --svg " (chart.kind) } " makes it."
            }
        };
    }
    html! { div.still { (PreEscaped(svg)) } }
}

/// A chart's data for those who would rather read it.
fn table(scope: &Scope, id: &str, chart: &Chart) -> Markup {
    let points: usize = chart.series.iter().map(|series| series.points.len()).sum();
    let rows = if chart.x.scale == Scale::Tail { quantiles(chart) } else { None };
    let body = match rows {
        Some(table) => table,
        None if points <= MOST_ROWS => every_point(chart),
        None => {
            let count = units::count(u64::try_from(points).unwrap_or(u64::MAX));
            let trials = chart.kind.starts_with("trials") && scope.live;
            html! { p {
                (count) " points"
                @if trials { ": they are in the " a href="#raw" { "raw data" } "." }
                @else { ", too many for a table: the arrow keys read them out one by one." }
            } }
        }
    };
    html! { details.data { summary { "Data" span.sr { " of " (chart.title) } } div.wide tabindex="0" role="group" aria-labelledby=(format!("{id}-title")) { (body) } } }
}

/// One row per point, with what is told of it.
fn every_point(chart: &Chart) -> Markup {
    let named = chart.series.len() > 1;
    html! {
        table {
            thead { tr {
                @if named { th scope="col" { "series" } }
                @for axis in [&chart.y, &chart.x] { th scope="col" { @if axis.label.is_empty() { "row" } @else { (axis.label) } } }
                th scope="col" { "note" }
            } }
            tbody {
                @for (series, point) in chart.series.iter().flat_map(|of| of.points.iter().map(move |point| (of, point))) {
                    tr {
                        @if named { th scope="row" { (series.name) } }
                        td.figure { (place(&chart.y, point.y, point, false)) }
                        td.figure { (place(&chart.x, point.x, point, true)) }
                        td { (point.note) }
                    }
                }
            }
        }
    }
}

/// A coordinate in words; an interval belongs to the axis that is not one of categories.
fn place(axis: &crate::report::chart::Axis, value: f64, point: &Point, along: bool) -> String {
    if axis.scale == Scale::Category {
        let name = whole(value).and_then(|at| axis.categories.get(at));
        return name.cloned().unwrap_or_else(|| text(axis.unit, value));
    }
    let mut told = text(axis.unit, value);
    if let (true, Some(low), Some(high)) = (along, point.low, point.high) {
        write!(told, " ({}–{})", text(axis.unit, low), text(axis.unit, high)).ok();
    }
    told
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn whole(value: f64) -> Option<usize> {
    (value.is_finite() && (-0.5..1e6).contains(&value)).then(|| value.round().max(0.0) as usize)
}

/// A value of an axis in the letters of every report.
pub(super) fn text(unit: AxisUnit, value: f64) -> String {
    match unit {
        AxisUnit::Seconds => units::seconds(value),
        AxisUnit::PerSecond | AxisUnit::Number => units::figure(value),
        AxisUnit::Ratio => format!("{}x", units::figure(value)),
        AxisUnit::Share => units::percent(value),
        AxisUnit::Bytes => units::bytes(value),
    }
}

/// One row per quantile that people ask for, one column per series.
fn quantiles(chart: &Chart) -> Option<Markup> {
    let lines: Vec<&Series> = chart.series.iter().filter(|series| series.shape != Shape::Points).collect();
    let rows: Vec<(f64, Vec<Option<&Point>>)> = QUANTILES
        .into_iter()
        .map(|wanted| (wanted, lines.iter().map(|series| nearest(series, wanted)).collect::<Vec<_>>()))
        .filter(|(_, points)| points.iter().any(Option::is_some))
        .collect();
    if rows.is_empty() {
        return None;
    }
    Some(html! {
        table {
            thead { tr {
                th scope="col" { "quantile" }
                @for series in &lines { th.figure scope="col" { (series.name) } }
            } }
            tbody {
                @for (wanted, points) in &rows {
                    tr {
                        th scope="row" { (quantile_name(*wanted)) }
                        @for point in points {
                            td.figure { @match point { Some(point) => (text(chart.y.unit, point.y)), None => "–" } }
                        }
                    }
                }
            }
        }
    })
}

/// `99.9 %`
fn quantile_name(quantile: f64) -> String {
    units::planned_percent(quantile)
}

/// The point of a series at a quantile, if it has one so close that nobody could tell.
fn nearest(series: &Series, wanted: f64) -> Option<&Point> {
    let off = |point: &Point| ((1.0 - point.x) / (1.0 - wanted)).ln().abs();
    let near = |point: &&Point| off(point).is_finite() && off(point) < 0.04;
    series.points.iter().filter(near).min_by(|a, b| off(a).total_cmp(&off(b)))
}
