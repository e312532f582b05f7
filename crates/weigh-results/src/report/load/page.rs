//! The report of one load as text.
//!
//! [`render`] is the page: what was asked, throughput, failures, percentiles with what is behind each, the picture,
//! the schedule of an open loop, the client's own cost, doubts.

use std::collections::BTreeMap;

use super::summary::{Distribution, LoadSummary, Percentile, PercentileValue};
use super::{bars, doubts, number, per};
use crate::doubt::Doubt;
use crate::model::load::{ArrivalsAsked, LoadAsked, LoadRecord, ScheduleAsked, ScheduleRecord};
use crate::report::layout::{Cell, Ink, Style, Table, TableColumn, cut};
use crate::report::units;

/// Messages shown per kind of failure; the rest are counted.
const MESSAGES: usize = 8;
/// Longest message on the page; JSON has all of it.
const MESSAGE_COLUMNS: usize = 120;

/// The page. Ends with a newline.
pub fn render(record: &LoadRecord, summary: &LoadSummary, style: &Style) -> String {
    let mut page = head(record, style);
    page.push('\n');
    page.push_str(&totals(record, style));
    page.push('\n');
    page.push_str(&percentiles(summary, style));
    page.push_str(&operations(record, summary, style));
    if !summary.response.histogram.is_empty() {
        page.push('\n');
        page.push_str(&bars::render(&summary.response.histogram, style));
    }
    page.push('\n');
    if let Some(schedule) = &record.schedule {
        page.push_str(&style.paragraph("schedule", Ink::Strong, &schedule_words(record, schedule, summary)));
    }
    page.push_str(&style.paragraph("client", Ink::Faint, &client_words(record)));
    page.push_str(&doubt_lines(&doubts::of(record, summary), style));
    page
}

/// `50 clients · 1 thread · closed loop · 10 s after 1 s of warm-up`
pub(super) fn facts(asked: &LoadAsked) -> Vec<String> {
    let mut facts = vec![plural(asked.clients, "client"), plural(asked.threads, "thread")];
    if asked.pipeline > 1 {
        facts.push(format!("pipeline {}", asked.pipeline));
    }
    facts.push(match asked.schedule {
        ScheduleAsked::Closed => "closed loop".to_owned(),
        ScheduleAsked::Open { rate_per_s, arrivals } => {
            let how = match arrivals {
                ArrivalsAsked::Constant => "constant",
                ArrivalsAsked::Poisson => "Poisson",
            };
            format!("open loop, {}/s {how}", trimmed(rate_per_s))
        }
    });
    facts
}

/// A number somebody typed: `1,000`, `0.5`.
pub(super) fn trimmed(value: f64) -> String {
    let text = units::significant(value, 6);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A throughput: a digit more than other figures where there are so many.
fn rate(per_s: f64) -> String {
    if per_s < 1_000.0 { units::figure(per_s) } else { units::significant(per_s, 4) }
}

fn plural(number: usize, word: &str) -> String {
    let count = units::count(u64::try_from(number).unwrap_or(u64::MAX));
    format!("{count} {word}{}", if number == 1 { "" } else { "s" })
}

fn head(record: &LoadRecord, style: &Style) -> String {
    let asked = &record.asked;
    let mut facts = facts(asked);
    let mut length = units::planned(rounded(record.measured_s));
    if record.settled_s > 0.0 {
        length.push_str(&format!(" after {} of warm-up", units::planned(rounded(record.settled_s))));
    }
    facts.push(length);
    let mut head = style.both_ends(&asked.url, &facts.join(" · "));
    for operation in &asked.operations {
        let weight =
            if asked.operations.len() > 1 { format!("{} × ", operation.weight) } else { String::new() };
        let line = format!("{weight}{}", operation.text);
        head.push_str(&style.letters(&cut(&line, style.width)));
        head.push('\n');
    }
    head
}

/// To a hundredth: a window is as long as it was, not as it was asked.
fn rounded(value_s: f64) -> f64 {
    (value_s * 100.0).round() / 100.0
}

fn totals(record: &LoadRecord, style: &Style) -> String {
    let mut lines = String::new();
    let per_s = per(number(record.operations_measured), record.measured_s);
    let throughput = format!(
        "{}/s: {} operations in {}",
        rate(per_s),
        units::count(record.operations_measured),
        units::planned(rounded(record.measured_s)),
    );
    lines.push_str(&style.paragraph("done", Ink::Strong, &throughput));
    let failed: u64 = record.errors.values().sum();
    if failed == 0 {
        lines.push_str(&style.paragraph("errors", Ink::Strong, "none"));
    } else {
        let of = failed + record.operations_total;
        let share = units::percent(per(number(failed), number(of)));
        let text = format!("{} of {} since the start ({share})", units::count(failed), units::count(of));
        lines.push_str(&style.paragraph("errors", Ink::Bad, &text));
        lines.push_str(&messages(&record.errors, style));
    }
    if record.misses > 0 {
        let share = units::percent(per(number(record.misses), number(record.operations_total)));
        let text = format!("{} ({share}): answered, and it was not there", units::count(record.misses));
        lines.push_str(&style.paragraph("misses", Ink::Strong, &text));
    }
    if !record.item_errors.is_empty() {
        let failed: u64 = record.item_errors.values().sum();
        let text = format!("{} failed inside operations that were done", units::count(failed));
        lines.push_str(&style.paragraph("items", Ink::Bad, &text));
        lines.push_str(&messages(&record.item_errors, style));
    }
    if record.reconnects > 0 {
        let text = format!("{} connections were made again", units::count(record.reconnects));
        lines.push_str(&style.paragraph("again", Ink::Strong, &text));
    }
    lines
}

/// The commonest messages with their counts.
fn messages(all: &BTreeMap<String, u64>, style: &Style) -> String {
    let mut sorted: Vec<(&String, &u64)> = all.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let more: u64 = sorted.iter().skip(MESSAGES).map(|(_, count)| **count).sum();
    let line = |text: &str, count: u64| {
        style.paragraph("", Ink::Plain, &format!("{} × {text}", units::count(count)))
    };
    let mut lines: String = sorted
        .iter()
        .take(MESSAGES)
        .map(|(text, count)| line(&cut(&text.replace(char::is_control, " "), MESSAGE_COLUMNS), **count))
        .collect();
    if more > 0 {
        lines.push_str(&line(&format!("{} other messages", sorted.len() - MESSAGES), more));
    }
    lines
}

fn percentiles(summary: &LoadSummary, style: &Style) -> String {
    let response = &summary.response;
    let heading = if summary.service.is_some() { "response time" } else { "latency" };
    let mut columns = vec![names(response), values(heading, response)];
    if let Some(service) = &summary.service {
        columns.push(TableColumn { priority: Some(5), ..values("service time", service) });
    }
    columns.push(beyond(response));
    if response.percentiles.iter().any(|found| found.spread.is_some()) {
        columns.push(spreads(response));
    }
    Table { columns }.render(style).0
}

fn names(times: &Distribution) -> TableColumn {
    let names = times.percentiles.iter().map(Percentile::name).chain(["max".to_owned()]);
    TableColumn { heading: String::new(), cells: names.map(Cell::new).collect(), left: true, priority: None }
}

fn values(heading: &str, times: &Distribution) -> TableColumn {
    let of = |found: &Percentile| match found.value {
        PercentileValue::Known(value_s) => Cell::new(units::seconds(value_s)),
        PercentileValue::TooFew { .. } => Cell::inked("–", Ink::Faint),
        PercentileValue::Unanswered => Cell::inked("no answer", Ink::Bad),
    };
    let last = match times.max_s() {
        _ if times.unanswered > 0 => Cell::inked("no answer", Ink::Bad),
        Some(value_s) => Cell::new(units::seconds(value_s)),
        None => Cell::inked("–", Ink::Faint),
    };
    let cells = times.percentiles.iter().map(of).chain([last]).collect();
    TableColumn { heading: heading.to_owned(), cells, left: false, priority: None }
}

/// What a percentile rests on, or how much more it would need.
fn beyond(times: &Distribution) -> TableColumn {
    let of = |found: &Percentile| match found.value {
        PercentileValue::TooFew { missing } => {
            Cell::inked(format!("needs {} more", units::count(missing)), Ink::Faint)
        }
        _ => Cell::new(units::count(found.above)),
    };
    let cells = times.percentiles.iter().map(of).collect();
    TableColumn { heading: "operations beyond".to_owned(), cells, left: false, priority: Some(9) }
}

fn spreads(times: &Distribution) -> TableColumn {
    let of = |found: &Percentile| match found.spread {
        Some(spread) => {
            Cell::new(format!("{} – {}", units::seconds(spread.low_s), units::seconds(spread.high_s)))
        }
        None => Cell::default(),
    };
    let cells = times.percentiles.iter().map(of).collect();
    TableColumn { heading: "in single seconds".to_owned(), cells, left: false, priority: Some(1) }
}

/// Each operation, when there are several.
fn operations(record: &LoadRecord, summary: &LoadSummary, style: &Style) -> String {
    if record.operations.len() < 2 {
        return String::new();
    }
    let column = |heading: &str, left, priority, cells: Vec<Cell>| TableColumn {
        heading: heading.into(),
        cells,
        left,
        priority,
    };
    let both = || record.operations.iter().zip(&summary.operations);
    let at = |ppm: u64| {
        both().map(move |(_, times)| match times.known_s(ppm) {
            Some(value_s) => Cell::new(units::seconds(value_s)),
            None => Cell::inked("–", Ink::Faint),
        })
    };
    let rate = |measured: u64| rate(per(number(measured), record.measured_s));
    let columns = vec![
        column("operation", true, None, both().map(|(of, _)| Cell::new(cut(&of.name, 32))).collect()),
        column(
            "done",
            false,
            Some(5),
            both().map(|(of, _)| Cell::new(units::count(of.operations_measured))).collect(),
        ),
        column(
            "per second",
            false,
            Some(9),
            both().map(|(of, _)| Cell::new(rate(of.operations_measured))).collect(),
        ),
        column("p50", false, Some(8), at(500_000).collect()),
        column("p99", false, Some(7), at(990_000).collect()),
    ];
    format!("\n{}", Table { columns }.render(style).0)
}

fn schedule_words(record: &LoadRecord, schedule: &ScheduleRecord, summary: &LoadSummary) -> String {
    let rate_per_s = match record.asked.schedule {
        ScheduleAsked::Open { rate_per_s, .. } => rate_per_s,
        ScheduleAsked::Closed => 0.0,
    };
    let mut text = format!(
        "{}/s asked, {}/s done; of {} operations due {} ({}) were sent more than 1 ms late",
        trimmed(rate_per_s),
        rate(per(number(record.operations_measured), record.measured_s)),
        units::count(schedule.due),
        units::count(schedule.late_starts),
        units::percent(per(number(schedule.late_starts), number(schedule.due))),
    );
    if let (Some(lag), Some(own)) = (&summary.lag, &summary.client_lag)
        && let (Some(lag_s), Some(own_s)) = (lag.known_s(990_000), own.known_s(990_000))
    {
        text.push_str(&format!(
            "; p99 of the delay in sending {}, of it the client's own {}",
            units::seconds(lag_s),
            units::seconds(own_s)
        ));
    }
    text.push_str(&format!("; at most {} waited to be sent", units::count(schedule.backlog_max)));
    for (count, what) in [(schedule.never_sent, "never sent"), (schedule.never_answered, "never answered")] {
        if count > 0 {
            text.push_str(&format!("; {} were {what}", units::count(count)));
        }
    }
    text + "."
}

fn client_words(record: &LoadRecord) -> String {
    let operations = number(record.operations_measured);
    let each = |value_s: f64| units::seconds(per(value_s, operations));
    format!(
        "{} of user and {} of system CPU per operation; the busiest thread used {:.0} % of a core.",
        each(record.client.user_s),
        each(record.client.system_s),
        100.0 * record.client.busiest_thread
    )
}

pub(super) fn doubt_lines(doubts: &[Doubt], style: &Style) -> String {
    let mut lines = String::new();
    for doubt in doubts {
        let text = doubts::text(doubt.kind);
        let what = format!("{}: {}.", text.title, doubt.evidence);
        lines.push_str(&style.paragraph("doubt", Ink::Warning, &what));
        lines.push_str(&style.paragraph("", Ink::Plain, &format!("{} {}", text.cause, text.advice)));
    }
    lines
}
