//! Several runs beside each other: each variant against the baseline of its own run.
//!
//! Absolute figures of two runs are those of two machines; ratios within a run are what can be compared. Latencies are drawn
//! nevertheless, for the shape of their tails, and the summary says so.

use super::super::{AxisUnit, Band, Chart, ChartKind, Clock, Scale, Series};
use super::forest::{self, Kind, Row};
use super::{Source, axes, latency};
use crate::analysis::Analysis;
use crate::model::{Plan, Run};
use crate::report::words;

/// Curves of a picture at most.
const CURVES_MAX: usize = 16;

/// Charts across several runs; empty for none.
#[must_use]
pub fn across(runs: &[(&Run, &Analysis)]) -> Vec<Chart> {
    let sources: Vec<Source<'_>> = runs.iter().map(|(run, analysis)| Source::new(run, analysis)).collect();
    let names = short_names(runs);
    [forest_of(&sources, &names), quantiles(&sources, &names)].into_iter().flatten().collect()
}

/// The end of a run's name, which no other run of these has; else the whole name.
fn short_names(runs: &[(&Run, &Analysis)]) -> Vec<String> {
    let end = |id: &str| id.rsplit('-').next().unwrap_or(id).to_owned();
    let ids: Vec<&str> = runs.iter().map(|(run, _)| run.header.run_id.as_str()).collect();
    let alone = |id: &str| ids.iter().filter(|other| end(other) == end(id)).count() == 1;
    ids.iter().map(|id| if alone(id) { end(id) } else { (*id).to_owned() }).collect()
}

/// Who is who: `k3f9 is 20261121-…-k3f9 on rack7`.
fn who(sources: &[Source<'_>], names: &[String]) -> String {
    let of = |(source, name): (&Source<'_>, &String)| {
        let header = &source.run.header;
        format!("{name} is {} on {}", header.run_id, header.host.hostname)
    };
    axes::listed(&sources.iter().zip(names).map(of).collect::<Vec<_>>())
}

fn forest_of(sources: &[Source<'_>], names: &[String]) -> Option<Chart> {
    let mut rows: Vec<(usize, Row)> = Vec::new();
    for (place, source) in sources.iter().enumerate() {
        rows.extend(forest::deciding(source).into_iter().map(|row| (place, row)));
    }
    if rows.iter().all(|(_, row)| row.interval.is_none()) {
        return None;
    }
    // The same variant of every run stands together, in the order they were first met; A/A checks come last.
    let order: Vec<(String, crate::model::Metric)> = rows.iter().map(|(_, row)| row.of.clone()).collect();
    let first = |row: &Row| order.iter().position(|of| *of == row.of).unwrap_or(usize::MAX);
    rows.sort_by_key(|(place, row)| (row.kind == Kind::Copies, first(row), *place));
    let rows: Vec<Row> = rows
        .into_iter()
        .map(|(place, row)| Row {
            name: format!("{} · {}", row.name, names[place]),
            ink: place + 1,
            note: format!("{}: {}", names[place], row.note),
            ..row
        })
        .collect();
    let summary = format!("Each variant against the baseline of its own run. {}.", who(sources, names));
    Some(Chart {
        kind: ChartKind::Forest.name(),
        title: "Every variant against the baseline of its own run".to_owned(),
        summary,
        x: axes::ratio("ratio to the run's own baseline".to_owned()),
        y: axes::categories(rows.iter().map(|row| row.name.clone()).collect()),
        series: forest::series(&rows),
        bands: matters(sources),
        lines: vec![axes::at_baseline(baseline(sources))],
    })
}

/// Only where all runs mean the same by it.
fn matters(sources: &[Source<'_>]) -> Vec<Band> {
    let mut bands: Vec<Band> = sources.iter().map(|source| axes::matters(source.plan())).collect();
    bands.dedup();
    if bands.len() == 1 { bands } else { Vec::new() }
}

fn baseline(sources: &[Source<'_>]) -> String {
    let of = |plan: &Plan| axes::one_line(&words::quoted(plan, plan.baseline));
    let mut names: Vec<String> = sources.iter().map(|source| of(source.plan())).collect();
    names.dedup();
    if names.len() == 1 { format!("baseline {}", names[0]) } else { "each run's own baseline".to_owned() }
}

fn quantiles(sources: &[Source<'_>], names: &[String]) -> Option<Chart> {
    let first = sources.first()?.plan();
    let curves: Vec<(usize, usize)> = common(sources).into_iter().take(CURVES_MAX).collect();
    let series: Vec<Series> = curves
        .iter()
        .enumerate()
        .filter_map(|(index, (place, variant))| {
            let source = &sources[*place];
            let seen = latency::distributions(source, Clock::Response).get(variant)?;
            let variant_name = axes::one_line(words::variant_name(source.plan(), *variant));
            let name = format!("{variant_name} · {}", names[*place]);
            Some(Series {
                points: latency::quantile_points(&name, source.plan(), seen),
                name,
                ink: Some(index + 1),
                shape: latency::shape(seen),
                faint: false,
                hollow: false,
            })
        })
        .filter(|series| series.points.len() >= 3)
        .collect();
    if series.is_empty() {
        return None;
    }
    let noun = latency::noun(first, Clock::Response);
    Some(Chart {
        kind: ChartKind::Quantiles(Clock::Response).name(),
        title: format!("{} by percentile, run by run", super::capital(noun)),
        summary: format!(
            "Variants that more than one run has. The level of a curve is also that of its machine; compare shapes. {}.",
            who(sources, names)
        ),
        x: axes::values(
            format!("share of {} that took at most so long", latency::counted(first)),
            AxisUnit::Share,
            Scale::Tail,
        ),
        y: axes::values(noun, AxisUnit::Seconds, Scale::Log),
        series,
        bands: Vec::new(),
        lines: Vec::new(),
    })
}

/// (run, variant) of every name that more than one run has, name by name; of all names if there is none.
fn common(sources: &[Source<'_>]) -> Vec<(usize, usize)> {
    let mut all: Vec<(&str, usize, usize)> = Vec::new();
    for (place, source) in sources.iter().enumerate() {
        all.extend(
            source.plan().variants.iter().enumerate().map(|(index, of)| (of.name.as_str(), place, index)),
        );
    }
    let shared = |name: &str| all.iter().filter(|(other, ..)| *other == name).count() > 1;
    let any = all.iter().any(|(name, ..)| shared(name));
    let mut names: Vec<&str> = Vec::new();
    for (name, ..) in all.iter().filter(|(name, ..)| !any || shared(name)) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let of = |name: &str| {
        all.iter()
            .filter(|(other, ..)| *other == name)
            .map(|(_, place, index)| (*place, *index))
            .collect::<Vec<_>>()
    };
    names.into_iter().flat_map(of).collect()
}
