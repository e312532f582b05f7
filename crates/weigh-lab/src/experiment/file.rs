//! Experiments by name or path.
//!
//! [`find`] takes what a user types: a shipped name (`postgres/durability`) or the path of a file.

use std::path::Path;

use super::error::Position;
use super::read::TEXT_BYTES_MAX;
use super::{Experiment, ExperimentError, ExperimentErrors, parse, shipped};

/// The shipped experiment of that name, else the file at that path.
///
/// # Errors
///
/// Neither exists, the file cannot be read, or whatever [`parse`] finds.
pub fn find(name_or_path: &str) -> Result<Experiment, ExperimentErrors> {
    match shipped().iter().find(|shipped| shipped.name == name_or_path) {
        Some(shipped) => shipped.parse(),
        None => load(Path::new(name_or_path)),
    }
}

/// Reads the experiment of a file.
///
/// # Errors
///
/// The file cannot be read or is not text, or whatever [`parse`] finds.
pub fn load(path: &Path) -> Result<Experiment, ExperimentErrors> {
    let shown = path.display().to_string();
    let size = std::fs::metadata(path).map(|facts| facts.len());
    if size.is_ok_and(|size| size > TEXT_BYTES_MAX as u64) {
        let what = format!("larger than {TEXT_BYTES_MAX} bytes");
        return Err(ExperimentError::new(shown, None, what).expected("an experiment file").into());
    }
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    match std::str::from_utf8(&bytes) {
        Ok(text) => parse(&shown, text),
        Err(error) => {
            // Everything before the bad byte is text; the rest of its line is shown as far as it is.
            let text = String::from_utf8_lossy(&bytes);
            let at = error.valid_up_to();
            let position = Position::in_text(&text, at..at + 1);
            let what = format!("not text: byte 0x{:02x} is not UTF-8", bytes[at]);
            Err(ExperimentError::new(shown, Some(position), what).expected("a file in UTF-8").into())
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> ExperimentErrors {
    let shown = path.display().to_string();
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    let what = if missing { "no such file".to_owned() } else { format!("cannot be read: {error}") };
    let error = ExperimentError::new(shown.clone(), None, what);
    if !missing {
        return error.into();
    }
    let mut candidates: Vec<String> = shipped().iter().map(|shipped| shipped.name.to_owned()).collect();
    candidates.extend(neighbours(path));
    let error = error.expected("the name of a shipped experiment (`weigh experiments` lists them) or a file");
    error.nearest_of(&shown, candidates.iter().map(String::as_str)).into()
}

/// The experiment files beside a path that does not exist.
fn neighbours(path: &Path) -> Vec<String> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let files = entries.flatten().map(|entry| path.with_file_name(entry.file_name()));
    let files = files.filter(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.map(|file| file.display().to_string()).collect()
}
