//! `weigh experiments`: what comes with weigh.

use clap::Args;
use serde_json::json;
use weigh_lab::experiment::shipped;

use crate::exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// List the experiments that come with weigh, or print one
///
/// A printed experiment is a file to start from: weigh experiments postgres/durability > mine.toml
#[derive(Debug, Args)]
pub(crate) struct ExperimentsArgs {
    /// Print this one's file
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ExperimentsArgs, screen: &Screen) -> Result<u8, Failure> {
    let known = shipped();
    if let Some(name) = &args.name {
        let Some(found) = known.iter().find(|shipped| shipped.name == name) else {
            return Err(Failure::new(exit::USAGE, format!("no experiment `{name}` comes with weigh"))
                .hint("weigh experiments"));
        };
        let value = json!({ "name": found.name, "question": found.question, "text": found.text });
        return if args.json { screen.print_json(&value) } else { screen.print(found.text) }
            .map(|()| exit::OK);
    }
    if args.json {
        let all =
            known.iter().map(|of| json!({ "name": of.name, "question": of.question })).collect::<Vec<_>>();
        screen.print_json(&json!({ "report": "experiments", "report_version": 1, "experiments": all }))?;
    } else {
        let width = known.iter().map(|shipped| shipped.name.len()).max().unwrap_or(0);
        let lines =
            known.iter().map(|of| format!("{:<width$}  {}\n", of.name, of.question)).collect::<String>();
        screen.print(&lines)?;
    }
    Ok(exit::OK)
}
