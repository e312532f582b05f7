//! `weigh delete`, as a user types it.

use weigh_results::store::RunStore;

use crate::builder::{Recipe, durability};
use crate::home::Home;

fn kept(home: &Home, run_id: &'static str) -> std::path::PathBuf {
    home.keep(&Recipe { run_id, rounds: 2, ..durability() })
}

#[test]
fn without_a_terminal_it_wants_a_yes() {
    let home = Home::new();
    let dir = kept(&home, "20261121-000000-a-aaaa");
    let said = home.run(&["delete", "last"]).fails(2);
    assert!(said.contains("nothing was deleted: there is nobody to ask"), "{said}");
    assert!(said.contains("hint: weigh delete --yes last"), "{said}");
    assert!(dir.is_dir());
    let done = home.run(&["delete", "--yes", "last"]);
    assert_eq!(
        (done.code, done.out.as_str(), done.err.as_str()),
        (0, "", "deleted 20261121-000000-a-aaaa\n")
    );
    assert!(!dir.exists());
}

#[test]
fn all_are_found_before_the_first_goes() {
    let home = Home::new();
    let [old, middle, new] = ["20261121-000000-a-aaaa", "20261121-000001-b-bbbb", "20261121-000002-c-cccc"]
        .map(|id| kept(&home, id));
    let said = home.run(&["delete", "--yes", "last", "nonsense"]).fails(2);
    assert!(said.contains("no run matches `nonsense`"), "{said}");
    let said = home.run(&["delete", "--yes", "20261121"]).fails(2);
    assert!(said.contains("matches 3 runs"), "{said}");
    assert!(old.is_dir() && middle.is_dir() && new.is_dir());
    // All of one start time: by name, the newest last. `@2` is what it was before `last` went, and is named twice.
    let done = home.run(&["delete", "--yes", "last", "@2", "b-bbbb"]);
    assert_eq!(done.err, "deleted 20261121-000002-c-cccc\ndeleted 20261121-000001-b-bbbb\n");
    assert!(old.is_dir() && !middle.exists() && !new.exists());
}

#[test]
fn a_run_that_is_being_recorded_stays() {
    let home = Home::new();
    let dir = kept(&home, "20261121-000000-a-aaaa");
    let (recorder, _) = RunStore::at(dir.parent().unwrap()).reopen(&dir).unwrap();
    let said = home.run(&["delete", "--yes", "last"]).fails(1);
    assert!(said.contains("is in use: another weigh is recording to it"), "{said}");
    assert!(dir.is_dir());
    drop(recorder);
    home.run(&["delete", "--yes", "last"]);
    assert!(!dir.exists());
}
