//! Which operations wait for replies, and what each reply must be.

use std::collections::VecDeque;
use std::sync::Arc;

use weigh_load::DriverError;
use weigh_load::generator::Row;

use super::word::Word;

/// What an operation's reply must be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// Anything that is no error.
    #[default]
    Anything,
    /// This value every time.
    Literal(Vec<u8>),
    /// A value with parameters of the request in it.
    Rendered(Word),
}

impl Expectation {
    /// From an operation with so many `parameters`.
    ///
    /// # Errors
    /// A number without a parameter.
    pub(crate) fn parse(text: Option<&str>, parameters: usize) -> Result<Self, DriverError> {
        let Some(text) = text else { return Ok(Self::Anything) };
        Ok(match Word::parse(text.as_bytes().to_vec(), parameters)? {
            Word::Literal(bytes) => Self::Literal(bytes),
            template @ Word::Template(_) => Self::Rendered(template),
        })
    }
}

/// The requests that were encoded and not answered, oldest first.
///
/// As long as they are all of one operation nothing outside of this struct changes: with many connections, memory that
/// was last touched a round ago is what encoding and decoding wait for.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    /// By operation; the same for every connection.
    expectations: Arc<[Expectation]>,
    /// The oldest requests in a row that are of one operation.
    first: Run,
    /// The runs behind.
    later: VecDeque<Run>,
    /// The expectations that were rendered for requests, back to back from `texts_from` on, and their lengths.
    texts: Vec<u8>,
    texts_from: usize,
    lengths: VecDeque<usize>,
}

/// Requests of one operation in a row.
#[derive(Clone, Copy, Debug)]
struct Run {
    operation: usize,
    count: usize,
}

/// Used-up expectations are moved out of the way when there are this many bytes of them.
const COMPACT_BYTES: usize = 64 << 10;

impl InFlight {
    pub(crate) fn new(expectations: Arc<[Expectation]>) -> Self {
        Self {
            expectations,
            first: Run { operation: 0, count: 0 },
            later: VecDeque::new(),
            texts: Vec::new(),
            texts_from: 0,
            lengths: VecDeque::new(),
        }
    }

    /// A request of `operation` was encoded with the values of `row`.
    #[inline]
    pub(crate) fn push(&mut self, operation: usize, row: Row<'_>) {
        if let Expectation::Rendered(word) = &self.expectations[operation] {
            let before = self.texts.len();
            word.render(row, &mut self.texts);
            self.lengths.push_back(self.texts.len() - before);
        }
        if self.first.count == 0 {
            self.first = Run { operation, count: 1 };
        } else if self.first.operation == operation && self.later.is_empty() {
            self.first.count += 1;
        } else {
            match self.later.back_mut() {
                Some(last) if last.operation == operation => last.count += 1,
                _ => self.later.push_back(Run { operation, count: 1 }),
            }
        }
    }

    /// The operation whose reply comes next and the value it must bring, if it must bring one.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<(usize, Option<&[u8]>)> {
        let Run { operation, count } = self.first;
        if count == 0 {
            return None;
        }
        let value = match &self.expectations[operation] {
            Expectation::Anything => None,
            Expectation::Literal(bytes) => Some(bytes.as_slice()),
            Expectation::Rendered(_) => {
                let length = self.lengths.front().copied().unwrap_or_default();
                Some(&self.texts[self.texts_from..self.texts_from + length])
            }
        };
        Some((operation, value))
    }

    /// The oldest request is answered.
    #[inline]
    pub(crate) fn pop(&mut self) {
        let Run { operation, count } = self.first;
        if count == 0 {
            return;
        }
        if matches!(self.expectations[operation], Expectation::Rendered(_)) {
            self.pop_text();
        }
        self.first.count -= 1;
        if count == 1
            && let Some(next) = self.later.pop_front()
        {
            self.first = next;
        }
    }

    fn pop_text(&mut self) {
        self.texts_from += self.lengths.pop_front().unwrap_or_default();
        if self.texts_from == self.texts.len() {
            self.texts.clear();
            self.texts_from = 0;
        } else if self.texts_from >= COMPACT_BYTES {
            self.texts.drain(..self.texts_from);
            self.texts_from = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use weigh_load::Operation;
    use weigh_load::generator::{GeneratorSpec, ParameterStream};

    use super::*;

    #[test]
    fn expected_values_wait_in_order() {
        let expectations = ["v$1", "same", "$1$1"].map(|text| Expectation::parse(Some(text), 1).unwrap());
        let mut in_flight = InFlight::new(expectations.to_vec().into());
        let operation = |name: &str| Operation {
            name: name.into(),
            weight: 1,
            parameters: vec![GeneratorSpec::Sequence { start: 0 }],
        };
        let operations = ["a", "b", "c"].map(operation);
        let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
        let mut waiting = VecDeque::new();
        // More than `COMPACT_BYTES` of them, never fewer than three under way.
        for number in 1..20_000_usize {
            // Runs of up to three.
            let operation = number * number / 7 % 3;
            in_flight.push(operation, stream.parameters(operation).draw());
            let value = [format!("v{number}"), "same".into(), format!("{number}{number}")][operation].clone();
            waiting.push_back((operation, value));
            if number > 3 {
                let (operation, value) = waiting.pop_front().unwrap();
                assert_eq!(in_flight.oldest(), Some((operation, Some(value.as_bytes()))));
                in_flight.pop();
            }
        }
        assert!(in_flight.texts.len() <= 2 * COMPACT_BYTES);
        while !waiting.is_empty() {
            waiting.pop_front();
            in_flight.pop();
        }
        assert_eq!(in_flight.oldest(), None);
        assert_eq!(in_flight.texts_from, 0);
    }

    #[test]
    fn nothing_is_expected_unless_said() {
        let mut in_flight = InFlight::new([Expectation::parse(None, 0).unwrap()].into());
        assert_eq!(in_flight.oldest(), None);
        let operations = [Operation { name: "a".into(), weight: 1, parameters: vec![] }];
        let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
        in_flight.push(0, stream.parameters(0).draw());
        assert_eq!(in_flight.oldest(), Some((0, None)));
        in_flight.pop();
        in_flight.pop();
        assert!(Expectation::parse(Some("$1"), 0).is_err());
    }
}
