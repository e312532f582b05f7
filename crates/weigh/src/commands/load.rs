//! `weigh load`: the load engine by itself.
//!
//! [`args`] is what can be typed, [`watcher`] what is seen while the load goes on. Everything measured is in the
//! record that `weigh-lab` gives, and everything printed is made from it by `weigh-results`.

mod args;
mod watcher;

use std::path::Path;

pub(crate) use args::LoadArgs;
use weigh_lab::host::Cancel;
use weigh_lab::load::{self, CapacityBound, CapacityEvent, LoadRequest};
use weigh_results::model::load::LoadRecord;
use weigh_results::report::load::summary::LoadSummary;
use weigh_results::report::load::{capacity, hlog, json, page};

use crate::exit;
use crate::failure::Failure;
use crate::screen::Screen;
use watcher::Watcher;

pub(crate) fn run(args: &LoadArgs, screen: &Screen) -> Result<u8, Failure> {
    let request = args.request()?;
    load::check(&request)?;
    let bound = args.bound();
    if let Some(path) = &args.hlog {
        // Before the load, not after it.
        std::fs::File::create(path).map_err(|error| unwritable(path, &error))?;
    }
    let cancel = Cancel::install()?;
    match bound {
        Some(bound) => find_capacity(&request, bound, args, &cancel, screen),
        None => once(&request, args, &cancel, screen),
    }
}

fn once(request: &LoadRequest, args: &LoadArgs, cancel: &Cancel, screen: &Screen) -> Result<u8, Failure> {
    let planned_s = (request.settle + request.measure).as_secs_f64();
    let watcher = Watcher::new(screen, args.quiet);
    watcher.step(&format!("connecting {} to {}", clients(request), shown(request)));
    let outcome = load::run(request, cancel, &mut |interval| watcher.interval(interval, planned_s));
    watcher.end();
    let record = outcome.map_err(|error| Failure::from(error).hint(hint(request)))?;
    let summary = LoadSummary::of(&record).map_err(|error| Failure::of(exit::FAILED, &error))?;
    if let Some(path) = &args.hlog {
        let bytes = hlog::render(&record).map_err(|error| Failure::of(exit::FAILED, &error))?;
        std::fs::write(path, bytes).map_err(|error| unwritable(path, &error))?;
    }
    if args.json {
        screen.print_json(&json::render(&record, &summary))?;
    } else {
        screen.print(&page::render(&record, &summary, &screen.style))?;
    }
    Ok(code(&record))
}

fn find_capacity(
    request: &LoadRequest,
    bound: CapacityBound,
    args: &LoadArgs,
    cancel: &Cancel,
    screen: &Screen,
) -> Result<u8, Failure> {
    let mut watcher = Watcher::new(screen, args.quiet);
    let mut on = |event: CapacityEvent<'_>| watcher.capacity(event);
    let outcome = load::find_capacity(request, bound, cancel, &mut on);
    watcher.end();
    let record = outcome.map_err(|error| Failure::from(error).hint(hint(request)))?;
    if args.json {
        screen.print_json(&capacity::json(&record))?;
    } else {
        screen.print(&capacity::render(&record, &screen.style))?;
    }
    if let Some(signal) = record.signal {
        return Ok(interrupted(signal));
    }
    Ok(if capacity::is_known(&record) { exit::OK } else { exit::NO_VERDICT })
}

/// A load in which nothing succeeded is a failure, whatever was printed.
fn code(record: &LoadRecord) -> u8 {
    match record.signal {
        Some(signal) => interrupted(signal),
        None if record.operations_total == 0 => exit::NOTHING_DONE,
        None => exit::OK,
    }
}

fn interrupted(signal: i32) -> u8 {
    exit::INTERRUPTED_BASE + u8::try_from(signal).unwrap_or(0)
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::caused(exit::FAILED, format!("cannot write `{}`", path.display()), error)
}

fn clients(request: &LoadRequest) -> String {
    format!("{} client{}", request.clients, if request.clients == 1 { "" } else { "s" })
}

/// The URL without its password.
fn shown(request: &LoadRequest) -> String {
    weigh_lab::experiment::without_password(&request.url)
}

/// A single operation by the same way, to see whether the system answers at all.
fn hint(request: &LoadRequest) -> String {
    format!("weigh load '{}' --clients 1 --operations 1  # does it answer at all?", shown(request))
}
