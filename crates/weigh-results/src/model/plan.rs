//! What was going to be done: enough to judge and report a run without its experiment file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Metric;

/// The resolved plan of a run. Nothing has been started when it exists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's name: `postgres/durability`, a file's stem, or `commands`.
    pub experiment: String,
    /// The question in a sentence; the first line of every report.
    pub question: String,
    /// The system's name (`postgres`, `sqlite`, `commands`).
    pub system: String,
    /// Seed of every random choice: orders and generated data.
    pub seed: u64,
    /// The variants; index is identity everywhere else. At least two, at most 64.
    pub variants: Vec<VariantPlan>,
    /// Index of the baseline in `variants`.
    pub baseline: usize,
    /// How a verdict is reached.
    pub judge: JudgeRule,
    /// Measured part of a trial, seconds.
    pub measure_s: f64,
    /// Warm-up of a trial before the pilot has been seen, seconds.
    pub settle_s: f64,
    /// A trial is so many operations, from the first one on, instead of a time; neither `measure_s` nor `settle_s` counts then.
    #[serde(default)]
    pub operations: Option<u64>,
    /// Whether the debt is drained (and timed) after every trial.
    pub drain: bool,
    /// One line about the load for the report's head (`1-row INSERT · 4 clients`).
    pub load_summary: String,
    /// What `ops` of a window count, where operations count for several items (`row`); `None`: operations.
    #[serde(default)]
    pub unit: Option<String>,
    /// The system runs inside the client's own threads (SQLite, commands): a busy client is no doubt.
    #[serde(default)]
    pub in_process: bool,
    /// Which counters the system wants to see as columns of the table, per operation.
    pub columns: Vec<Column>,
    /// Figures the field has seen, to compare shapes with: (variant, text).
    #[serde(default)]
    pub field_figures: BTreeMap<String, String>,
}

/// One variant: a combination of levels under a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantPlan {
    /// Unique name as printed.
    pub name: String,
    /// Factor key to level, as text (`settings.synchronous_commit` → `off`).
    pub levels: BTreeMap<String, String>,
}

/// How a verdict is reached (`docs/methods.md`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeRule {
    /// Metrics that count for the verdict; alpha is shared among variants × these.
    pub decide: Vec<Metric>,
    /// The relative difference that matters, e.g. 0.02.
    pub difference: f64,
    /// Probability of any wrong verdict in the run, e.g. 0.05.
    pub alpha: f64,
    /// What is asked of a *different* verdict.
    pub goal: Goal,
    /// Time for the whole run, seconds, start-up included.
    pub budget_s: f64,
    /// Variants that are decided go on being measured: what factors do together needs every variant in every round.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub factorial: bool,
}

/// What is asked of a *different* verdict before measuring stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Half-width at most max(difference, 15 % of the effect).
    Size,
    /// The direction is enough.
    Sign,
}

/// What the unit of replication is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replication {
    /// Variants are toggled inside one running instance (or have no instance): the unit is the round.
    Round,
    /// Every variant has its own instance, restarted between epochs: the unit is the epoch.
    Epoch,
}

/// A counter shown as a per-operation column of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Heading, without `/op`.
    pub heading: String,
    /// Counter key; the unit is its last word (`_us`, `_bytes`, else a count).
    pub counter: String,
}
