//! Where the parts of an experiment were written.
//!
//! An [`Origin`] travels with the experiment, so that a mistake that only shows when the system is
//! known (a setting it does not have) still points at its line, or at the flag it was typed in.
//! Parts are named by path: `settings.fsync`, `factors.settings.fsync[1]`, `variants.off.settings.fsync`,
//! `workload.operations[0].sql`. It never decides anything and takes no part in equality.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::error::{ExperimentError, Position};

/// Where the parts of an experiment were written. Cheap to clone.
#[derive(Clone, Default)]
pub struct Origin {
    inner: Arc<Inner>,
}

#[derive(Clone, Default)]
struct Inner {
    /// File name as shown, or `command line`.
    source_name: String,
    /// The file's text; empty for the command line.
    text: String,
    spans: BTreeMap<String, Spans>,
    /// For the command line: path to the flag as typed.
    flags: BTreeMap<String, String>,
}

#[derive(Clone)]
struct Spans {
    key: Range<usize>,
    value: Range<usize>,
}

/// Which half of `key = value` an error points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Key,
    Value,
}

impl Origin {
    /// Of a file.
    pub(crate) fn file(source_name: &str, text: &str) -> Origin {
        let inner = Inner { source_name: source_name.to_owned(), text: text.to_owned(), ..Inner::default() };
        Origin { inner: Arc::new(inner) }
    }

    /// Of the command line.
    pub(crate) fn flags() -> Origin {
        let inner = Inner { source_name: "command line".to_owned(), ..Inner::default() };
        Origin { inner: Arc::new(inner) }
    }

    /// Remembers where a part stands in the file (byte ranges).
    pub(crate) fn mark(&mut self, path: String, key: Range<usize>, value: Range<usize>) {
        Arc::make_mut(&mut self.inner).spans.insert(path, Spans { key, value });
    }

    /// Remembers which flag a part came from.
    pub(crate) fn mark_flag(&mut self, path: String, flag: String) {
        Arc::make_mut(&mut self.inner).flags.insert(path, flag);
    }

    /// The file's name as shown.
    pub fn source_name(&self) -> &str {
        &self.inner.source_name
    }

    /// Where the value at a path stands.
    pub(crate) fn value_span(&self, path: &str) -> Option<Range<usize>> {
        self.inner.spans.get(path).map(|spans| spans.value.clone())
    }

    /// Whether something was written at exactly this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.inner.spans.contains_key(path) || self.inner.flags.contains_key(path)
    }

    /// The file's text.
    pub(crate) fn text(&self) -> &str {
        &self.inner.text
    }

    /// An error about the part at `path`, or about the nearest part around it that has a place.
    pub(crate) fn error(&self, half: Half, path: &str, what: impl Into<String>) -> ExperimentError {
        let mut at = path;
        loop {
            if let Some(flag) = self.inner.flags.get(at) {
                return ExperimentError::new(flag.clone(), None, what);
            }
            if let Some(spans) = self.inner.spans.get(at) {
                let span = if half == Half::Key { &spans.key } else { &spans.value };
                return self.error_at(span.clone(), what);
            }
            match at.rfind(['.', '[']) {
                Some(end) => at = &at[..end],
                // What is missing altogether is missing from the beginning.
                None if !self.inner.text.is_empty() => return self.error_at(0..0, what),
                None => return ExperimentError::new(self.inner.source_name.clone(), None, what),
            }
        }
    }

    /// An error about a byte range of the file.
    pub(crate) fn error_at(&self, span: Range<usize>, what: impl Into<String>) -> ExperimentError {
        let position = Position::in_text(&self.inner.text, span);
        ExperimentError::new(self.inner.source_name.clone(), Some(position), what)
    }
}

impl PartialEq for Origin {
    /// Always equal: two experiments are the same whether typed in a file or as flags.
    fn eq(&self, _other: &Origin) -> bool {
        true
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({:?})", self.inner.source_name)
    }
}
