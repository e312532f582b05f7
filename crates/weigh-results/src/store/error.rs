//! What can go wrong with stored runs.

use std::io;
use std::path::PathBuf;

/// Why a run could not be stored, found or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk said no.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was being done, as a verb.
        action: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// A run of that name exists.
    #[error("run `{run_id}` exists already")]
    Exists {
        /// Its name.
        run_id: String,
    },
    /// Another weigh appends to this run.
    #[error("run `{run_id}` is in use: another weigh is recording to it")]
    Locked {
        /// Its name.
        run_id: String,
    },
    /// It was to be deleted, and is not a run.
    #[error("`{}` is not deleted: {reason}", path.display())]
    NotARun {
        /// What was named.
        path: PathBuf,
        /// What it is instead.
        reason: &'static str,
    },
    /// The file has no complete first line.
    #[error("`{}` holds no run: its first line is missing or incomplete", path.display())]
    NoHeader {
        /// The file of events.
        path: PathBuf,
    },
    /// A newer weigh wrote it.
    #[error("run `{run_id}` is in format {format}; this weigh reads up to format {supported}")]
    NewerFormat {
        /// Its name, or its file when the name could not be read.
        run_id: String,
        /// Format of the file.
        format: u32,
        /// Newest format this weigh knows.
        supported: u32,
    },
    /// A complete line that is not an event.
    #[error("line {line} of `{}` is damaged", path.display())]
    Damaged {
        /// The file of events.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What the parser says.
        #[source]
        source: serde_json::Error,
    },
    /// An event could not be written as JSON.
    #[error("cannot encode an event")]
    Encode {
        /// What the encoder says.
        #[source]
        source: serde_json::Error,
    },
    /// No run matches what was asked for.
    #[error("no run matches `{selector}`{}", nearest_text(nearest))]
    NotFound {
        /// What was asked for.
        selector: String,
        /// The nearest names there are, best first; empty if there are no runs.
        nearest: Vec<String>,
    },
    /// Several runs match what was asked for.
    #[error("`{selector}` matches {} runs: {}", candidates.len(), shortened(candidates))]
    Ambiguous {
        /// What was asked for.
        selector: String,
        /// The runs it could mean, newest first.
        candidates: Vec<String>,
    },
    /// There are fewer runs than that.
    #[error(
        "`{selector}` asks for run number {wanted} counted from the newest, but there are {present} runs"
    )]
    TooFew {
        /// What was asked for.
        selector: String,
        /// The number asked for.
        wanted: usize,
        /// How many there are.
        present: usize,
    },
    /// There is no home for runs.
    #[error("no place to store runs: neither `WEIGH_HOME`, `XDG_DATA_HOME` nor `HOME` is set")]
    NoPlace,
}

fn nearest_text(nearest: &[String]) -> String {
    if nearest.is_empty() {
        ": no runs are stored".into()
    } else {
        format!("; nearest: {}", shortened(nearest))
    }
}

/// The first few names; an error is one line, the list is in the error's field.
fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}
