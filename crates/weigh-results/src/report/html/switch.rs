//! Charts of which one is looked at: response or service time, one metric of the trials or another.
//!
//! Without script all of them are there, one below the other.

use maud::{Markup, html};

use super::figure;
use super::scope::Scope;
use crate::report::chart::Chart;

/// What can be chosen: name, and the charts shown then.
struct Choice<'a> {
    name: String,
    charts: Vec<&'a Chart>,
}

/// Latency by quantile and as a share, of response times and, where it is kept, of service times.
pub(super) fn latency(scope: &Scope, charts: &[Chart]) -> Option<Markup> {
    let of = |service: bool| -> Vec<&Chart> {
        let is = |chart: &&Chart| {
            let (kind, suffix) = chart.kind.split_once('-').unwrap_or((&chart.kind, ""));
            ["quantiles", "ecdf"].contains(&kind) && (suffix == "service") == service
        };
        charts.iter().filter(is).collect()
    };
    let choices = [("Response time", of(false)), ("Service time", of(true))]
        .into_iter()
        .filter(|(_, charts)| !charts.is_empty())
        .map(|(name, charts)| Choice { name: name.to_owned(), charts });
    let note = "Response time counts from when an operation was due, service time from when it was really sent: the difference is waiting.";
    shown(scope, "clock", "Clock", note, &choices.collect::<Vec<_>>())
}

/// Every trial, by one metric or another.
pub(super) fn trials(scope: &Scope, charts: &[Chart]) -> Option<Markup> {
    let choices = charts
        .iter()
        .filter(|chart| chart.kind.starts_with("trials"))
        .map(|chart| Choice { name: metric_of(chart), charts: vec![chart] });
    shown(scope, "metric", "Metric", "", &choices.collect::<Vec<_>>())
}

/// The metric's name as everywhere; of anything else the kind itself.
fn metric_of(chart: &Chart) -> String {
    let name = chart.kind.split_once('-').map_or("", |(_, metric)| metric);
    let noun = crate::model::Metric::from_name(name).map(crate::report::words::noun);
    noun.map_or_else(|| chart.kind.clone(), str::to_owned)
}

fn shown(scope: &Scope, name: &str, legend: &str, note: &str, choices: &[Choice<'_>]) -> Option<Markup> {
    if choices.is_empty() {
        return None;
    }
    let several = choices.len() > 1;
    let group = scope.id(name);
    Some(html! {
        div.switch data-switch=[several.then_some("")] {
            @if several {
                fieldset.choices hidden {
                    legend { (legend) }
                    @for (place, choice) in choices.iter().enumerate() {
                        label {
                            input type="radio" name=(group) value=(place) checked[place == 0];
                            " " (choice.name)
                        }
                    }
                }
                @if !note.is_empty() { p.note { (note) } }
            }
            @for (place, choice) in choices.iter().enumerate() {
                div data-choice=(place) { @for chart in &choice.charts { (figure::figure(scope, chart)) } }
            }
        }
    })
}
