//! Tests of stored runs and reports, one binary.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)]

mod builder;
mod charts;
mod findings;
mod html;
mod load;
mod reports;
mod screens;
mod store;

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
