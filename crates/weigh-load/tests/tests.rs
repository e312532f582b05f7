//! The engine against fake servers on socket pairs: every behaviour is known, so every figure can be checked.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::cast_possible_truncation)]

mod closed_loop;
mod failures;
mod fake;
mod inline;
mod limit;
mod open_loop;
mod outcomes;
mod snapshot;
mod timing;

#[test]
fn no_test_file_is_forgotten() {
    let root = include_str!("tests.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(name == "tests" || root.contains(&format!("mod {name};")), "`{name}` is not in tests.rs");
    }
}
