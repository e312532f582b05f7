//! `weigh selftest`: the built binary proves itself on this machine, and can tell when something is off.

use std::time::Duration;

use crate::home::Home;

/// The report of `weigh selftest ARGUMENTS`. What a busy machine cannot make wrong may not fail once.
fn report(home: &Home, arguments: &[&str]) -> serde_json::Value {
    let done = home.run(&[&["selftest", "--json"], arguments].concat());
    assert!([0, 6, 7].contains(&done.code), "{}\n{}{}", done.code, done.out, done.err);
    assert_eq!(done.err, "");
    let report: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    for check in report["checks"].as_array().unwrap() {
        assert!(check["error"].is_null(), "{check:#}");
        for figure in check["figures"].as_array().unwrap() {
            assert!(figure["timed"] == true || figure["outcome"] != "failed", "{figure:#}");
        }
    }
    report
}

/// A time can be off by chance, on machines that do not say how busy they are; it is not off again and again.
fn assert_nothing_fails_for_long(home: &Home, mut last: serde_json::Value) {
    for _ in 0..3 {
        let checks = last["checks"].as_array().unwrap();
        let failed = checks.iter().filter(|check| check["outcome"] == "failed");
        let names: Vec<_> = failed.map(|check| check["check"].as_str().unwrap().replace('_', "-")).collect();
        if names.is_empty() {
            return;
        }
        last = report(home, &names.iter().map(String::as_str).collect::<Vec<_>>());
    }
    assert_ne!(last["outcome"], "failed", "{last:#}");
}

/// What every figure of a self-test must carry, and what may not fail even on a busy machine.
#[test]
fn every_check_is_made_and_none_fails() {
    let home = Home::new();
    let report = report(&home, &[]);
    assert_eq!((report["report"].as_str(), report["report_version"].as_u64()), (Some("selftest"), Some(1)));
    assert!(report["elapsed_s"].as_f64().unwrap() < 60.0, "it takes under a minute");
    let checks = report["checks"].as_array().unwrap();
    let names: Vec<_> = checks.iter().map(|check| check["check"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["clock", "percentiles", "known_delays", "arrivals", "frozen_server", "counts", "client_cost"]
    );
    for check in checks {
        let figures = check["figures"].as_array().unwrap();
        let judged = figures.iter().filter(|figure| !figure["outcome"].is_null());
        assert!(judged.count() >= 1, "{check:#}");
        for figure in figures.iter().filter(|figure| !figure["outcome"].is_null()) {
            assert!(!figure["why"].as_str().unwrap().is_empty(), "{figure:#}");
        }
    }
    // What a closed loop would have said is not even near the truth.
    let frozen = checks[4]["figures"].as_array().unwrap();
    let value = |start: &str| {
        let found = frozen.iter().find(|figure| figure["what"].as_str().unwrap().starts_with(start));
        found.unwrap_or_else(|| panic!("no `{start}` in {frozen:#?}"))["value"].as_f64().unwrap()
    };
    assert!(value("response time, p99") > 0.9 && value("timed from when each was sent") < 0.5);
    let left = std::fs::read_dir(home.path().join("state/live")).map_or(0, |entries| entries.count());
    assert_eq!(left, 0, "nothing is left behind");
    assert_nothing_fails_for_long(&home, report);
}

#[test]
fn one_check_alone_is_a_page() {
    let home = Home::new();
    let done = home.run(&["selftest", "percentiles", "counts"]);
    assert!([0, 7].contains(&done.code), "{}{}", done.out, done.err);
    for part in ["percentiles: ", "counts: ", "p99.9", "exactly ", "verdict"] {
        assert!(done.out.contains(part), "`{part}` in {}", done.out);
    }
    assert!(!done.out.contains("frozen_server"));
    assert!(home.run(&["selftest", "speed"]).fails(2).contains("known-delays"));
}

#[test]
fn an_interrupted_selftest_leaves_nothing() {
    let home = Home::new();
    let mut child = home.weigh(&["selftest", "frozen-server"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    nix_kill(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let left = std::fs::read_dir(home.path().join("state/live")).map_or(0, |entries| entries.count());
    assert_eq!(left, 0);
}

fn nix_kill(pid: u32) {
    let sent = std::process::Command::new("kill").args(["-INT", &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}
