//! `--dry-run`: the plan, and nothing started.

use serde_json::json;
use weigh_lab::plan::ResolvedPlan;
use weigh_results::report::plan;

use crate::exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// Prints the plan.
pub(super) fn show(resolved: &ResolvedPlan, as_json: bool, screen: &Screen) -> Result<u8, Failure> {
    if as_json {
        screen.print_json(&json!({
            "report": "plan",
            "report_version": weigh_results::report::json::REPORT_VERSION,
            "plan": resolved.plan,
            "experiment_toml": resolved.experiment.to_toml(),
        }))?;
    } else {
        screen.print(&plan::render(&resolved.plan, &screen.style))?;
    }
    Ok(exit::OK)
}
