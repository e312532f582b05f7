//! Several runs on one page: what differs, the doubt that belongs to it, charts across, every run folded.

use maud::{Markup, html};

use super::frame::{self, Frame};
use super::page::Links;
use super::scope::Scope;
use super::{conditions, doubts, figure, head, live, reasons, variants};
use crate::analysis::Analysis;
use crate::model::Run;
use crate::report::chart::{self, Chart};
use crate::report::{compare, words};

/// The page of several runs, in the order given.
#[must_use]
pub fn several(runs: &[(&Run, &Analysis)], links: &Links) -> String {
    let scope = Scope::page();
    let charts = chart::across(runs);
    let title =
        format!("{} side by side", words::plural(u32::try_from(runs.len()).unwrap_or(u32::MAX), "run"));
    let body = html! {
        article {
            div.hero {
                h1 { (title) }
                (roster(runs))
            }
            @for section in [
                scope.section("doubts", "Before comparing", warning(runs)),
                scope.section("facts", "What differs, what is equal", facts(runs)),
            ] { (scope.show(&section)) }
            @if let Some(section) = across(&charts, &scope) { (section) }
            @if let Some(figures) = figures(runs) { (scope.show(&scope.section("figures", "Figures side by side", figures))) }
            @let section = scope.section("runs", "The runs", html! {
                @for (place, (run, analysis)) in runs.iter().enumerate() { (folded(place, run, analysis, links)) }
            });
            (scope.show(&section))
        }
        (frame::data("palette", &live::palette(&charts)))
    };
    let frame = Frame { title: &title, gallery: links.gallery.as_deref(), footer: None, forms: "'none'" };
    frame.page(&body)
}

/// `first (k3f9)`: its place, and the end of its name, by which charts call it.
fn label(place: usize, runs: &[(&Run, &Analysis)]) -> String {
    let short = runs.get(place).and_then(|(run, _)| run.header.run_id.rsplit('-').next()).unwrap_or_default();
    format!("{} ({short})", compare::ordinal(place))
}

/// Which runs these are, with their verdicts.
fn roster(runs: &[(&Run, &Analysis)]) -> Markup {
    html! {
        ol.roster {
            @for (run, analysis) in runs {
                li {
                    p.kicker { (run.header.run_id) " · " (head::moment(&run.header.started_at)) }
                    p.question { strong { (run.header.plan.question) } }
                    (head::verdict(run, analysis))
                }
            }
        }
    }
}

fn warning(runs: &[(&Run, &Analysis)]) -> Markup {
    let plain: Vec<&Run> = runs.iter().map(|(run, _)| *run).collect();
    let found = compare::machine_changed(&plain);
    let told = plain.first().and_then(|run| doubts::doubts(&run.header.plan, &[found]));
    html! { @if let Some(told) = told { (told) } }
}

/// Facts side by side: those that differ first, the equal ones folded.
fn facts(runs: &[(&Run, &Analysis)]) -> Markup {
    let plain: Vec<&Run> = runs.iter().map(|(run, _)| *run).collect();
    let facts = compare::conditions(&plain);
    let (differ, equal): (Vec<_>, Vec<_>) = facts.into_iter().partition(compare::Condition::differs);
    html! {
        @if differ.is_empty() { p { "Nothing that was recorded differs but the time." } }
        @else {
            div.wide tabindex="0" role="region" aria-label="What differs" {
                table {
                    thead { tr { th scope="col" { "what" } @for place in 0..runs.len() { th scope="col" { (label(place, runs)) } } } }
                    tbody { @for fact in &differ { tr { th scope="row" { (fact.what) } @for value in &fact.values { td { (shown(value)) } } } } }
                }
            }
        }
        @if !equal.is_empty() {
            details {
                summary { "What is equal (" (equal.len()) ")" }
                dl.pairs { @for fact in &equal { div { dt { (fact.what) } dd { (fact.values.first().map_or("", |value| shown(value))) } } } }
            }
        }
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "unknown" } else { value }
}

fn across(charts: &[Chart], scope: &Scope) -> Option<Markup> {
    if charts.is_empty() {
        return None;
    }
    let body = html! {
        p.note { "Each variant against the baseline of its own run: that is what compares across runs." }
        @for chart in charts { (figure::figure(scope, chart)) }
    };
    Some(scope.show(&scope.section("across", "Effects side by side", body)))
}

/// Absolute figures of the variants that several runs have, for orientation.
fn figures(runs: &[(&Run, &Analysis)]) -> Option<Markup> {
    let rows = compare::figures(runs);
    (!rows.is_empty()).then(|| html! {
        p.note { "Medians over trials. A ratio across runs is no verdict: their trials were not taken in turn." }
        div.wide tabindex="0" role="region" aria-label="Figures side by side" {
            table {
                thead { tr { th scope="col" { "variant" } th scope="col" { "metric" } @for place in 0..runs.len() { th.figure scope="col" { (label(place, runs)) } } } }
                tbody { @for row in &rows {
                    tr {
                        th scope="row" { (row.variant) }
                        td { (words::heading(row.metric)) }
                        @for value in &row.values { td.figure { @match value { Some(value) => (words::value(row.metric, *value)), None => "–" } } }
                    }
                } }
            }
        }
    })
}

/// A run by itself, folded behind its verdict.
fn folded(place: usize, run: &Run, analysis: &Analysis, links: &Links) -> Markup {
    let scope = Scope::of_run(place);
    let charts = chart::all(run, analysis);
    let forest = charts.iter().find(|chart| chart.kind == "forest");
    let sections = [
        Some(scope.section(
            "effect",
            "Effect",
            html! {
                @if let Some(forest) = forest { (figure::figure(&scope, forest)) }
                (variants::table(run, analysis, &format!("Variants of the {} run", compare::ordinal(place))))
            },
        )),
        reasons::because(run, analysis, None).map(|body| scope.section("because", "Because", body)),
        doubts::doubts(&run.header.plan, &analysis.doubts)
            .map(|body| scope.section("doubts", "Doubts", body)),
        Some(scope.section("checks", "Checks", doubts::checks(run, analysis))),
        Some(scope.section("conditions", "Conditions", conditions::conditions(&scope, run))),
    ];
    html! {
        details.run {
            summary { strong { (compare::ordinal(place)) } ": " (run.header.run_id) }
            (head::verdict(run, analysis))
            (head::facts(run, analysis))
            @for section in sections.iter().flatten() { (scope.show(section)) }
            @if links.gallery.is_some() {
                p { a href=(super::run_path(&run.header.run_id)) { "The whole page of this run" } }
            } @else {
                (frame::command(&format!("weigh show {} --html", run.header.run_id)))
            }
        }
    }
}
