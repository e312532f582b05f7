//! Requests, encoded from a template: bytes that are always the same, and places for parameters.
//!
//! A part of a command that holds no parameter is bytes, lengths included. Where one is inside, the lengths of the
//! documents around it are patched when they end. Nothing is allocated per request once the buffers have grown.

use weigh_load::DriverError;
use weigh_load::generator::{Parameters, Row, Value};

use super::embed::{ARRAY, DOCUMENT, STRING, finish_string, write_document};
use super::json::Json;
use super::message::{SECTION_SEQUENCE, begin, finish};
use super::object_id::{ID_ELEMENT_BYTES, ObjectIds};
use super::value::{Kind, placeholder, write_element};
use crate::text::TextTemplate;

/// An empty document.
const EMPTY_DOCUMENT: [u8; 5] = [5, 0, 0, 0, 0];

/// A request of one operation.
#[derive(Clone, Debug)]
pub(super) struct RequestTemplate {
    pub(super) flags: u32,
    pub(super) body: Vec<Part>,
    pub(super) sequence: Option<SequenceTemplate>,
}

/// A document sequence.
#[derive(Clone, Debug)]
pub(super) struct SequenceTemplate {
    /// Its name, with its zero.
    pub(super) identifier: Vec<u8>,
    pub(super) items: Vec<Item>,
    /// How many times the items are sent, each time with fresh parameters.
    pub(super) rows: u32,
}

/// One document of a sequence.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Parts(Vec<Part>),
    /// The parameter of this index, which is the text of a JSON object, whole; and whether it needs an `_id`.
    Parameter {
        index: usize,
        with_id: bool,
    },
}

/// A piece of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Bytes(Vec<u8>),
    /// The length of a document, not known yet.
    Open,
    /// The end of the document opened last.
    Close,
    /// An element: its key (with its zero) and a parameter.
    Parameter {
        key: Vec<u8>,
        index: usize,
        kind: Kind,
    },
    /// The value of a string with parameters inside.
    Text(TextTemplate),
    /// The element `_id` with a fresh ObjectId.
    ObjectId,
}

/// What encoding needs besides the template: one per connection.
#[derive(Debug)]
pub(super) struct Scratch {
    opens: Vec<usize>,
    ids: ObjectIds,
    /// A parameter that could not be sent as asked.
    pub(super) fault: Option<String>,
}

impl Scratch {
    pub(super) fn new(ids: ObjectIds) -> Self {
        Self { opens: Vec::with_capacity(16), ids, fault: None }
    }
}

impl RequestTemplate {
    /// Appends the request with fresh parameters.
    #[inline]
    pub(super) fn encode(
        &self,
        request: i32,
        parameters: &mut Parameters<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) {
        let at = out.len();
        begin(request, self.flags, out);
        let row = parameters.draw();
        write_parts(&self.body, row, scratch, out);
        if let Some(sequence) = &self.sequence {
            out.push(SECTION_SEQUENCE);
            let section_at = out.len();
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&sequence.identifier);
            sequence.write_items(row, scratch, out);
            for _ in 1..sequence.rows {
                sequence.write_items(parameters.draw(), scratch, out);
            }
            finish(section_at, out);
        }
        finish(at, out);
    }
}

impl SequenceTemplate {
    fn write_items(&self, row: Row<'_>, scratch: &mut Scratch, out: &mut Vec<u8>) {
        for item in &self.items {
            match item {
                Item::Parts(parts) => write_parts(parts, row, scratch, out),
                Item::Parameter { index, with_id } => write_whole(row.get(*index), *with_id, scratch, out),
            }
        }
    }
}

#[inline]
fn write_parts(parts: &[Part], row: Row<'_>, scratch: &mut Scratch, out: &mut Vec<u8>) {
    for part in parts {
        match part {
            Part::Bytes(bytes) => out.extend_from_slice(bytes),
            Part::Open => {
                scratch.opens.push(out.len());
                out.extend_from_slice(&[0; 4]);
            }
            Part::Close => {
                out.push(0);
                if let Some(at) = scratch.opens.pop() {
                    finish(at, out);
                }
            }
            Part::Parameter { key, index, kind } => {
                if let Some(value) = row.get(*index) {
                    write_element(*kind, key, value, out);
                }
            }
            Part::Text(template) => {
                let at = out.len();
                out.extend_from_slice(&[0; 4]);
                template.render(row, out);
                out.push(0);
                finish_string(at, out);
            }
            Part::ObjectId => out.extend_from_slice(&scratch.ids.next_element()),
        }
    }
}

/// A document that is a parameter.
fn write_whole(value: Option<Value<'_>>, with_id: bool, scratch: &mut Scratch, out: &mut Vec<u8>) {
    let at = out.len();
    let id = scratch.ids.next_element();
    let first: &[u8] = if with_id { &id } else { b"" };
    let written = match value {
        Some(Value::Text(text)) => write_document(text, first, out),
        _ => None,
    };
    match written {
        Some(true) if with_id => {
            // It came with an `_id` of its own.
            out.drain(at + 4..at + 4 + ID_ELEMENT_BYTES);
            finish(at, &mut out[..]);
        }
        Some(_) => {}
        None => {
            out.extend_from_slice(&EMPTY_DOCUMENT);
            scratch.fault = Some(
                "a parameter that stands for a whole document is no JSON object (the generator `json` makes them)"
                    .to_owned(),
            );
        }
    }
}

/// Collects parts, joining bytes that follow one another.
#[derive(Debug, Default)]
pub(super) struct PartsBuilder {
    parts: Vec<Part>,
    literal: Vec<u8>,
}

impl PartsBuilder {
    /// A whole document of `members`, for an operation with so many `parameters`; with a fresh `_id` as its first
    /// member if asked.
    ///
    /// # Errors
    /// A parameter the operation does not have, or a value that is none.
    pub(super) fn document(
        members: &[(String, Json)],
        with_id: bool,
        parameters: usize,
    ) -> Result<Vec<Part>, DriverError> {
        let mut builder = Self::default();
        let id = if with_id { vec![Part::ObjectId] } else { Vec::new() };
        builder.nested(id, members.iter().map(|(key, value)| (key.as_str(), value)), parameters)?;
        Ok(builder.into_parts())
    }

    fn into_parts(mut self) -> Vec<Part> {
        self.settle();
        self.parts
    }

    fn settle(&mut self) {
        if !self.literal.is_empty() {
            self.parts.push(Part::Bytes(std::mem::take(&mut self.literal)));
        }
    }

    fn push(&mut self, part: Part) {
        match part {
            Part::Bytes(bytes) => self.literal.extend_from_slice(&bytes),
            other => {
                self.settle();
                self.parts.push(other);
            }
        }
    }

    /// Length, elements and end of a document or array.
    fn nested<'a>(
        &mut self,
        first: Vec<Part>,
        members: impl Iterator<Item = (&'a str, &'a Json)>,
        parameters: usize,
    ) -> Result<(), DriverError> {
        let mut inner = Self { parts: first, literal: Vec::new() };
        for (key, value) in members {
            inner.element(key, value, parameters)?;
        }
        if inner.parts.is_empty() {
            let at = self.literal.len();
            self.literal.extend_from_slice(&[0; 4]);
            self.literal.extend_from_slice(&inner.literal);
            self.literal.push(0);
            finish(at, &mut self.literal);
        } else {
            self.push(Part::Open);
            inner.into_parts().into_iter().for_each(|part| self.push(part));
            self.push(Part::Close);
        }
        Ok(())
    }

    fn element(&mut self, key: &str, value: &Json, parameters: usize) -> Result<(), DriverError> {
        if let Some((index, kind)) = placeholder(value, parameters)? {
            let key = [key.as_bytes(), b"\0"].concat();
            self.push(Part::Parameter { key, index, kind });
            return Ok(());
        }
        if let Json::Text(text) = value
            && has_parameter(text)
        {
            self.head(STRING, key);
            self.push(Part::Text(TextTemplate::parse(text, parameters)?));
            return Ok(());
        }
        if let Some((kind, bytes)) = value.leaf()? {
            self.head(kind, key);
            self.literal.extend_from_slice(&bytes);
            return Ok(());
        }
        match value {
            Json::Array(items) => {
                self.head(ARRAY, key);
                let keys: Vec<String> = (0..items.len()).map(|index| index.to_string()).collect();
                self.nested(Vec::new(), keys.iter().map(String::as_str).zip(items), parameters)
            }
            Json::Object(members) => {
                self.head(DOCUMENT, key);
                let members = members.iter().map(|(key, value)| (key.as_str(), value));
                self.nested(Vec::new(), members, parameters)
            }
            // Everything else is a leaf.
            _ => Ok(()),
        }
    }

    fn head(&mut self, kind: u8, key: &str) {
        self.literal.push(kind);
        self.literal.extend_from_slice(key.as_bytes());
        self.literal.push(0);
    }
}

/// Whether `$` and a digit stand anywhere in it: then it is a text with parameters.
fn has_parameter(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| pair[0] == b'$' && pair[1].is_ascii_digit())
}
