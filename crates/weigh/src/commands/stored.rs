//! Finding and reading stored runs, the same for every subcommand.

use std::path::{Path, PathBuf};

use weigh_results::analysis::{Analysis, analyse};
use weigh_results::model::Run;
use weigh_results::store::{RunStore, runs_dir};

use crate::failure::Failure;

/// What every argument that names a run says.
pub(crate) const RUN_HELP: &str = "\
A run: its name, a unique part of it, `last`, or `@2` for the second newest";

/// The store of this user.
pub(crate) fn store() -> Result<RunStore, Failure> {
    Ok(RunStore::at(runs_dir(|name| std::env::var_os(name))?))
}

/// The run a selector means, with its directory.
pub(crate) fn load(store: &RunStore, selector: &str) -> Result<(PathBuf, Run), Failure> {
    let dir = store.find(selector)?;
    let run = load_dir(store, &dir)?;
    Ok((dir, run))
}

fn load_dir(store: &RunStore, dir: &Path) -> Result<Run, Failure> {
    Ok(store.load(dir)?)
}

/// The run a selector means and everything that can be said about it.
pub(crate) fn load_analysed(store: &RunStore, selector: &str) -> Result<(PathBuf, Run, Analysis), Failure> {
    let (dir, run) = load(store, selector)?;
    let analysis = analyse(&run);
    Ok((dir, run, analysis))
}

/// The page of a run beside its events, as the run's end wrote it.
const PAGE_FILE: &str = "report.html";

/// Where the page of the run in a directory is, or would be.
pub(crate) fn page_path(dir: &Path) -> PathBuf {
    dir.join(PAGE_FILE)
}
