//! A chart as JSON for the page's script.
//!
//! The same [`Chart`] with its points by column, which is half the size. Long ones are packed (gzip, base64): the
//! notes of thousands of trials are nearly alike.

use maud::{Markup, html};
use serde_json::{Map, Value, json};

use super::frame;
use crate::report::chart::{Chart, Point, Scale, Series, Shape, ink};

/// JSON longer than this is packed, bytes.
const PACK_FROM_BYTES: usize = 24_000;

/// Whether the script can draw it: lines, stairs and points between two axes of numbers. Categories and intervals
/// are pictures.
pub(super) fn can_be(chart: &Chart) -> bool {
    let drawn = |series: &Series| {
        matches!(series.shape, Shape::Line | Shape::Step | Shape::Points) && no_intervals(series)
    };
    let numbers = |scale| scale != Scale::Category;
    numbers(chart.x.scale) && numbers(chart.y.scale) && chart.series.iter().all(drawn)
}

fn no_intervals(series: &Series) -> bool {
    series.points.iter().all(|point| point.low.is_none() && point.high.is_none())
}

/// The element the script reads: `data-packed` when it is gzip in base64.
pub(super) fn embedded(id: &str, chart: &Chart) -> Markup {
    let id = format!("{id}-data");
    let value = columns(chart);
    let json = value.to_string();
    if json.len() < PACK_FROM_BYTES {
        return frame::data(&id, &value);
    }
    html! { script type="text/plain" id=(id) data-packed="gzip" { (frame::packed(json.as_bytes())) } }
}

fn columns(chart: &Chart) -> Value {
    let mut value = serde_json::to_value(chart).unwrap_or_default();
    if let Some(chart_) = value.as_object_mut() {
        chart_.remove("summary");
        chart_.insert("series".into(), chart.series.iter().map(series).collect());
    }
    value
}

fn series(series: &Series) -> Value {
    let column = |of: fn(&Point) -> Value| series.points.iter().map(of).collect::<Vec<_>>();
    json!({
        "name": series.name,
        "ink": series.ink,
        "shape": series.shape,
        "faint": series.faint,
        "x": column(|point| short(point.x)),
        "y": column(|point| short(point.y)),
        "note": column(|point| json!(point.note)),
    })
}

/// More digits than a screen has pixels, and no more; `null` for what is no number.
fn short(value: f64) -> Value {
    // Six decimals of the scientific form are seven significant digits.
    format!("{value:.6e}")
        .parse::<f64>()
        .ok()
        .filter(|value| value.is_finite())
        .map_or(Value::Null, |value| json!(value))
}

/// The palette for the inks that charts use: colours, the number of the marker, dashes.
pub(super) fn palette(charts: &[Chart]) -> Value {
    let most = charts.iter().flat_map(|chart| chart.series.iter().filter_map(|series| series.ink)).max();
    let inks = (0..=most.unwrap_or(0)).map(|index| {
        let ink = ink(index);
        let marker = crate::report::chart::MARKERS.iter().position(|known| *known == ink.marker).unwrap_or(0);
        let entry: Map<String, Value> = [
            ("light", json!(ink.light)),
            ("dark", json!(ink.dark)),
            ("marker", json!(marker)),
            ("dash", json!(ink.dash)),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
        Value::Object(entry)
    });
    inks.collect()
}
