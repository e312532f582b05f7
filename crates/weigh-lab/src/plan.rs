//! Experiment + what the system can do → a resolved plan. Nothing is started here.

use std::collections::BTreeMap;

use weigh_load::generator::GeneratorSpec;
use weigh_results::model::Plan;

use crate::experiment::{Experiment, Level};

/// Everything decided, nothing started.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedPlan {
    /// What is stored.
    pub plan: Plan,
    /// The experiment it came from.
    pub experiment: Experiment,
    /// Per variant, in the order of [`Plan::variants`]: everything with `{vars}` replaced.
    pub variants: Vec<ResolvedVariant>,
}

/// One variant, with nothing left to substitute.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedVariant {
    /// Unique name.
    pub name: String,
    /// Settings this variant asks for, common ones included.
    pub settings: BTreeMap<String, Level>,
    /// Set-up statements.
    pub setup: Vec<String>,
    /// Operations with weight above 0.
    pub operations: Vec<ResolvedOperation>,
    /// Connections.
    pub clients: usize,
    /// Worker threads.
    pub threads: usize,
    /// Operations in flight per connection.
    pub pipeline: usize,
}

/// One operation, with nothing left to substitute.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedOperation {
    /// Name as reported.
    pub name: String,
    /// Relative frequency, at least 1.
    pub weight: u32,
    /// Statements; more than one run as one transaction.
    pub sql: Vec<String>,
    /// Parameters.
    pub parameters: Vec<GeneratorSpec>,
    /// Repetitions within one transaction, at least 1.
    pub repeat: u32,
}
