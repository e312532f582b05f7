//! The doors of the reader: an experiment, or a workload by itself.

use toml::de::DeTable;

use super::parts::Parts;
use super::section::Reader;
use crate::experiment::{Experiment, ExperimentError, ExperimentErrors, Origin, check};
use crate::plan::ResolvedOperation;

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
    let (root, mut reader) = open(source_name, text, "an experiment file")?;
    let experiment = Parts::new(&mut reader).experiment(source_name, root.get_ref());
    let Reader { origin, errors } = reader;
    ExperimentErrors::check(errors)?;
    let experiment = Experiment { origin, ..experiment };
    check::check(&experiment)?;
    Ok(experiment)
}

/// The operations of a workload file: what `[workload]` of an experiment holds, at the top of a file of its own
/// (`[vars]`, `[[operations]]`). An experiment's file will do too: then its `[workload]` is read and nothing else.
///
/// `system` decides what operations are written in.
///
/// # Errors
///
/// As [`parse`].
pub fn read_workload(
    source_name: &str,
    text: &str,
    system: &str,
) -> Result<Vec<ResolvedOperation>, ExperimentErrors> {
    let (root, mut reader) = open(source_name, text, "a workload file")?;
    let experiment = Parts::new(&mut reader).workload_file(system, root.get_ref());
    let Reader { origin, errors } = reader;
    ExperimentErrors::check(errors)?;
    check::operations(&Experiment { origin, ..experiment })
}

/// The syntax, and a reader for the rest.
fn open<'t>(
    source_name: &str,
    text: &'t str,
    expected: &str,
) -> Result<(toml::Spanned<DeTable<'t>>, Reader), ExperimentErrors> {
    let origin = Origin::file(source_name, text);
    if text.len() > TEXT_BYTES_MAX {
        let what = format!("larger than {TEXT_BYTES_MAX} bytes");
        return Err(ExperimentError::new(source_name, None, what).expected(expected).into());
    }
    let (root, syntax) = DeTable::parse_recoverable(text);
    if !syntax.is_empty() {
        let errors = syntax.iter().map(|error| syntax_error(&origin, error)).collect();
        return Err(ExperimentErrors::sorted(errors));
    }
    Ok((root, Reader::new(origin)))
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
