//! From an analysis to charts.
//!
//! - [`of`]: one chart; [`all`]: every chart a run has something for; [`across`]: several runs beside each other.
//! - One module per kind: `forest`, `latency`, `trials`, `costs`, `growth`, `factors`, `first_calls`; `across` for several runs.
//!
//! A chart is `None` where it would show nothing. What is drawn was computed in [`crate::analysis`]; sentences are those of
//! [`crate::report::words`]. Trials are looked at once for all charts of a run, because decoding thousands of
//! histograms is what takes the time.

mod across;
mod axes;
mod costs;
mod factors;
mod first_calls;
mod forest;
mod growth;
mod latency;
mod trials;

pub use across::across;

use std::cell::OnceCell;

use super::{Chart, ChartKind, Clock};
use crate::analysis::Analysis;
use crate::analysis::per_trial::{self, Seen};
use crate::model::{Metric, Plan, Run};

/// One chart of a run; `None` where the run has nothing for it.
#[must_use]
pub fn of(kind: ChartKind, run: &Run, analysis: &Analysis) -> Option<Chart> {
    Source::new(run, analysis).chart(kind)
}

/// Every chart that a run has something for, in the order a reader wants them.
#[must_use]
pub fn all(run: &Run, analysis: &Analysis) -> Vec<Chart> {
    let source = Source::new(run, analysis);
    kinds(&source).into_iter().filter_map(|kind| source.chart(kind)).collect()
}

/// A run, and what its trials show once somebody asks.
struct Source<'a> {
    run: &'a Run,
    analysis: &'a Analysis,
    seen: OnceCell<Seen<'a>>,
}

impl<'a> Source<'a> {
    fn new(run: &'a Run, analysis: &'a Analysis) -> Source<'a> {
        Source { run, analysis, seen: OnceCell::new() }
    }

    fn plan(&self) -> &'a Plan {
        &self.run.header.plan
    }

    fn seen(&self) -> &Seen<'a> {
        self.seen.get_or_init(|| per_trial::trials(self.run))
    }

    fn chart(&self, kind: ChartKind) -> Option<Chart> {
        match kind {
            ChartKind::Forest => forest::chart(self),
            ChartKind::Quantiles(clock) => latency::quantiles(self, clock),
            ChartKind::Ecdf(clock) => latency::ecdf(self, clock),
            ChartKind::Trials(metric) => trials::chart(self, metric),
            ChartKind::Costs => costs::chart(self),
            ChartKind::Growth(metric) => growth::chart(self, metric),
            ChartKind::Factors(metric) => factors::chart(self, metric),
            ChartKind::FirstCalls => first_calls::chart(self),
        }
    }
}

/// Deciding metrics first, then the ones a reader asks for next; each once.
fn metrics(plan: &Plan) -> Vec<Metric> {
    let mut metrics = plan.judge.decide.clone();
    for metric in [Metric::Throughput, Metric::LatencyP50, Metric::LatencyP99] {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    metrics
}

fn kinds(source: &Source<'_>) -> Vec<ChartKind> {
    let plan = source.plan();
    let mut kinds = vec![ChartKind::Forest];
    kinds.extend([Clock::Response, Clock::Service].map(ChartKind::Quantiles));
    kinds.extend([Clock::Response, Clock::Service].map(ChartKind::Ecdf));
    // A command has one time per trial: its throughput is the same figure upside down.
    let commands = plan.system == "commands";
    let shown = |metric: &Metric| !commands || plan.judge.decide.contains(metric);
    kinds.extend(metrics(plan).into_iter().filter(shown).map(ChartKind::Trials));
    kinds.push(ChartKind::Costs);
    kinds.extend(metrics(plan).into_iter().filter(shown).map(ChartKind::Growth));
    kinds.extend(plan.judge.decide.iter().copied().map(ChartKind::Factors));
    kinds.push(ChartKind::FirstCalls);
    kinds
}

/// With a capital first letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
