//! A search for the highest rate within a bound, as text and as JSON.

use serde_json::{Value, json};

use super::doubts::{CLIENT_BUSY, CLIENT_WAIT};
use super::json::doubt_values;
use super::page::{doubt_lines, facts, trimmed};
use crate::doubt::{Doubt, DoubtKind};
use crate::model::load::{CapacityRecord, CapacityStep, StepFailure};
use crate::report::json::REPORT_VERSION;
use crate::report::layout::{Cell, Ink, Style, Table, TableColumn};
use crate::report::units;

/// One step in a line: `step 4: 1,700/s → p99 3.20 ms, kept`.
pub fn step_line(number: usize, step: &CapacityStep) -> String {
    let p99 =
        step.p99_s.map_or("p99 unknown".to_owned(), |value_s| format!("p99 {}", units::seconds(value_s)));
    format!("step {number}: {}/s: {p99}: {}", units::figure(step.rate_per_s), outcome(step))
}

/// `kept`, or why not.
fn outcome(step: &CapacityStep) -> String {
    match step.failure {
        None => "kept".into(),
        Some(StepFailure::TooSlow) => "too slow".into(),
        Some(StepFailure::Backlog) => {
            format!("not kept: {}/s were done", units::figure(step.achieved_per_s))
        }
        Some(StepFailure::Errors) => format!("{} operations failed", units::count(step.errors)),
        Some(StepFailure::Client) => format!(
            "the client's fault: late by {}, CPU {:.0} %",
            units::seconds(step.client_lag_p99_s),
            100.0 * (step.busiest_thread + step.client_wait)
        ),
        Some(StepFailure::TooFew) => "too few operations for a p99".into(),
    }
}

/// The steps and the finding.
pub fn render(record: &CapacityRecord, style: &Style) -> String {
    let mut facts = facts(&record.asked);
    facts.truncate(if record.asked.pipeline > 1 { 3 } else { 2 });
    facts.push(format!("p99 at most {}", units::seconds(record.p99_limit_s)));
    let mut page = style.both_ends(&record.asked.url, &facts.join(" · "));
    for operation in &record.asked.operations {
        page.push_str(&style.letters(&operation.text));
        page.push('\n');
    }
    page.push('\n');
    page.push_str(&table(record).render(style).0);
    page.push('\n');
    let ink = if record.highest_pass_per_s.is_some() { Ink::Good } else { Ink::Warning };
    page.push_str(&style.paragraph("capacity", ink, &finding(record)));
    page.push_str(&doubt_lines(&doubts(record), style));
    page
}

fn table(record: &CapacityRecord) -> Table {
    let column = |heading: &str, left, priority, cells: Vec<Cell>| TableColumn {
        heading: heading.into(),
        cells,
        left,
        priority,
    };
    let each = |of: &dyn Fn(&CapacityStep) -> Cell| record.steps.iter().map(of).collect::<Vec<_>>();
    let numbers = (1..=record.steps.len()).map(|number| Cell::new(number.to_string())).collect();
    let seconds =
        |value: Option<f64>| value.map_or(Cell::inked("–", Ink::Faint), |s| Cell::new(units::seconds(s)));
    Table {
        columns: vec![
            column("step", false, Some(3), numbers),
            column("asked/s", false, None, each(&|step| Cell::new(units::figure(step.rate_per_s)))),
            column("done/s", false, Some(6), each(&|step| Cell::new(units::figure(step.achieved_per_s)))),
            column("p99", false, None, each(&|step| seconds(step.p99_s))),
            column("client's own", false, Some(2), each(&|step| seconds(Some(step.client_lag_p99_s)))),
            column(
                "client CPU",
                false,
                Some(1),
                each(&|step| Cell::new(format!("{:.0} %", 100.0 * (step.busiest_thread + step.client_wait)))),
            ),
            column("unanswered", false, Some(4), each(&|step| Cell::new(units::count(step.unanswered)))),
            column(
                "",
                true,
                None,
                each(&|step| {
                    Cell::inked(outcome(step), if step.failure.is_none() { Ink::Good } else { Ink::Bad })
                }),
            ),
        ],
    }
}

/// Whether there is an answer about the system: a rate that is kept, seen twice, and not bounded by the client.
pub fn is_known(record: &CapacityRecord) -> bool {
    let by_client = matches!(record.limited_by, Some(StepFailure::Client | StepFailure::TooFew));
    record.highest_pass_per_s.is_some() && record.confirmed && !by_client
}

/// Reasons not to trust the finding: a client that shared its CPUs, or was near its limit where it mattered.
pub fn doubts(record: &CapacityRecord) -> Vec<Doubt> {
    let mut found = Vec::new();
    let at_pass = record.steps.iter().filter(|step| Some(step.rate_per_s) == record.highest_pass_per_s);
    let busiest = at_pass.map(|step| step.busiest_thread).fold(0.0, f64::max);
    if busiest > CLIENT_BUSY {
        let evidence = format!(
            "at the highest rate that was kept its busiest thread used {:.0} % of a core",
            100.0 * busiest
        );
        found.push((DoubtKind::ClientSaturated, evidence));
    }
    let mut waits: Vec<f64> = record.steps.iter().map(|step| step.client_wait).collect();
    waits.sort_by(f64::total_cmp);
    if let Some(wait) = waits.get(waits.len() / 2).copied().filter(|wait| *wait > CLIENT_WAIT) {
        let evidence =
            format!("in half of the steps its threads waited {} of the time or more", units::percent(wait));
        found.push((DoubtKind::RunQueueWait, evidence));
    }
    found.into_iter().map(|(kind, evidence)| Doubt { kind, evidence, variants: Vec::new() }).collect()
}

/// The finding in a sentence or two.
pub fn finding(record: &CapacityRecord) -> String {
    let limit = units::seconds(record.p99_limit_s);
    let rate = units::figure;
    let unsure = if record.confirmed {
        ""
    } else {
        " Not every end was seen twice: measure again before relying on it."
    };
    if record.signal.is_some() {
        return format!("interrupted after {}; {}", steps(record.steps.len()), so_far(record));
    }
    let text = match (record.highest_pass_per_s, record.lowest_fail_per_s, record.limited_by) {
        (Some(pass), Some(fail), Some(StepFailure::Client)) => format!(
            "p99 stays within {limit} up to {}/s; at {}/s the client itself was late or had no CPU left, so what the \
             system would do there is not known. Give the client more threads (`--threads`) or a free CPU.",
            rate(pass),
            rate(fail)
        ),
        (Some(pass), Some(fail), why) => format!(
            "p99 stays within {limit} up to {}/s; at {}/s {}.",
            rate(pass),
            rate(fail),
            failure_words(why)
        ),
        (Some(pass), None, _) => format!(
            "p99 stays within {limit} at {}/s, the highest rate that was tried; the capacity is above it. Ask for \
             more with `--max-rate`.",
            rate(pass)
        ),
        (None, Some(fail), why) => format!(
            "p99 does not stay within {limit} at any rate that was tried: even at {}/s {}. A closed loop does {}/s.",
            rate(fail),
            failure_words(why),
            rate(record.closed_loop_per_s)
        ),
        (None, None, _) => "nothing is known: no step was finished.".to_owned(),
    };
    text + unsure
}

fn steps(count: usize) -> String {
    format!("{count} step{}", if count == 1 { "" } else { "s" })
}

fn so_far(record: &CapacityRecord) -> String {
    match (record.highest_pass_per_s, record.lowest_fail_per_s) {
        (Some(pass), Some(fail)) => {
            format!("so far kept at {}/s and not at {}/s.", units::figure(pass), units::figure(fail))
        }
        (Some(pass), None) => format!("so far kept at {}/s.", trimmed(pass)),
        (None, Some(fail)) => format!("so far not kept at {}/s.", trimmed(fail)),
        (None, None) => "nothing is known yet.".to_owned(),
    }
}

fn failure_words(why: Option<StepFailure>) -> &'static str {
    match why {
        Some(StepFailure::Backlog) => "the system does not do as much as is due",
        Some(StepFailure::Errors) => "operations fail",
        Some(StepFailure::Client) => "the client cannot keep the schedule",
        Some(StepFailure::TooFew) => "there are too few operations for a p99",
        Some(StepFailure::TooSlow) | None => "it is above",
    }
}

/// The same for programs.
pub fn json(record: &CapacityRecord) -> Value {
    json!({
        "report": "capacity",
        "report_version": REPORT_VERSION,
        "weigh_version": record.weigh_version,
        "started_at": record.started_at,
        "asked": record.asked,
        "p99_limit_s": record.p99_limit_s,
        "max_rate_per_s": record.max_rate_per_s,
        "closed_loop_per_s": record.closed_loop_per_s,
        "steps": record.steps,
        "highest_pass_per_s": record.highest_pass_per_s,
        "lowest_fail_per_s": record.lowest_fail_per_s,
        "confirmed": record.confirmed,
        "known": is_known(record),
        "limited_by": record.limited_by,
        "signal": record.signal,
        "sentence": finding(record),
        "doubts": doubt_values(&doubts(record)),
    })
}
