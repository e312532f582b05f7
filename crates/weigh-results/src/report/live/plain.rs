//! How it stands in one line, where nothing can be redrawn.

use super::super::{units, words};
use super::fold::Live;
use super::standing::{Standing, at_the_look};
use crate::doubt::Doubt;
use crate::model::Plan;

/// `round 8, 34 s of 5m00s, at most 4m26s left; against on: off 11.6x (11.2–12.0) different`
pub fn plain_line(live: &Live, elapsed_s: f64, budget_s: f64) -> String {
    let plan = &live.run().header.plan;
    let (rounds, set_aside) = live.rounds();
    let so_far = format!(
        "round {}, {} of {}, {}",
        rounds + set_aside,
        units::elapsed(elapsed_s),
        units::elapsed(budget_s),
        live.ahead().text(elapsed_s, budget_s)
    );
    let looked: Vec<String> =
        at_the_look(live).iter().filter(|standing| standing.ratio.is_some()).map(Standing::line).collect();
    if looked.is_empty() {
        return so_far;
    }
    format!("{so_far}; against {}: {}", words::quoted(plan, plan.baseline), looked.join("; "))
}

/// A variant whose verdict is final: `final after 12 rounds: off 11.6x (11.2–12.0) different`
pub fn decided_line(live: &Live, variant: usize, rounds: u32) -> String {
    let name = words::quoted(&live.run().header.plan, variant);
    let own = at_the_look(live).into_iter().filter(|standing| standing.variant == name);
    let own: Vec<String> = own.map(|standing| standing.line()).collect();
    format!("final after {}: {}", words::plural(rounds, "round"), own.join("; "))
}

/// `doubt: other processes used the CPUs (off): they used 41 % of them.`
pub fn doubt_line(plan: &Plan, doubt: &Doubt) -> String {
    format!("doubt: {}", words::doubt(plan, doubt).0)
}
