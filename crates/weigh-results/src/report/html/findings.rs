//! What a run shows besides its verdicts: factors, first calls, what the system reported back, what the field saw.

use maud::{Markup, html};

use super::figure;
use super::scope::Scope;
use crate::analysis::Analysis;
use crate::analysis::factors::{FactorTable, Factors};
use crate::model::{Plan, Run};
use crate::report::chart::Chart;
use crate::report::{factors, field, first_calls, reported, words};

/// Longest table that is not folded, rows.
const ROWS_OPEN: usize = 12;

/// Which settings make the difference; `None` where the variants are no full product.
pub(super) fn factors(scope: &Scope, run: &Run, analysis: &Analysis, charts: &[Chart]) -> Option<Markup> {
    let found = analysis.factors.as_ref()?;
    let pictures: Vec<&Chart> = charts.iter().filter(|chart| chart.kind.starts_with("factors")).collect();
    Some(html! {
        @for sentence in factors::sentences(run, analysis) { p { (sentence) } }
        @for picture in pictures { (figure::figure(scope, picture)) }
        @for table in &found.tables { (tables(found, table, found.tables.len() > 1)) }
        @if !found.tables.is_empty() {
            p.note {
                "A share is of the variation between the trials of a round, by the levels that were run: a setting that is varied more "
                "explains more. Ratios hold together at 95 %, all of them at once; they decide nothing."
            }
        }
        @for factor in found.factors.iter().filter(|factor| !factor.with.is_empty()) {
            p.note { code { (factor.key) } " changes together with " code { (factor.with.join(", ")) } ": what is said of the one is said of both." }
        }
    })
}

fn tables(found: &Factors, table: &FactorTable, named: bool) -> Markup {
    let of = if named { format!(", {}", words::noun(table.metric)) } else { String::new() };
    let effects = factors::effect_rows(found, table);
    let both = factors::interaction_rows(found, table);
    let shares = factors::share_rows(found, table);
    html! {
        (rows(&format!("Shares{of}"), &["factor", "share of the variation", "95 % interval"], &shares, true))
        (rows(&format!("Effects, on average over the other settings{of}"), &["level", "against", "ratio"], &effects, effects.len() <= ROWS_OPEN))
        (rows(
            &format!("Two settings together{of}"),
            &["level", "beside", "alone", "beside it", "together against each alone"],
            &both,
            both.len() <= ROWS_OPEN,
        ))
    }
}

/// A folded table whose first column are names.
fn rows<const N: usize>(title: &str, headings: &[&str; N], rows: &[[String; N]], open: bool) -> Markup {
    html! {
        @if !rows.is_empty() {
            details open[open] {
                summary { (title) }
                div.wide tabindex="0" role="region" aria-label=(title) {
                    table {
                        thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                        tbody { @for cells in rows { tr {
                            @for (place, cell) in cells.iter().enumerate() {
                                @if place == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        } } }
                    }
                }
            }
        }
    }
}

/// What the first calls of a trial took; `None` where no trial carries them.
pub(super) fn first_calls(scope: &Scope, run: &Run, analysis: &Analysis, charts: &[Chart]) -> Option<Markup> {
    let (headings, rows) = first_calls::table(run, analysis);
    if rows.is_empty() {
        return None;
    }
    let sentences = first_calls::sentences(run, analysis);
    let picture = charts.iter().find(|chart| chart.kind == "first-calls");
    Some(html! {
        // The picture's summary says the same.
        @match picture {
            Some(picture) => (figure::figure(scope, picture)),
            None => @for sentence in &sentences { p { (sentence) } },
        }
        div.wide tabindex="0" role="region" aria-label="First calls" {
            table {
                thead { tr { @for (place, heading) in headings.iter().enumerate() { th.figure[place > 0] scope="col" { (heading) } } } }
                tbody { @for cells in &rows { tr {
                    @for (place, cell) in cells.iter().enumerate() {
                        @if place == 0 { th scope="row" { (cell) } } @else { td.figure { (cell) } }
                    }
                } } }
            }
        }
        p.note { "Of one client, from the start of the load: medians over trials. The warm-up, which the verdict leaves out, is what they show." }
    })
}

/// Failures by message; `None` where there were none.
pub(super) fn reported(plan: &Plan, analysis: &Analysis) -> Option<Markup> {
    let all = reported::all(analysis);
    if all.is_empty() {
        return None;
    }
    Some(html! {
        p { "What the system answered instead of doing it. Failed operations are in no figure; items failed inside operations that were otherwise done." }
        div.wide tabindex="0" role="region" aria-label="Reported back" {
            table {
                thead { tr { th scope="col" { "variant" } th scope="col" { "message" } th scope="col" { "how often" } } }
                tbody { @for one in &all {
                    tr {
                        th scope="row" { (words::variant_name(plan, one.variant)) }
                        td { (one.message) }
                        td { (one.how_many(plan)) }
                    }
                } }
            }
        }
    })
}

/// What the field saw beside what was measured here; `None` where it saw nothing.
pub(super) fn elsewhere(run: &Run, analysis: &Analysis) -> Option<Markup> {
    let seen = field::all(run, analysis);
    if seen.is_empty() {
        return None;
    }
    Some(html! {
        div.wide tabindex="0" role="region" aria-label="Seen elsewhere" {
            table {
                thead { tr { th scope="col" { "variant" } th scope="col" { "here" } th scope="col" { "seen elsewhere" } } }
                tbody { @for one in &seen {
                    tr {
                        th scope="row" { (words::variant_name(&run.header.plan, one.variant)) }
                        td { @if one.here.is_empty() { "–" } @else { (one.here) } }
                        td { (one.elsewhere) }
                    }
                } }
            }
        }
        p.note { "Compare ratios and shapes: other machines and other versions have other absolutes." }
    })
}
