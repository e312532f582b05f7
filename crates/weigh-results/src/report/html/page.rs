//! The page of one run, in the order a reader asks: what came of it, how sure, why, how to do it again.

use maud::{Markup, html};

use super::frame::{self, Frame};
use super::scope::{Scope, Section};
use super::{conditions, doubts, figure, findings, head, live, reasons, reproduce, switch, variants};
use crate::analysis::Analysis;
use crate::model::Run;
use crate::report::chart::{self, Chart};
use crate::report::growth;

/// Where a page leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The gallery's address (`/`), if the page is served by it; `None`: a file on its own.
    pub gallery: Option<String>,
}

/// The page of one run.
#[must_use]
pub fn run(run: &Run, analysis: &Analysis, links: &Links) -> String {
    let scope = Scope::page();
    let charts = chart::all(run, analysis);
    let sections = sections(&scope, run, analysis, &charts);
    let body = html! {
        article {
            div.hero {
                p.kicker { (run.header.plan.experiment) }
                h1 { (run.header.plan.question) }
                (head::verdict(run, analysis))
                (head::warnings(&scope, run, analysis))
                (head::facts(run, analysis))
            }
            (contents(&sections))
            @for section in &sections { (scope.show(section)) }
        }
        (frame::data("palette", &live::palette(&charts)))
    };
    let frame = Frame {
        title: &run.header.plan.question,
        gallery: links.gallery.as_deref(),
        footer: Some(footer(run)),
        forms: "'none'",
    };
    frame.page(&body)
}

/// Every section that has something to say.
fn sections(scope: &Scope, run: &Run, analysis: &Analysis, charts: &[Chart]) -> Vec<Section> {
    let plan = &run.header.plan;
    let mut sections = vec![scope.section(
        "effect",
        "Effect",
        html! {
            @if let Some(forest) = of_kind(charts, "forest") { (figure::figure(scope, forest)) }
            (variants::table(run, analysis, "Variants"))
            @if let Some(elsewhere) = findings::elsewhere(run, analysis) { (elsewhere) }
        },
    )];
    let mut add = |name: &str, title: &str, body: Option<Markup>| {
        sections.extend(body.map(|body| scope.section(name, title, body)));
    };
    add("because", "Because", because(scope, run, analysis, charts));
    add("latency", "Latency", switch::latency(scope, charts));
    add("trials", "Trials in the order of time", switch::trials(scope, charts));
    add("factors", "Factors", findings::factors(scope, run, analysis, charts));
    add("first-calls", "First calls", findings::first_calls(scope, run, analysis, charts));
    add("reported", "Reported back", findings::reported(plan, analysis));
    add("growth", "Growth", growth(scope, run, analysis, charts));
    add("debt", "Debt", reasons::debt(run, analysis));
    add("doubts", "Doubts", doubts::doubts(plan, &analysis.doubts));
    add("checks", "Checks", Some(doubts::checks(run, analysis)));
    add("conditions", "Conditions", Some(conditions::conditions(scope, run)));
    add("reproduce", "Do it again", Some(reproduce::reproduce(run)));
    add("raw", "Raw data", Some(reproduce::raw(run, analysis)));
    sections
}

fn of_kind<'a>(charts: &'a [Chart], kind: &str) -> Option<&'a Chart> {
    charts.iter().find(|chart| chart.kind == kind)
}

fn because(scope: &Scope, run: &Run, analysis: &Analysis, charts: &[Chart]) -> Option<Markup> {
    let costs = of_kind(charts, "costs").map(|chart| figure::figure(scope, chart));
    let reasons = reasons::because(run, analysis, costs.as_ref());
    let every = reasons::every_cost(run, analysis);
    if reasons.is_none() && every.is_none() {
        return None;
    }
    Some(html! {
        @match reasons {
            Some(reasons) => (reasons),
            None => p { "No counter differs from the baseline's beyond chance and by enough to explain anything." }
        }
        @if let Some(every) = every { (every) }
    })
}

fn growth(scope: &Scope, run: &Run, analysis: &Analysis, charts: &[Chart]) -> Option<Markup> {
    let curves: Vec<&Chart> = charts.iter().filter(|chart| chart.kind.starts_with("growth")).collect();
    let sentences = growth::sentences(run, analysis);
    (!curves.is_empty() || !sentences.is_empty()).then(|| {
        html! {
            @for sentence in &sentences { p { (sentence) } }
            @for chart in curves { (figure::figure(scope, chart)) }
        }
    })
}

fn contents(sections: &[Section]) -> Markup {
    html! {
        nav.contents aria-label="On this page" {
            ul { @for section in sections { li { a href=(format!("#{}", section.id)) { (section.title) } } } }
        }
    }
}

fn footer(run: &Run) -> Markup {
    html! {
        "Made by weigh " (run.header.weigh_version) " from the stored run " (run.header.run_id)
        ". This page holds everything it shows and fetches nothing."
    }
}
