//! Reasons not to trust a result, and the checks that ran in every round.

use maud::{Markup, html};
use weigh_stats::Interval;

use super::super::{units, words};
use super::head::unbroken;
use crate::analysis::{AaOutcome, Analysis};
use crate::doubt::{Doubt, DoubtKind};
use crate::model::{Plan, Run};

/// Every doubt with evidence, cause and advice; `None` without any.
pub(super) fn doubts(plan: &Plan, doubts: &[Doubt]) -> Option<Markup> {
    (!doubts.is_empty()).then(|| html! { div.doubts { @for doubt in doubts { (one(plan, doubt)) } } })
}

fn one(plan: &Plan, doubt: &Doubt) -> Markup {
    let text = doubt.kind.text();
    let about: Vec<String> = doubt.variants.iter().map(|variant| words::quoted(plan, *variant)).collect();
    html! {
        article.doubt {
            p.title {
                strong { (capitalised(text.title)) }
                @if doubt.kind.withholds_verdict() { " " span.mark.withheld { "withholds the verdict" } }
            }
            dl {
                div { dt { "Evidence" } dd { (unbroken(&doubt.evidence)) } }
                @if !about.is_empty() { div { dt { "Concerns" } dd { (about.join(", ")) } } }
                div { dt { "Why it matters" } dd { (text.cause) } }
                div { dt { "What to do" } dd { (text.advice) } }
            }
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}

/// The checks: what was compared, what came of it, whether it is well.
pub(super) fn checks(run: &Run, analysis: &Analysis) -> Markup {
    let rows = [aa(run, analysis), self_checks(run, analysis)].concat();
    html! {
        div.wide tabindex="0" role="region" aria-label="Checks" {
            table.checks {
                thead { tr { th scope="col" { "check" } th scope="col" { "outcome" } th scope="col" { "what was found" } } }
                tbody { @for (name, outcome, found) in &rows {
                    tr {
                        th scope="row" { (name) }
                        td { span class={ "mark " (outcome.class()) } { (outcome.word()) } }
                        td { (found) }
                    }
                } }
            }
        }
        @if let Some(client) = words::client(run, analysis) { p.note { (capitalised(&client)) } }
    }
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    NotSharp,
    Failed,
    TooEarly,
}

impl Outcome {
    fn of(fails: bool) -> Outcome {
        if fails { Outcome::Failed } else { Outcome::Passed }
    }

    fn word(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::NotSharp => "not sharp",
            Outcome::Failed => "failed",
            Outcome::TooEarly => "too early",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Outcome::Passed => "better",
            Outcome::NotSharp | Outcome::TooEarly => "undecided",
            Outcome::Failed => "withheld",
        }
    }
}

type Row = (String, Outcome, String);

fn aa(run: &Run, analysis: &Analysis) -> Vec<Row> {
    let row = |check: &crate::analysis::AaCheck| {
        let outcome = match check.outcome {
            AaOutcome::Agrees => Outcome::Passed,
            AaOutcome::AgreesWithin(_) => Outcome::NotSharp,
            AaOutcome::Fails => Outcome::Failed,
            AaOutcome::Pending => Outcome::TooEarly,
        };
        // The word at the sentence's beginning stands in the column beside it.
        let sentence = words::aa(run, check);
        let found = sentence.split_once(": ").map_or(sentence.as_str(), |(_, found)| found);
        (format!("A/A by {}", words::noun(check.metric)), outcome, unbroken(&capitalised(found)))
    };
    analysis.aa.iter().map(row).collect()
}

fn self_checks(run: &Run, analysis: &Analysis) -> Vec<Row> {
    let plan = &run.header.plan;
    let checks = &analysis.self_checks;
    let mut rows: Vec<Row> = Vec::new();
    if let Some((effect, fails)) = checks.carry_over {
        let size = units::percent(effect.exp_m1().abs());
        let found = format!(
            "A baseline trial that follows another variant differs by {size} from one that follows its own copy."
        );
        rows.push(("carry-over".into(), Outcome::of(fails), found));
    }
    for (variant, interval, fails) in &checks.halves {
        let name = format!("halves of trials, {}", words::quoted(plan, *variant));
        let found =
            format!("Operations in the second half of trials against the first: {}.", units::ratio(interval));
        rows.push((name, Outcome::of(*fails), found));
    }
    if !analysis.comparisons.iter().all(|found| found.interval.is_none()) {
        rows.extend(drift(plan, &checks.drifting));
    }
    rows
}

fn drift(plan: &Plan, drifting: &[(usize, Interval, Interval)]) -> Vec<Row> {
    let failed = |doubt: DoubtKind| capitalised(doubt.text().title);
    if drifting.is_empty() {
        let found = "No effect changed between the first and the second half of the run.";
        return vec![("drift".into(), Outcome::Passed, found.into())];
    }
    let row = |(variant, first, second): &(usize, Interval, Interval)| {
        let found = format!(
            "{}: {} in its first half, {} in its second.",
            failed(DoubtKind::DriftingEffect),
            units::ratio(first),
            units::ratio(second)
        );
        (format!("drift, {}", words::quoted(plan, *variant)), Outcome::Failed, found)
    };
    drifting.iter().map(row).collect()
}
