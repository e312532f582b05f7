//! The table of variants: the terminal's, with nothing dropped for want of room.

use maud::{Markup, html};

use super::super::layout::{Ink, TableColumn};
use super::super::{table, words};
use crate::analysis::Analysis;
use crate::model::Run;

/// No column is dropped and no name is cut at this width.
const ALL_COLUMNS: usize = 100_000;

/// The table, in a box that scrolls by itself.
pub(super) fn table(run: &Run, analysis: &Analysis, label: &str) -> Markup {
    let mut table = table::of(run, analysis, ALL_COLUMNS);
    // The field's words are long: they have a table of their own.
    table.columns.retain(|column| column.heading != table::FIELD);
    let rows = run.header.plan.variants.len();
    html! {
        div.wide tabindex="0" role="region" aria-label=(label) {
            table.variants {
                thead { tr { @for column in &table.columns { th.figure[!column.left] scope="col" { (column.heading) } } } }
                tbody {
                    @for row in 0..rows {
                        tr { @for (place, column) in table.columns.iter().enumerate() { (cell(run, column, place, row)) } }
                    }
                }
            }
        }
        p.note {
            "Ratios are against " (words::quoted(&run.header.plan, run.header.plan.baseline))
            ", the baseline, with their interval; one with a question mark is not decided. Everything else is a median over trials or, per operation, a ratio of totals."
        }
    }
}

fn cell(run: &Run, column: &TableColumn, place: usize, row: usize) -> Markup {
    let cell = column.cells.get(row);
    let text = cell.map_or("", |cell| cell.text.as_str());
    if place == 0 {
        let baseline = row == run.header.plan.baseline;
        return html! {
            th scope="row" { span.name { (text) } @if baseline { " " span.tag { "baseline" } } }
        };
    }
    let class = match cell.map(|cell| cell.ink) {
        Some(Ink::Good) => "good",
        Some(Ink::Bad) => "bad",
        Some(Ink::Faint) => "faint",
        _ => "",
    };
    html! { td class={ @if !column.left { "figure " } (class) } { (text) } }
}
