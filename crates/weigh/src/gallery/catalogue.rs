//! The runs of the store, with what each came to.
//!
//! [`Catalogue`] remembers a run's summary and verdict for as long as its file keeps its length and its time of
//! change: two hundred runs are analysed once, not with every look at the list. It holds no whole run in memory, and
//! a run that is being recorded is read anew each time, because its end changes nothing about the file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use weigh_results::analysis::{Analysis, analyse};
use weigh_results::model::Run;
use weigh_results::report::html::{GalleryFilter, GalleryRun, VerdictClass};
use weigh_results::report::words;
use weigh_results::store::{EVENTS_FILE, RunState, RunStore, StoreError};

use crate::exit;
use crate::failure::Failure;

/// The runs of one store.
pub(crate) struct Catalogue {
    store: RunStore,
    /// By directory.
    held: Mutex<HashMap<PathBuf, Held>>,
}

/// What is remembered of a directory, and of which state of its file.
struct Held {
    stamp: Stamp,
    entry: Arc<Entry>,
}

/// By this a file is taken for unchanged.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    len_bytes: u64,
    changed: Option<SystemTime>,
}

/// One directory of the store.
enum Entry {
    /// Could be read.
    Run(Box<GalleryRun>),
    /// Could not, and why.
    Unreadable(String),
}

/// Everything there is.
#[derive(Default)]
pub(super) struct Listing {
    /// Runs, newest first.
    pub(super) runs: Vec<GalleryRun>,
    /// What could not be read, with the reason.
    pub(super) unreadable: Vec<String>,
}

impl Catalogue {
    /// Of a store. Nothing is read yet.
    pub(crate) fn of(store: RunStore) -> Catalogue {
        Catalogue { store, held: Mutex::default() }
    }

    /// The store.
    pub(crate) fn store(&self) -> &RunStore {
        &self.store
    }

    /// Every run, newest first.
    pub(super) fn listing(&self) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        for entry in self.entries(self.store.directories()?) {
            match &*entry {
                Entry::Run(run) => listing.runs.push(GalleryRun::clone(run)),
                Entry::Unreadable(reason) => listing.unreadable.push(reason.clone()),
            }
        }
        listing.runs.sort_by(|a, b| {
            let (a, b) = (&a.summary, &b.summary);
            (&b.started_at, &b.run_id).cmp(&(&a.started_at, &a.run_id))
        });
        listing.unreadable.sort();
        Ok(listing)
    }

    /// The directory of the run that goes by this name, which is looked for among those there are.
    pub(super) fn find(&self, name: &str) -> Result<Option<PathBuf>, StoreError> {
        let mut directories = self.store.directories()?;
        directories.retain(|dir| dir.file_name().is_some_and(|found| found == name));
        Ok(directories.pop())
    }

    /// One run, whole.
    pub(super) fn load(&self, dir: &Path) -> Result<(Run, Analysis), StoreError> {
        let run = self.store.load(dir)?;
        let analysis = analyse(&run);
        Ok((run, analysis))
    }

    /// In no particular order. What is not remembered is analysed on every core.
    fn entries(&self, directories: Vec<PathBuf>) -> Vec<Arc<Entry>> {
        // What a thread that panicked held is only a memory of files: it is as good as before.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let present: HashMap<PathBuf, Stamp> = directories
            .into_iter()
            .filter_map(|dir| Some((stamp(&dir)?, dir)))
            .map(|(stamp, dir)| (dir, stamp))
            .collect();
        held.retain(|dir, known| present.get(dir) == Some(&known.stamp));
        let missing: Vec<(&Path, Stamp)> = present
            .iter()
            .filter(|(dir, _)| !held.contains_key(*dir))
            .map(|(dir, stamp)| (dir.as_path(), *stamp))
            .collect();
        held.extend(self.read_all(&missing));
        let entries = held.values().map(|known| Arc::clone(&known.entry)).collect();
        held.retain(|_, known| !known.entry.may_change_unseen());
        entries
    }

    fn read_all(&self, missing: &[(&Path, Stamp)]) -> Vec<(PathBuf, Held)> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(missing.len());
        let next = AtomicUsize::new(0);
        let worker = || {
            let mut read = Vec::new();
            while let Some((dir, stamp)) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                let entry = Arc::new(self.read_calmly(dir));
                read.push((dir.to_path_buf(), Held { stamp: *stamp, entry }));
            }
            read
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        })
    }

    /// A run that breaks the analysis is one line in the list; the others are shown all the same.
    fn read_calmly(&self, dir: &Path) -> Entry {
        let read = std::panic::AssertUnwindSafe(|| self.read(dir));
        std::panic::catch_unwind(read)
            .unwrap_or_else(|_| Entry::Unreadable(format!("{}: its analysis failed", name_of(dir))))
    }

    fn read(&self, dir: &Path) -> Entry {
        let read = || -> Result<GalleryRun, StoreError> {
            let (run, analysis) = self.load(dir)?;
            let class = VerdictClass::of(&analysis);
            Ok(GalleryRun {
                summary: self.store.summary(dir)?,
                verdict: sentence(&run, &analysis, class),
                class,
            })
        };
        read()
            .map_or_else(|error| Entry::Unreadable(unreadable(dir, &error)), |run| Entry::Run(Box::new(run)))
    }
}

impl Entry {
    /// Whether it can become another without its file changing: the lock of a recording goes with its process.
    fn may_change_unseen(&self) -> bool {
        matches!(self, Entry::Run(run) if run.summary.state == RunState::Running)
    }
}

/// The sentence that goes with the class: of several comparisons, the first that is different.
fn sentence(run: &Run, analysis: &Analysis, class: VerdictClass) -> String {
    let different = analysis.comparisons.iter().find(|found| words::is_different(found).is_some());
    match different.filter(|_| class == VerdictClass::Different) {
        Some(found) => words::verdict(run, analysis, found),
        None => words::verdicts(run, analysis).into_iter().next().unwrap_or_default(),
    }
}

fn stamp(dir: &Path) -> Option<Stamp> {
    let found = std::fs::metadata(dir.join(EVENTS_FILE)).ok()?;
    Some(Stamp { len_bytes: found.len(), changed: found.modified().ok() })
}

fn unreadable(dir: &Path, error: &StoreError) -> String {
    format!("{}: {}", name_of(dir), Failure::of(exit::FAILED, error).one_line())
}

fn name_of(dir: &Path) -> String {
    dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether a run passes a filter: every word is somewhere in what the list says of it.
pub(super) fn passes(run: &GalleryRun, filter: &GalleryFilter) -> bool {
    let of = &run.summary;
    let words = [&of.run_id, &of.experiment, &of.question, &of.system, &run.verdict];
    let text =
        words.into_iter().chain(&of.variants).map(|text| text.to_lowercase()).collect::<Vec<_>>().join("\n");
    filter.search.to_lowercase().split_whitespace().all(|word| text.contains(word))
        && filter.system.as_ref().is_none_or(|system| *system == of.system)
        && filter.verdict.is_none_or(|verdict| verdict == run.class)
}
