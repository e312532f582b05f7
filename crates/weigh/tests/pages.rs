//! Pages and pictures as files: where they go, what is said about it.

use crate::builder::{Recipe, commands, durability};
use crate::home::Home;

fn home() -> Home {
    let home = Home::new();
    home.keep(&durability());
    home.keep(&Recipe {
        run_id: "20261122-080000-postgres-durability-zzzz",
        hostname: "rack8",
        ..durability()
    });
    home
}

#[test]
fn a_page_goes_where_it_is_wanted() {
    let home = home();
    let said = home.run(&["show", "k3f9", "--html"]);
    let file = "weigh-20261121-214425-postgres-durability-k3f9.html";
    assert_eq!(
        (said.code, said.out.as_str(), said.err.trim()),
        (0, "", format!("written to {file}").as_str())
    );
    let page = std::fs::read_to_string(home.path().join(file)).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("off is 11.6 times faster than on"));
    assert_eq!(home.run(&["show", "k3f9", "--html", "-"]).ok(), page, "the same run, the same page");
    assert_eq!(home.run(&["show", "k3f9", "--html", "mine.html"]).code, 0);
    assert_eq!(std::fs::read_to_string(home.path().join("mine.html")).unwrap(), page);
    let error = home.run(&["show", "k3f9", "--html", "no/such/place.html"]).fails(1);
    assert!(error.contains("cannot write `no/such/place.html`"), "{error}");
}

#[test]
fn a_chart_is_asked_for_by_its_name() {
    let home = home();
    let forest = home.run(&["show", "k3f9", "--svg", "forest"]).ok();
    assert!(forest.trim_start().starts_with("<svg") && forest.trim_end().ends_with("</svg>"));
    // `trials` alone is by the metric that decides.
    assert_eq!(
        home.run(&["show", "k3f9", "--svg", "trials"]).ok(),
        home.run(&["show", "k3f9", "--svg", "trials-throughput"]).ok()
    );
    assert_eq!(home.run(&["show", "k3f9", "--svg", "costs", "costs.svg"]).code, 0);
    assert!(home.path().join("costs.svg").is_file());
    for unknown in ["pie", "quantiles-service"] {
        let error = home.run(&["show", "k3f9", "--svg", unknown]).fails(2);
        assert!(
            error.contains(&format!("no chart `{unknown}`")) && error.contains("forest, quantiles"),
            "{error}"
        );
    }
}

#[test]
fn several_runs_are_one_page() {
    let home = home();
    home.keep(&Recipe { run_id: "20261123-080000-postgres-durability-yyyy", slower: 1.3, ..durability() });
    let page = home.run(&["compare", "k3f9", "zzzz", "yyyy", "--html", "-"]).ok();
    assert!(page.contains("3 runs side by side") && page.contains("rack8"));
    let text = home.run(&["compare", "k3f9", "zzzz", "yyyy"]).ok();
    assert!(text.contains("in the third"), "{text}");
    home.keep(&commands());
    let error = home.run(&["compare", "k3f9", "x7ab"]).fails(2);
    assert!(error.contains("share no variant"), "{error}");
    home.run(&["compare", "k3f9"]).fails(2);
    home.run(&["show", "k3f9", "--html", "--json"]).fails(2);
}

/// The page is there when a run ends, and its path is told; JSON stays JSON.
#[test]
fn a_run_leaves_its_page() {
    let home = Home::new();
    let args =
        ["commands", "true", "sleep 0.03", "-q", "--budget", "20s", "--goal", "sign", "--difference", "20%"];
    let ran = home.run(&args);
    assert!([0, 4].contains(&ran.code), "{}{}", ran.out, ran.err);
    let told = ran.out.lines().find_map(|line| line.strip_prefix("page ")).unwrap().trim().to_owned();
    let path = told.replace("HOME", &home.path().display().to_string());
    let page = std::fs::read_to_string(path).unwrap();
    let again = home.path().join("again.html");
    assert_eq!(home.run(&["show", "last", "--html", again.to_str().unwrap()]).code, 0);
    assert!(std::fs::read_to_string(again).unwrap() == page, "made again from the events, it is the same");
    let again = home.run(&[&args[..], &["--json"]].concat());
    assert_eq!(serde_json::from_str::<serde_json::Value>(&again.out).unwrap()["report"], "run");
}
