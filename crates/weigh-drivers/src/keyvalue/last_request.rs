//! The last request of an operation, changed into the next one.
//!
//! Most parameters are numbers of equally many digits, and then two requests differ in nothing but these digits: they are
//! overwritten in place, and the whole request is appended with one copy. Encoding a GET that way takes about a third
//! of rendering it part by part.

use weigh_load::generator::{Row, Value};

use super::word::Word;

/// Longer requests are not worth a second copy.
const LONGEST: usize = 512;

/// The last request of an operation and where its parameters stand.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastRequest {
    /// Empty: there is none that could be changed.
    bytes: Vec<u8>,
    slots: Vec<Slot>,
}

/// A number in the request.
#[derive(Clone, Copy, Debug)]
struct Slot {
    at: usize,
    width: usize,
    parameter: usize,
}

impl LastRequest {
    /// Appends the request with the values of `row`, if it is like the last one but for digits.
    #[inline]
    pub(crate) fn append_like(&mut self, row: Row<'_>, out: &mut Vec<u8>) -> bool {
        for Slot { at, width, parameter } in &self.slots {
            let Some(Value::Integer(number)) = row.get(*parameter) else { return self.give_up() };
            let mut buffer = itoa::Buffer::new();
            let digits = buffer.format(number).as_bytes();
            if digits.len() != *width {
                return self.give_up();
            }
            self.bytes[*at..*at + *width].copy_from_slice(digits);
        }
        out.extend_from_slice(&self.bytes);
        !self.bytes.is_empty()
    }

    #[cold]
    fn give_up(&mut self) -> bool {
        self.bytes.clear();
        self.slots.clear();
        false
    }

    /// Remembers a request, whose words with parameters begin where `words` says.
    pub(crate) fn remember<'a>(
        &mut self,
        request: &[u8],
        words: impl Iterator<Item = (usize, &'a Word)>,
        row: Row<'_>,
    ) {
        self.give_up();
        if request.len() > LONGEST {
            return;
        }
        for (begin, word) in words {
            let Word::Template(template) = word else { continue };
            for (place, width, parameter) in template.places(row) {
                if !matches!(row.get(parameter), Some(Value::Integer(_))) {
                    self.give_up();
                    return;
                }
                self.slots.push(Slot { at: begin + place, width, parameter });
            }
        }
        self.bytes.extend_from_slice(request);
    }
}
