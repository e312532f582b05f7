//! One line about a stored run.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::lines;
use super::recorder::io_error;
use super::{EVENTS_FILE, StoreError};
use crate::model::{Event, FinishReason, Run, RunHeader};

/// What `weigh list` shows of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its name.
    pub run_id: String,
    /// Start, RFC 3339, UTC.
    pub started_at: String,
    /// The experiment's name.
    pub experiment: String,
    /// The question in a sentence.
    pub question: String,
    /// The system's name.
    pub system: String,
    /// Names of the variants; the baseline is among them.
    pub variants: Vec<String>,
    /// Name of the baseline.
    pub baseline: String,
    /// How far it got.
    pub state: RunState,
    /// Complete rounds of the sequence that counts.
    pub rounds: u32,
    /// Wall-clock time, seconds, if it came to an end.
    pub elapsed_s: Option<f64>,
    /// Its directory.
    pub path: PathBuf,
}

/// How far a run got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Every comparison was decided.
    Decided,
    /// The budget was spent.
    Budget,
    /// Ctrl-C or SIGTERM; can be resumed.
    Interrupted,
    /// Something failed; can be resumed.
    Failed,
    /// It has no end: weigh was killed. Can be resumed.
    Killed,
    /// Being recorded right now.
    Running,
}

impl RunState {
    /// The state of a run, given whether its file is locked by a writer.
    pub fn of(run: &Run, locked: bool) -> RunState {
        match run.finish.as_ref().map(|finish| &finish.reason) {
            _ if locked => RunState::Running,
            None => RunState::Killed,
            Some(FinishReason::Decided) => RunState::Decided,
            Some(FinishReason::Budget) => RunState::Budget,
            Some(FinishReason::Interrupted) => RunState::Interrupted,
            Some(FinishReason::Failed(_)) => RunState::Failed,
        }
    }

    /// Whether `weigh resume` can go on with it.
    pub fn can_be_resumed(self) -> bool {
        matches!(self, RunState::Interrupted | RunState::Failed | RunState::Killed)
    }

    /// One word for a table.
    pub fn word(self) -> &'static str {
        match self {
            RunState::Decided => "decided",
            RunState::Budget => "budget spent",
            RunState::Interrupted => "interrupted",
            RunState::Failed => "failed",
            RunState::Killed => "cut short",
            RunState::Running => "running",
        }
    }
}

/// Reads a run's directory without decoding its trials, which are nearly all of its bytes.
pub(super) fn read(dir: &Path) -> Result<RunSummary, StoreError> {
    let path = dir.join(EVENTS_FILE);
    let bytes = std::fs::read(&path).map_err(io_error("read", &path))?;
    let (all, _) = lines::complete_lines(&bytes);
    let (first, rest) = all.split_first().ok_or_else(|| StoreError::NoHeader { path: path.clone() })?;
    let mut run = Run::new(lines::header(first, &path)?);
    for (index, line) in rest.iter().enumerate() {
        if line.starts_with(br#"{"event":"trial""#) {
            continue;
        }
        let damaged = |source| StoreError::Damaged { path: path.clone(), line: index + 2, source };
        run.apply(serde_json::from_slice::<Event>(line).map_err(damaged)?);
    }
    Ok(summarise(&run, RunState::of(&run, is_locked(&path)), dir))
}

/// The first line only: enough to sort and to find.
pub(super) fn read_header(dir: &Path) -> Result<RunHeader, StoreError> {
    use std::io::{BufRead, BufReader};
    let path = dir.join(EVENTS_FILE);
    let file = File::open(&path).map_err(io_error("open", &path))?;
    let mut first = Vec::new();
    BufReader::new(file).read_until(b'\n', &mut first).map_err(io_error("read", &path))?;
    let (all, _) = lines::complete_lines(&first);
    lines::header(all.first().ok_or_else(|| StoreError::NoHeader { path: path.clone() })?, &path)
}

/// Whether some weigh is recording to the file. A file that cannot be asked counts as free.
fn is_locked(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock))
}

fn summarise(run: &Run, state: RunState, dir: &Path) -> RunSummary {
    let plan = &run.header.plan;
    let sequence = run.current_sequence().map_or(0, |record| record.sequence);
    let rounds = run.rounds.iter().filter(|(of, _, _)| *of == sequence).count();
    RunSummary {
        run_id: run.header.run_id.clone(),
        started_at: run.header.started_at.clone(),
        experiment: plan.experiment.clone(),
        question: plan.question.clone(),
        system: plan.system.clone(),
        variants: plan.variants.iter().map(|variant| variant.name.clone()).collect(),
        baseline: plan.variants.get(plan.baseline).map(|variant| variant.name.clone()).unwrap_or_default(),
        state,
        rounds: u32::try_from(rounds).unwrap_or(u32::MAX),
        elapsed_s: run.finish.as_ref().map(|finish| finish.elapsed_s),
        path: dir.to_path_buf(),
    }
}
