//! Every trial in the order of time, so that drift, bursts and the random order can be seen.

use super::super::{AxisUnit, Chart, ChartKind, Line, Point, Scale, Series, Shape};
use super::{Source, axes};
use crate::analysis::per_trial::{SeenTrial, Standing};
use crate::model::{Metric, Plan, Replication, Run};
use crate::report::words;

/// Fewer trials than this show nothing that a table does not.
const TRIALS_MIN: usize = 3;

/// What a trial is drawn as.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Counts(usize),
    HiddenCopy,
    SetAside,
    NotCounted,
}

pub(super) fn chart(source: &Source<'_>, metric: Metric) -> Option<Chart> {
    let plan = source.plan();
    let known: Vec<(&SeenTrial<'_>, f64)> = source
        .seen()
        .trials
        .iter()
        .filter_map(|seen| Some((seen, seen.figure(metric).filter(|value| *value > 0.0)?)))
        .collect();
    if known.len() < TRIALS_MIN {
        return None;
    }
    let scale = axes::scale_for(known.iter().map(|(_, value)| *value));
    Some(Chart {
        kind: ChartKind::Trials(metric).name(),
        title: format!("Every trial in the order of time, {}", words::noun(metric)),
        summary: summary(source, metric, &known),
        x: axes::values("time since the run began", AxisUnit::Seconds, Scale::Linear),
        y: axes::values(axes::label(plan, metric), axes::unit(metric), scale),
        series: series(source.run, metric, &known),
        bands: Vec::new(),
        lines: beginnings(source.run),
    })
}

fn kind(plan: &Plan, seen: &SeenTrial<'_>) -> Kind {
    match seen.standing {
        Standing::Counts if seen.trial.slot.variant == plan.baseline && seen.trial.slot.copy > 0 => {
            Kind::HiddenCopy
        }
        Standing::Counts => Kind::Counts(seen.trial.slot.variant),
        Standing::SetAside(_) => Kind::SetAside,
        Standing::Earlier | Standing::Incomplete => Kind::NotCounted,
    }
}

fn series(run: &Run, metric: Metric, known: &[(&SeenTrial<'_>, f64)]) -> Vec<Series> {
    let plan = &run.header.plan;
    let mut kinds: Vec<Kind> = known.iter().map(|(seen, _)| kind(plan, seen)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    // What counts is drawn last, on top.
    kinds.sort_by_key(|kind| matches!(kind, Kind::Counts(_)));
    let of = |of: Kind| {
        let points = known.iter().filter(|(seen, _)| kind(plan, seen) == of);
        Series {
            name: name(plan, of),
            ink: match of {
                Kind::Counts(variant) => Some(variant),
                Kind::HiddenCopy => Some(plan.baseline),
                Kind::SetAside | Kind::NotCounted => None,
            },
            shape: Shape::Points,
            faint: !matches!(of, Kind::Counts(_)),
            hollow: matches!(of, Kind::SetAside | Kind::NotCounted),
            points: points.map(|(seen, value)| point(run, metric, seen, *value)).collect(),
        }
    };
    kinds.into_iter().map(of).collect()
}

fn name(plan: &Plan, kind: Kind) -> String {
    match kind {
        Kind::Counts(variant) => axes::one_line(words::variant_name(plan, variant)),
        Kind::HiddenCopy => {
            format!("{} (hidden copy)", axes::one_line(words::variant_name(plan, plan.baseline)))
        }
        Kind::SetAside => "round set aside".to_owned(),
        Kind::NotCounted => "does not count".to_owned(),
    }
}

/// Notes are short: there may be thousands.
fn point(run: &Run, metric: Metric, seen: &SeenTrial<'_>, value: f64) -> Point {
    let (plan, trial) = (&run.header.plan, seen.trial);
    let restarts =
        run.sequences.iter().any(|of| of.sequence == trial.sequence && of.replication == Replication::Epoch);
    let mut note = format!(
        "{}: {}, round {}, place {}",
        axes::one_line(words::variant_name(plan, trial.slot.variant)),
        axes::value(plan, metric, value),
        trial.round + 1,
        trial.position + 1
    );
    if trial.slot.copy > 0 {
        note.push_str(", hidden copy");
    }
    if restarts {
        note.push_str(&format!(", epoch {}", trial.epoch + 1));
    }
    match &seen.standing {
        Standing::Counts => {}
        Standing::SetAside(reason) => note.push_str(&format!("; set aside: {reason}")),
        Standing::Earlier => note.push_str("; before the warm-up was found"),
        Standing::Incomplete => note.push_str("; its round was not completed"),
    }
    Point { x: trial.started_s, y: value, note, ..Point::default() }
}

/// Where the rounds that count begin, if there were others before.
fn beginnings(run: &Run) -> Vec<Line> {
    let Some(last) = run.current_sequence().filter(|last| last.sequence > 0) else { return Vec::new() };
    let first =
        run.trials.iter().filter(|trial| trial.sequence == last.sequence).map(|trial| trial.started_s);
    let at = first.reduce(f64::min);
    at.map(|at| Line { at, label: "rounds count from here".to_owned() }).into_iter().collect()
}

fn summary(source: &Source<'_>, metric: Metric, known: &[(&SeenTrial<'_>, f64)]) -> String {
    let plan = source.plan();
    let count = |of: fn(&Standing) -> bool| {
        u32::try_from(known.iter().filter(|(seen, _)| of(&seen.standing)).count()).unwrap_or(u32::MAX)
    };
    let mut text = format!(
        "{} that count, each variant once a round in random order.",
        words::plural(count(|of| *of == Standing::Counts), "trial")
    );
    let aside = count(|of| matches!(of, Standing::SetAside(_)));
    if aside > 0 {
        text.push_str(&format!(" {} set aside by the rule on interference.", words::plural(aside, "trial")));
    }
    let rest = count(|of| matches!(of, Standing::Earlier | Standing::Incomplete));
    if rest > 0 {
        text.push_str(&format!(" {} drawn faintly that do not count.", words::plural(rest, "trial")));
    }
    let of = |summary: &crate::analysis::VariantSummary| {
        let median = summary.medians.get(&metric)?;
        let name = axes::one_line(&words::quoted(plan, summary.variant));
        Some(format!("{name} {}", axes::value(plan, metric, *median)))
    };
    let medians: Vec<String> = source.analysis.variants.iter().filter_map(of).collect();
    if !medians.is_empty() {
        text.push_str(&format!(" Medians: {}.", axes::some_of(&medians, 6)));
    }
    text
}
