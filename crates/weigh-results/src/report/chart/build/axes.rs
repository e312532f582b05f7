//! Axes and sentences that more than one chart needs.

use super::super::{Axis, AxisUnit, Band, Line, Scale};
use crate::model::{Direction, Metric, Plan};
use crate::report::{units, words};

/// From this ratio of largest to smallest on, an axis is logarithmic.
const LOG_FROM: f64 = 8.0;

/// An axis of values.
pub(super) fn values(label: impl Into<String>, unit: AxisUnit, scale: Scale) -> Axis {
    Axis { label: label.into(), unit, scale, categories: Vec::new() }
}

/// An axis of names, from top to bottom.
pub(super) fn categories(names: Vec<String>) -> Axis {
    Axis { label: String::new(), unit: AxisUnit::Number, scale: Scale::Category, categories: names }
}

/// The axis of ratios to the baseline.
pub(super) fn ratio(label: String) -> Axis {
    values(label, AxisUnit::Ratio, Scale::Log)
}

/// How a metric's values become text on an axis.
pub(super) fn unit(metric: Metric) -> AxisUnit {
    match metric {
        Metric::Throughput => AxisUnit::PerSecond,
        _ => AxisUnit::Seconds,
    }
}

/// A metric as the label of an axis: `throughput, rows per second`, `p99 latency`.
pub(super) fn label(plan: &Plan, metric: Metric) -> String {
    match metric {
        Metric::Throughput => {
            format!("throughput, {}s per second", plan.unit.as_deref().unwrap_or("operation"))
        }
        _ => words::noun(metric).to_owned(),
    }
}

/// A metric's value with its unit, as it is said of one trial.
pub(super) fn value(plan: &Plan, metric: Metric, value: f64) -> String {
    match metric {
        Metric::Throughput => format!("{} {}s/s", units::figure(value), plan.unit.as_deref().unwrap_or("op")),
        _ => words::value(metric, value),
    }
}

/// Linear where values are near each other, logarithmic where they are not.
pub(super) fn scale_for(values: impl Iterator<Item = f64>) -> Scale {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    if low > 0.0 && high / low >= LOG_FROM { Scale::Log } else { Scale::Linear }
}

/// The difference that matters, around 1.
pub(super) fn matters(plan: &Plan) -> Band {
    let factor = 1.0 + plan.judge.difference;
    let within = units::planned_percent(plan.judge.difference);
    Band { from: factor.recip(), to: factor, label: format!("the same within {within}") }
}

/// Where the baseline is.
pub(super) fn at_baseline(label: String) -> Line {
    Line { at: 1.0, label }
}

/// `more is better for ops/s, less for everything else`, as far as these metrics need it.
pub(super) fn which_way(plan: &Plan, metrics: &[Metric]) -> String {
    let (more, less): (Vec<&Metric>, Vec<&Metric>) =
        metrics.iter().partition(|metric| metric.direction() == Direction::HigherIsBetter);
    let names = |metrics: &[&Metric]| {
        metrics.iter().map(|metric| words::heading_in(plan, **metric)).collect::<Vec<_>>().join(", ")
    };
    match (more.is_empty(), less.is_empty()) {
        (false, true) => "More is better.".to_owned(),
        (true, false) => "Less is better.".to_owned(),
        (false, false) => format!("More is better for {}, less for {}.", names(&more), names(&less)),
        (true, true) => String::new(),
    }
}

/// `a, b and c`.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// At most `limit` names, the rest counted.
pub(super) fn some_of(names: &[String], limit: usize) -> String {
    if names.len() <= limit {
        return listed(names);
    }
    format!("{} and {} more", names[..limit].join(", "), names.len() - limit)
}

/// On one line: a variant may be a statement of several.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
