//! Why variants differ: the reasons, every cost per operation, and what trials left behind.

use std::collections::BTreeSet;

use maud::{Markup, html};
use weigh_stats::Interval;

use super::super::units::{self, Unit};
use super::super::{counters, words};
use super::head::unbroken;
use crate::analysis::{Analysis, Because, CostPerOp, VariantSummary};
use crate::model::{Plan, Run};

/// Longest table of reasons that is not folded, rows.
const ROWS_OPEN: usize = 8;

/// What explains the differences, in sentences, with a picture if there is one and as a table; `None` without any.
pub(super) fn because(run: &Run, analysis: &Analysis, picture: Option<&Markup>) -> Option<Markup> {
    let plan = &run.header.plan;
    let sentences: Vec<String> =
        (0..plan.variants.len()).filter_map(|variant| words::because(run, analysis, variant)).collect();
    if sentences.is_empty() {
        return None;
    }
    Some(html! {
        @for sentence in &sentences { p { (unbroken(sentence)) } }
        @if let Some(picture) = picture { (picture) }
        details open[analysis.because.len() <= ROWS_OPEN] {
            summary { "Every reason" }
            (reasons(plan, &analysis.because))
        }
    })
}

fn reasons(plan: &Plan, because: &[Because]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Reasons" {
            table {
                thead { tr {
                    th scope="col" { "variant" }
                    th scope="col" { "because of" }
                    th.figure scope="col" { "its " (per(plan)) }
                    th.figure scope="col" { "baseline's" }
                    th.figure scope="col" { "ratio" }
                } }
                @for group in because.chunk_by(|one, next| one.variant == next.variant) {
                    tbody { @for (place, reason) in group.iter().enumerate() { (reason_row(plan, reason, place, group.len())) } }
                }
            }
        }
    }
}

fn reason_row(plan: &Plan, reason: &Because, place: usize, of: usize) -> Markup {
    let unit = Unit::of_counter(&reason.counter);
    html! {
        tr {
            @if place == 0 { th scope="rowgroup" rowspan=(of) { (words::variant_name(plan, reason.variant)) } }
            td { (counters::words(plan, &reason.counter)) }
            td.figure { (unit.show(reason.variant_per_op)) }
            td.figure { (unit.show(reason.baseline_per_op)) }
            td.figure { (ratio(reason.ratio.as_ref())) }
        }
    }
}

fn ratio(interval: Option<&Interval>) -> String {
    let told = interval
        .filter(|found| found.estimate.is_finite() && found.low.is_finite() && found.high.is_finite());
    told.map_or_else(|| "–".into(), units::ratio)
}

/// `per operation`, as in the sentences.
fn per(plan: &Plan) -> String {
    match &plan.unit {
        Some(unit) => format!("per {unit}"),
        None if plan.system == "commands" => "per execution".into(),
        None => "per operation".into(),
    }
}

/// Every counter of every variant; `None` where nothing was counted.
pub(super) fn every_cost(run: &Run, analysis: &Analysis) -> Option<Markup> {
    let plan = &run.header.plan;
    // What no variant did is left out.
    let counters: BTreeSet<&str> = analysis
        .variants
        .iter()
        .flat_map(|summary| &summary.costs)
        .filter(|cost| cost.per_op != 0.0)
        .map(|cost| cost.counter.as_str())
        .collect();
    if counters.is_empty() {
        return None;
    }
    Some(html! {
        details {
            summary { "Every counter " (per(plan)) }
            p.note {
                "Over whole trials, drain included. Ratios are against the baseline at 95 % each, for information: with this many, "
                "some look different by chance. What is beyond chance is named above."
            }
            div.wide tabindex="0" role="region" aria-label={ "Every counter " (per(plan)) } {
                table {
                    thead { tr {
                        th scope="col" { "counter" }
                        @for summary in &analysis.variants { th.figure scope="col" { (words::variant_name(plan, summary.variant)) } }
                    } }
                    tbody { @for counter in &counters { (cost_row(plan, analysis, counter)) } }
                }
            }
        }
    })
}

fn cost_row(plan: &Plan, analysis: &Analysis, counter: &str) -> Markup {
    let unit = Unit::of_counter(counter);
    html! {
        tr {
            th scope="row" { (counters::words(plan, counter)) " " span.faint.key { (counter) } }
            @for summary in &analysis.variants { (cost_cell(summary, counter, unit)) }
        }
    }
}

fn cost_cell(summary: &VariantSummary, counter: &str, unit: Unit) -> Markup {
    let found: Option<&CostPerOp> = summary.costs.iter().find(|cost| cost.counter == counter);
    let interval =
        found.and_then(|cost| cost.against_baseline.as_ref()).and_then(|against| against.ratio.as_ref());
    html! {
        td.figure {
            @match found {
                Some(cost) => { (unit.show(cost.per_op)) @if interval.is_some() { br; span.faint { (ratio(interval)) } } }
                None => "–",
            }
        }
    }
}

/// What trials left behind, in words; `None` where nothing was drained.
pub(super) fn debt(run: &Run, analysis: &Analysis) -> Option<Markup> {
    let plan = &run.header.plan;
    let owed: Vec<(&VariantSummary, f64)> =
        analysis.variants.iter().filter_map(|summary| Some((summary, summary.debt_s?))).collect();
    if owed.is_empty() {
        return None;
    }
    let longest = owed.iter().map(|(_, debt_s)| *debt_s).fold(0.0_f64, f64::max);
    Some(html! {
        p {
            "Debt is work a trial leaves behind for later: dirty pages, logs not yet applied. After every trial it was drained and "
            "timed; costs per operation include it, ratios of speed do not."
        }
        div.wide tabindex="0" role="region" aria-label="Debt" {
            table {
                thead { tr {
                    th scope="col" { "variant" }
                    th.figure scope="col" { "debt after a trial" }
                    th.figure scope="col" { "of the trial's length" }
                    th scope="col" aria-hidden="true" { "" }
                } }
                tbody { @for (summary, debt_s) in &owed {
                    tr {
                        th scope="row" { (words::variant_name(plan, summary.variant)) }
                        td.figure { (units::seconds(*debt_s)) }
                        td.figure { (of_trial(run, *debt_s)) }
                        td aria-hidden="true" { meter min="0" max="1" value=(share(*debt_s, longest)) {} }
                    }
                } }
            }
        }
    })
}

fn of_trial(run: &Run, debt_s: f64) -> String {
    let measure_s = run.current_sequence().map_or(run.header.plan.measure_s, |sequence| sequence.measure_s);
    if measure_s > 0.0 { units::percent(debt_s / measure_s) } else { "–".into() }
}

fn share(debt_s: f64, longest_s: f64) -> String {
    let share = if longest_s > 0.0 { debt_s / longest_s } else { 0.0 };
    format!("{share:.3}")
}
