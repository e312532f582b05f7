//! Which plans are sweeps, and which variants belong to one curve.

use super::*;
use crate::model::VariantPlan;

fn plan(variants: &[(&str, &[(&str, &str)])]) -> Plan {
    let variant = |(name, levels): &(&str, &[(&str, &str)])| VariantPlan {
        name: (*name).to_owned(),
        levels: levels.iter().map(|(key, level)| ((*key).to_owned(), (*level).to_owned())).collect(),
    };
    let mut plan: Plan = serde_json::from_value(serde_json::json!({
        "experiment": "e", "question": "q", "system": "s", "seed": 1, "variants": [], "baseline": 0,
        "judge": {"decide": ["throughput"], "difference": 0.02, "alpha": 0.05, "goal": "size", "budget_s": 1.0},
        "measure_s": 1.0, "settle_s": 0.1, "drain": true, "load_summary": "", "columns": [],
    }))
    .unwrap();
    plan.variants = variants.iter().map(variant).collect();
    plan
}

#[test]
fn one_numeric_factor_with_three_levels_is_a_sweep() {
    let clients = plan(&[
        ("c=8", &[("load.clients", "8")]),
        ("c=1", &[("load.clients", "1")]),
        ("c=2", &[("load.clients", "2")]),
    ]);
    assert_eq!(sweep_factor(&clients), Some(("load.clients", Dimension::Number)));
    let found = groups(&clients, "load.clients");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].members, [(1.0, 1), (2.0, 2), (8.0, 0)]);
    assert!(found[0].fixed.is_empty() && found[0].common.is_none());
    let two = plan(&[("a", &[("k", "1")]), ("b", &[("k", "2")])]);
    assert_eq!(sweep_factor(&two), None);
    let mixed =
        plan(&[("a", &[("k", "1")]), ("b", &[("k", "2MB")]), ("c", &[("k", "3")]), ("d", &[("k", "4")])]);
    assert_eq!(sweep_factor(&mixed), None, "levels of two dimensions have no order");
    let of = |version| [("system.version", version)];
    let (old, newer, new) = (of("14"), of("16"), of("18"));
    let versions = plan(&[("14", &old), ("16", &newer), ("18", &new)]);
    assert_eq!(sweep_factor(&versions), None, "a version is a name");
    let both: Vec<String> = (1..=3).map(|level| level.to_string()).collect();
    let levels: Vec<[(&str, &str); 2]> =
        both.iter().map(|level| [("k", level.as_str()), ("l", level.as_str())]).collect();
    let both = plan(&[("a", &levels[0]), ("b", &levels[1]), ("c", &levels[2])]);
    assert_eq!(sweep_factor(&both), None, "nobody could say which of the two it was");
}

#[test]
fn other_factors_make_curves_of_their_own() {
    let texts: Vec<(String, String)> = ["WAL", "DELETE"]
        .iter()
        .flat_map(|mode| [1, 2, 4].map(|n| ((*mode).to_owned(), n.to_string())))
        .collect();
    let levels: Vec<[(&str, &str); 3]> = texts
        .iter()
        .map(|(mode, n)| {
            [("settings.journal_mode", mode.as_str()), ("load.clients", n.as_str()), ("same", "x")]
        })
        .collect();
    let variants: Vec<(&str, &[(&str, &str)])> = levels.iter().map(|levels| ("v", &levels[..])).collect();
    let found = groups(&plan(&variants), "load.clients");
    assert_eq!(found.len(), 2);
    let fixed: Vec<String> = found.iter().map(|group| format!("{:?}", group.fixed)).collect();
    assert_eq!(fixed, [r#"{"settings.journal_mode": "WAL"}"#, r#"{"settings.journal_mode": "DELETE"}"#]);
}

#[test]
fn two_commands_with_the_same_levels_are_two_curves() {
    let names = ["gzip -1 <f", "gzip -5 <f", "gzip -9 <f", "xz -1 <f", "xz -5 <f", "xz -9 <f"];
    let levels: Vec<[(&str, &str); 2]> = names
        .iter()
        .zip(["1", "5", "9"].into_iter().cycle())
        .map(|(name, n)| [("command", *name), ("vars.n", n)])
        .collect();
    let variants: Vec<(&str, &[(&str, &str)])> =
        names.iter().zip(&levels).map(|(name, levels)| (*name, &levels[..])).collect();
    let found = groups(&plan(&variants), "vars.n");
    let common: Vec<&str> = found.iter().filter_map(|group| group.common.as_deref()).collect();
    assert_eq!(common, ["gzip -… <f", "xz -… <f"]);
    assert!(found.iter().all(|group| group.members.len() == 3));
}

#[test]
fn of_two_crossed_sweeps_the_longer_one_is_the_axis() {
    let texts: Vec<(String, String)> = [1, 8, 64]
        .iter()
        .flat_map(|n| [10, 100, 1000, 10_000].map(|m| (n.to_string(), m.to_string())))
        .collect();
    let levels: Vec<[(&str, &str); 2]> =
        texts.iter().map(|(n, m)| [("load.clients", n.as_str()), ("vars.rows", m.as_str())]).collect();
    let variants: Vec<(&str, &[(&str, &str)])> = levels.iter().map(|levels| ("v", &levels[..])).collect();
    let plan = plan(&variants);
    assert_eq!(sweep_factor(&plan), Some(("vars.rows", Dimension::Number)));
    let fixed: Vec<String> =
        groups(&plan, "vars.rows").iter().map(|group| format!("{:?}", group.fixed)).collect();
    assert_eq!(fixed.len(), 3);
    assert_eq!(fixed[1], r#"{"load.clients": "8"}"#);
}

#[test]
fn weights_that_add_up_are_one_share() {
    let weights = [("100", "0"), ("75", "25"), ("50", "50"), ("0", "100")];
    let levels: Vec<[(&str, &str); 3]> = weights
        .iter()
        .flat_map(|(read, write)| {
            ["14", "16"].map(|version| {
                [
                    ("operations.read.weight", *read),
                    ("operations.write.weight", *write),
                    ("system.version", version),
                ]
            })
        })
        .collect();
    let variants: Vec<(&str, &[(&str, &str)])> = levels.iter().map(|levels| ("v", &levels[..])).collect();
    let of = plan(&variants);
    assert_eq!(sweep_factor(&of), Some(("operations.write.weight", Dimension::Share)));
    let found = groups(&of, "operations.write.weight");
    assert_eq!(found.len(), 2, "one curve per version");
    assert_eq!(
        found[0].members.iter().map(|(value, _)| *value).collect::<Vec<_>>(),
        [0.0, 25.0, 50.0, 100.0]
    );
    assert_eq!(short("operations.write.weight"), "write.weight");
    // Weights that do not add up to the same are two sweeps that nobody can tell apart.
    let levels: Vec<[(&str, &str); 2]> = [("1", "1"), ("2", "2"), ("3", "3")]
        .iter()
        .map(|(read, write)| [("operations.read.weight", *read), ("operations.write.weight", *write)])
        .collect();
    let variants: Vec<(&str, &[(&str, &str)])> = levels.iter().map(|levels| ("v", &levels[..])).collect();
    assert_eq!(sweep_factor(&plan(&variants)), None);
}
