//! From an analysis to charts.

use super::{Chart, ChartKind};
use crate::analysis::Analysis;
use crate::model::Run;

/// One chart of a run; `None` where the run has nothing for it.
#[must_use]
pub fn of(_kind: ChartKind, _run: &Run, _analysis: &Analysis) -> Option<Chart> {
    None
}

/// Every chart that a run has something for, in the order a reader wants them.
#[must_use]
pub fn all(_run: &Run, _analysis: &Analysis) -> Vec<Chart> {
    Vec::new()
}

/// Charts across several runs: each variant against the baseline of its own run.
#[must_use]
pub fn across(_runs: &[(&Run, &Analysis)]) -> Vec<Chart> {
    Vec::new()
}
