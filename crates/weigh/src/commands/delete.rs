//! `weigh delete`: stored runs, gone for good.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use clap::Args;
use weigh_results::report::words;
use weigh_results::store::RunStore;

use super::stored;
use crate::exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// Delete stored runs
///
/// Takes each run's directory with everything in it. Asks first on a terminal; elsewhere it wants --yes. A run that
/// is being recorded is not deleted.
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    #[arg(value_name = "RUN", required = true, help = stored::RUN_HELP)]
    runs: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(args: &DeleteArgs, screen: &Screen) -> Result<u8, Failure> {
    let store = stored::store()?;
    // All before the first goes: `@2` means what the reader saw in the list, and a mistake deletes nothing.
    let mut dirs: Vec<PathBuf> = Vec::new();
    for selector in &args.runs {
        let dir = store.find(selector)?;
        if !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
    if !args.yes && !confirmed(&store, &dirs, args, screen)? {
        screen.note("nothing was deleted");
        return Ok(exit::OK);
    }
    for dir in dirs {
        store.delete(&dir)?;
        screen.note(&format!("deleted {}", name_of(&dir)));
    }
    Ok(exit::OK)
}

fn confirmed(
    store: &RunStore,
    dirs: &[PathBuf],
    args: &DeleteArgs,
    screen: &Screen,
) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        let message = "nothing was deleted: there is nobody to ask, for the input is not a terminal";
        return Err(
            Failure::new(exit::USAGE, message).hint(format!("weigh delete --yes {}", args.runs.join(" ")))
        );
    }
    dirs.iter().for_each(|dir| screen.note(&described(store, dir)));
    let what = if dirs.len() == 1 { "this run".to_owned() } else { format!("these {} runs", dirs.len()) };
    screen.note(&format!("delete {what}? it cannot be taken back [y/N]"));
    let mut typed = String::new();
    io::stdin().read_line(&mut typed).map_err(|error| Failure::of(exit::FAILED, &error))?;
    Ok(matches!(typed.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn described(store: &RunStore, dir: &std::path::Path) -> String {
    match store.summary(dir) {
        Ok(run) => {
            let rounds = words::plural(run.rounds, "round");
            format!("  {}  {} ({rounds}, {})", run.run_id, run.question, run.state.word())
        }
        Err(error) => format!("  {}  cannot be read: {error}", name_of(dir)),
    }
}

fn name_of(dir: &std::path::Path) -> String {
    dir.file_name().map_or_else(|| dir.display().to_string(), |name| name.to_string_lossy().into_owned())
}
