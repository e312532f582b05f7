//! A plan as text: what a run would do.

use super::layout::{Cell, Ink, Style, Table, TableColumn};
use super::{units, words};
use crate::model::{Goal, Plan};

/// What would be done, and that nothing has been.
pub fn render(plan: &Plan, style: &Style) -> String {
    let mut page = style.both_ends(&plan.question, &head(plan));
    page.push('\n');
    page.push_str(&variants(plan, style));
    page.push('\n');
    page.push_str(&style.paragraph("judge", Ink::Strong, &judge(plan)));
    page.push_str(&style.paragraph("round", Ink::Strong, &round(plan)));
    page.push_str(&style.paragraph("seed", Ink::Faint, &format!("{}; nothing was started.", plan.seed)));
    page
}

fn head(plan: &Plan) -> String {
    let system = Some(plan.system.as_str()).filter(|system| *system != "commands");
    system
        .into_iter()
        .chain([plan.load_summary.as_str()])
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(" · ")
}

fn variants(plan: &Plan, style: &Style) -> String {
    let levels = plan.variants.iter().map(|variant| {
        let levels: Vec<String> =
            variant.levels.iter().map(|(key, level)| format!("{key}={level}")).collect();
        Cell::new(levels.join("  "))
    });
    let roles = plan
        .variants
        .iter()
        .enumerate()
        .map(|(place, _)| Cell::inked(if place == plan.baseline { "baseline" } else { "" }, Ink::Faint));
    let names = plan.variants.iter().map(|variant| Cell::inked(variant.name.clone(), Ink::Strong));
    let column =
        |heading: &str, cells, priority| TableColumn { heading: heading.into(), cells, left: true, priority };
    let columns = vec![
        column("variant", names.collect(), None),
        column("", roles.collect(), Some(2)),
        column("levels", levels.collect(), Some(1)),
    ];
    Table { columns }.render(style).0
}

fn judge(plan: &Plan) -> String {
    let rule = &plan.judge;
    let metrics: Vec<&str> = rule.decide.iter().map(|metric| words::noun(*metric)).collect();
    let goal = match rule.goal {
        Goal::Size => "until its size is known",
        Goal::Sign => "until its direction is known",
    };
    format!(
        "by {}, {goal}; differences below {} count as the same; the chance of any wrong verdict is at most {}.",
        metrics.join(" and "),
        units::planned_percent(rule.difference),
        units::planned_percent(rule.alpha)
    )
}

/// `1 operation`, `10,000 operations`: what a trial is where it is not a time.
pub(super) fn operations_of(operations: u64) -> String {
    format!("{} operation{}", units::count(operations), if operations == 1 { "" } else { "s" })
}

fn round(plan: &Plan) -> String {
    // The baseline runs twice in every round.
    let trials = plan.variants.len() + 1;
    let drain = if plan.drain { ", then the debt is drained" } else { "" };
    let trial = if plan.system == "commands" && plan.measure_s == 0.0 {
        "one execution each".to_owned()
    } else if let Some(operations) = plan.operations {
        format!("{} each{drain}", operations_of(operations))
    } else {
        format!(
            "{} each after a warm-up of {}{drain}",
            units::planned(plan.measure_s),
            units::planned(plan.settle_s)
        )
    };
    format!(
        "{trials} trials in random order, the baseline twice; {trial}; at most {} in all.",
        units::elapsed(plan.judge.budget_s)
    )
}
