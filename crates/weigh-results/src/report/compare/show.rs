//! A comparison of runs as text and as JSON.

use serde_json::{Value, json};

use super::super::json::{REPORT_VERSION, doubts, ratio};
use super::super::layout::{Cell, Ink, Style, Table, TableColumn};
use super::super::{units, words};
use super::facts::{EffectChange, RunComparison};
use crate::analysis::Analysis;
use crate::model::Run;

/// The page for a terminal.
pub fn render(comparison: &RunComparison<'_>, style: &Style) -> String {
    let (first, second) = (comparison.first.0, comparison.second.0);
    let mut page = String::new();
    for (label, run) in [("first", first), ("second", second)] {
        let text = format!("{} · {}", run.header.run_id, run.header.plan.question);
        page.push_str(&style.paragraph(label, Ink::Strong, &text));
    }
    page.push('\n');
    page.push_str(&table(comparison, style));
    page.push('\n');
    // The doubt comes before anything that could be read as a finding.
    for doubt in &comparison.doubts {
        let (what, advice) = words::doubt(&first.header.plan, doubt);
        page.push_str(&style.paragraph("doubt", Ink::Warning, &what));
        page.push_str(&style.paragraph("", Ink::Plain, &advice));
    }
    let mut label = "effects";
    for effect in &comparison.effects {
        page.push_str(&style.paragraph(label, Ink::Strong, &sentence(first, effect)));
        label = "";
    }
    if !comparison.only_in_one.is_empty() {
        let text = format!("{} in one of the runs only.", comparison.only_in_one.join(", "));
        page.push_str(&style.paragraph("left out", Ink::Faint, &text));
    }
    for (label, (run, analysis)) in [("first", comparison.first), ("second", comparison.second)] {
        page.push_str(&own_doubts(label, run, analysis, style));
    }
    page
}

fn table(comparison: &RunComparison<'_>, style: &Style) -> String {
    let column = |heading: &str, left, cells: Vec<String>| TableColumn {
        heading: heading.into(),
        cells: cells.into_iter().map(Cell::new).collect(),
        left,
        priority: None,
    };
    let rows = &comparison.variants;
    let mut previous = None;
    let names = rows.iter().map(|row| {
        let again = previous == Some(&row.variant);
        previous = Some(&row.variant);
        if again { String::new() } else { row.variant.clone() }
    });
    let names = names.collect();
    let columns = vec![
        column("variant", true, names),
        column("metric", true, rows.iter().map(|row| words::heading(row.metric).into()).collect()),
        column("first", false, rows.iter().map(|row| words::value(row.metric, row.first)).collect()),
        column("second", false, rows.iter().map(|row| words::value(row.metric, row.second)).collect()),
        column("across runs", false, rows.iter().map(|row| across(row.ratio())).collect()),
    ];
    Table { columns }.render(style).0
}

/// A ratio without an interval and with a question mark: there is none that would hold.
fn across(ratio: f64) -> String {
    if units::is_factor(ratio) {
        format!("{}x ?", units::figure(ratio))
    } else {
        format!("{:+.1} % ?", 100.0 * (ratio - 1.0))
    }
}

fn sentence(first: &Run, effect: &EffectChange) -> String {
    let plan = &first.header.plan;
    let baseline = words::quoted(plan, plan.baseline);
    let changed = if effect.change.contains(0.0) {
        "the intervals of the two effects agree".to_owned()
    } else {
        format!("the effect itself changed, {}", units::ratio(&effect.change))
    };
    format!(
        "{} against {baseline} by {}: {} in the first, {} in the second; {changed}.",
        effect.variant,
        words::noun(effect.metric),
        units::ratio(&effect.first),
        units::ratio(&effect.second),
    )
}

/// Doubts of the runs themselves, by title: their own pages have the rest.
fn own_doubts(label: &str, run: &Run, analysis: &Analysis, style: &Style) -> String {
    if analysis.doubts.is_empty() {
        return String::new();
    }
    let titles: Vec<&str> = analysis.doubts.iter().map(|doubt| doubt.kind.text().title).collect();
    let text = format!("has doubts of its own: {} (`weigh show {}`).", titles.join("; "), run.header.run_id);
    style.paragraph(label, Ink::Faint, &text)
}

/// The same for programs.
pub fn json(comparison: &RunComparison<'_>) -> Value {
    let plan = &comparison.first.0.header.plan;
    let run = |(run, analysis): (&Run, &Analysis)| {
        json!({
            "run_id": run.header.run_id,
            "started_at": run.header.started_at,
            "question": run.header.plan.question,
            "experiment": run.header.plan.experiment,
            "baseline": words::variant_name(&run.header.plan, run.header.plan.baseline),
            "host": run.header.host,
            "rounds": analysis.rounds,
            "verdict_withheld": analysis.verdict_withheld,
            "doubts": doubts(&run.header.plan, &analysis.doubts),
        })
    };
    let variants = comparison.variants.iter().map(|row| {
        json!({
            "variant": row.variant,
            "metric": row.metric,
            "first": row.first,
            "second": row.second,
            "ratio_across_runs": row.ratio(),
        })
    });
    let effects = comparison.effects.iter().map(|effect| {
        json!({
            "variant": effect.variant,
            "metric": effect.metric,
            "first": ratio(&effect.first),
            "second": ratio(&effect.second),
            "change": ratio(&effect.change),
            "agree": effect.change.contains(0.0),
        })
    });
    json!({
        "report": "compare",
        "report_version": REPORT_VERSION,
        "first": run(comparison.first),
        "second": run(comparison.second),
        "variants": variants.collect::<Vec<_>>(),
        "effects": effects.collect::<Vec<_>>(),
        "only_in_one": comparison.only_in_one,
        "doubts": doubts(plan, &comparison.doubts),
    })
}
