//! The report of a run as text.
//!
//! [`render`] is the page: question, table, verdict, reasons, A/A check, doubts, distributions. [`whereabouts`] is what
//! follows it: where the run is stored and what can be done with it.

use std::path::Path;

use super::layout::{Ink, Style};
use super::{distribution, factors, field, first_calls, growth, reported, table, units, words};
use crate::analysis::{AaOutcome, Analysis};
use crate::model::{FinishReason, Replication, Run};

/// The page. Ends with a newline; no line is wider than [`Style::width`] unless a single word is, or
/// the columns that must not be dropped are.
pub fn render(run: &Run, analysis: &Analysis, style: &Style) -> String {
    let mut page = head(run, analysis, style);
    page.push('\n');
    page.push_str(&the_table(run, analysis, style));
    page.push('\n');
    page.push_str(&verdict(run, analysis, style));
    page.push_str(&reported::paragraphs(run, analysis, style));
    page.push_str(&checks(run, analysis, style));
    page.push_str(&doubts(run, analysis, style));
    let plot = distribution::plot(run, style);
    if !plot.is_empty() {
        page.push('\n');
        page.push_str(&plot);
        page.push('\n');
    }
    page
}

/// Where the page and the run are stored and what to do next. `page` is the report page that was written, if one was.
pub fn whereabouts(run: &Run, dir: &Path, page: Option<&Path>, style: &Style) -> String {
    let id = &run.header.run_id;
    let next = match run.finish.as_ref().map(|finish| &finish.reason) {
        Some(FinishReason::Decided | FinishReason::Budget) => {
            format!(
                "`weigh show {id}` prints this page again, `weigh compare {id} OTHER` puts another run beside it."
            )
        }
        _ => format!("`weigh resume {id}` goes on with it, `weigh show {id}` prints this page again."),
    };
    // Neither a path nor a command may be broken: both are there to be copied.
    let line =
        |label: &str, text: &str| format!("{}{text}\n", style.paint(Ink::Faint, &format!("{label:<9}")));
    let page = page.map(|page| line("page", &page.display().to_string())).unwrap_or_default();
    page + &line("stored", &dir.display().to_string()) + &style.paragraph("next", Ink::Faint, &next)
}

fn head(run: &Run, analysis: &Analysis, style: &Style) -> String {
    let plan = &run.header.plan;
    let mut head = style.both_ends(&plan.question, &facts(run, analysis).join(" · "));
    let baseline = format!("baseline {}", words::quoted(plan, plan.baseline));
    head.push_str(&style.letters(&baseline));
    head.push('\n');
    head
}

/// The system, the load, how much was measured, how long it took: those that are known.
pub(super) fn facts(run: &Run, analysis: &Analysis) -> Vec<String> {
    let plan = &run.header.plan;
    // Commands are not a system, and their summary says that they are commands.
    let mut facts: Vec<String> =
        Some(system(run)).filter(|_| plan.system != "commands").into_iter().collect();
    facts.extend(Some(plan.load_summary.clone()).filter(|summary| !summary.is_empty()));
    facts.push(rounds(run, analysis));
    facts.extend(run.finish.as_ref().map(|finish| units::elapsed(finish.elapsed_s)));
    facts
}

/// `postgres 15.18`; every version there is, if variants differ in it: `postgres 14.24 / 16.15`.
pub(super) fn system(run: &Run) -> String {
    let mut instances: Vec<_> =
        run.instances.iter().filter(|instance| !instance.version.is_empty()).collect();
    // In plan order, whichever was started first.
    instances.sort_by_key(|instance| instance.slots.iter().map(|slot| slot.variant).min());
    let mut versions: Vec<&str> = Vec::new();
    for instance in instances {
        if !versions.contains(&instance.version.as_str()) {
            versions.push(&instance.version);
        }
    }
    [run.header.plan.system.as_str(), &versions.join(" / ")].join(" ").trim_end().to_owned()
}

/// `34 rounds of 2 s`, `36 rounds of 1 s in 6 epochs`.
pub(super) fn rounds(run: &Run, analysis: &Analysis) -> String {
    let sequence = run.current_sequence();
    let measure_s = sequence.map_or(run.header.plan.measure_s, |sequence| sequence.measure_s);
    let mut text = words::plural(analysis.rounds, "round");
    if run.header.plan.system != "commands" {
        let length = match run.header.plan.operations {
            Some(operations) => super::plan::operations_of(operations),
            None => units::planned(measure_s),
        };
        text.push_str(&format!(" of {length}"));
    }
    if sequence.is_some_and(|sequence| sequence.replication == Replication::Epoch) {
        text.push_str(&format!(" in {}", words::plural(analysis.units, "epoch")));
    }
    text
}

fn the_table(run: &Run, analysis: &Analysis, style: &Style) -> String {
    let mut table = table::of(run, analysis, style.width);
    // The field's words are long: they are told below, with room.
    table.columns.retain(|column| column.heading != table::FIELD);
    let (mut text, dropped) = table.render(style);
    if !dropped.is_empty() {
        let note = format!("not shown at {} columns: {}", style.width, dropped.join(", "));
        for line in super::layout::wrap(&style.letters(&note), style.width) {
            text.push_str(&style.paint(Ink::Faint, &line));
            text.push('\n');
        }
    }
    text
}

fn verdict(run: &Run, analysis: &Analysis, style: &Style) -> String {
    let mut text = String::new();
    let ink = if analysis.verdict_withheld.is_some() { Ink::Warning } else { Ink::Strong };
    for (place, sentence) in words::verdicts(run, analysis).iter().enumerate() {
        text.push_str(&style.paragraph(if place == 0 { "verdict" } else { "" }, ink, sentence));
    }
    let mut label = "because";
    for variant in 0..run.header.plan.variants.len() {
        if let Some(sentence) = words::because(run, analysis, variant) {
            text.push_str(&style.paragraph(label, Ink::Strong, &sentence));
            label = "";
        }
    }
    text.push_str(&growth::paragraphs(run, analysis, style));
    text.push_str(&factors::paragraphs(run, analysis, style));
    text.push_str(&first_calls::paragraphs(run, analysis, style));
    text.push_str(&field::paragraphs(run, analysis, style));
    text
}

fn checks(run: &Run, analysis: &Analysis, style: &Style) -> String {
    let mut text = String::new();
    for check in &analysis.aa {
        let ink = match check.outcome {
            AaOutcome::Agrees => Ink::Good,
            AaOutcome::Fails => Ink::Bad,
            AaOutcome::Pending | AaOutcome::AgreesWithin(_) => Ink::Plain,
        };
        text.push_str(&style.paragraph("A/A", ink, &words::aa(run, check)));
    }
    if let Some(cost) = words::client(run, analysis) {
        text.push_str(&style.paragraph("client", Ink::Faint, &cost));
    }
    text
}

fn doubts(run: &Run, analysis: &Analysis, style: &Style) -> String {
    let mut text = String::new();
    for doubt in &analysis.doubts {
        let (what, advice) = words::doubt(&run.header.plan, doubt);
        text.push_str(&style.paragraph("doubt", Ink::Warning, &what));
        text.push_str(&style.paragraph("", Ink::Plain, &advice));
    }
    text
}
