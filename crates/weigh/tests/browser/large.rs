//! The page of a run of 5,000 trials: small enough to send, drawn before anybody wonders.

use std::time::Instant;

use super::checks::{charts_are_drawn, wait_until_drawn};
use super::runs::large;
use super::tab::{Colours, Size, Tab};
use crate::home::Home;

#[test]
fn a_run_of_5_000_trials_is_loaded_and_drawn_in_time() {
    let home = Home::new();
    let recipe = large();
    assert_eq!(recipe.run().trials.len(), 5_000);
    home.keep(&recipe);
    let file = home.path().join("page.html");
    let begun = Instant::now();
    home.run(&["show", "last", "--html", file.to_str().unwrap()]);
    let made = begun.elapsed();
    let size_bytes = std::fs::metadata(&file).unwrap().len();

    // The browser is started before anything is timed.
    let tab = Tab::open("about:blank", Size::Desktop, Colours::Light);
    let address = format!("file://{}", file.display());
    let begun = Instant::now();
    tab.go(&address);
    wait_until_drawn(&tab);
    let drawn = begun.elapsed();
    charts_are_drawn(&tab);
    let parsed_ms: f64 = tab.js("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd");
    println!(
        "5,000 trials: made in {made:.0?}, {} kB, DOMContentLoaded after {parsed_ms:.0} ms, drawn after {drawn:.0?}",
        size_bytes / 1000
    );
    assert!(size_bytes < 1_500_000, "{size_bytes} bytes");
    assert!(drawn.as_secs_f64() < 5.0, "drawn after {drawn:?}");
    tab.is_silent(&address);
}
