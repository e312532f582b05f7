//! A comparison of runs as text and as JSON.

use serde_json::{Value, json};

use super::super::json::{REPORT_VERSION, doubts, ratio};
use super::super::layout::{Cell, Ink, Style, Table, TableColumn};
use super::super::{units, words};
use super::facts::{Effect, RunComparison, SideBySide};
use crate::analysis::Analysis;
use crate::model::Run;

/// What the run at `place` is called beside others: `first`, `second` …
pub fn ordinal(place: usize) -> String {
    const WORDS: [&str; 9] =
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"];
    WORDS.get(place).map_or_else(|| format!("no. {}", place + 1), |word| (*word).to_owned())
}

/// The page for a terminal.
pub fn render(comparison: &RunComparison<'_>, style: &Style) -> String {
    let Some((first, _)) = comparison.runs.first() else { return String::new() };
    let mut page = String::new();
    for (place, (run, _)) in comparison.runs.iter().enumerate() {
        let text = format!("{} · {}", run.header.run_id, run.header.plan.question);
        page.push_str(&style.paragraph(&ordinal(place), Ink::Strong, &text));
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
    for (place, (run, analysis)) in comparison.runs.iter().enumerate() {
        page.push_str(&own_doubts(&ordinal(place), run, analysis, style));
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
    let mut columns = vec![
        column("variant", true, names),
        column("metric", true, rows.iter().map(|row| words::heading(row.metric).into()).collect()),
    ];
    for place in 0..comparison.runs.len() {
        columns.push(column(&ordinal(place), false, rows.iter().map(|row| value(row, place)).collect()));
    }
    // With more than two it would not be clear which against which.
    if comparison.runs.len() == 2 {
        let across_ = |row: &SideBySide| row.ratio(1).map_or_else(|| "–".into(), across);
        columns.push(column("across runs", false, rows.iter().map(across_).collect()));
    }
    Table { columns }.render(style).0
}

fn value(row: &SideBySide, place: usize) -> String {
    let value = row.values.get(place).copied().flatten();
    value.map_or_else(|| "–".into(), |value| words::value(row.metric, value))
}

/// A ratio without an interval and with a question mark: there is none that would hold.
fn across(ratio: f64) -> String {
    if units::is_factor(ratio) {
        format!("{}x ?", units::figure(ratio))
    } else {
        format!("{:+.1} % ?", 100.0 * (ratio - 1.0))
    }
}

fn sentence(first: &Run, effect: &Effect) -> String {
    let plan = &first.header.plan;
    let baseline = words::quoted(plan, plan.baseline);
    let told: Vec<String> = effect
        .intervals
        .iter()
        .enumerate()
        .filter_map(|(place, interval)| {
            Some(format!("{} in the {}", units::ratio(interval.as_ref()?), ordinal(place)))
        })
        .collect();
    format!(
        "{} against {baseline} by {}: {}; {}.",
        effect.variant,
        words::noun(effect.metric),
        told.join(", "),
        changed(effect),
    )
}

/// Whether the effect itself is another one, in words.
fn changed(effect: &Effect) -> String {
    let known = effect.intervals.iter().flatten().count();
    let moved: Vec<(usize, String)> = effect
        .changes
        .iter()
        .enumerate()
        .filter_map(|(place, change)| Some((place, change.as_ref().filter(|change| !change.contains(0.0))?)))
        .map(|(place, change)| (place, units::ratio(change)))
        .collect();
    match (moved.as_slice(), known) {
        ([], 2) => "the intervals of the two effects agree".to_owned(),
        ([], _) => "the intervals of the effects agree with the first".to_owned(),
        ([(_, change)], 2) => format!("the effect itself changed, {change}"),
        (several, _) => {
            let told: Vec<String> = several
                .iter()
                .map(|(place, change)| format!("{change} in the {}", ordinal(*place)))
                .collect();
            format!("the effect itself changed, {}", told.join(", "))
        }
    }
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

/// The same for programs. `first`, `second` and what goes with them are about the first two runs.
pub fn json(comparison: &RunComparison<'_>) -> Value {
    let runs: Vec<Value> = comparison.runs.iter().map(run).collect();
    let doubts = comparison.runs.first().map(|(run, _)| doubts(&run.header.plan, &comparison.doubts));
    json!({
        "report": "compare",
        "report_version": REPORT_VERSION,
        "first": runs.first(),
        "second": runs.get(1),
        "runs": runs,
        "variants": comparison.variants.iter().map(variant).collect::<Vec<_>>(),
        "effects": comparison.effects.iter().map(effect).collect::<Vec<_>>(),
        "only_in_one": comparison.only_in_one,
        "doubts": doubts,
    })
}

fn run((run, analysis): &(&Run, &Analysis)) -> Value {
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
}

fn variant(row: &SideBySide) -> Value {
    json!({
        "variant": row.variant,
        "metric": row.metric,
        "first": row.values.first(),
        "second": row.values.get(1),
        "ratio_across_runs": row.ratio(1),
        "values": row.values,
    })
}

fn effect(effect: &Effect) -> Value {
    let told = |place: usize, of: &[Option<weigh_stats::Interval>]| {
        of.get(place).copied().flatten().as_ref().map(ratio)
    };
    let all =
        |of: &[Option<weigh_stats::Interval>]| (0..of.len()).map(|place| told(place, of)).collect::<Vec<_>>();
    json!({
        "variant": effect.variant,
        "metric": effect.metric,
        "first": told(0, &effect.intervals),
        "second": told(1, &effect.intervals),
        "change": told(1, &effect.changes),
        "agree": effect.agrees(),
        "ratios": all(&effect.intervals),
        "changes": all(&effect.changes),
    })
}
