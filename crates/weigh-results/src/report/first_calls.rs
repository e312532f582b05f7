//! The first calls of a trial: a sentence where they are slow, a table, and the same for programs.

use serde_json::{Value, json};

use super::layout::{Ink, Style};
use super::{units, words};
use crate::analysis::Analysis;
use crate::analysis::first_calls::{CallBand, FirstCalls};
use crate::model::{Plan, Run};

/// Variants that get a sentence; the rest are counted.
const TOLD: usize = 4;

/// One sentence per variant whose first call is worth a word, slowest first; none where all begin as they go on.
#[must_use]
pub fn sentences(run: &Run, analysis: &Analysis) -> Vec<String> {
    let plan = &run.header.plan;
    let mut slow: Vec<(f64, usize, &FirstCalls)> = analysis
        .variants
        .iter()
        .filter_map(|summary| {
            let calls = summary.first_calls.as_ref()?;
            Some((calls.ramp_up()?, summary.variant, calls))
        })
        .collect();
    slow.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut told: Vec<String> = slow
        .iter()
        .take(TOLD)
        .map(|(factor, variant, calls)| sentence(plan, *variant, *factor, calls))
        .collect();
    let more = slow.len().saturating_sub(TOLD);
    if more > 0 {
        told.push(format!("{more} more begin slowly; every variant is on the page and in the JSON."));
    }
    told
}

/// `off: the first call of a trial takes 1.21 ms, 3.4 times a usual one (0.35 ms); from call 6 on they are usual.`
fn sentence(plan: &Plan, variant: usize, factor: f64, calls: &FirstCalls) -> String {
    let usual = calls.usual_s.map_or_else(|| "–".to_owned(), units::seconds);
    let first = calls.by_call_s.first().copied().map_or_else(|| "–".to_owned(), units::seconds);
    let then = match calls.usual_from() {
        Some(number) => format!("from call {number} on they are usual"),
        None => format!("the first {} are all slower than usual", calls.by_call_s.len()),
    };
    format!(
        "{}: the first call of a trial takes {first}, {} times a usual one ({usual}); {then}.",
        words::quoted(plan, variant),
        units::figure(factor)
    )
}

/// For a terminal: sentences, only where there is something to say.
pub(super) fn paragraphs(run: &Run, analysis: &Analysis, style: &Style) -> String {
    let label = |place: usize| if place == 0 { "ramp-up" } else { "" };
    let told = sentences(run, analysis);
    told.iter().enumerate().map(|(place, text)| style.paragraph(label(place), Ink::Strong, text)).collect()
}

/// Every variant's calls as a table: headings, then rows of cells, the variant's name first. Empty where no trial carries them.
pub(super) fn table(run: &Run, analysis: &Analysis) -> (Vec<String>, Vec<Vec<String>>) {
    let known: Vec<(usize, &FirstCalls)> = analysis
        .variants
        .iter()
        .filter_map(|summary| Some((summary.variant, summary.first_calls.as_ref()?)))
        .collect();
    let most = known.iter().map(|(_, calls)| &calls.bands).max_by_key(|bands| bands.len());
    let Some(bands) = most else { return (Vec::new(), Vec::new()) };
    let headings = ["variant".to_owned()]
        .into_iter()
        .chain(bands.iter().map(heading))
        .chain(["usual".to_owned(), "first against usual".to_owned()]);
    let row = |(variant, calls): &(usize, &FirstCalls)| {
        let of_band = |place: usize| {
            calls.bands.get(place).map_or_else(|| "–".to_owned(), |band| units::seconds(band.median_s))
        };
        let usual = calls.usual_s.map_or_else(|| "–".to_owned(), units::seconds);
        let factor = calls.usual_s.filter(|usual| *usual > 0.0).zip(calls.by_call_s.first());
        let factor = factor
            .map_or_else(|| "–".to_owned(), |(usual, first)| format!("{}x", units::figure(first / usual)));
        [words::variant_name(&run.header.plan, *variant).to_owned()]
            .into_iter()
            .chain((0..bands.len()).map(of_band))
            .chain([usual, factor])
            .collect()
    };
    (headings.collect(), known.iter().map(row).collect())
}

fn heading(band: &CallBand) -> String {
    if band.from == band.to { format!("call {}", band.from) } else { format!("{}–{}", band.from, band.to) }
}

/// For programs, by variant.
pub(super) fn json(calls: &FirstCalls) -> Value {
    json!({
        "by_call_s": calls.by_call_s,
        "bands": calls.bands.iter().map(|band| json!({
            "from": band.from, "to": band.to, "median_s": band.median_s,
        })).collect::<Vec<_>>(),
        "usual_s": calls.usual_s,
        "ramp_up": calls.ramp_up(),
        "usual_from": calls.usual_from(),
        "trials": calls.trials,
    })
}
