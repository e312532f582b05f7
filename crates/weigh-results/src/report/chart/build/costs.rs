//! Costs per operation beside the baseline's: the counters that explain a difference.

use super::super::{Chart, ChartKind, Point, Series, Shape};
use super::{Source, axes};
use crate::analysis::Because;
use crate::model::Plan;
use crate::report::counters;
use crate::report::units::Unit;
use crate::report::words;

/// Counters drawn per variant, largest first.
const ROWS_PER_VARIANT: usize = 12;

pub(super) fn chart(source: &Source<'_>) -> Option<Chart> {
    let plan = source.plan();
    let mut rows: Vec<&Because> = Vec::new();
    let mut one_sided = Vec::new();
    let mut left_out = 0_usize;
    for variant in 0..plan.variants.len() {
        let mut drawn = 0;
        for reason in source.analysis.because.iter().filter(|reason| reason.variant == variant) {
            if reason.ratio.is_none() {
                one_sided.push(values(plan, reason));
            } else if drawn < ROWS_PER_VARIANT {
                drawn += 1;
                rows.push(reason);
            } else {
                left_out += 1;
            }
        }
    }
    if rows.is_empty() {
        return None;
    }
    let baseline = axes::one_line(&words::quoted(plan, plan.baseline));
    Some(Chart {
        kind: ChartKind::Costs.name(),
        title: format!(
            "{} against the baseline ({})",
            super::capital(&per(plan)),
            axes::one_line(words::variant_name(plan, plan.baseline))
        ),
        summary: summary(plan, &rows, &one_sided, left_out),
        x: axes::ratio(format!("{}, ratio to {baseline}", per(plan))),
        y: axes::categories(rows.iter().map(|reason| name(plan, reason)).collect()),
        series: series(plan, &rows),
        bands: Vec::new(),
        lines: vec![axes::at_baseline(format!("baseline {baseline}"))],
    })
}

/// `cost per operation`
fn per(plan: &Plan) -> String {
    let one = match &plan.unit {
        Some(unit) => unit.clone(),
        None if plan.system == "commands" => "execution".to_owned(),
        None => "operation".to_owned(),
    };
    format!("cost per {one}")
}

fn name(plan: &Plan, reason: &Because) -> String {
    format!(
        "{} · {}",
        axes::one_line(words::variant_name(plan, reason.variant)),
        counters::words(plan, &reason.counter)
    )
}

/// `off: WAL syncs 0.00412 instead of 1.00`
fn values(plan: &Plan, reason: &Because) -> String {
    let unit = Unit::of_counter(&reason.counter);
    format!(
        "{}: {} {} instead of {}",
        axes::one_line(&words::quoted(plan, reason.variant)),
        counters::words(plan, &reason.counter),
        unit.show(reason.variant_per_op),
        unit.show(reason.baseline_per_op)
    )
}

fn series(plan: &Plan, rows: &[&Because]) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for (place, reason) in rows.iter().enumerate() {
        let Some((estimate, low, high)) = reason.ratio.map(|interval| interval.ratio()) else { continue };
        if !(estimate.is_finite() && estimate > 0.0) {
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "there are at most some hundred rows")]
        let y = place as f64;
        let size = reason.ratio.as_ref().map(crate::report::units::ratio).unwrap_or_default();
        let note = format!("{} {}: {size}", values(plan, reason), per(plan).replace("cost ", ""));
        let point = Point { x: estimate, y, low: Some(low), high: Some(high), note };
        match series.iter_mut().find(|of| of.ink == Some(reason.variant)) {
            Some(of) => of.points.push(point),
            None => series.push(Series {
                name: axes::one_line(words::variant_name(plan, reason.variant)),
                ink: Some(reason.variant),
                shape: Shape::Interval,
                faint: false,
                hollow: false,
                points: vec![point],
            }),
        }
    }
    series
}

fn summary(plan: &Plan, rows: &[&Because], one_sided: &[String], left_out: usize) -> String {
    let largest: Vec<String> = rows.iter().take(3).map(|reason| values(plan, reason)).collect();
    let mut text =
        format!("Counters that differ beyond chance, 95 % intervals, {}: {}.", per(plan), largest.join("; "));
    if !one_sided.is_empty() {
        let told = one_sided.iter().take(3).cloned().collect::<Vec<_>>().join("; ");
        text.push_str(&format!(" Without a ratio, because one side is zero: {told}."));
    }
    if left_out > 0 {
        text.push_str(&format!(" {left_out} smaller ones are not drawn."));
    }
    text
}
