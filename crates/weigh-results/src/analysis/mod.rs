//! From a stored run to what can be said about it: a pure function, no clock, no I/O.
//!
//! - [`analyse`] gives an [`Analysis`]: comparisons, the A/A check, summaries, costs, *because*, doubts.
//! - [`per_trial`]: every trial on its own, also those that do not count.
//! - [`judge::sequence`] is what the runner asks after every round: the same code, the same data,
//!   so that what stopped a run is what the report shows.
//!
//! The methods are in `docs/methods.md`; the formulas are in `weigh-stats`. Nothing here decides
//! anything by looking at which variant would win.

pub mod because;
mod checks;
mod costs;
mod doubts;
pub mod factors;
pub mod first_calls;
pub mod growth;
pub mod judge;
pub mod per_trial;
mod rounds;
mod schedule;
mod summary;
#[cfg(test)]
mod tests;

pub use because::Because;
pub use checks::{AaCheck, AaOutcome, SelfChecks};
pub use costs::CostPerOp;
pub use factors::Factors;
pub use first_calls::FirstCalls;
pub use growth::Growth;
pub use judge::Comparison;
pub(crate) use rounds::median;
pub use rounds::{Rounds, warm_up_fit};
pub use summary::{Information, VariantSummary};

use crate::doubt::{Doubt, DoubtKind};
use crate::model::Run;

/// Everything that can be said about a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Complete rounds of the sequence that counts, those set aside excluded.
    pub rounds: u32,
    /// Complete rounds set aside by the rule on interference.
    pub rounds_set_aside: u32,
    /// Units of replication: rounds, or complete epochs.
    pub units: u32,
    /// Units that fit in the budget, once known.
    pub horizon: Option<u32>,
    /// One per variant other than the baseline and decision metric, in plan order.
    pub comparisons: Vec<Comparison>,
    /// One per decision metric.
    pub aa: Vec<AaCheck>,
    /// Carry-over, halves, drift.
    pub self_checks: SelfChecks,
    /// One per variant, in plan order.
    pub variants: Vec<VariantSummary>,
    /// What explains the differences, largest first, per variant.
    pub because: Vec<Because>,
    /// How the metrics grow along an ordered numeric factor, if the plan sweeps one.
    pub growth: Option<Growth>,
    /// Which settings make the difference, if the variants are every combination of two or more factors.
    pub factors: Option<Factors>,
    /// Every doubt: the runner's and those visible in the data.
    pub doubts: Vec<Doubt>,
    /// The doubt that withholds the verdict, if one does.
    pub verdict_withheld: Option<DoubtKind>,
    /// Wall-clock time of a round, seconds (median of complete rounds).
    pub round_s: Option<f64>,
}

/// Says everything that can be said about a run, complete or not.
pub fn analyse(run: &Run) -> Analysis {
    let rounds = Rounds::of(run);
    let comparisons = judge::sequence(run, &rounds);
    let aa = checks::aa(run, &rounds);
    let self_checks = checks::self_checks(run, &rounds);
    let variants = summary::summaries(run, &rounds);
    let because = because::because(run, &rounds, &variants);
    let growth = growth::growth(run, &rounds, &variants);
    let factors = factors::factors(run, &rounds);
    let mut doubts = run.doubts.clone();
    doubts.extend(doubts::visible(run, &rounds, &comparisons, &aa, &self_checks, &variants));
    doubts.sort_by_key(|doubt| doubt.kind);
    let verdict_withheld = doubts.iter().map(|doubt| doubt.kind).find(|kind| kind.withholds_verdict());
    Analysis {
        rounds: rounds.len(),
        rounds_set_aside: rounds.set_aside,
        units: rounds.units(),
        horizon: rounds.horizon,
        comparisons,
        aa,
        self_checks,
        variants,
        because,
        growth,
        factors,
        doubts,
        verdict_withheld,
        round_s: rounds.round_s,
    }
}
