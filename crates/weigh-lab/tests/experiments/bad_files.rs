//! Every file in `bad/` is refused, and what is said about it is in `snapshots/`.

use std::path::{Path, PathBuf};

use weigh_lab::experiment;
use weigh_lab::plan::{ResolveOptions, resolve};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/experiments/bad")
}

#[test]
fn every_bad_file_is_refused_with_its_place() {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 30, "{} files", files.len());
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let errors = match experiment::load(&file) {
            Err(errors) => errors,
            Ok(experiment) => resolve(&experiment, &super::postgres(), ResolveOptions::new(1))
                .expect_err(&format!("`{name}` was accepted")),
        };
        for error in &errors.errors {
            assert!(error.position.is_some(), "{name}: an error without a place: {error}");
        }
        let shown = errors.to_string().replace(&folder().display().to_string(), "");
        let shown = shown.replace(&format!("/{name}.toml"), &format!("{name}.toml"));
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, shown);
        });
    }
}

#[test]
fn a_file_that_is_not_there_names_its_neighbours() {
    let error = experiment::find("postgres/durabilty").unwrap_err().to_string();
    assert!(error.contains("postgres/durabilty: no such file"), "{error}");
    assert!(error.contains("did you mean `postgres/durability`?"), "{error}");

    let directory = tempfile::tempdir().unwrap();
    let there = directory.path().join("insert-cost.toml");
    std::fs::write(&there, "").unwrap();
    let error = experiment::load(&directory.path().join("insert-cots.toml")).unwrap_err().to_string();
    assert!(error.contains(&format!("did you mean `{}`?", there.display())), "{error}");

    let error = experiment::load(directory.path()).unwrap_err().to_string();
    assert!(error.contains("cannot be read"), "{error}");
}

#[test]
fn a_huge_file_is_refused_unread() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("huge.toml");
    std::fs::write(&path, vec![b'#'; (256 << 10) + 1]).unwrap();
    assert!(experiment::load(&path).unwrap_err().to_string().contains("larger than"));
}

#[test]
fn long_lines_are_cut_around_the_mistake() {
    let text = format!("system = \"postgres\"\nquestion = \"{}\"; x", "word ".repeat(60));
    let error = experiment::parse("long.toml", &text).unwrap_err().to_string();
    let snippet = error.lines().nth(2).unwrap();
    assert!(snippet.chars().count() < 120 && snippet.contains('…'), "{error}");
    let caret = error.lines().nth(3).unwrap().chars().position(|c| c == '^').unwrap();
    assert_eq!(snippet.chars().nth(caret), Some(';'), "{error}");
}
