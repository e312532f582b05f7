//! The file that `weigh show --html` writes, and the same page served.

use std::collections::BTreeSet;
use std::path::PathBuf;

use weigh_results::report::chart;

use super::checks::{charts_are_drawn, has_text, suits_everybody, wait_until_drawn};
use super::chromium::chromium;
use super::runs::{CLOSED, OPEN, awkward, load, put};
use super::tab::{Colours, Size, Tab};
use crate::builder::{Recipe, durability};
use crate::home::Home;

/// Writes the page of a run; gives its address.
fn written(home: &Home, args: &[&str]) -> String {
    let file = home.path().join("page.html");
    let mut args = args.to_vec();
    let path = file.display().to_string();
    args.extend(["--html", &path]);
    let done = home.run(&args);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    format!("file://{}", PathBuf::from(&path).canonicalize().unwrap().display())
}

fn page_of(run_id: &str, size: Size, colours: Colours) -> (Home, Tab, String) {
    let home = Home::new();
    put(&home, run_id);
    let address = written(&home, &["show", run_id]);
    let tab = Tab::open(&address, size, colours);
    wait_until_drawn(&tab);
    (home, tab, address)
}

/// Kinds of charts that a page of the run must have; of those that share a place only the first is seen at once.
fn expected(home: &Home, run_id: &str) -> BTreeSet<String> {
    let (run, analysis) = load(home, run_id);
    chart::all(&run, &analysis).into_iter().map(|chart| chart.kind).collect()
}

/// A page that complains and asks for something is heard: the other tests would be worth nothing otherwise.
#[test]
fn a_bad_page_is_heard() {
    let home = Home::new();
    let file = home.path().join("bad.html");
    let bad = "<script>console.warn('careful'); console.error('oh'); fetch('http://127.0.0.1:9/x').catch(() => 0); \
        setTimeout(() => { throw new Error('thrown') }, 0)</script><img src=nothing.png>";
    std::fs::write(&file, bad).unwrap();
    let address = format!("file://{}", file.display());
    let tab = Tab::open(&address, Size::Desktop, Colours::Light);
    tab.js::<bool>("new Promise(done => setTimeout(() => done(true), 200))");
    let complaints = tab.complaints().join("\n");
    for part in ["careful", "oh", "thrown", "nothing.png"] {
        assert!(complaints.contains(part), "{part} is not in {complaints}");
    }
    assert!(tab.requests().iter().any(|url| url == "http://127.0.0.1:9/x"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tab.is_silent(&address))).is_err());
    assert!(!chromium().get_ws_url().is_empty());
}

#[test]
fn every_chart_is_drawn_and_every_choice_shows_its_own() {
    for run_id in [CLOSED, OPEN] {
        let (home, tab, address) = page_of(run_id, Size::Desktop, Colours::Light);
        let mut seen = charts_are_drawn(&tab);
        let choices: usize = tab.js("document.querySelectorAll('[data-switch] input').length");
        for place in 0..choices {
            tab.js::<bool>(&format!(
                "document.querySelectorAll('[data-switch] input')[{place}].click() ?? true"
            ));
            wait_until_drawn(&tab);
            seen.extend(charts_are_drawn(&tab));
        }
        assert_eq!(seen, expected(&home, run_id), "{run_id}");
        assert!(seen.len() >= 4, "{seen:?}");
        tab.is_silent(&address);
    }
}

#[test]
fn hover_and_arrow_keys_tell_of_single_points() {
    let (_home, tab, address) = page_of(CLOSED, Size::Desktop, Colours::Dark);
    let trials = "figure[data-chart^=trials]";
    let readout =
        || -> String { tab.js(&format!("document.querySelector('{trials} .readout').textContent")) };
    let hint = readout();
    assert!(hint.contains("arrow keys"), "{hint}");
    // Somewhere along the middle there is a point near enough.
    let mut told = hint.clone();
    for step in 1..40 {
        tab.hover(&format!("{trials} .u-over"), (f64::from(step) / 40.0, 0.5));
        told = readout();
        if told != hint {
            break;
        }
    }
    assert!(told != hint && told.contains("round"), "{told}");

    tab.js::<bool>(&format!("document.querySelector('{trials} .plot').focus() ?? true"));
    let mut notes = Vec::new();
    for key in ["Home", "ArrowRight", "ArrowRight", "ArrowDown", "End"] {
        tab.key(key);
        notes.push(readout());
    }
    let different: BTreeSet<&String> = notes.iter().collect();
    assert_eq!(different.len(), notes.len(), "{notes:#?}");
    let ring = format!("!document.querySelector('{trials} .ring').hidden");
    assert!(tab.js::<bool>(&ring));
    tab.key("Escape");
    assert_eq!(readout(), hint);
    tab.is_silent(&address);
}

#[test]
fn the_clock_switches_between_response_and_service_time() {
    let (_home, tab, address) = page_of(OPEN, Size::Phone, Colours::Light);
    let quantiles = |tab: &Tab| -> Vec<String> {
        charts_are_drawn(tab).into_iter().filter(|chart| chart.starts_with("quantiles")).collect()
    };
    assert_eq!(quantiles(&tab), ["quantiles"]);
    tab.click("input[name$=clock][value='1']");
    wait_until_drawn(&tab);
    assert_eq!(quantiles(&tab), ["quantiles-service"]);
    // By keyboard, back again.
    tab.key("ArrowLeft");
    wait_until_drawn(&tab);
    assert_eq!(quantiles(&tab), ["quantiles"]);
    tab.is_silent(&address);
}

#[test]
fn the_theme_can_be_switched() {
    let (_home, tab, address) = page_of(CLOSED, Size::Desktop, Colours::Light);
    let background = || -> String { tab.js("getComputedStyle(document.body).backgroundColor") };
    let light = background();
    tab.click("[data-theme-toggle]");
    let dark = background();
    assert_ne!(light, dark);
    charts_are_drawn(&tab);
    tab.click("[data-theme-toggle]");
    assert_eq!(background(), light);
    // Without a choice it follows the system.
    let followed = Tab::open(&address, Size::Desktop, Colours::Dark);
    assert_eq!(followed.js::<String>("getComputedStyle(document.body).backgroundColor"), dark);
    tab.is_silent(&address);
}

#[test]
fn a_series_can_be_taken_away_and_put_back() {
    let (_home, tab, _) = page_of(OPEN, Size::Desktop, Colours::Light);
    let button = "figure[data-chart=quantiles] .legend button";
    let pressed = || -> String { tab.js(&format!("document.querySelector('{button}').ariaPressed")) };
    assert_eq!(pressed(), "true");
    tab.click(button);
    assert_eq!(pressed(), "false");
    charts_are_drawn(&tab);
    tab.click(button);
    assert_eq!(pressed(), "true");
}

#[test]
fn the_page_suits_everybody() {
    for run_id in [CLOSED, OPEN] {
        let (_home, tab, _) = page_of(run_id, Size::Phone, Colours::Light);
        suits_everybody(&tab);
    }
}

#[test]
fn the_page_of_awkward_names_shows_them_and_runs_none() {
    let home = Home::new();
    let dir = home.keep(&awkward());
    let address = written(&home, &["show", dir.file_name().unwrap().to_str().unwrap()]);
    let tab = Tab::open(&address, Size::Phone, Colours::Light);
    wait_until_drawn(&tab);
    charts_are_drawn(&tab);
    assert!(!tab.js::<bool>("'broken' in globalThis"));
    has_text(&tab, "<b>&amp;\"");
    has_text(&tab, "</script><script>globalThis.broken = 1</script>");
    suits_everybody(&tab);
    tab.is_silent(&address);
}

/// The raw data in the page is what the store gives.
#[test]
fn raw_data_can_be_taken_from_the_page() {
    let (home, tab, _) = page_of(CLOSED, Size::Desktop, Colours::Light);
    // What the buttons hand to the browser is caught on its way.
    tab.js::<bool>(
        "globalThis.taken = []; const make = URL.createObjectURL; \
         URL.createObjectURL = blob => { taken.push(blob.text()); return make(blob); }; true",
    );
    let buttons: usize = tab.js("document.querySelectorAll('[data-download]').length");
    assert!(buttons >= 2);
    for place in 0..buttons {
        tab.js::<bool>(&format!("document.querySelectorAll('[data-download]')[{place}].click() ?? true"));
        tab.wait(&format!("taken.length === {}", place + 1));
    }
    let texts: Vec<String> = tab.js("Promise.all(taken)");
    let json: serde_json::Value = home.run(&["show", CLOSED, "--json"]).json();
    assert!(
        texts
            .iter()
            .any(|text| serde_json::from_str::<serde_json::Value>(text).is_ok_and(|found| found == json))
    );
    assert!(texts.iter().any(|text| text.lines().count() == 57), "a heading and 56 trials as CSV");
}

#[test]
fn two_runs_are_one_page() {
    let home = Home::new();
    let other = "20261122-101010-postgres-durability-zzzz";
    home.keep(&Recipe { rounds: 12, ..durability() });
    home.keep(&Recipe { rounds: 12, run_id: other, slower: 1.3, ..durability() });
    let address = written(&home, &["compare", durability().run_id, other]);
    let tab = Tab::open(&address, Size::Phone, Colours::Light);
    wait_until_drawn(&tab);
    has_text(&tab, durability().run_id);
    has_text(&tab, other);
    charts_are_drawn(&tab);
    suits_everybody(&tab);
    tab.is_silent(&address);
}
