//! The rows of the live table: one per comparison, the baseline first in its place, the A/A check last.

use weigh_stats::Interval;
use weigh_stats::verdict::Decision;

use super::super::layout::Ink;
use super::super::{units, words};
use super::fold::Live;
use crate::analysis::{AaOutcome, Comparison};
use crate::model::Metric;

/// How soon a row goes when the terminal is not high enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Decided: its verdict is on the page.
    Decided,
    /// Still being weighed.
    Open,
    /// The baseline.
    Baseline,
}

/// One row.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) metric: Metric,
    /// Median of the metric so far.
    pub(super) median: Option<f64>,
    pub(super) interval: Option<Interval>,
    /// What can be said; short.
    pub(super) state: &'static str,
    /// What a wide terminal adds to it.
    pub(super) more: String,
    pub(super) ink: Ink,
    pub(super) weight: Weight,
}

/// Every row, in plan order; with several decision metrics one after the other.
pub(super) fn rows(live: &Live) -> Vec<Row> {
    let plan = &live.run().header.plan;
    let mut rows = Vec::new();
    for metric in &plan.judge.decide {
        for variant in 0..plan.variants.len() {
            let name = words::variant_name(plan, variant).to_owned();
            let median = live.median(*metric, variant);
            rows.push(if variant == plan.baseline {
                baseline(name, *metric, median)
            } else {
                compared(live, name, *metric, variant, median)
            });
        }
    }
    rows
}

fn baseline(name: String, metric: Metric, median: Option<f64>) -> Row {
    Row {
        name,
        metric,
        median,
        interval: None,
        state: "baseline",
        more: String::new(),
        ink: Ink::Faint,
        weight: Weight::Baseline,
    }
}

fn compared(live: &Live, name: String, metric: Metric, variant: usize, median: Option<f64>) -> Row {
    let comparison = live.comparison(metric, variant);
    let interval = comparison.and_then(|found| found.interval);
    let (state, ink) = match comparison.filter(|_| interval.is_some()) {
        None => ("not looked at yet", Ink::Faint),
        Some(comparison) => state(comparison),
    };
    let dropped_out = live.dropped_out(variant);
    let more = match (dropped_out, comparison) {
        (Some(rounds), _) => format!("dropped out after {}", words::plural(rounds, "round")),
        (None, Some(Comparison { excluded_above: Some(above), decision: Decision::Undecided, .. }))
            if *above < 1.0 =>
        {
            format!("differences above {} are excluded", units::percent(*above))
        }
        _ => String::new(),
    };
    let weight = if dropped_out.is_some() { Weight::Decided } else { Weight::Open };
    Row { name, metric, median, interval, state, more, ink, weight }
}

fn state(comparison: &Comparison) -> (&'static str, Ink) {
    let ink = match words::is_different(comparison) {
        Some(true) => Ink::Good,
        Some(false) => Ink::Bad,
        None => Ink::Plain,
    };
    match (comparison.decision, comparison.is_final) {
        (Decision::Different, true) => ("different", ink),
        // The size is what is still being weighed.
        (Decision::Different, false) => ("different so far", ink),
        (Decision::Same, _) => ("same", ink),
        (Decision::Undecided, _) => ("undecided", ink),
    }
}

/// The A/A check, one row per decision metric.
pub(super) fn checks(live: &Live) -> Vec<Row> {
    let of = |metric: &Metric| {
        let check = live.aa(*metric);
        let interval = check.and_then(|check| check.interval);
        let (state, more, ink) = match check.map(|check| check.outcome).filter(|_| interval.is_some()) {
            None | Some(AaOutcome::Pending) => ("not looked at yet", String::new(), Ink::Faint),
            Some(AaOutcome::Agrees) => ("agrees", String::new(), Ink::Good),
            Some(AaOutcome::AgreesWithin(size)) => {
                ("not sharp yet", format!("agrees within {}", units::percent(size)), Ink::Plain)
            }
            Some(AaOutcome::Fails) => ("FAILS", "two identical copies differ".into(), Ink::Bad),
        };
        let name = "A/A check".to_owned();
        Row { name, metric: *metric, median: None, interval, state, more, ink, weight: Weight::Baseline }
    };
    live.run().header.plan.judge.decide.iter().map(of).collect()
}
