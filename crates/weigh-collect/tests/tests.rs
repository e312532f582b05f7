//! Tests of this room against captured files, arbitrary bytes and real processes.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

mod formats;
mod groups;
mod host;
mod never_panics;
mod processes;
mod roles;

#[test]
fn no_test_file_is_forgotten() {
    let here = include_str!("tests.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(module) = name.strip_suffix(".rs").filter(|&module| module != "tests") {
            assert!(here.contains(&format!("mod {module};")), "`{name}` is not part of the test binary");
        }
    }
}

/// The bytes of a fixture.
fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("`{path}`: {error}"))
}
