//! `weigh __guard`: the process that outlives a killed run and undoes what it changed.

use std::path::PathBuf;

use clap::Args;

use crate::exit;
use crate::failure::Failure;

/// Clean up after a run whose process is gone (started by weigh itself)
#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// What is registered to be undone
    dir: PathBuf,
}

/// Silent unless it fails: nobody may be there to read it.
pub(crate) fn run(args: &GuardArgs) -> Result<u8, Failure> {
    weigh_lab::host::guard_main(&args.dir)?;
    Ok(exit::OK)
}
