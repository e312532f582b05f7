//! The table of a run: one line per variant, the columns that matter most kept when there is no room.

use std::collections::BTreeSet;

use weigh_stats::verdict::Decision;

use super::layout::{Cell, Ink, Table, TableColumn, cut};
use super::units::{self, Unit};
use super::words;
use crate::analysis::{Analysis, VariantSummary};
use crate::model::{Metric, Run};

/// What every table shows if it is known, unless the plan says otherwise: (heading, counter or gauge).
const OF_SERVERS: [(&str, &str); 1] = [("cpu", "server.cpu_us")];
/// The same for commands, per execution.
const OF_COMMANDS: [(&str, &str); 5] = [
    ("cpu", "command.cpu_us"),
    ("peak memory", "command.peak_memory_bytes"),
    ("faults", "command.minor_faults"),
    ("waits", "command.voluntary_switches"),
    ("preempted", "command.involuntary_switches"),
];

/// Heading of the column with the field's figures.
pub(super) const FIELD: &str = "seen elsewhere";

/// The table of a run.
pub(super) fn of(run: &Run, analysis: &Analysis, width: usize) -> Table {
    let names =
        names(run, (width * 2 / 5).max(16)).into_iter().map(|name| Cell::inked(name, Ink::Strong)).collect();
    let mut columns =
        vec![TableColumn { heading: "variant".into(), cells: names, left: true, priority: None }];
    for (metric, priority) in metrics(run) {
        columns.extend(metric_column(run, analysis, metric, priority));
    }
    columns.extend(cost_columns(run, analysis));
    columns.extend(debt(analysis));
    columns.extend(versions(analysis));
    columns.extend(hit_ratio(analysis));
    columns.extend(errors(analysis));
    columns.extend(field(run));
    Table { columns }
}

/// The variants' names. Long ones (commands) are cut, unless they could not be told apart any more.
fn names(run: &Run, width: usize) -> Vec<String> {
    let whole = || run.header.plan.variants.iter().map(|variant| variant.name.clone());
    let short: Vec<String> = whole().map(|name| cut(&name, width)).collect();
    let distinct: BTreeSet<&String> = short.iter().collect();
    if distinct.len() == short.len() { short } else { whole().collect() }
}

/// Which metrics are shown, in order, and what decides how long they stay.
fn metrics(run: &Run) -> Vec<(Metric, Option<u8>)> {
    let plan = &run.header.plan;
    let informative: &[(Metric, u8)] = if plan.system == "commands" {
        &[(Metric::Time, 99)]
    } else {
        &[
            (Metric::LatencyP50, 90),
            (Metric::LatencyP99, 45),
            (Metric::ServiceP99, 40),
            (Metric::Throughput, 95),
        ]
    };
    let mut shown: Vec<(Metric, Option<u8>)> = informative
        .iter()
        .map(|(metric, priority)| (*metric, (!plan.judge.decide.contains(metric)).then_some(*priority)))
        .collect();
    for metric in &plan.judge.decide {
        if !shown.iter().any(|(known, _)| known == metric) {
            shown.push((*metric, None));
        }
    }
    shown
}

/// Absolute for the baseline; for the others the ratio of the comparison if the metric decides, else absolute.
fn metric_column(
    run: &Run,
    analysis: &Analysis,
    metric: Metric,
    priority: Option<u8>,
) -> Option<TableColumn> {
    let decides = run.header.plan.judge.decide.contains(&metric);
    let cells: Vec<Cell> = analysis
        .variants
        .iter()
        .map(|summary| {
            let absolute =
                summary.medians.get(&metric).map_or_else(|| "–".into(), |value| words::value(metric, *value));
            if summary.variant == run.header.plan.baseline || !decides {
                return Cell::new(absolute);
            }
            ratio_cell(analysis, summary.variant, metric).unwrap_or(Cell::new(absolute))
        })
        .collect();
    let known = analysis.variants.iter().any(|summary| summary.medians.contains_key(&metric));
    let priority = if decides { None } else { priority };
    known.then(|| TableColumn {
        heading: words::heading_in(&run.header.plan, metric),
        cells,
        left: false,
        priority,
    })
}

/// The ratio against the baseline, inked only once it is decided.
fn ratio_cell(analysis: &Analysis, variant: usize, metric: Metric) -> Option<Cell> {
    let comparison =
        analysis.comparisons.iter().find(|found| found.variant == variant && found.metric == metric)?;
    let interval = comparison.interval?;
    let ink = match (analysis.verdict_withheld, comparison.decision) {
        (None, Decision::Different) => match words::is_better(metric, interval.estimate) {
            Some(true) => Ink::Good,
            Some(false) => Ink::Bad,
            None => Ink::Plain,
        },
        _ => Ink::Plain,
    };
    // A figure that is not a verdict must not look like one where colour is missing.
    let mark = if comparison.decision == Decision::Undecided { "?" } else { "" };
    Some(Cell::inked(format!("{}{mark}", units::ratio(&interval)), ink))
}

/// CPU, then what the system wants to see, per operation; per execution for commands, where gauges
/// (peak memory) may be asked for as well.
fn cost_columns(run: &Run, analysis: &Analysis) -> Vec<TableColumn> {
    let plan = &run.header.plan;
    let commands = plan.system == "commands";
    let usual: &[(&str, &str)] = if commands { &OF_COMMANDS } else { &OF_SERVERS };
    let asked = plan.columns.iter().map(|column| (column.heading.as_str(), column.counter.as_str()));
    let mut wanted: Vec<(&str, &str)> = usual.iter().copied().chain(asked.clone()).collect();
    // A metric that decides has its column already; what is named twice is shown once.
    let cpu_decides = plan.judge.decide.contains(&Metric::CpuPerOp);
    wanted.retain(|(_, counter)| !(cpu_decides && *counter == "server.cpu_us"));
    let twice = |place: usize, counter: &str| wanted[..place].iter().any(|(_, known)| *known == counter);
    let wanted: Vec<_> = (0..wanted.len())
        .filter(|place| !twice(*place, wanted[*place].1))
        .map(|place| wanted[place])
        .collect();
    let mut columns = Vec::new();
    for (place, (heading, counter)) in wanted.into_iter().enumerate() {
        let values: Vec<Option<f64>> =
            analysis.variants.iter().map(|summary| cost(summary, counter)).collect();
        // Nothing of it anywhere: the column says no more than its absence.
        if values.iter().all(|value| value.is_none_or(|value| value == 0.0)) {
            continue;
        }
        let unit = Unit::of_counter(counter);
        let show = |(value, summary): (&Option<f64>, &VariantSummary)| {
            let Some(value) = value else { return Cell::new("–") };
            // A child is our own image until it becomes its program: below that nothing is known.
            let floor = summary.gauges.get("command.peak_memory_floor_bytes").copied().unwrap_or(0.0);
            let at_floor = counter == "command.peak_memory_bytes" && *value <= 1.05 * floor;
            Cell::new(format!("{}{}", if at_floor { "≤ " } else { "" }, unit.show(*value)))
        };
        let heading = match &plan.unit {
            _ if commands => heading.to_owned(),
            Some(item) => format!("{heading}/{item}"),
            None => format!("{heading}/op"),
        };
        let priority = 75_u8.saturating_sub(u8::try_from(place).unwrap_or(u8::MAX).saturating_mul(3));
        let cells = values.iter().zip(&analysis.variants).map(show).collect();
        columns.push(TableColumn { heading, cells, left: false, priority: Some(priority.max(20)) });
    }
    columns
}

fn cost(summary: &VariantSummary, counter: &str) -> Option<f64> {
    let per_op = summary.costs.iter().find(|cost| cost.counter == counter).map(|cost| cost.per_op);
    per_op.or_else(|| summary.gauges.get(counter).copied())
}

fn debt(analysis: &Analysis) -> Option<TableColumn> {
    let show =
        |summary: &VariantSummary| Cell::new(summary.debt_s.map_or_else(|| "–".into(), units::seconds));
    let known = analysis.variants.iter().any(|summary| summary.debt_s.is_some());
    let cells = analysis.variants.iter().map(show).collect();
    known.then(|| TableColumn { heading: "debt".into(), cells, left: false, priority: Some(65) })
}

/// Only there if anything was asked for and not found: a cache without the key is faster, and of less use.
fn hit_ratio(analysis: &Analysis) -> Option<TableColumn> {
    let share = |summary: &VariantSummary| summary.misses.unwrap_or(0.0);
    let any = analysis.variants.iter().any(|summary| share(summary) > 0.0);
    let hits = |summary: &VariantSummary| Cell::new(units::percent((1.0 - share(summary)).max(0.0)));
    let cells = analysis.variants.iter().map(hits).collect();
    any.then(|| TableColumn { heading: "hit ratio".into(), cells, left: false, priority: Some(85) })
}

/// Only there if variants ran on different versions of the server.
fn versions(analysis: &Analysis) -> Option<TableColumn> {
    let of = |summary: &VariantSummary| summary.versions.join(" / ");
    let known: BTreeSet<String> = analysis.variants.iter().map(of).collect();
    let cells = analysis.variants.iter().map(|summary| Cell::new(of(summary))).collect();
    (known.len() > 1).then(|| TableColumn {
        heading: "version".into(),
        cells,
        left: true,
        priority: Some(80),
    })
}

/// Only there if anything failed, items of bulks among it; then it is never dropped.
fn errors(analysis: &Analysis) -> Option<TableColumn> {
    let failed = |summary: &VariantSummary| summary.errors.values().chain(summary.item_errors.values()).sum();
    let totals: Vec<u64> = analysis.variants.iter().map(failed).collect();
    let cells = totals
        .iter()
        .map(|total| Cell::inked(units::count(*total), if *total > 0 { Ink::Bad } else { Ink::Plain }))
        .collect();
    let any = totals.iter().any(|total| *total > 0);
    any.then(|| TableColumn { heading: "errors".into(), cells, left: false, priority: None })
}

/// What the field has seen, to compare shapes with.
fn field(run: &Run) -> Option<TableColumn> {
    let plan = &run.header.plan;
    let names: BTreeSet<&String> = plan.field_figures.keys().collect();
    let cells = plan
        .variants
        .iter()
        .map(|variant| {
            Cell::inked(plan.field_figures.get(&variant.name).cloned().unwrap_or_default(), Ink::Faint)
        })
        .collect();
    let known = plan.variants.iter().any(|variant| names.contains(&variant.name));
    known.then(|| TableColumn { heading: FIELD.into(), cells, left: true, priority: Some(10) })
}
