//! What went wrong, as the reader is told: once, at the top, with everything below it and what to do.
//!
//! A [`Failure`] is an error with an exit code and hints. Libraries below never print; they return
//! errors whose text does not repeat their source, so the whole chain can be shown here.

use std::error::Error;
use std::fmt::Write as _;

use weigh_lab::experiment::ExperimentErrors;
use weigh_lab::host::HostError;
use weigh_lab::runner::RunError;
use weigh_lab::systems::SystemError;
use weigh_results::report::compare::CompareError;
use weigh_results::store::StoreError;

use crate::exit;

/// An error, its exit code, and what to do next.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) code: u8,
    /// Heading and chain, already as text lines.
    lines: Vec<String>,
    /// Commands one can paste.
    hints: Vec<String>,
    /// Last lines of a server's log.
    log: Vec<String>,
}

impl Failure {
    /// An error of one line.
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Failure {
        Failure { code, lines: vec![message.into()], hints: Vec::new(), log: Vec::new() }
    }

    /// The error with everything below it.
    pub(crate) fn of(code: u8, error: &(dyn Error + 'static)) -> Failure {
        let mut failure = Failure::new(code, error.to_string());
        let mut below = error.source();
        while let Some(source) = below {
            let text = source.to_string();
            // A transparent error has the text of what it wraps.
            if failure.lines.last() != Some(&text) {
                failure.lines.push(text);
            }
            below = source.source();
        }
        failure
    }

    /// An error of one line over another error with everything below it.
    pub(crate) fn caused(code: u8, message: impl Into<String>, error: &(dyn Error + 'static)) -> Failure {
        let mut failure = Failure::of(code, error);
        failure.lines.insert(0, message.into());
        failure
    }

    /// With a command that helps.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hints.push(hint.into());
        self
    }

    /// The chain on one line, without hints.
    pub(crate) fn one_line(&self) -> String {
        self.lines.join(": ")
    }

    /// The text for standard error, ending with a newline.
    pub(crate) fn text(&self, colour: bool) -> String {
        let paint = |style: anstyle::Style, text: &str| {
            if colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
        };
        let red = anstyle::AnsiColor::Red.on_default().bold();
        let bold = anstyle::Style::new().bold();
        let mut text = String::new();
        for (place, line) in self.lines.iter().enumerate() {
            let label = if place == 0 { paint(red, "error") } else { paint(bold, "  caused by") };
            // Writing to a string cannot fail.
            writeln!(text, "{label}: {line}").ok();
        }
        if !self.log.is_empty() {
            text.push_str("last lines of the server's log:\n");
            self.log.iter().for_each(|line| {
                writeln!(text, "  {line}").ok();
            });
        }
        for hint in &self.hints {
            writeln!(text, "{}: {hint}", paint(bold, "hint")).ok();
        }
        text
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let failure = Failure::of(exit::FAILED, &error);
        match error {
            StoreError::NotFound { .. } | StoreError::Ambiguous { .. } | StoreError::TooFew { .. } => {
                Failure { code: exit::USAGE, ..failure }.hint("weigh list")
            }
            StoreError::NoPlace => failure.hint("WEIGH_HOME=DIR weigh …"),
            _ => failure,
        }
    }
}

impl From<ExperimentErrors> for Failure {
    fn from(errors: ExperimentErrors) -> Failure {
        let count = errors.errors.len();
        let many = format!("{count} mistakes, nothing was started\n\n{errors}");
        Failure::new(exit::USAGE, if count > 1 { many } else { errors.to_string() })
    }
}

impl From<SystemError> for Failure {
    fn from(error: SystemError) -> Failure {
        let code = if error.missing { exit::MISSING } else { exit::FAILED };
        let mut failure = Failure::of(code, &error);
        failure.hints = error.hints;
        failure.log = error.log;
        failure
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Failure {
        Failure::of(exit::FAILED, &error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error {
            RunError::System(error) => Failure::from(*error),
            other => Failure::of(exit::FAILED, &other),
        }
    }
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Failure {
        Failure::of(exit::USAGE, &error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_chain_is_told_once_and_hints_apart() {
        let below = std::io::Error::other("no such device");
        let error = StoreError::Io { action: "read", path: "/x/events.jsonl".into(), source: below };
        assert_eq!(
            Failure::from(error).text(false),
            "error: cannot read `/x/events.jsonl`\n  caused by: no such device\n"
        );
        let missing = SystemError::missing("`postgres` is not installed", "apt-get install postgresql");
        let failure = Failure::from(RunError::from(missing));
        assert_eq!(failure.code, exit::MISSING);
        assert_eq!(
            failure.text(false),
            "error: `postgres` is not installed\nhint: apt-get install postgresql\n"
        );
        assert!(failure.text(true).contains("\u{1b}["));
    }
}
