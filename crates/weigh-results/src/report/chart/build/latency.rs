//! Latencies of all trials together: by quantile, and as shares.

use std::collections::BTreeMap;

use weigh_stats::quantiles;

use super::super::{AxisUnit, Chart, ChartKind, Clock, Point, Scale, Series, Shape};
use super::{Source, axes};
use crate::analysis::per_trial::Distribution;
use crate::model::Plan;
use crate::report::{units, words};

/// Quantiles that are always among the points: the ones people ask for.
const MARKED: [f64; 9] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 0.99999];
/// Points of a curve that are evenly spread; the marked quantiles come on top.
const STEPS: u32 = 180;
/// Below so many operations a share is drawn up to the largest: every one of them was a trial somebody waited for.
const FEW: u64 = 1_000;

/// Variants that a summary names; the rest are counted.
const NAMED: usize = 6;

/// Latency by quantile.
pub(super) fn quantiles(source: &Source<'_>, clock: Clock) -> Option<Chart> {
    let plan = source.plan();
    let by_variant = distributions(source, clock);
    let series = series(plan, by_variant, |name, seen| quantile_points(name, plan, seen));
    // Up to the median only, the shares say more.
    if by_variant.values().all(|seen| !quantiles::is_known(0.9, seen.total)) {
        return None;
    }
    Some(Chart {
        kind: ChartKind::Quantiles(clock).name(),
        title: format!("{} by percentile", super::capital(noun(plan, clock))),
        summary: summary(plan, by_variant, clock),
        x: axes::values(
            format!("share of {} that took at most so long", counted(plan)),
            AxisUnit::Share,
            Scale::Tail,
        ),
        y: axes::values(noun(plan, clock), AxisUnit::Seconds, Scale::Log),
        series,
        bands: Vec::new(),
        lines: Vec::new(),
    })
}

/// Share of operations that took at most so long.
pub(super) fn ecdf(source: &Source<'_>, clock: Clock) -> Option<Chart> {
    let plan = source.plan();
    let by_variant = distributions(source, clock);
    let series = series(plan, by_variant, |name, seen| share_points(name, plan, seen));
    if series.iter().all(|series| series.points.len() < 3) {
        return None;
    }
    Some(Chart {
        kind: ChartKind::Ecdf(clock).name(),
        title: format!("Share of {} by {}", counted(plan), noun(plan, clock)),
        summary: summary(plan, by_variant, clock),
        x: axes::values(noun(plan, clock), AxisUnit::Seconds, Scale::Log),
        y: axes::values(
            format!("share of {} that took at most so long", counted(plan)),
            AxisUnit::Share,
            Scale::Linear,
        ),
        series,
        bands: Vec::new(),
        lines: Vec::new(),
    })
}

pub(super) fn distributions<'s>(source: &'s Source<'_>, clock: Clock) -> &'s BTreeMap<usize, Distribution> {
    match clock {
        Clock::Response => &source.seen().response,
        Clock::Service => &source.seen().service,
    }
}

/// What is drawn of one run's clock; also for several runs beside each other.
pub(super) fn noun(plan: &Plan, clock: Clock) -> &'static str {
    match clock {
        Clock::Response if plan.system == "commands" => "time",
        Clock::Response => "latency",
        Clock::Service => "service time",
    }
}

pub(super) fn counted(plan: &Plan) -> &'static str {
    if plan.system == "commands" { "executions" } else { "operations" }
}

fn series(
    plan: &Plan,
    by_variant: &BTreeMap<usize, Distribution>,
    points: impl Fn(&str, &Distribution) -> Vec<Point>,
) -> Vec<Series> {
    by_variant
        .iter()
        .map(|(variant, seen)| {
            let name = axes::one_line(words::variant_name(plan, *variant));
            Series {
                points: points(&name, seen),
                name,
                ink: Some(*variant),
                shape: shape(seen),
                faint: false,
                hollow: false,
            }
        })
        .filter(|series| !series.points.is_empty())
        .collect()
}

/// Few values are a staircase, and are drawn as what they are.
pub(super) fn shape(seen: &Distribution) -> Shape {
    if seen.total <= u64::from(STEPS) { Shape::Step } else { Shape::Line }
}

/// Quantiles evenly along the stretched axis, as far as ten operations lie beyond, and the marked ones.
pub(super) fn quantile_points(name: &str, plan: &Plan, seen: &Distribution) -> Vec<Point> {
    #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
    let end = (seen.total as f64 / 10.0).log10();
    if end <= 0.0 {
        return Vec::new();
    }
    let mut wanted: Vec<f64> = (0..=STEPS)
        .map(|step| 1.0 - 10f64.powf(-end * f64::from(step) / f64::from(STEPS)))
        .chain(MARKED)
        .filter(|quantile| *quantile <= 0.0 || quantiles::is_known(*quantile, seen.total))
        .collect();
    wanted.sort_by(f64::total_cmp);
    wanted.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    wanted
        .into_iter()
        .filter_map(|quantile| {
            let (value, beyond) = seen.at(quantile)?;
            let note = format!(
                "{name}: {} of {} took at most {}, {} took longer",
                share(quantile),
                counted(plan),
                units::seconds(value),
                units::count(beyond)
            );
            Some(Point { x: quantile, y: value, note, ..Point::default() })
        })
        .collect()
}

/// Shares by value: where the curve is, evenly in share; the tail as far as it is known.
fn share_points(name: &str, plan: &Plan, seen: &Distribution) -> Vec<Point> {
    let all = seen.total < FEW;
    let mut wanted: Vec<f64> = (0..=STEPS)
        .map(|step| f64::from(step) / f64::from(STEPS))
        .chain(MARKED)
        .filter(|quantile| all || *quantile <= 0.0 || quantiles::is_known(*quantile, seen.total))
        .collect();
    wanted.sort_by(f64::total_cmp);
    let mut points: Vec<Point> = Vec::new();
    for (value, beyond) in wanted.into_iter().filter_map(|quantile| seen.at(quantile)) {
        #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
        let within = (seen.total - beyond) as f64 / seen.total as f64;
        if points.last().is_some_and(|last| last.x == value) {
            continue;
        }
        let note = format!(
            "{name}: {} of {} took at most {}, {} took longer",
            share(within),
            counted(plan),
            units::seconds(value),
            units::count(beyond)
        );
        points.push(Point { x: value, y: within, note, ..Point::default() });
    }
    points
}

/// `50 %`, `99.9 %`: as many nines as there are.
pub(super) fn share(quantile: f64) -> String {
    let beyond = (1.0 - quantile).max(1e-12);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 12")]
    let nines = (-beyond.log10()).floor().max(0.0) as usize;
    let text = format!("{:.*}", nines.max(1), 100.0 * quantile);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

fn summary(plan: &Plan, by_variant: &BTreeMap<usize, Distribution>, clock: Clock) -> String {
    let of = |(variant, seen): (&usize, &Distribution)| {
        let known = [0.5, 0.99].into_iter().filter(|quantile| quantiles::is_known(*quantile, seen.total));
        let told: Vec<String> = known
            .filter_map(|quantile| {
                Some(format!("{} within {}", share(quantile), units::seconds(seen.at(quantile)?.0)))
            })
            .collect();
        let name = axes::one_line(&words::quoted(plan, *variant));
        if told.is_empty() {
            format!("{name} {} {}", units::count(seen.total), counted(plan))
        } else {
            format!("{name} {}", told.join(", "))
        }
    };
    let told: Vec<String> = by_variant.iter().take(NAMED).map(of).collect();
    let more = by_variant.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    let what = match clock {
        Clock::Response => "All trials that count, together, both copies of the baseline",
        Clock::Service => "From when an operation was really sent, all trials that count together",
    };
    format!(
        "{what}: {}{rest}. A percentile with fewer than ten {} beyond it is not drawn.",
        told.join("; "),
        counted(plan)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_as_many_nines_as_they_need() {
        let said: Vec<String> = [0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.123_456].map(share).into();
        assert_eq!(said, ["0 %", "50 %", "90 %", "95 %", "99 %", "99.9 %", "99.99 %", "12.3 %"]);
    }
}
