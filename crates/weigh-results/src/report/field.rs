//! What the field has seen beside what was measured here, variant by variant.
//!
//! A reader compares ratios and shapes: other machines and other versions have other absolutes. Nothing is judged by it.

use super::layout::{Ink, Style};
use super::{units, words};
use crate::analysis::Analysis;
use crate::model::{Metric, Run};

/// One variant's figures.
pub(super) struct Seen<'a> {
    pub(super) variant: usize,
    /// `806 ops/s`, `11.6x (11.2–12.0)`; empty where nothing was measured yet.
    pub(super) here: String,
    /// The field's own words.
    pub(super) elsewhere: &'a str,
}

/// Every variant that the field has a figure for, in plan order.
pub(super) fn all<'a>(run: &'a Run, analysis: &Analysis) -> Vec<Seen<'a>> {
    let plan = &run.header.plan;
    let of = |(variant, of): (usize, &crate::model::VariantPlan)| {
        let elsewhere = plan.field_figures.get(&of.name)?;
        Some(Seen { variant, here: here(run, analysis, variant), elsewhere })
    };
    plan.variants.iter().enumerate().filter_map(of).collect()
}

/// The first deciding metric, and against the baseline.
fn here(run: &Run, analysis: &Analysis, variant: usize) -> String {
    let plan = &run.header.plan;
    let Some(metric) = plan.judge.decide.first().copied() else { return String::new() };
    let summary = analysis.variants.iter().find(|summary| summary.variant == variant);
    let Some(value) = summary.and_then(|summary| summary.medians.get(&metric)) else { return String::new() };
    let unit = match (metric, &plan.unit) {
        (Metric::Throughput, Some(unit)) => format!(" {unit}s/s"),
        (Metric::Throughput, None) => " ops/s".to_owned(),
        _ => format!(" {}", words::heading(metric)),
    };
    let absolute = format!("{}{unit}", words::value(metric, *value));
    let found = analysis.comparisons.iter().find(|found| found.variant == variant && found.metric == metric);
    match found.and_then(|found| found.interval) {
        Some(interval) => format!("{absolute}, {}", units::ratio(&interval)),
        None => absolute,
    }
}

/// For a terminal: a line per variant.
pub(super) fn paragraphs(run: &Run, analysis: &Analysis, style: &Style) -> String {
    let plan = &run.header.plan;
    let line = |(place, seen): (usize, &Seen<'_>)| {
        let here = if seen.here.is_empty() { "nothing yet" } else { &seen.here };
        let text =
            format!("{}: here {here}; seen elsewhere: {}", words::quoted(plan, seen.variant), seen.elsewhere);
        style.paragraph(if place == 0 { "field" } else { "" }, Ink::Faint, &text)
    };
    all(run, analysis).iter().enumerate().map(line).collect()
}
