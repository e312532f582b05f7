//! What is known of the reply that is coming in, and what follows from it.

use bson::RawDocument;
use weigh_load::Outcome;

use super::command::{Miss, Shape};
use super::element::{Head, number};
use super::embed::{ARRAY, INT64, NULL};
use super::failure::countable;

/// What the items of an ordered bulk behind its first error are counted as.
const NOT_ATTEMPTED: &str = "not attempted: an ordered bulk stops at its first error";

/// Everything a reply says that matters.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplyState {
    ok: Option<f64>,
    code: i64,
    code_name: String,
    message: String,
    /// Messages of failed items and how many there were of each.
    write_errors: Vec<(String, u64)>,
    /// Place of the first item that failed.
    first_error: Option<u32>,
    /// How many items the server says it did, where it says so.
    done: Option<u64>,
    write_concern_error: Option<String>,
    value_is_null: bool,
    /// Which numbers of `expect` were there and right.
    right: u64,
    /// Any batch of this operation held a document.
    pub(super) has_document: bool,
    /// The cursor that is left open; 0: none.
    pub(super) cursor: i64,
    /// `database.collection` of the cursor.
    pub(super) namespace: String,
}

/// What is to be done when a reply is complete.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    Done(Outcome),
    /// There are more batches.
    Continue,
}

impl ReplyState {
    /// Ready for the next reply: of the next operation, or of the same one's next batch.
    #[inline]
    pub(super) fn clear(&mut self, same_operation: bool) {
        let has_document = same_operation && self.has_document;
        self.namespace.clear();
        if self.ok == Some(1.0) && self.first_error.is_none() && self.write_concern_error.is_none() {
            // The usual case: nothing below was touched.
            let namespace = std::mem::take(&mut self.namespace);
            let (code_name, message) =
                (std::mem::take(&mut self.code_name), std::mem::take(&mut self.message));
            let write_errors = std::mem::take(&mut self.write_errors);
            *self = Self { namespace, code_name, message, write_errors, has_document, ..Self::default() };
        } else {
            *self = Self { has_document, ..Self::default() };
        }
    }

    /// Whether the value of a top-level element matters, and so must be there as a whole.
    #[inline]
    pub(super) fn wants(shape: &Shape, head: &Head<'_>) -> bool {
        match head.key {
            b"ok" | b"code" | b"codeName" | b"errmsg" | b"writeConcernError" => true,
            b"n" if shape.counts_done => true,
            key => !shape.expect.is_empty() && shape.expect.iter().any(|(name, _)| name.as_bytes() == key),
        }
    }

    /// A top-level element that matters, with its whole value; `false` if it is not of the type it must have.
    pub(super) fn take(&mut self, shape: &Shape, head: &Head<'_>, value: &[u8]) -> bool {
        let figure = number(head.kind, value);
        for (index, (name, expected)) in shape.expect.iter().enumerate() {
            if name.as_bytes() == head.key && figure == Some(*expected) {
                self.right |= 1 << index;
            }
        }
        match head.key {
            b"ok" => self.ok = figure,
            b"code" => match figure {
                Some(figure) => self.code = whole(figure),
                None => return false,
            },
            b"n" if shape.counts_done => self.done = figure.map(|figure| whole(figure).unsigned_abs()),
            b"codeName" => self.code_name = text(value),
            b"errmsg" => self.message = text(value),
            b"writeConcernError" => self.take_write_concern_error(shape, value),
            _ => {}
        }
        true
    }

    /// The element `value` of findAndModify.
    #[inline]
    pub(super) fn take_value(&mut self, kind: u8) {
        self.value_is_null = kind == NULL;
    }

    /// An element of the document `cursor`; gives whether its value must be there as a whole first.
    #[inline]
    pub(super) fn cursor_wants(head: &Head<'_>) -> bool {
        matches!(head.key, b"id" | b"ns")
    }

    /// An element of `cursor`; `value` is whole if [`cursor_wants`](Self::cursor_wants) said so.
    #[inline]
    pub(super) fn take_of_cursor(&mut self, head: &Head<'_>, value: &[u8]) {
        match head.key {
            b"id" if head.kind == INT64 => {
                self.cursor = value.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
            }
            // Needed for the next batch only.
            b"ns" if self.cursor != 0 => self.namespace = text(value),
            b"firstBatch" | b"nextBatch" if head.kind == ARRAY => self.has_document |= head.value_bytes > 5,
            _ => {}
        }
    }

    #[cold]
    fn take_write_concern_error(&mut self, shape: &Shape, value: &[u8]) {
        let message = match RawDocument::from_bytes(value) {
            Ok(error) => describe(error, shape),
            Err(_) => "a malformed error".to_owned(),
        };
        self.write_concern_error = Some(format!("write concern: {message}"));
    }

    /// One document of `writeErrors`.
    #[cold]
    pub(super) fn take_write_error(&mut self, shape: &Shape, value: &[u8]) {
        let (index, message) = match RawDocument::from_bytes(value) {
            Ok(error) => (integer(error, "index"), describe(error, shape)),
            Err(_) => (0, "a malformed error".to_owned()),
        };
        let index = u32::try_from(index).unwrap_or(0);
        self.first_error = Some(self.first_error.map_or(index, |first| first.min(index)));
        match self.write_errors.iter_mut().find(|(known, _)| *known == message) {
            Some((_, count)) => *count += 1,
            None => self.write_errors.push((message, 1)),
        }
    }

    /// What the reply means.
    #[inline]
    pub(super) fn verdict(&mut self, shape: &Shape) -> Verdict {
        if self.ok != Some(1.0) {
            return Verdict::Done(self.refusal(shape));
        }
        if self.first_error.is_some() {
            return Verdict::Done(self.failed_items(shape));
        }
        if let Some(message) = self.write_concern_error.take() {
            return Verdict::Done(Outcome::Error(message));
        }
        if self.cursor != 0 {
            return Verdict::Continue;
        }
        if let Some(message) = self.wrong_number(shape) {
            return Verdict::Done(Outcome::Error(message));
        }
        let missed = match shape.miss {
            Miss::Never => false,
            Miss::NoDocument => !self.has_document,
            Miss::NullValue => self.value_is_null,
        };
        Verdict::Done(if missed { Outcome::Miss } else { Outcome::Success })
    }

    #[cold]
    fn refusal(&self, shape: &Shape) -> Outcome {
        if self.ok.is_none() {
            return Outcome::Broken("the server sent a reply without `ok`".to_owned());
        }
        Outcome::Error(countable(self.code, &self.code_name, &self.message, &shape.text))
    }

    /// Write errors: of some items, or of all. What the server says it did counts for more than what it should have
    /// done: FerretDB 1 goes on behind the error of an ordered bulk, a hundred documents at a time.
    #[cold]
    fn failed_items(&mut self, shape: &Shape) -> Outcome {
        let mut errors = std::mem::take(&mut self.write_errors);
        let failed = errors.iter().map(|(_, count)| count).sum::<u64>();
        let items = u64::from(shape.items);
        let succeeded = match (self.done, self.first_error) {
            (Some(done), _) => done.min(items),
            (None, Some(first)) if shape.ordered => u64::from(first).min(items),
            _ => items.saturating_sub(failed),
        };
        if succeeded == 0 && errors.len() == 1 && items <= 1 {
            return Outcome::Error(errors.swap_remove(0).0);
        }
        let left = items.saturating_sub(succeeded + failed);
        if left > 0 {
            errors.push((NOT_ATTEMPTED.to_owned(), left));
        }
        if succeeded == 0 {
            // Nothing was done: the operation failed, for its first reason.
            return Outcome::Error(errors.swap_remove(0).0);
        }
        Outcome::Partial(errors)
    }

    fn wrong_number(&self, shape: &Shape) -> Option<String> {
        let wrong = shape.expect.iter().enumerate().find(|(index, _)| self.right & (1 << index) == 0);
        wrong.map(|(_, (name, expected))| format!("`{name}` is not {expected}"))
    }
}

/// A write error or write concern error as a message.
fn describe(error: &RawDocument, shape: &Shape) -> String {
    let name = error.get_str("codeName").unwrap_or_default();
    let message = error.get_str("errmsg").unwrap_or_default();
    countable(integer(error, "code"), name, message, &shape.text)
}

fn integer(document: &RawDocument, key: &str) -> i64 {
    document.get_i32(key).map(i64::from).or_else(|_| document.get_i64(key)).unwrap_or(0)
}

#[expect(clippy::cast_possible_truncation, reason = "a code, which is a whole number")]
fn whole(figure: f64) -> i64 {
    figure as i64
}

/// The text of a string's value: behind its length, without its zero.
fn text(value: &[u8]) -> String {
    let inner = value.get(4..value.len().saturating_sub(1)).unwrap_or_default();
    String::from_utf8_lossy(inner).into_owned()
}
