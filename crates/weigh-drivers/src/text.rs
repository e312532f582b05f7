//! Texts with parameters in them: `user:$1`, the same in every text protocol.
//!
//! A [`TextTemplate`] is parsed once and rendered per operation without allocating beyond the output. `$1` to
//! `$9…` stand for the operation's parameters, `$$` for a dollar sign.

use weigh_load::DriverError;
use weigh_load::generator::{Row, Value};

/// A text with places for parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextTemplate {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(Vec<u8>),
    /// Index of a parameter, from 0.
    Parameter(usize),
}

impl TextTemplate {
    /// Takes a text of an operation with so many `parameters` apart.
    ///
    /// # Errors
    /// A number without a parameter.
    pub(crate) fn parse(text: &str, parameters: usize) -> Result<Self, DriverError> {
        let (mut parts, mut literal) = (Vec::new(), Vec::new());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            literal.extend_from_slice(&rest.as_bytes()[..at]);
            let behind = &rest[at + 1..];
            let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
            if digits > 0 {
                let number: usize = behind[..digits].parse().unwrap_or(usize::MAX);
                if number == 0 || number > parameters {
                    let name = &behind[..digits];
                    return Err(DriverError::new(format!(
                        "`${name}` is used and there are {parameters} parameters"
                    )));
                }
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.push(Part::Parameter(number - 1));
                rest = &behind[digits..];
            } else {
                literal.push(b'$');
                rest = behind.strip_prefix('$').unwrap_or(behind);
            }
        }
        literal.extend_from_slice(rest.as_bytes());
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self { parts })
    }

    /// The text itself, if no parameter is in it.
    pub(crate) fn literal(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(b""),
            [Part::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Where the values of `row` stand in the rendered text: offset, width and index of each parameter.
    pub(crate) fn places(&self, row: Row<'_>) -> impl Iterator<Item = (usize, usize, usize)> {
        let mut at = 0;
        self.parts.iter().filter_map(move |part| {
            let begin = at;
            let (width, parameter) = match part {
                Part::Literal(bytes) => (bytes.len(), None),
                Part::Parameter(index) => (row.get(*index).map_or(0, width), Some(*index)),
            };
            at += width;
            parameter.map(|index| (begin, width, index))
        })
    }

    /// Appends the text with the values of `row`.
    #[inline]
    pub(crate) fn render(&self, row: Row<'_>, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Literal(bytes) => out.extend_from_slice(bytes),
                Part::Parameter(index) => {
                    if let Some(value) = row.get(*index) {
                        write_value(value, out);
                    }
                }
            }
        }
    }
}

/// Appends a value as text; bytes as they are.
#[inline]
pub(crate) fn write_value(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Integer(number) => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
    }
}

/// How many bytes [`write_value`] appends.
fn width(value: Value<'_>) -> usize {
    match value {
        Value::Integer(number) => itoa::Buffer::new().format(number).len(),
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use weigh_load::Operation;
    use weigh_load::generator::{GeneratorSpec, ParameterStream};

    use super::*;

    fn rendered(text: &str) -> String {
        let parameters = vec![
            GeneratorSpec::Uniform { min: -7, max: -7 },
            GeneratorSpec::Choice { values: vec!["é".into()] },
        ];
        let operations = [Operation { name: "a".into(), weight: 1, parameters }];
        let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
        let mut out = b">".to_vec();
        let template = TextTemplate::parse(text, 2).unwrap();
        template.render(stream.parameters(0).draw(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn parameters_are_put_in_their_places() {
        assert_eq!(rendered("user:$1:$2$1"), ">user:-7:é-7");
        assert_eq!(rendered("costs $$1 or $ 1$"), ">costs $1 or $ 1$");
        assert_eq!(rendered(""), ">");
        assert_eq!(TextTemplate::parse("plain", 0).unwrap().literal(), Some(&b"plain"[..]));
        assert_eq!(TextTemplate::parse("$1", 1).unwrap().literal(), None);
    }

    #[test]
    fn places_are_where_the_values_are() {
        let parameters = vec![
            GeneratorSpec::Uniform { min: -7, max: -7 },
            GeneratorSpec::Choice { values: vec!["é".into()] },
        ];
        let operations = [Operation { name: "a".into(), weight: 1, parameters }];
        let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
        let template = TextTemplate::parse("ab$1$2c$1", 2).unwrap();
        let places: Vec<_> = template.places(stream.parameters(0).draw()).collect();
        assert_eq!(places, [(2, 2, 0), (4, 2, 1), (7, 2, 0)]);
    }

    #[test]
    fn a_number_without_a_parameter_is_refused() {
        for text in ["$3", "a$0", "$99999999999999999999999"] {
            assert!(TextTemplate::parse(text, 2).is_err(), "{text}");
        }
    }
}
