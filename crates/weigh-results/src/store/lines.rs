//! Bytes of an event file → events. Pure: knows nothing of files.

use std::path::Path;

use serde::Deserialize;

use super::StoreError;
use crate::model::{Event, FORMAT_VERSION, Run, RunHeader};

/// The complete lines at the front of `bytes`, and how many bytes they take.
///
/// A line is complete when its newline is there. A tail of zero bytes, which some file systems leave
/// after a power cut, is not a line.
pub(super) fn complete_lines(bytes: &[u8]) -> (Vec<&[u8]>, usize) {
    let mut lines = Vec::new();
    let mut complete = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if !line.ends_with(b"\n") || line.first() == Some(&0) {
            break;
        }
        complete += line.len();
        lines.push(&line[..line.len() - 1]);
    }
    (lines, complete)
}

/// What must be read before anything else: a newer format may have changed all the rest.
#[derive(Deserialize)]
struct FormatOnly {
    #[serde(default)]
    format: Option<u32>,
    #[serde(default)]
    run_id: Option<String>,
}

/// The first line, refused with [`StoreError::NewerFormat`] if a newer weigh wrote it.
pub(super) fn header(line: &[u8], path: &Path) -> Result<RunHeader, StoreError> {
    let damaged = |source| StoreError::Damaged { path: path.into(), line: 1, source };
    let first: FormatOnly = serde_json::from_slice(line).map_err(damaged)?;
    if let Some(format) = first.format.filter(|format| *format > FORMAT_VERSION) {
        let run_id = first.run_id.unwrap_or_else(|| path.display().to_string());
        return Err(StoreError::NewerFormat { run_id, format, supported: FORMAT_VERSION });
    }
    match serde_json::from_slice(line).map_err(damaged)? {
        Event::Started(header) => Ok(*header),
        _ => Err(StoreError::NoHeader { path: path.into() }),
    }
}

/// All complete lines, folded into a run. `path` is for messages only.
pub(super) fn fold(bytes: &[u8], path: &Path) -> Result<Run, StoreError> {
    let (lines, _) = complete_lines(bytes);
    let (first, rest) = lines.split_first().ok_or_else(|| StoreError::NoHeader { path: path.into() })?;
    let mut run = Run::new(header(first, path)?);
    for (index, line) in rest.iter().enumerate() {
        let event = serde_json::from_slice(line).map_err(|source| StoreError::Damaged {
            path: path.into(),
            line: index + 2,
            source,
        })?;
        run.apply(event);
    }
    Ok(run)
}
