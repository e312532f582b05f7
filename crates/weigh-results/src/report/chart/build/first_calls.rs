//! Latency by call number from the start of a trial, a line per variant.

use super::super::{AxisUnit, Chart, ChartKind, Point, Scale, Series, Shape};
use super::{Source, axes};
use crate::analysis::first_calls::FirstCalls;
use crate::report::{first_calls, units, words};

pub(super) fn chart(source: &Source<'_>) -> Option<Chart> {
    let lines: Vec<Series> = source
        .analysis
        .variants
        .iter()
        .filter_map(|summary| line(source, summary.variant, summary.first_calls.as_ref()?))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let slow = first_calls::sentences(source.run, source.analysis);
    let told = if slow.is_empty() {
        "No variant's first call takes half as long again as a usual one.".to_owned()
    } else {
        slow.join(" ")
    };
    let times = lines.iter().flat_map(|series| series.points.iter().map(|point| point.y));
    let scale = axes::scale_for(times.collect::<Vec<_>>().into_iter());
    Some(Chart {
        kind: ChartKind::FirstCalls.name(),
        title: "The first calls of a trial".to_owned(),
        summary: format!("Medians over trials, one client, warm-up included. {}", axes::one_line(&told)),
        x: axes::values(
            "operations of one client since the start of the load",
            AxisUnit::Number,
            Scale::Linear,
        ),
        y: axes::values("latency", AxisUnit::Seconds, scale),
        series: lines,
        bands: Vec::new(),
        lines: Vec::new(),
    })
}

/// `None` with too few calls to draw a line.
fn line(source: &Source<'_>, variant: usize, calls: &FirstCalls) -> Option<Series> {
    let name = axes::one_line(words::variant_name(source.plan(), variant));
    let point = |(place, seconds): (usize, &f64)| {
        #[expect(clippy::cast_precision_loss, reason = "at most some fifty calls")]
        let x = (place + 1) as f64;
        let note = format!("{name}, call {}: {}", place + 1, units::seconds(*seconds));
        Point { x, y: *seconds, note, ..Point::default() }
    };
    let points: Vec<Point> = calls.by_call_s.iter().enumerate().map(point).collect();
    (points.len() >= 3).then(|| Series {
        points,
        name: name.clone(),
        ink: Some(variant),
        shape: Shape::Line,
        faint: false,
        hollow: false,
    })
}
