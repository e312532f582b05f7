//! The two streams of the terminal: what a reader asked for goes to standard output, all else to
//! standard error.
//!
//! [`Screen`] knows what the terminal can show. It is the only thing in the project that prints. A closed
//! pipe (`weigh list | head`) is not an error.

use std::io::{self, IsTerminal, Write};

use anstream::ColorChoice;
use weigh_results::report::Style;

use crate::failure::Failure;

/// Columns when the output is not a terminal and says nothing about its width.
const PIPE_WIDTH: usize = 100;
/// Wider lines are hard to read.
const MOST_WIDTH: usize = 160;
/// Lines of a terminal that does not say how many it has.
const USUAL_HEIGHT: usize = 24;
/// Below this nothing fits.
const LEAST_WIDTH: usize = 40;

/// What the terminal can show, and how to write to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// For standard output.
    pub(crate) style: Style,
    /// Whether standard error takes colour.
    colour_below: bool,
    /// Whether standard error is a terminal that can be drawn on.
    pub(crate) live: bool,
}

impl Screen {
    /// Looks at the terminal and at `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE`, `TERM`, `COLUMNS` and the locale.
    pub(crate) fn look() -> Screen {
        let colour = |choice: ColorChoice| !matches!(choice, ColorChoice::Never);
        let style = Style {
            width: width(),
            colour: colour(anstream::AutoStream::choice(&io::stdout())),
            unicode: has_unicode(),
        };
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        Screen {
            style,
            colour_below: colour(anstream::AutoStream::choice(&io::stderr())),
            live: io::stderr().is_terminal() && !dumb,
        }
    }

    /// What standard error can show at this moment, and how many lines of it: columns and lines of its terminal, which
    /// somebody may have resized. Never wider than the terminal, however narrow: a line that wraps cannot be redrawn.
    pub(crate) fn below(&self) -> (Style, usize) {
        let (width, height) = terminal_size::terminal_size_of(io::stderr())
            .map_or((self.style.width, USUAL_HEIGHT), |(width, height)| (width.0.into(), height.0.into()));
        // A pseudo-terminal that nobody has given a size says 0.
        let width = if width == 0 { self.style.width } else { width.min(MOST_WIDTH) };
        let height = if height == 0 { USUAL_HEIGHT } else { height };
        (Style { width, colour: self.colour_below, unicode: self.style.unicode }, height)
    }

    /// Writes what was asked for.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::of(crate::exit::FAILED, &error))
            }
            // Whoever closed the pipe has read enough.
            _ => Ok(()),
        }
    }

    /// Writes JSON.
    pub(crate) fn print_json(&self, value: &serde_json::Value) -> Result<(), Failure> {
        self.print(&format!("{value:#}\n"))
    }

    /// Writes a line beside what was asked for. Failing to do so is no reason to stop.
    pub(crate) fn note(&self, text: &str) {
        writeln!(io::stderr(), "{text}").ok();
    }

    /// Writes an error.
    pub(crate) fn fail(&self, failure: &Failure) {
        write!(io::stderr(), "{}", failure.text(self.colour_below)).ok();
    }
}

fn width() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    let variable = || std::env::var("COLUMNS").ok()?.trim().parse::<usize>().ok();
    terminal.or_else(variable).unwrap_or(PIPE_WIDTH).clamp(LEAST_WIDTH, MOST_WIDTH)
}

/// A locale that is named and is not UTF-8 gets ASCII; no locale at all is nearly always a container whose
/// terminal can show everything.
fn has_unicode() -> bool {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    named.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}
