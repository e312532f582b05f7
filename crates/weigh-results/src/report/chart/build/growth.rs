//! A sweep: a metric along an ordered numeric factor, with the growth that was fitted.

use super::super::{AxisUnit, Chart, ChartKind, Point, Scale, Series, Shape};
use super::{Source, axes};
use crate::analysis::growth::{Dimension, Growth, GrowthCurve};
use crate::model::Metric;
use crate::report::words;

/// Points of a fitted line.
const FIT_POINTS: u32 = 40;

pub(super) fn chart(source: &Source<'_>, metric: Metric) -> Option<Chart> {
    let plan = source.plan();
    let growth = source.analysis.growth.as_ref()?;
    let curves: Vec<&GrowthCurve> = growth.curves.iter().filter(|curve| curve.metric == metric).collect();
    if curves.is_empty() {
        return None;
    }
    let levels = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.value));
    // A power law is a straight line on two logarithmic axes.
    let x_scale = if levels.into_iter().all(|level| level > 0.0) { Scale::Log } else { Scale::Linear };
    Some(Chart {
        kind: ChartKind::Growth(metric).name(),
        title: format!("{} by {}", super::capital(words::noun(metric)), growth.short_factor()),
        summary: summary(source, growth, &curves),
        x: axes::values(growth.short_factor(), unit(growth.dimension), x_scale),
        y: axes::values(axes::label(plan, metric), axes::unit(metric), Scale::Log),
        series: curves
            .iter()
            .enumerate()
            .flat_map(|(place, curve)| series(source, growth, curve, place))
            .collect(),
        bands: Vec::new(),
        lines: Vec::new(),
    })
}

fn unit(dimension: Dimension) -> AxisUnit {
    match dimension {
        Dimension::Number => AxisUnit::Number,
        Dimension::Bytes => AxisUnit::Bytes,
        Dimension::Seconds => AxisUnit::Seconds,
        Dimension::Share => AxisUnit::Share,
    }
}

/// The levels with their intervals, the line through them, and the fit behind both.
fn series(source: &Source<'_>, growth: &Growth, curve: &GrowthCurve, place: usize) -> [Series; 2] {
    let plan = source.plan();
    // A single curve need not be neutral grey, which the baseline of other charts is.
    let ink = Some(place + 1);
    let name = curve.name();
    let name = if name.is_empty() { "median, 95 % interval".to_owned() } else { axes::one_line(&name) };
    let note = |point: &crate::analysis::growth::GrowthPoint| {
        let value = axes::value(plan, curve.metric, point.median);
        let range = match (point.low, point.high) {
            (Some(low), Some(high)) => format!(
                " (95 % interval {}–{})",
                axes::value(plan, curve.metric, low),
                axes::value(plan, curve.metric, high)
            ),
            _ => String::new(),
        };
        let variant = axes::one_line(words::variant_name(plan, point.variant));
        format!("{} {}: {value}{range}; variant {variant}", growth.short_factor(), point.level)
    };
    let points = curve.points.iter().map(|point| Point {
        x: point.value,
        y: point.median,
        low: point.low,
        high: point.high,
        note: note(point),
    });
    let levels = Series {
        name: name.clone(),
        ink,
        shape: Shape::Interval,
        faint: false,
        hollow: false,
        points: points.collect(),
    };
    let fit = Series {
        name: if curve.name().is_empty() { "fitted growth".to_owned() } else { format!("{name}, fitted") },
        ink,
        shape: Shape::Line,
        faint: true,
        hollow: false,
        points: fitted(curve),
    };
    [fit, levels]
}

/// The fitted law between the lowest and the highest level: two lines where there is a knee.
fn fitted(curve: &GrowthCurve) -> Vec<Point> {
    let Some(fit) = &curve.fit else { return Vec::new() };
    let levels = curve.points.iter().map(|point| point.value).filter(|level| *level > 0.0);
    let (low, high) =
        levels.fold((f64::INFINITY, 0.0_f64), |(low, high), level| (low.min(level), high.max(level)));
    let note = crate::report::growth::sentence(curve);
    let mut at: Vec<f64> = (0..=FIT_POINTS)
        .map(|step| low * (high / low).powf(f64::from(step) / f64::from(FIT_POINTS)))
        .collect();
    at.extend(fit.knee.as_ref().map(|knee| knee.value));
    at.sort_by(f64::total_cmp);
    at.into_iter()
        .map(|x| Point { x, y: fit.at(x), note: note.clone(), ..Point::default() })
        .filter(|point| point.x.is_finite() && point.y.is_finite() && point.y > 0.0)
        .collect()
}

fn summary(source: &Source<'_>, growth: &Growth, curves: &[&GrowthCurve]) -> String {
    let sentences: Vec<String> = curves.iter().map(|curve| crate::report::growth::sentence(curve)).collect();
    let runs = words::plural(source.analysis.rounds, "round");
    format!("{} over {runs}: {}", growth.short_factor(), axes::one_line(&sentences.join(" ")))
}
