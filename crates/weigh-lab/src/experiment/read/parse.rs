//! The door of the reader.

use toml::de::DeTable;

use super::parts::Parts;
use super::section::Reader;
use crate::experiment::{Experiment, ExperimentError, ExperimentErrors, Origin, check};

/// A text longer than this is not an experiment.
pub(in crate::experiment) const TEXT_BYTES_MAX: usize = 256 << 10;

/// Reads an experiment from the text of a file.
///
/// `source_name` is the file's name as errors show it; its stem is the experiment's name unless the text
/// has a `name` of its own.
///
/// # Errors
///
/// Every mistake that one pass can find, with line, column and the nearest valid name.
pub fn parse(source_name: &str, text: &str) -> Result<Experiment, ExperimentErrors> {
    let origin = Origin::file(source_name, text);
    if text.len() > TEXT_BYTES_MAX {
        let what = format!("larger than {TEXT_BYTES_MAX} bytes");
        return Err(ExperimentError::new(source_name, None, what).expected("an experiment file").into());
    }
    let (root, syntax) = DeTable::parse_recoverable(text);
    if !syntax.is_empty() {
        let errors = syntax.iter().map(|error| syntax_error(&origin, error)).collect();
        return Err(ExperimentErrors::sorted(errors));
    }
    let mut reader = Reader::new(origin);
    let experiment = Parts::new(&mut reader).experiment(source_name, root.get_ref());
    let Reader { origin, errors } = reader;
    ExperimentErrors::check(errors)?;
    let experiment = Experiment { origin, ..experiment };
    check::check(&experiment)?;
    Ok(experiment)
}

fn syntax_error(origin: &Origin, error: &toml::de::Error) -> ExperimentError {
    // One line, as a fragment: the parser's own text is in sentences on several.
    let message: Vec<&str> = error.message().lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let what = format!("not valid TOML: {}", message.join(", "));
    match error.span() {
        Some(span) => origin.error_at(span, what),
        None => origin.error_at(0..0, what),
    }
}
