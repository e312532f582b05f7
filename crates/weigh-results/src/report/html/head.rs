//! The top of a page: the question, the verdict in sentences, what was run in a line.

use maud::{Markup, html};
use weigh_stats::verdict::Decision;

use super::super::{terminal, units, words};
use super::scope::Scope;
use crate::analysis::{Analysis, Comparison};
use crate::model::{FinishReason, Run};

/// The verdict: one sentence per comparison, each with the word of what it says.
pub(super) fn verdict(run: &Run, analysis: &Analysis) -> Markup {
    let told = words::verdicts(run, analysis);
    let comparisons = told_comparisons(run, analysis);
    let withheld = analysis.verdict_withheld.is_some();
    if withheld || comparisons.iter().all(|found| found.interval.is_none()) {
        let (word, class) = if withheld { ("withheld", "withheld") } else { ("no verdict", "undecided") };
        return html! {
            ul.verdict { @for sentence in &told { li { (mark(word, class)) " " span { (self::sentence(sentence)) } } } }
        };
    }
    // Whatever is told beyond the comparisons is about all of them.
    let rest = told.iter().skip(comparisons.len());
    html! {
        ul.verdict {
            @for found in &comparisons {
                @let (word, class) = word(found);
                li { (mark(word, class)) " " span { (sentence(&words::verdict(run, analysis, found))) } }
            }
        }
        @for sentence in rest { p.note { (sentence) } }
    }
}

/// In the order of [`words::verdicts`].
fn told_comparisons<'a>(run: &Run, analysis: &'a Analysis) -> Vec<&'a Comparison> {
    let decide = &run.header.plan.judge.decide;
    let mut told: Vec<&Comparison> = analysis.comparisons.iter().collect();
    told.sort_by_key(|found| (found.variant, decide.iter().position(|metric| *metric == found.metric)));
    told
}

/// A sentence that begins with a word of ours begins with a capital; a variant's name is left as it is.
fn sentence(told: &str) -> String {
    let ours = ["the ", "nothing ", "withheld"].into_iter().any(|word| told.starts_with(word));
    let told = unbroken(told);
    match told.get(..1).filter(|_| ours) {
        Some(first) => format!("{}{}", first.to_uppercase(), &told[1..]),
        None => told,
    }
}

/// No line ends between a number and its per cent.
pub(super) fn unbroken(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

fn mark(word: &str, class: &str) -> Markup {
    html! { span class={ "mark " (class) } { (word) } }
}

fn word(found: &Comparison) -> (&'static str, &'static str) {
    match (found.decision, words::is_different(found)) {
        (Decision::Different, Some(true)) => ("better", "better"),
        (Decision::Different, Some(false)) => ("worse", "worse"),
        (Decision::Different, None) => ("different", "better"),
        (Decision::Same, _) => ("same", "same"),
        (Decision::Undecided, _) => ("undecided", "undecided"),
    }
}

/// What was run: system, load, rounds, time, host, baseline.
pub(super) fn facts(run: &Run, analysis: &Analysis) -> Markup {
    let (plan, host) = (&run.header.plan, &run.header.host);
    let commands = plan.system == "commands";
    let mut facts: Vec<(&str, String)> = Vec::new();
    if !commands {
        facts.push(("system", terminal::system(run)));
    }
    facts.push((if commands { "commands" } else { "load" }, plan.load_summary.clone()));
    facts.push(("baseline", words::quoted(plan, plan.baseline)));
    facts.push(("measured", terminal::rounds(run, analysis)));
    if let Some(finish) = &run.finish {
        facts.push(("took", units::elapsed(finish.elapsed_s)));
    }
    facts.push(("host", host.hostname.clone()));
    facts.push(("began", moment(&run.header.started_at)));
    facts.retain(|(_, fact)| !fact.is_empty());
    html! {
        dl.facts { @for (name, fact) in &facts { div { dt { (name) } dd { (fact) } } } }
    }
}

/// `2026-11-21 21:44 UTC`
pub(super) fn moment(rfc3339: &str) -> String {
    let minutes: String = rfc3339.replace('T', " ").chars().take(16).collect();
    if rfc3339.ends_with('Z') { format!("{minutes} UTC") } else { rfc3339.to_owned() }
}

/// How many doubts there are, and whether the run came to its end.
pub(super) fn warnings(scope: &Scope, run: &Run, analysis: &Analysis) -> Markup {
    let doubts = u32::try_from(analysis.doubts.len()).unwrap_or(u32::MAX);
    let titles: Vec<&str> = analysis.doubts.iter().map(|doubt| doubt.kind.text().title).collect();
    html! {
        @if doubts > 0 {
            p.warning {
                a href=(format!("#{}", scope.id("doubts"))) { (words::plural(doubts, "doubt")) } ": "
                (titles.join("; ")) "."
            }
        }
        @if let Some(ended) = ending(run) { p.warning { (ended) } }
    }
}

/// What to say of a run that has no proper end.
fn ending(run: &Run) -> Option<String> {
    let id = &run.header.run_id;
    match run.finish.as_ref().map(|finish| &finish.reason) {
        Some(FinishReason::Decided | FinishReason::Budget) => None,
        Some(FinishReason::Interrupted) => {
            Some(format!("The run was interrupted; `weigh resume {id}` goes on with it."))
        }
        Some(FinishReason::Failed(error)) => Some(format!("The run failed: {error}")),
        None => Some("The run has no end: it was killed, or is still going on.".into()),
    }
}
