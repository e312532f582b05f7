//! The stored runs as a table with filters.

use maud::{Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use weigh_stats::verdict::Decision;

use super::super::{units, words};
use super::frame::{self, Frame};
use super::head;
use super::head::unbroken;

use crate::analysis::Analysis;
use crate::store::RunSummary;

/// Where forms that delete are sent to (`POST`; fields `run`, one or more, and `token`; `confirmed=yes` from the
/// page that asks once more).
pub const DELETE_PATH: &str = "/delete";

/// Everything the gallery shows. The server filters; the page only refines while somebody types.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GalleryPage {
    /// The runs that pass the filter, in the order shown.
    pub runs: Vec<GalleryRun>,
    /// Runs there are in all.
    pub total: usize,
    /// Systems there are in all, for the filter.
    pub systems: Vec<String>,
    /// What was asked for.
    pub filter: GalleryFilter,
    /// Goes back in every form that changes something.
    pub token: String,
    /// The directory of runs.
    pub place: String,
    /// Runs that could not be read, with the reason, one line each.
    pub unreadable: Vec<String>,
}

/// One line of the gallery.
#[derive(Clone, Debug, PartialEq)]
pub struct GalleryRun {
    /// The stored run.
    pub summary: RunSummary,
    /// Its first verdict sentence ([`crate::report::words::verdicts`]).
    pub verdict: String,
    /// What kind of verdict that is.
    pub class: VerdictClass,
}

/// What was asked for: the fields `search`, `system` and `verdict` of the query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GalleryFilter {
    /// Words that must all be in the question, the name, the system or the variants; empty: any.
    pub search: String,
    /// The system's name.
    pub system: Option<String>,
    /// The kind of verdict.
    pub verdict: Option<VerdictClass>,
}

/// What a run came to, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictClass {
    /// At least one variant is different.
    Different,
    /// Every comparison is the same.
    Same,
    /// None is different, and at least one undecided.
    Undecided,
    /// A failed check withholds the verdict.
    Withheld,
    /// Nothing can be said yet.
    None,
}

impl VerdictClass {
    /// Every class, in the order of the filter.
    pub const ALL: [VerdictClass; 5] = [
        VerdictClass::Different,
        VerdictClass::Same,
        VerdictClass::Undecided,
        VerdictClass::Withheld,
        VerdictClass::None,
    ];

    /// The class of a run.
    #[must_use]
    pub fn of(analysis: &Analysis) -> VerdictClass {
        let judged = || analysis.comparisons.iter().filter(|found| found.interval.is_some());
        let any = |decision| judged().any(|found| found.decision == decision);
        match () {
            () if analysis.verdict_withheld.is_some() => VerdictClass::Withheld,
            () if judged().next().is_none() => VerdictClass::None,
            () if any(Decision::Different) => VerdictClass::Different,
            () if any(Decision::Undecided) => VerdictClass::Undecided,
            () => VerdictClass::Same,
        }
    }

    /// As in the query and on the page.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            VerdictClass::Different => "different",
            VerdictClass::Same => "same",
            VerdictClass::Undecided => "undecided",
            VerdictClass::Withheld => "withheld",
            VerdictClass::None => "none",
        }
    }

    /// The class of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<VerdictClass> {
        VerdictClass::ALL.into_iter().find(|class| class.word() == word)
    }
}

/// The address of a run's page: `/runs/NAME`.
#[must_use]
pub fn run_path(run_id: &str) -> String {
    format!("/runs/{}", encoded(run_id))
}

/// The address of several runs' page: `/compare?run=A&run=B`.
#[must_use]
pub fn side_by_side_path(run_ids: &[&str]) -> String {
    let runs: Vec<String> = run_ids.iter().map(|id| format!("run={}", encoded(id))).collect();
    format!("/compare?{}", runs.join("&"))
}

/// The address of the page that asks before a run is deleted: `/runs/NAME/delete`.
#[must_use]
pub fn delete_path(run_id: &str) -> String {
    format!("{}/delete", run_path(run_id))
}

/// The page.
#[must_use]
pub fn gallery(page: &GalleryPage) -> String {
    let body = html! {
        article.gallery {
            h1 { "Runs" }
            (filters(page))
            @if page.runs.is_empty() { (nothing(page)) } @else { (table(page)) }
            @if !page.unreadable.is_empty() {
                section aria-labelledby="unreadable" {
                    h2 #unreadable { "Not readable" }
                    ul { @for reason in &page.unreadable { li { (reason) } } }
                }
            }
        }
    };
    let footer = html! { (page.place) };
    Frame { title: "Runs", gallery: Some("/"), footer: Some(footer), forms: "'self'" }.page(&body)
}

/// A form that works without script; with it, the table follows while somebody types.
fn filters(page: &GalleryPage) -> Markup {
    let filter = &page.filter;
    html! {
        form.filters method="get" action="/" role="search" data-filters {
            label { span { "Search" } input type="search" name="search" value=(filter.search) placeholder="question, system, variant" autocomplete="off"; }
            label {
                span { "System" }
                select name="system" {
                    option value="" { "any" }
                    @for system in &page.systems {
                        option value=(system) selected[filter.system.as_ref() == Some(system)] { (system) }
                    }
                }
            }
            label {
                span { "Verdict" }
                select name="verdict" {
                    option value="" { "any" }
                    @for class in VerdictClass::ALL {
                        option value=(class.word()) selected[filter.verdict == Some(class)] { (class.word()) }
                    }
                }
            }
            button type="submit" { "Filter" }
            @if *filter != GalleryFilter::default() { a href="/" { "all" } }
        }
    }
}

fn nothing(page: &GalleryPage) -> Markup {
    html! {
        @if page.total == 0 {
            p { "No runs are stored in " code { (page.place) } " yet. This makes one in a minute or two:" }
            (frame::command("weigh run sqlite/durability"))
        } @else {
            p { "None of the " (page.total) " runs is like that." }
        }
    }
}

fn table(page: &GalleryPage) -> Markup {
    html! {
        form method="get" action="/compare" {
            p.count role="status" data-count data-total=(page.total) {
                (page.runs.len()) " of " (page.total) @if page.total == 1 { " run" } @else { " runs" }
            }
            div.wide tabindex="0" role="region" aria-label="Runs" {
                table.runs {
                    thead { tr {
                        th scope="col" { span.sr { "choose" } }
                        @for heading in ["run", "system", "verdict", "state"] { th scope="col" { (heading) } }
                        th.figure scope="col" { "took" }
                        th scope="col" { span.sr { "delete" } }
                    } }
                    tbody { @for (place, run) in page.runs.iter().enumerate() { (row(place, run)) } }
                }
            }
            p.buttons.sticky {
                button type="submit" data-needs="2" { "Put the chosen side by side" }
                // The token goes with this button only: it must not be in the address of a comparison.
                button.danger type="submit" name="token" value=(page.token) formaction=(DELETE_PATH) formmethod="post" data-needs="1" {
                    "Delete the chosen…"
                }
            }
        }
    }
}

fn row(place: usize, run: &GalleryRun) -> Markup {
    let summary = &run.summary;
    let id = &summary.run_id;
    let label = format!("question-{place}");
    // What is searched is what is seen.
    let words = [&summary.question, id, &summary.system].map(String::as_str).join(" ");
    let words = format!("{words} {}", summary.variants.join(" ")).to_lowercase();
    html! {
        tr data-words=(words) data-system=(summary.system) data-verdict=(run.class.word()) {
            td { input type="checkbox" name="run" value=(id) aria-labelledby=(label); }
            th scope="row" {
                a #(label) href=(run_path(id)) { (summary.question) }
                span.sub { (head::moment(&summary.started_at)) " · " (id) }
                span.sub { (summary.variants.join(" · ")) }
            }
            td { (summary.system) }
            td { span class={ "mark " (mark(run.class)) } { (run.class.word()) } " " span.sentence { (unbroken(&run.verdict)) } }
            td { (summary.state.word()) span.sub { (words::plural(summary.rounds, "round")) } }
            td.figure { (summary.elapsed_s.map_or_else(|| "–".into(), units::elapsed)) }
            td { a.quiet href=(delete_path(id)) { "delete" span.sr { " " (id) } } }
        }
    }
}

fn mark(class: VerdictClass) -> &'static str {
    match class {
        VerdictClass::Different => "better",
        VerdictClass::Same => "same",
        VerdictClass::Withheld => "withheld",
        VerdictClass::Undecided | VerdictClass::None => "undecided",
    }
}

/// What an address may hold as it is.
const ADDRESS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

fn encoded(run_id: &str) -> String {
    utf8_percent_encode(run_id, ADDRESS).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_any_name() {
        assert_eq!(run_path("20261121-k3f9"), "/runs/20261121-k3f9");
        assert_eq!(delete_path("a/b?c"), "/runs/a%2Fb%3Fc/delete");
        assert_eq!(side_by_side_path(&["a", "b&c"]), "/compare?run=a&run=b%26c");
    }

    #[test]
    fn words_of_classes_are_read_back() {
        for class in VerdictClass::ALL {
            assert_eq!(VerdictClass::from_word(class.word()), Some(class));
        }
        assert_eq!(VerdictClass::from_word(""), None);
    }
}
