//! Which settings make the difference: plans whose variants are every combination of two or more factors.
//!
//! - [`Factors`]: the [`Factor`]s with their levels, and a [`FactorTable`] per deciding metric.
//! - [`factors`]: finds them in a plan. Variants that were named one by one count as well, if they happen to be a full product.
//!
//! Only rounds with every variant in them are used: the design is balanced there, and only there. Variants that are decided leave
//! the rounds that follow, unless the experiment says `factorial = true`. The method is in `docs/methods.md`, the formulas in
//! [`weigh_stats::factorial`]. Nothing here decides a verdict.

use std::collections::BTreeSet;

use weigh_stats::factorial::{self, Decomposition, Factorial, MOST_FACTORS};

use super::costs::INFORMATION_P;
use super::growth::short;
use super::judge;
use super::rounds::{Observation, Rounds, log_value};
use crate::model::{Metric, Plan, Run};

/// The level that holds a command's text: another one for every variant.
const COMMAND: &str = "command";
/// The level of a variant that does not name the factor.
pub const NOT_SET: &str = "(not set)";

/// The factors of a run and what they explain.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// In the order of their keys.
    pub factors: Vec<Factor>,
    /// One per deciding metric; missing where too few rounds have every variant.
    pub tables: Vec<FactorTable>,
    /// Rounds that have every variant, by the first deciding metric.
    pub rounds: u32,
}

/// One factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Its key (`settings.synchronous_commit`).
    pub key: String,
    /// Other keys that change with it and cannot be told from it.
    pub with: Vec<String>,
    /// Its levels, in plan order.
    pub levels: Vec<String>,
    /// Which of them the baseline has.
    pub baseline: usize,
}

impl Factor {
    /// The end of its key: `synchronous_commit`.
    #[must_use]
    pub fn name(&self) -> &str {
        short(&self.key)
    }
}

/// One metric taken apart. Indices of factors and levels are those of [`Factors::factors`].
#[derive(Clone, Debug, PartialEq)]
pub struct FactorTable {
    /// The metric.
    pub metric: Metric,
    /// Shares, effects and interactions.
    pub found: Decomposition,
}

/// The factors of a run; `None` where its variants are no full product of two or more.
pub(crate) fn factors(run: &Run, rounds: &Rounds<'_>) -> Option<Factors> {
    let plan = &run.header.plan;
    let design = Design::of(plan)?;
    let baseline: Vec<usize> = design.factors.iter().map(|factor| factor.baseline).collect();
    let mut tables = Vec::new();
    let mut complete = None;
    for metric in &plan.judge.decide {
        let data = design.data(&rounds.observations(*metric))?;
        complete = complete.or(u32::try_from(data.rounds()).ok());
        let families = plan.judge.decide.len();
        let found = factorial::decompose(&data, &baseline, INFORMATION_P, families);
        let enough = |found: &Decomposition| found.units >= judge::first_look(rounds.replication) as usize;
        tables.extend(found.filter(enough).map(|found| FactorTable { metric: *metric, found }));
    }
    Some(Factors { factors: design.factors, tables, rounds: complete.unwrap_or(0) })
}

/// A full product: the factors, and the variant of every cell, the last factor fastest.
struct Design {
    factors: Vec<Factor>,
    variants: Vec<usize>,
}

impl Design {
    fn of(plan: &Plan) -> Option<Design> {
        let factors = found_in(plan);
        let cells: usize = factors.iter().map(|factor| factor.levels.len()).product();
        if !(2..=MOST_FACTORS).contains(&factors.len()) || cells != plan.variants.len() {
            return None;
        }
        let mut variants = vec![None; cells];
        for variant in 0..plan.variants.len() {
            let place = |cell: usize, factor: &Factor| {
                let level =
                    factor.levels.iter().position(|level| level == of_variant(plan, variant, &factor.key))?;
                Some(cell * factor.levels.len() + level)
            };
            let cell = factors.iter().try_fold(0, place)?;
            variants[cell] = Some(variant);
        }
        // Two variants with the same levels leave another cell empty.
        let variants: Option<Vec<usize>> = variants.into_iter().collect();
        Some(Design { factors, variants: variants? })
    }

    fn data(&self, observations: &[Observation]) -> Option<Factorial> {
        let counts: Vec<usize> = self.factors.iter().map(|factor| factor.levels.len()).collect();
        let mut data = Factorial::new(&counts)?;
        for observation in observations {
            let cells: Option<Vec<f64>> =
                self.variants.iter().map(|variant| log_value(observation, *variant)).collect();
            if let Some(cells) = cells {
                data.push_round(observation.cluster, &cells);
            }
        }
        Some(data)
    }
}

fn of_variant<'a>(plan: &'a Plan, variant: usize, key: &str) -> &'a str {
    plan.variants[variant].levels.get(key).map_or(NOT_SET, String::as_str)
}

/// Every key with more than one level; keys that change together are one factor, called by the one whose levels are shortest.
fn found_in(plan: &Plan) -> Vec<Factor> {
    let keys: BTreeSet<&String> = plan.variants.iter().flat_map(|variant| variant.levels.keys()).collect();
    let mut found: Vec<(Vec<usize>, Factor)> = Vec::new();
    for key in keys.into_iter().filter(|key| *key != COMMAND) {
        let mut levels: Vec<String> = Vec::new();
        let pattern: Vec<usize> = (0..plan.variants.len())
            .map(|variant| {
                let level = of_variant(plan, variant, key);
                levels.iter().position(|known| known == level).unwrap_or_else(|| {
                    levels.push(level.to_owned());
                    levels.len() - 1
                })
            })
            .collect();
        if levels.len() < 2 {
            continue;
        }
        let factor = Factor { key: key.clone(), with: Vec::new(), baseline: pattern[plan.baseline], levels };
        match found.iter_mut().find(|(known, _)| *known == pattern) {
            Some((_, known)) => join(known, factor),
            None => found.push((pattern, factor)),
        }
    }
    found.into_iter().map(|(_, factor)| factor).collect()
}

fn join(known: &mut Factor, mut other: Factor) {
    let longest = |factor: &Factor| factor.levels.iter().map(String::len).max().unwrap_or(0);
    if longest(&other) < longest(known) {
        std::mem::swap(known, &mut other);
        known.with = std::mem::take(&mut other.with);
    }
    known.with.push(other.key);
    known.with.sort();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::VariantPlan;

    fn plan(variants: &[&[(&str, &str)]]) -> Plan {
        let mut plan: Plan = serde_json::from_value(serde_json::json!({
            "experiment": "e", "question": "q", "system": "s", "seed": 1, "variants": [], "baseline": 0,
            "judge": {"decide": ["throughput"], "difference": 0.02, "alpha": 0.05, "goal": "size", "budget_s": 1.0},
            "measure_s": 1.0, "settle_s": 0.1, "drain": true, "load_summary": "", "columns": [],
        }))
        .unwrap();
        let variant = |(index, levels): (usize, &&[(&str, &str)])| VariantPlan {
            name: format!("v{index}"),
            levels: levels.iter().map(|(key, level)| ((*key).to_owned(), (*level).to_owned())).collect(),
        };
        plan.variants = variants.iter().enumerate().map(variant).collect();
        plan
    }

    #[test]
    fn every_combination_is_a_design_whatever_the_order() {
        let mut of = plan(&[
            &[("a", "1"), ("b", "y"), ("same", "s")],
            &[("a", "2"), ("b", "x"), ("same", "s")],
            &[("a", "1"), ("b", "x"), ("same", "s")],
            &[("a", "2"), ("b", "y"), ("same", "s")],
        ]);
        of.baseline = 1;
        let design = Design::of(&of).unwrap();
        let factors: Vec<(&str, usize)> =
            design.factors.iter().map(|factor| (factor.key.as_str(), factor.baseline)).collect();
        assert_eq!(factors, [("a", 1), ("b", 1)]);
        assert_eq!(design.factors[1].levels, ["y", "x"]);
        assert_eq!(design.variants, [0, 2, 3, 1]);
    }

    #[test]
    fn variants_named_one_by_one_count_if_they_are_a_product() {
        let of = plan(&[&[], &[("a", "on")], &[("b", "on")], &[("a", "on"), ("b", "on")]]);
        let design = Design::of(&of).unwrap();
        assert_eq!(design.factors[0].levels, [NOT_SET, "on"]);
        assert!(
            Design::of(&plan(&[&[], &[("a", "on")], &[("b", "on")]])).is_none(),
            "both together are missing"
        );
        assert!(Design::of(&plan(&[&[("a", "1")], &[("a", "2")], &[("a", "3")]])).is_none(), "one factor");
    }

    #[test]
    fn keys_that_change_together_are_one_factor() {
        let sql = ("operations.q.sql", "SELECT something long");
        let other = ("operations.q.sql", "SELECT something else");
        let of = plan(&[
            &[sql, ("vars.kind", "one"), ("c", "1")],
            &[sql, ("vars.kind", "one"), ("c", "2")],
            &[other, ("vars.kind", "two"), ("c", "1")],
            &[other, ("vars.kind", "two"), ("c", "2")],
        ]);
        let design = Design::of(&of).unwrap();
        assert_eq!(design.factors.len(), 2);
        assert_eq!(
            (design.factors[1].name(), &design.factors[1].with[..]),
            ("kind", &["operations.q.sql".to_owned()][..])
        );
    }

    #[test]
    fn two_variants_with_the_same_levels_are_no_design() {
        let of = plan(&[
            &[("a", "1"), ("b", "1")],
            &[("a", "2"), ("b", "2")],
            &[("a", "1"), ("b", "2")],
            &[("a", "1"), ("b", "2")],
        ]);
        assert!(Design::of(&of).is_none());
    }
}
