//! `weigh selftest`: whether weigh measures right on this machine; and the server process it may need.

use std::time::SystemTime;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use weigh_lab::host::{Cancel, HostChanges, WorkRoot, sweep};
use weigh_lab::runner::new_run_id;
use weigh_lab::selftest::{self, SelftestError, SelftestEvent, ServerProgram, Setting};
use weigh_results::model::selftest::{CheckKind, Outcome};
use weigh_results::report::selftest as report;

use crate::exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// Prove that weigh measures right on this machine
///
/// Takes under a minute. Every check compares what weigh reports with something that does not come from weigh:
/// a built-in server that knows exactly what it did, exact order statistics, a real server that stands still for a
/// second, the kernel's own accounts. It prints what was measured and what a right answer is. A figure that a busy
/// machine can make wrong is not judged when the machine was busy, whether it looks right or not.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct SelftestArgs {
    /// The checks to make: clock, percentiles, known-delays, arrivals, frozen-server, counts, client-cost [default: all]
    #[arg(value_name = "CHECK", value_parser = check_kind)]
    checks: Vec<CheckKind>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

const AFTER: &str = "\
Exit codes:
  0    every figure is right
  6    a check failed
  7    nothing failed, but the machine was too busy to judge some of it

Every check is described in docs/selftest.md.
";

/// Answer on a port like the built-in server (started by weigh itself)
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The loopback port
    port: u16,
}

pub(crate) fn run(args: &SelftestArgs, screen: &Screen) -> Result<u8, Failure> {
    let cancel = Cancel::install()?;
    for cleared in sweep() {
        cleared?;
    }
    let program = std::env::current_exe().ok();
    let run_id = new_run_id("selftest", SystemTime::now(), std::process::id().into());
    let changes = HostChanges::open(&run_id, WorkRoot::find(None)?, program.clone())?;
    let every = CheckKind::ALL;
    let setting = Setting {
        checks: if args.checks.is_empty() { &every } else { &args.checks },
        cancel: &cancel,
        changes: &changes,
        own_server: program.map(|program| ServerProgram { program, args: vec!["__answer".into()] }),
        weigh_version: env!("CARGO_PKG_VERSION"),
    };
    let progress = (screen.live && !args.quiet).then(live_line);
    let outcome = selftest::run(&setting, &mut |event| {
        if let Some((line, text)) = progress.as_ref().zip(words(event)) {
            line.set_message(text);
            line.tick();
        }
    });
    if let Some(line) = progress {
        line.finish_and_clear();
    }
    changes.undo_all()?;
    let record = match outcome {
        Err(SelftestError::Cancelled) => return Ok(interrupted(&cancel)),
        other => other.map_err(|error| Failure::of(exit::FAILED, &error))?,
    };
    if args.json {
        screen.print_json(&report::json(&record))?;
    } else {
        screen.print(&report::render(&record, &screen.style))?;
    }
    Ok(match record.outcome() {
        Outcome::Passed => exit::OK,
        Outcome::Failed => exit::SELFTEST_FAILED,
        Outcome::NotJudged => exit::SELFTEST_NOT_JUDGED,
    })
}

/// Answers until the process that started it is gone, which ends it too.
pub(crate) fn answer(args: &AnswerArgs) -> Result<u8, Failure> {
    selftest::answer_as_child(args.port).map_err(|error| Failure::of(exit::FAILED, &error))?;
    Ok(exit::OK)
}

/// One line, redrawn when a check begins: nothing ticks while something is measured.
fn live_line() -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{msg}") {
        line.set_style(style);
    }
    line
}

fn words(event: SelftestEvent<'_>) -> Option<String> {
    match event {
        SelftestEvent::Begins { check, number, of } => {
            Some(format!("{number}/{of} {}: {}", check.key(), report::claim(check)))
        }
        SelftestEvent::Again { disturbance } => {
            let share = 100.0 * disturbance.worst_share();
            Some(format!("the machine was busy ({share:.1} % of the time without a CPU): once more"))
        }
        SelftestEvent::Done(_) => None,
    }
}

fn interrupted(cancel: &Cancel) -> u8 {
    let signal = cancel.signal().and_then(|signal| u8::try_from(signal).ok()).unwrap_or(0);
    exit::INTERRUPTED_BASE + signal
}

fn check_kind(text: &str) -> Result<CheckKind, String> {
    let key = text.replace('-', "_");
    let known = CheckKind::ALL.into_iter().find(|check| check.key() == key);
    known.ok_or_else(|| {
        let names: Vec<String> = CheckKind::ALL.iter().map(|check| check.key().replace('_', "-")).collect();
        format!("there are: {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_as_people_type_them() {
        for check in CheckKind::ALL {
            assert_eq!(check_kind(check.key()), Ok(check));
            assert_eq!(check_kind(&check.key().replace('_', "-")), Ok(check));
        }
        assert!(check_kind("speed").unwrap_err().contains("known-delays"));
    }
}
