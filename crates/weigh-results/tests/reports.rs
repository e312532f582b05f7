//! Whole pages, as a reader sees them.

use weigh_results::analysis::{Analysis, analyse};
use weigh_results::model::{FinishReason, Run};
use weigh_results::report::{Style, compare, json, live, terminal};

use crate::builder::{Recipe, commands, durability};

fn analysed(recipe: &Recipe) -> (Run, Analysis) {
    let run = recipe.run();
    let analysis = analyse(&run);
    (run, analysis)
}

fn page(recipe: &Recipe, width: usize, colour: bool, unicode: bool) -> String {
    let (run, analysis) = analysed(recipe);
    terminal::render(&run, &analysis, &Style { width, colour, unicode })
}

/// Escape sequences made visible: a snapshot is read by people.
fn visible(text: &str) -> String {
    text.replace('\u{1b}', "␛")
}

#[test]
fn a_durability_run() {
    insta::assert_snapshot!("durability_140", page(&durability(), 140, false, true));
    insta::assert_snapshot!("durability_80", page(&durability(), 80, false, true));
    insta::assert_snapshot!("durability_80_ascii", page(&durability(), 80, false, false));
    insta::assert_snapshot!("durability_140_colour", visible(&page(&durability(), 140, true, true)));
    insta::assert_snapshot!("durability_80_colour", visible(&page(&durability(), 80, true, true)));
}

#[test]
fn two_commands() {
    insta::assert_snapshot!("commands_140", page(&commands(), 140, false, true));
    insta::assert_snapshot!("commands_80", page(&commands(), 80, false, true));
}

#[test]
fn a_failed_aa_check_withholds_every_verdict() {
    let recipe = Recipe { aa: 1.08, ..durability() };
    let page = page(&recipe, 100, false, true);
    assert!(page.contains("verdict  withheld, because the A/A check failed"), "{page}");
    assert!(!page.contains("faster than"), "{page}");
    insta::assert_snapshot!("aa_failed_100", page);
}

#[test]
fn errors_are_shown_and_never_dropped() {
    let mut recipe = durability();
    recipe.natures[1].failures = 30;
    let narrow = page(&recipe, 60, false, true);
    assert!(narrow.lines().any(|line| line.contains("errors") && line.contains("variant")), "{narrow}");
    assert!(narrow.contains("1,320"), "{narrow}");
    insta::assert_snapshot!("errors_100", page(&recipe, 100, false, true));
}

#[test]
fn a_noisy_run_is_undecided_and_says_what_more_time_would_bring() {
    let recipe = Recipe { noise: 0.3, rounds: 60, ..durability() };
    insta::assert_snapshot!("undecided_100", page(&recipe, 100, false, true));
}

#[test]
fn a_run_cut_short_is_a_readable_page() {
    for (rounds, name) in [(0, "cut_short_at_once"), (3, "cut_short_early"), (12, "cut_short_late")] {
        let recipe = Recipe { rounds, finish: Some(FinishReason::Interrupted), ..durability() };
        insta::assert_snapshot!(name, page(&recipe, 100, false, true));
    }
}

/// Whatever the width, lines stay within it unless a column that must stay is wider.
#[test]
fn lines_stay_within_the_width() {
    for width in [80, 100, 120, 160] {
        let text = page(&durability(), width, false, true);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn colour_never_carries_meaning_alone() {
    let plain = page(&durability(), 140, false, true);
    let mut coloured = page(&durability(), 140, true, true);
    while let Some(start) = coloured.find('\u{1b}') {
        let end = coloured[start..].find('m').unwrap() + start;
        coloured.replace_range(start..=end, "");
    }
    assert_eq!(coloured, plain);
}

#[test]
fn the_same_run_gives_the_same_page() {
    assert_eq!(page(&durability(), 100, true, true), page(&durability(), 100, true, true));
}

#[test]
fn json_holds_everything() {
    let (run, analysis) = analysed(&durability());
    let value = json::render(&run, &analysis);
    assert_eq!(value["report"], "run");
    assert_eq!(value["report_version"], 1);
    let off =
        value["comparisons"].as_array().unwrap().iter().find(|verdict| verdict["variant"] == "off").unwrap();
    assert_eq!(off["decision"], "different");
    assert_eq!(off["better"], true);
    let estimate = off["ratio"]["estimate"].as_f64().unwrap();
    assert!((11.0..12.2).contains(&estimate), "{estimate}");
    for key in ["plan", "host", "instances", "aa", "self_checks", "variants", "because", "doubts"] {
        assert!(!value[key].is_null(), "{key}");
    }
    let text = serde_json::to_string(&value["variants"][0]["medians"]).unwrap();
    assert!(text.contains("latency_p50"), "{text}");
    let rounded = rounded(value["comparisons"].clone());
    insta::assert_snapshot!("json_comparisons", serde_json::to_string_pretty(&rounded).unwrap());
}

/// Mathematical libraries differ in a float's last digits.
fn rounded(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Array(all) => all.into_iter().map(rounded).collect(),
        serde_json::Value::Object(all) => all.into_iter().map(|(key, value)| (key, rounded(value))).collect(),
        serde_json::Value::Number(number) if number.is_f64() => (number.as_f64().unwrap() * 1e6)
            .round()
            .mul_add(1e-6, 0.0)
            .to_string()
            .chars()
            .take(9)
            .collect::<String>()
            .into(),
        other => other,
    }
}

/// A run that says nothing yet must still be valid JSON: no NaN anywhere.
#[test]
fn json_of_an_empty_run_is_valid() {
    let (run, analysis) = analysed(&Recipe { rounds: 0, finish: None, ..durability() });
    let value = json::render(&run, &analysis);
    assert_eq!(value["rounds"], 0);
    assert!(value["comparisons"][0]["ratio"].is_null());
}

#[test]
fn live_standings_say_what_the_report_says() {
    let early = live::standings(&Recipe { rounds: 3, finish: None, ..durability() }.run());
    assert_eq!(early[0].line(), "off not looked at yet");
    let late = live::standings(&durability().run());
    assert!(late[0].line().starts_with("off 11."), "{}", late[0].line());
    assert_eq!(late[0].state, "different");
}

#[test]
fn two_runs_side_by_side_always_carry_the_doubt() {
    let (first, first_analysis) = analysed(&durability());
    let other = Recipe {
        run_id: "20261122-080000-postgres-durability-zzzz",
        hostname: "rack8",
        slower: 1.7,
        ..durability()
    };
    let (second, second_analysis) = analysed(&other);
    let pair = compare::compare(&[(&first, &first_analysis), (&second, &second_analysis)]).unwrap();
    let text = compare::render(&pair, &Style { width: 100, colour: false, unicode: true });
    insta::assert_snapshot!("compare_100", text);
    let value = compare::json(&pair);
    assert_eq!(value["doubts"][0]["kind"], "machine_changed");
    assert!(value["doubts"][0]["evidence"].as_str().unwrap().contains("rack8"));
    // The same run against itself: nothing differs, and the doubt is still there.
    let same = compare::compare(&[(&first, &first_analysis), (&first, &first_analysis)]).unwrap();
    assert!(same.doubts[0].evidence.starts_with("nothing that was recorded differs"));
    assert!(same.effects.iter().all(compare::Effect::agrees));
}

#[test]
fn runs_without_a_common_variant_do_not_compare() {
    let (first, first_analysis) = analysed(&durability());
    let (second, second_analysis) = analysed(&commands());
    let error = compare::compare(&[(&first, &first_analysis), (&second, &second_analysis)]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the runs share no variant: `on, off, local, remote_apply` against `gzip")
    );
}
