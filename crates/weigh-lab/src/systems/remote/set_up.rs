//! Set-up commands, sent as the load's own operations are: same words, same log-in, same TLS, one at a time.

use std::time::Duration;

use weigh_load::{Limits, LoadSpec, Operation, Schedule};

use crate::host::Cancel;
use crate::plan::{ResolvedCommandText, ResolvedOperation, ResolvedText};
use crate::systems::SystemError;
use crate::systems::drivers::{self, DriverOptions};

/// A set-up command may take this long: a script that makes a million keys, say.
const LIMIT: Duration = Duration::from_secs(600);
/// How soon its end is noticed.
const PATIENCE: Duration = Duration::from_millis(2);

/// Executes the commands of a text, one in each line.
///
/// # Errors
/// In the server's words, the first that fails.
pub(in crate::systems) fn lines(
    url: &str,
    text: &str,
    options: &DriverOptions,
    cancel: &Cancel,
) -> Result<(), SystemError> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.into_iter().try_for_each(|line| one(url, line, options, cancel))
}

fn one(url: &str, command: &str, options: &DriverOptions, cancel: &Cancel) -> Result<(), SystemError> {
    let text = ResolvedCommandText { command: command.to_owned(), rows: 1, expect: None };
    let operation = ResolvedOperation {
        name: "set-up".to_owned(),
        weight: 1,
        text: ResolvedText::Command(text),
        parameters: Vec::new(),
        repeat: 1,
        items: 1,
        cached_as: None,
    };
    let driver = drivers::driver(url, std::slice::from_ref(&operation), options)?;
    let spec = LoadSpec {
        clients: 1,
        threads: 1,
        pipeline: 1,
        settle: Duration::ZERO,
        measure: LIMIT,
        operations_limit: Some(1),
        schedule: Schedule::Closed,
        operations: vec![Operation { name: operation.name, weight: 1, parameters: Vec::new() }],
        seed: 0,
        trial_number: 0,
        pin: false,
    };
    let limits = Limits { reply: LIMIT, drain: LIMIT, ..Limits::default() };
    let failed = |error| SystemError::new("cannot reach the server").caused_by(error);
    let load = weigh_load::connect(&spec, driver, limits).map_err(failed)?.begin();
    while !load.is_over() {
        if cancel.sleep(PATIENCE) {
            load.cancel_handle().cancel();
            return Err(SystemError::interrupted());
        }
    }
    let report = load.finish().map_err(|error| SystemError::new("it did not finish").caused_by(error))?;
    match report.errors.keys().chain(report.item_errors.keys()).next() {
        Some(message) => Err(SystemError::new(message.clone())),
        None => Ok(()),
    }
}
