//! Mistakes in an experiment, each with its place, what was expected and the nearest valid name.
//!
//! [`ExperimentErrors`] is what every door of this room returns: all mistakes that could be found in
//! one pass. Its text is complete (line, caret, help); the binary prints it as it is.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

/// A line longer than this is shown as a window around the mistake.
const SNIPPET_CHARS: usize = 100;

/// One mistake in an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentError {
    /// File as named by the caller, or the flag (`--set fsync`).
    pub file: String,
    /// Where in the file; `None` for a flag or a mistake of the file as a whole.
    pub position: Option<Position>,
    /// What is wrong: a lowercase fragment that names the thing in backticks.
    pub what: String,
    /// What would have been right.
    pub expected: Option<String>,
    /// The nearest valid name, as it can be typed.
    pub nearest: Option<String>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Characters concerned on that line, at least 1.
    pub length: usize,
    /// The line itself.
    pub source_line: String,
}

impl Position {
    /// The place of a byte range in a text. Any range is accepted: it is clamped to the text.
    pub(crate) fn in_text(text: &str, span: Range<usize>) -> Position {
        let start = floor_char(text, span.start);
        let end = floor_char(text, span.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let source_line = text[line_start..line_end].trim_end_matches('\r');
        let length = text[start..end.min(line_start + source_line.len()).max(start)].chars().count();
        Position {
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            length: length.max(1),
            source_line: source_line.to_owned(),
        }
    }

    /// The line, or the part of it around the place, without control characters; and the caret's offset.
    fn snippet(&self) -> (String, usize, usize) {
        let shown: Vec<char> =
            self.source_line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let at = self.column - 1;
        if shown.len() <= SNIPPET_CHARS {
            return (shown.iter().collect::<String>().trim_end().to_owned(), at, self.length);
        }
        let from = at.saturating_sub(SNIPPET_CHARS / 2).min(shown.len() - SNIPPET_CHARS);
        let to = from + SNIPPET_CHARS;
        let (head, tail) = (if from > 0 { "…" } else { "" }, if to < shown.len() { "…" } else { "" });
        let line = format!("{head}{}{tail}", shown[from..to].iter().collect::<String>());
        let offset = at - from + head.chars().count();
        (line, offset, self.length.min(to.saturating_sub(at).max(1)))
    }
}

/// The largest character boundary at or before `at`.
fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl ExperimentError {
    pub(crate) fn new(
        file: impl Into<String>,
        position: Option<Position>,
        what: impl Into<String>,
    ) -> ExperimentError {
        ExperimentError { file: file.into(), position, what: what.into(), expected: None, nearest: None }
    }

    /// Says what would have been right.
    pub(crate) fn expected(mut self, expected: impl Into<String>) -> ExperimentError {
        self.expected = Some(expected.into());
        self
    }

    /// Names the valid name nearest to what was typed, if one is near enough to be meant.
    pub(crate) fn nearest_of<'a>(
        mut self,
        typed: &str,
        valid: impl IntoIterator<Item = &'a str>,
    ) -> ExperimentError {
        self.nearest = nearest(typed, valid).map(str::to_owned);
        self
    }

    /// Lists the valid names as what was expected, and the nearest of them.
    pub(crate) fn one_of<'a>(
        self,
        typed: &str,
        valid: impl IntoIterator<Item = &'a str> + Clone,
    ) -> ExperimentError {
        let list = list_names(valid.clone());
        self.expected(list).nearest_of(typed, valid)
    }
}

/// ``one of `a`, `b` `` (long lists are cut).
pub(crate) fn list_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 12;
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "nothing here".to_owned(),
        [only] => only.clone(),
        some if some.len() <= MOST => format!("one of {}", some.join(", ")),
        many => format!("one of {}, … ({} in all)", many[..MOST].join(", "), many.len()),
    }
}

/// The valid name nearest to what was typed (Jaro-Winkler, at least 0.8), also looking at the last part
/// of dotted names, because a missing or wrong prefix is a common mistake.
pub(crate) fn nearest<'a>(typed: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let tail = name.rsplit('.').next().unwrap_or(&name);
        let typed_tail = typed.rsplit('.').next().unwrap_or(&typed);
        let whole = strsim::jaro_winkler(&typed, &name);
        // Slightly less than an equally good match of the whole name.
        whole.max(strsim::jaro_winkler(typed_tail, tail) * 0.98)
    };
    valid
        .into_iter()
        .map(|name| (similarity(name), name))
        .filter(|(score, _)| *score >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.position {
            Some(at) => write!(f, "{}:{}:{}: {}", self.file, at.line, at.column, self.what)?,
            None => write!(f, "{}: {}", self.file, self.what)?,
        }
        if let Some(at) = &self.position {
            let (line, offset, length) = at.snippet();
            let gutter = at.line.to_string().len();
            write!(f, "\n{:gutter$} |", "")?;
            write!(f, "\n{} | {line}", at.line)?;
            write!(f, "\n{:gutter$} | {:offset$}{}", "", "", "^".repeat(length))?;
        }
        if let Some(expected) = &self.expected {
            write!(f, "\nexpected: {expected}")?;
        }
        if let Some(nearest) = &self.nearest {
            write!(f, "\nhelp: did you mean `{nearest}`?")?;
        }
        Ok(())
    }
}

impl std::error::Error for ExperimentError {}

/// So many mistakes are shown; a file with more has one cause.
const SHOWN_MAX: usize = 50;

/// All mistakes that were found in one pass; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentErrors {
    /// In the order of the file.
    pub errors: Vec<ExperimentError>,
    /// How many more there are.
    pub more: usize,
}

impl ExperimentErrors {
    /// Sorted by place, the same mistake only once (a mistake in a statement shows in every variant).
    pub(crate) fn sorted(mut errors: Vec<ExperimentError>) -> ExperimentErrors {
        let place = |error: &ExperimentError| error.position.as_ref().map(|at| (at.line, at.column));
        errors.sort_by_key(place);
        let mut seen = BTreeSet::new();
        errors.retain(|error| seen.insert((error.file.clone(), place(error), error.what.clone())));
        let more = errors.len().saturating_sub(SHOWN_MAX);
        errors.truncate(SHOWN_MAX);
        ExperimentErrors { errors, more }
    }

    /// `Ok` when there are none.
    pub(crate) fn check(errors: Vec<ExperimentError>) -> Result<(), ExperimentErrors> {
        if errors.is_empty() { Ok(()) } else { Err(ExperimentErrors::sorted(errors)) }
    }
}

impl From<ExperimentError> for ExperimentErrors {
    fn from(error: ExperimentError) -> ExperimentErrors {
        ExperimentErrors { errors: vec![error], more: 0 }
    }
}

impl fmt::Display for ExperimentErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            error.fmt(f)?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n\n… and {more} more"),
        }
    }
}

impl std::error::Error for ExperimentErrors {}
