//! What runs have in common, in figures.

use weigh_stats::Interval;

use super::super::words;
use super::conditions;
use crate::analysis::{Analysis, VariantSummary};
use crate::doubt::Doubt;
use crate::model::{Metric, Run};

/// Runs of which at least two share a variant by name.
#[derive(Clone, Debug)]
pub struct RunComparison<'a> {
    /// The runs and what can be said about them, in the order asked for.
    pub runs: Vec<(&'a Run, &'a Analysis)>,
    /// Variants of the same name, in the order of the runs.
    pub variants: Vec<SideBySide>,
    /// How effects against each run's own baseline changed.
    pub effects: Vec<Effect>,
    /// Names that only one of the runs has.
    pub only_in_one: Vec<String>,
    /// Always there, always first: [`MachineChanged`](crate::doubt::DoubtKind::MachineChanged) with what is known
    /// to differ.
    pub doubts: Vec<Doubt>,
}

/// One variant's figure in every run.
#[derive(Clone, Debug, PartialEq)]
pub struct SideBySide {
    /// Its name.
    pub variant: String,
    /// The metric.
    pub metric: Metric,
    /// Median over each run's trials; `None` where a run does not know it.
    pub values: Vec<Option<f64>>,
}

impl SideBySide {
    /// The figure of the run at `place` over the first run's: for orientation, never a verdict.
    pub fn ratio(&self, place: usize) -> Option<f64> {
        Some(self.values.get(place).copied()?? / self.values.first().copied()??)
    }
}

/// A variant against its own run's baseline, in every run.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Its name.
    pub variant: String,
    /// The metric.
    pub metric: Metric,
    /// Log ratio to the baseline in each run; `None` where a run does not know it.
    pub intervals: Vec<Option<Interval>>,
    /// The effect over that in the first run that knows it, log scale: half-widths of independent runs add in squares.
    /// `None` for that first run itself.
    pub changes: Vec<Option<Interval>>,
}

impl Effect {
    /// Whether every run's effect agrees with the first's.
    pub fn agrees(&self) -> bool {
        self.changes.iter().flatten().all(|change| change.contains(0.0))
    }
}

/// Why runs cannot be put side by side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// No variant has the same name in two of them.
    #[error("the runs share no variant: {}", told(.variants))]
    NothingShared {
        /// The variants of each run.
        variants: Vec<String>,
    },
}

/// `` `a, b` against `c, d` ``
fn told(variants: &[String]) -> String {
    variants.iter().map(|names| format!("`{names}`")).collect::<Vec<_>>().join(" against ")
}

/// Puts runs side by side.
///
/// # Errors
///
/// No two of the runs have a variant of the same name.
pub fn compare<'a>(runs: &[(&'a Run, &'a Analysis)]) -> Result<RunComparison<'a>, CompareError> {
    let names = names(runs);
    let (shared, only_in_one): (Vec<String>, Vec<String>) = names
        .into_iter()
        .partition(|name| runs.iter().filter(|of| summary_of(of, name).is_some()).count() > 1);
    if shared.is_empty() {
        let of = |(run, _): &(&Run, &Analysis)| {
            run.header
                .plan
                .variants
                .iter()
                .map(|variant| variant.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        return Err(CompareError::NothingShared { variants: runs.iter().map(of).collect() });
    }
    let plain: Vec<&Run> = runs.iter().map(|(run, _)| *run).collect();
    Ok(RunComparison {
        variants: figures(runs),
        effects: effects(runs),
        only_in_one,
        doubts: vec![conditions::machine_changed(&plain)],
        runs: runs.to_vec(),
    })
}

/// Every variant's name once, in the order of the runs.
fn names(runs: &[(&Run, &Analysis)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for variant in runs.iter().flat_map(|(run, _)| &run.header.plan.variants) {
        if !names.contains(&variant.name) {
            names.push(variant.name.clone());
        }
    }
    names
}

/// The metrics worth a column: what decides in any of the runs, the median latency and the throughput.
fn metrics(runs: &[(&Run, &Analysis)]) -> Vec<Metric> {
    let mut wanted: Vec<Metric> = Vec::new();
    let decide = runs.iter().flat_map(|(run, _)| run.header.plan.judge.decide.iter().copied());
    let commands = runs.iter().all(|(run, _)| run.header.plan.system == "commands");
    for metric in decide.chain([Metric::Throughput, Metric::LatencyP50].into_iter().filter(|_| !commands)) {
        if !wanted.contains(&metric) {
            wanted.push(metric);
        }
    }
    wanted
}

fn summary_of<'a>((run, analysis): &(&Run, &'a Analysis), name: &str) -> Option<&'a VariantSummary> {
    analysis.variants.iter().find(|summary| words::variant_name(&run.header.plan, summary.variant) == name)
}

/// Medians of the variants that at least two of the runs have.
pub fn figures(runs: &[(&Run, &Analysis)]) -> Vec<SideBySide> {
    let mut rows = Vec::new();
    for name in names(runs) {
        for metric in metrics(runs) {
            let median = |of: &(&Run, &Analysis)| {
                summary_of(of, &name).and_then(|found| found.medians.get(&metric)).copied()
            };
            let values: Vec<Option<f64>> = runs.iter().map(median).collect();
            if values.iter().flatten().count() > 1 {
                rows.push(SideBySide { variant: name.clone(), metric, values });
            }
        }
    }
    rows
}

/// Only of runs that judge against a baseline of the first run's name: otherwise the effects are of different things.
fn effects(runs: &[(&Run, &Analysis)]) -> Vec<Effect> {
    let baseline = |run: &Run| words::variant_name(&run.header.plan, run.header.plan.baseline).to_owned();
    let Some(expected) = runs.first().map(|(run, _)| baseline(run)) else { return Vec::new() };
    let mut effects = Vec::new();
    for name in names(runs) {
        for metric in metrics(runs) {
            let interval = |(run, analysis): &(&Run, &Analysis)| {
                let of_name = |found: &&crate::analysis::Comparison| {
                    found.metric == metric && words::variant_name(&run.header.plan, found.variant) == name
                };
                analysis.comparisons.iter().find(of_name).filter(|_| baseline(run) == expected)?.interval
            };
            let intervals: Vec<Option<Interval>> = runs.iter().map(interval).collect();
            let Some(first) = intervals.iter().position(Option::is_some) else { continue };
            if intervals.iter().flatten().count() < 2 {
                continue;
            }
            let changes = changes(&intervals, first);
            effects.push(Effect { variant: name.clone(), metric, intervals, changes });
        }
    }
    effects
}

fn changes(intervals: &[Option<Interval>], first: usize) -> Vec<Option<Interval>> {
    let against = intervals[first];
    let change = |(place, interval): (usize, &Option<Interval>)| {
        let (against, own) = (against.as_ref()?, interval.as_ref()?);
        (place != first).then(|| difference(against, own))
    };
    intervals.iter().enumerate().map(change).collect()
}

/// Second − first with the half-widths added in squares, each side on its own (intervals are not symmetric).
fn difference(first: &Interval, second: &Interval) -> Interval {
    let estimate = second.estimate - first.estimate;
    let below = (second.estimate - second.low).hypot(first.high - first.estimate);
    let above = (second.high - second.estimate).hypot(first.estimate - first.low);
    Interval { estimate, low: estimate - below, high: estimate + above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_half_widths_add_in_squares() {
        let first = Interval { estimate: 1.0, low: 0.7, high: 1.4 };
        let second = Interval { estimate: 1.5, low: 1.2, high: 1.8 };
        let change = difference(&first, &second);
        assert!((change.estimate - 0.5).abs() < 1e-12);
        assert!((change.low - 0.0).abs() < 1e-12, "0.3 and 0.4 make 0.5 below: {}", change.low);
        assert!((change.high - (0.5 + 0.3_f64.hypot(0.3))).abs() < 1e-12);
    }

    #[test]
    fn every_run_is_compared_with_the_first_that_knows() {
        let interval = |estimate: f64| Some(Interval { estimate, low: estimate - 0.1, high: estimate + 0.1 });
        let changes = changes(&[None, interval(1.0), interval(1.5), None, interval(1.01)], 1);
        let known: Vec<bool> = changes.iter().map(Option::is_some).collect();
        assert_eq!(known, [false, false, true, false, true]);
        assert!((changes[2].unwrap().estimate - 0.5).abs() < 1e-12);
    }
}
