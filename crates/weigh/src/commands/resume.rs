//! `weigh resume`: goes on with a run that was cut short.

use clap::Args;

use super::finish::{ConductArgs, finish};
use super::stored;
use crate::failure::Failure;
use crate::lab;
use crate::screen::Screen;

/// Go on with a run that was cut short
///
/// The experiment, the plan and the seed are those of the stored run. Complete rounds are kept; the round it was
/// interrupted in is run again. What is left of the budget is what there is.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    #[arg(value_name = "RUN", default_value = "last", help = stored::RUN_HELP)]
    run: String,
    #[command(flatten)]
    conduct: ConductArgs,
}

pub(crate) fn run(args: &ResumeArgs, screen: &Screen) -> Result<u8, Failure> {
    let store = stored::store()?;
    let dir = store.find(&args.run)?;
    let outcome = lab::resume(&store, &dir, &args.conduct.conduct(), screen)?;
    finish(outcome, &args.conduct, screen)
}
