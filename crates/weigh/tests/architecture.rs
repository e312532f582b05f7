//! The arrows between the rooms are the ones ARCHITECTURE.md lists, and every listed one exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The table under "The rooms": from → to.
fn listed() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let names = |cell: &str| -> Vec<String> {
        cell.split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| name.starts_with("weigh"))
            .map(str::to_owned)
            .collect()
    };
    text.lines()
        .skip_while(|line| *line != "| from | to |")
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
            (names(cells[0]).remove(0), names(cells[1]).into_iter().collect())
        })
        .collect()
}

fn actual() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap().to_owned();
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    packages
        .iter()
        .map(|package| {
            let edges = package["dependencies"].as_array().unwrap().iter().map(name);
            (name(package), edges.filter(|dependency| ours.contains(dependency)).collect())
        })
        .collect()
}

#[test]
fn the_arrows_between_rooms_are_those_of_the_map() {
    assert_eq!(actual(), listed(), "left: cargo metadata, right: the table in ARCHITECTURE.md");
}
