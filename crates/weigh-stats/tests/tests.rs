//! Everything that needs more than one module of the room: vectors, properties, simulations.
//!
//! `cargo test --release -p weigh-stats simulations -- --nocapture --test-threads 1` prints the measured rates.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod properties;
mod simulations;
mod vectors;

/// A file that no `mod` names would never be compiled, let alone run.
#[test]
fn no_test_file_is_forgotten() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for (door, folder) in [("tests.rs", "."), ("simulations/mod.rs", "simulations")] {
        let named = std::fs::read_to_string(here.join(door)).unwrap();
        for entry in std::fs::read_dir(here.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            let is_door = door.ends_with(&format!("{stem}.rs"));
            assert!(
                is_door || named.contains(&format!("mod {stem};")),
                "`{}` is in no module",
                path.display()
            );
        }
    }
}
