//! The built binary, as a user runs it. One test binary.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    unreachable_pub,
    dead_code,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)]

mod architecture;
/// Pages in Debian's Chromium.
mod browser;
/// Complete synthetic runs: the same builder that the reports are tested with.
#[path = "../../weigh-results/tests/builder.rs"]
mod builder;
mod cli;
mod delete;
mod home;
/// Servers that cannot outlive a test: the same as the drivers'.
#[path = "../../weigh-drivers/tests/support/kept.rs"]
mod kept;
mod lab;
mod load;
mod load_servers;
mod mongodb;
mod pages;
mod private_servers;
mod selftest;
mod shipped;
mod terminal;
/// A private authority: the same as the drivers'.
#[path = "../../weigh-drivers/tests/support/tls.rs"]
mod tls;
mod versions;

/// A file in this directory that no `mod` line names would never run.
#[test]
fn no_test_file_is_forgotten() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let door = std::fs::read_to_string(dir.join("tests.rs")).unwrap();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_some_and(|extension| extension == "rs") && stem != "tests" {
            assert!(door.contains(&format!("mod {stem};")), "{stem}.rs is not part of tests.rs");
        }
    }
}
