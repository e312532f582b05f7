//! Runs to look at: two real ones as weigh 0.1.0 stored them, and synthetic ones of any size.

use std::path::{Path, PathBuf};

use weigh_results::analysis::{Analysis, analyse};
use weigh_results::model::Run;
use weigh_results::store::RunStore;

use crate::builder::{Recipe, durability};
use crate::home::Home;

/// A closed loop of one client, six variants, 40 s: stored by weigh 0.1.0.
pub const CLOSED: &str = "20261122-044851-sqlite-durability-297k";
/// An open loop, which keeps service and response time apart; interrupted after 7 rounds: stored by weigh 0.1.0.
pub const OPEN: &str = "20261122-044933-postgres-open-loop-fccv";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/runs-0.1.0")
}

/// Puts a stored run into a home.
pub fn put(home: &Home, run_id: &str) -> PathBuf {
    let dir = runs(home).join(run_id);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::copy(fixtures().join(run_id).join("events.jsonl"), dir.join("events.jsonl")).unwrap();
    dir
}

/// Where a home keeps its runs.
pub fn runs(home: &Home) -> PathBuf {
    home.path().join("home/runs")
}

pub fn load(home: &Home, run_id: &str) -> (Run, Analysis) {
    let run = RunStore::at(runs(home)).load(&runs(home).join(run_id)).unwrap();
    let analysis = analyse(&run);
    (run, analysis)
}

/// A synthetic run whose names are as awkward as SQL and shell commands are.
pub fn awkward() -> Recipe {
    let mut recipe =
        Recipe { run_id: "20261120-101010-awkward-aaaa", rounds: 8, system: "commands", ..durability() };
    recipe.natures[0].name = "SELECT '<b>&amp;\"' FROM t\n  WHERE a < 1 && b > 2";
    recipe.natures[1].name = "</script><script>globalThis.broken = 1</script>";
    recipe.natures[2].name =
        "gzip -9 <'a file' | tee \"$HOME\" >/dev/null; true -- a line that is much longer than any column";
    recipe
}

/// 5,000 trials: four variants and the second baseline, a thousand rounds.
pub fn large() -> Recipe {
    Recipe { run_id: "20261119-000000-large-bbbb", rounds: 1_000, horizon: 1_000, ..durability() }
}
