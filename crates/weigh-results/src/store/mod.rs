//! The run store: one directory per run, one append-only file of events in it (`docs/formats.md`).
//!
//! - [`RunStore`]: where the runs are; lists them, finds one by what a reader types, loads it, deletes it.
//! - [`Recorder`]: appends events to one run, one `write` per line, so that a run killed at any
//!   moment is readable to its last finished trial.
//! - [`EventStorage`]: the only door to the disk; [`MemoryStorage`] stands in for it in tests that cut
//!   the file at every byte.
//! - [`RunSummary`]: what `weigh list` shows.
//!
//! The store never rewrites a finished line, never guesses at a damaged one, and refuses a file of a
//! newer format. The one thing it cuts off is a torn last line, and only when the run is resumed.

mod delete;
mod error;
mod lines;
mod place;
mod recorder;
mod runs;
mod storage;
mod summary;

pub use error::StoreError;
pub use place::runs_dir;
pub use recorder::Recorder;
pub use runs::RunStore;
pub use storage::{EventStorage, FileStorage, MemoryStorage};
pub use summary::{RunState, RunSummary};

/// Name of the file of events inside a run's directory.
pub const EVENTS_FILE: &str = "events.jsonl";
