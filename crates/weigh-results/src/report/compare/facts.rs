//! What two runs have in common, in figures.

use weigh_stats::Interval;

use super::super::words;
use super::conditions;
use crate::analysis::{Analysis, VariantSummary};
use crate::doubt::{Doubt, DoubtKind};
use crate::model::{Metric, Run};

/// Conditions named in the doubt's evidence; the rest are counted.
const NAMED: usize = 6;

/// Two runs that share at least one variant by name.
#[derive(Clone, Debug)]
pub struct RunComparison<'a> {
    /// The first run and what can be said about it.
    pub first: (&'a Run, &'a Analysis),
    /// The second.
    pub second: (&'a Run, &'a Analysis),
    /// Variants of the same name, in the first run's order.
    pub variants: Vec<SideBySide>,
    /// How effects against each run's own baseline changed.
    pub effects: Vec<EffectChange>,
    /// Names that only one of the runs has.
    pub only_in_one: Vec<String>,
    /// Always there, always first: [`DoubtKind::MachineChanged`] with what is known to differ.
    pub doubts: Vec<Doubt>,
}

/// One variant's figure in both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct SideBySide {
    /// Its name.
    pub variant: String,
    /// The metric.
    pub metric: Metric,
    /// Median over the first run's trials.
    pub first: f64,
    /// Median over the second run's trials.
    pub second: f64,
}

impl SideBySide {
    /// Second / first: for orientation, never a verdict.
    pub fn ratio(&self) -> f64 {
        self.second / self.first
    }
}

/// A variant against its own run's baseline, in both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectChange {
    /// Its name.
    pub variant: String,
    /// The metric.
    pub metric: Metric,
    /// Log ratio to the baseline in the first run.
    pub first: Interval,
    /// Log ratio to the baseline in the second run.
    pub second: Interval,
    /// Second effect / first effect, log scale: half-widths of independent runs add in squares.
    pub change: Interval,
}

/// Why two runs cannot be put side by side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// No variant has the same name in both.
    #[error("the runs share no variant: `{first}` against `{second}`")]
    NothingShared {
        /// The first run's variants.
        first: String,
        /// The second run's variants.
        second: String,
    },
}

/// Puts two runs side by side.
pub fn compare<'a>(
    first: (&'a Run, &'a Analysis),
    second: (&'a Run, &'a Analysis),
) -> Result<RunComparison<'a>, CompareError> {
    let names = |run: &Run| run.header.plan.variants.iter().map(|of| of.name.clone()).collect::<Vec<_>>();
    let (ours, theirs) = (names(first.0), names(second.0));
    if !ours.iter().any(|name| theirs.contains(name)) {
        return Err(CompareError::NothingShared { first: ours.join(", "), second: theirs.join(", ") });
    }
    let only_in_one = ours
        .iter()
        .filter(|name| !theirs.contains(name))
        .chain(theirs.iter().filter(|name| !ours.contains(name)))
        .cloned()
        .collect();
    Ok(RunComparison {
        variants: side_by_side(first, second),
        effects: effects(first, second),
        only_in_one,
        doubts: vec![machine_changed(first.0, second.0)],
        first,
        second,
    })
}

/// The metrics worth a column: what decides in the first run, the median latency and the throughput.
fn metrics(run: &Run) -> Vec<Metric> {
    let mut wanted = run.header.plan.judge.decide.clone();
    wanted.extend(
        [Metric::Throughput, Metric::LatencyP50].into_iter().filter(|_| run.header.plan.system != "commands"),
    );
    let mut seen = Vec::new();
    wanted.retain(|metric| {
        !seen.contains(metric) && {
            seen.push(*metric);
            true
        }
    });
    wanted
}

fn summary_of<'a>((run, analysis): (&'a Run, &'a Analysis), name: &str) -> Option<&'a VariantSummary> {
    analysis.variants.iter().find(|summary| words::variant_name(&run.header.plan, summary.variant) == name)
}

fn side_by_side(first: (&Run, &Analysis), second: (&Run, &Analysis)) -> Vec<SideBySide> {
    let mut rows = Vec::new();
    for variant in &first.0.header.plan.variants {
        let (Some(one), Some(two)) = (summary_of(first, &variant.name), summary_of(second, &variant.name))
        else {
            continue;
        };
        for metric in metrics(first.0) {
            if let (Some(first), Some(second)) = (one.medians.get(&metric), two.medians.get(&metric)) {
                rows.push(SideBySide {
                    variant: variant.name.clone(),
                    metric,
                    first: *first,
                    second: *second,
                });
            }
        }
    }
    rows
}

/// Only where both runs judge against a baseline of the same name: otherwise the effects are of different things.
fn effects(first: (&Run, &Analysis), second: (&Run, &Analysis)) -> Vec<EffectChange> {
    let baseline = |run: &Run| words::variant_name(&run.header.plan, run.header.plan.baseline).to_owned();
    if baseline(first.0) != baseline(second.0) {
        return Vec::new();
    }
    let mut changes = Vec::new();
    for found in &first.1.comparisons {
        let name = words::variant_name(&first.0.header.plan, found.variant);
        let other = second.1.comparisons.iter().find(|other| {
            other.metric == found.metric && words::variant_name(&second.0.header.plan, other.variant) == name
        });
        let (Some(one), Some(two)) = (found.interval, other.and_then(|other| other.interval)) else {
            continue;
        };
        changes.push(EffectChange {
            variant: name.to_owned(),
            metric: found.metric,
            first: one,
            second: two,
            change: difference(&one, &two),
        });
    }
    changes
}

/// Second − first with the half-widths added in squares, each side on its own (intervals are not symmetric).
fn difference(first: &Interval, second: &Interval) -> Interval {
    let estimate = second.estimate - first.estimate;
    let below = (second.estimate - second.low).hypot(first.high - first.estimate);
    let above = (second.high - second.estimate).hypot(first.estimate - first.low);
    Interval { estimate, low: estimate - below, high: estimate + above }
}

fn machine_changed(first: &Run, second: &Run) -> Doubt {
    let found = conditions::differences(first, second);
    let when = format!("they ran at {} and {}", first.header.started_at, second.header.started_at);
    let evidence = if found.is_empty() {
        format!("nothing that was recorded differs, but {when}, not in turn")
    } else {
        let more = found.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
        format!("{}{rest}; {when}", found.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; "))
    };
    Doubt { kind: DoubtKind::MachineChanged, evidence, variants: Vec::new() }
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
}
