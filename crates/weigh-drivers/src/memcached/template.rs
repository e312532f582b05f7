//! Requests by template: a line and perhaps a value, whose unchanging parts are rendered once.

use weigh_load::generator::Row;

use super::command::{CheckedCommand, Part, Unsendable, unsendable};
use crate::keyvalue::{LastRequest, LengthField, Word};

/// A command, ready to be encoded.
#[derive(Clone, Debug)]
pub(super) struct RequestTemplate {
    pieces: Vec<Piece>,
    /// What follows the last piece.
    tail: Vec<u8>,
    length: LengthField,
    last: LastRequest,
}

/// What never changes, and then something that does.
#[derive(Clone, Debug)]
struct Piece {
    head: Vec<u8>,
    then: Changing,
    /// Where `then` began in the request that was rendered last.
    begin: usize,
}

#[derive(Clone, Debug)]
enum Changing {
    /// A word of the line.
    Word(Word),
    /// The value's length.
    Length,
    /// The value.
    Value(Word),
}

impl RequestTemplate {
    pub(super) fn new(command: &CheckedCommand) -> Self {
        let (mut pieces, mut literal) = (Vec::new(), Vec::new());
        let mut push = |literal: &mut Vec<u8>, then| {
            pieces.push(Piece { head: std::mem::take(literal), then, begin: 0 });
        };
        for (place, part) in command.line.iter().enumerate() {
            if place > 0 {
                literal.push(b' ');
            }
            match (part, &command.value) {
                (Part::Word(Word::Literal(bytes)), _) => literal.extend_from_slice(bytes),
                (Part::Word(word), _) => push(&mut literal, Changing::Word(word.clone())),
                (Part::Length, Some(Word::Literal(value))) => {
                    literal.extend_from_slice(value.len().to_string().as_bytes());
                }
                (Part::Length, _) => push(&mut literal, Changing::Length),
            }
        }
        literal.extend_from_slice(b"\r\n");
        match &command.value {
            None => {}
            Some(Word::Literal(value)) => literal.extend_from_slice(value),
            Some(word) => push(&mut literal, Changing::Value(word.clone())),
        }
        if command.value.is_some() {
            literal.extend_from_slice(b"\r\n");
        }
        Self { pieces, tail: literal, length: LengthField::default(), last: LastRequest::default() }
    }

    /// Appends the request with the values of `row`.
    ///
    /// # Errors
    /// A word that cannot stand in a line; `out` holds a part of the request then.
    #[inline]
    pub(super) fn encode(&mut self, row: Row<'_>, out: &mut Vec<u8>) -> Result<(), Unsendable> {
        // Digits instead of as many digits make no word impossible.
        if self.last.append_like(row, out) { Ok(()) } else { self.render(row, out) }
    }

    fn render(&mut self, row: Row<'_>, out: &mut Vec<u8>) -> Result<(), Unsendable> {
        let (start, mut length_at) = (out.len(), 0);
        for Piece { head, then, begin } in &mut self.pieces {
            out.extend_from_slice(head);
            let at = out.len();
            *begin = at - start;
            match then {
                Changing::Word(word) => {
                    word.render(row, out);
                    if let Some(why) = unsendable(&out[at..]) {
                        return Err(why);
                    }
                }
                Changing::Length => length_at = self.length.reserve(out),
                Changing::Value(word) => {
                    word.render(row, out);
                    let value_length = out.len() - at;
                    self.length.fill(length_at, value_length, out);
                    *begin = out.len() - value_length - start;
                }
            }
        }
        out.extend_from_slice(&self.tail);
        let words = self.pieces.iter().filter_map(|piece| match &piece.then {
            Changing::Word(word) | Changing::Value(word) => Some((piece.begin, word)),
            Changing::Length => None,
        });
        self.last.remember(&out[start..], words, row);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use weigh_load::Operation;
    use weigh_load::generator::{GeneratorSpec, ParameterStream, Value};

    use super::*;
    use crate::command::CommandOperation;

    fn encoded(command: &str, values: &[&str]) -> Vec<Result<String, Unsendable>> {
        let operation = CommandOperation {
            name: "a".into(),
            command: command.into(),
            parameters: 1,
            ..Default::default()
        };
        let mut template = RequestTemplate::new(&CheckedCommand::new(&operation).unwrap());
        let encode = |value: &&str| {
            let parameters = vec![GeneratorSpec::Choice { values: vec![(*value).to_owned()] }];
            let operations = [Operation { name: "a".into(), weight: 1, parameters }];
            let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
            let mut out = b">".to_vec();
            template.encode(stream.parameters(0).draw(), &mut out)?;
            Ok(String::from_utf8(out).unwrap())
        };
        values.iter().map(encode).collect()
    }

    #[test]
    fn requests_are_a_line_and_perhaps_a_value() {
        let check = |command: &str, value: &str, request: &str| {
            assert_eq!(encoded(command, &[value]), [Ok(format!(">{request}"))], "{command}");
        };
        check("get a k:$1 $1", "é", "get a k:é é\r\n");
        check("set k v", "", "set k 0 0 1\r\nv\r\n");
        check("set k$1 5 60 '$1 $1'", "ab", "set kab 5 60 5\r\nab ab\r\n");
        check("ms $1 '' T0", "k", "ms k 0 T0\r\n\r\n");
        check("ms $1 $1 T0", "twelve-bytes", "ms twelve-bytes 12 T0\r\ntwelve-bytes\r\n");
        check("mn", "", "mn\r\n");
    }

    #[test]
    fn numbers_of_any_width_are_put_in_their_places() {
        let command = CommandOperation {
            name: "a".into(),
            command: "ms k:$1 v$2-$1 T$1 F$2".into(),
            parameters: 2,
            ..Default::default()
        };
        let mut template = RequestTemplate::new(&CheckedCommand::new(&command).unwrap());
        let parameters = vec![
            GeneratorSpec::Uniform { min: -12, max: 120 },
            GeneratorSpec::Uniform { min: 0, max: 12_000_000_000 },
        ];
        let operations = [Operation { name: "a".into(), weight: 1, parameters }];
        let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
        for _ in 0..5000 {
            let mut parameters = stream.parameters(0);
            let row = parameters.draw();
            let (Some(Value::Integer(a)), Some(Value::Integer(b))) = (row.get(0), row.get(1)) else {
                panic!()
            };
            let mut out = b">".to_vec();
            template.encode(row, &mut out).unwrap();
            let value = format!("v{b}-{a}");
            let expected = format!(">ms k:{a} {} T{a} F{b}\r\n{value}\r\n", value.len());
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn lengths_follow_the_values() {
        let requests = encoded("set k $1", &["", "123456789012", "a"]);
        let expected = ["0\r\n\r\n", "12\r\n123456789012\r\n", "1\r\na\r\n"];
        assert_eq!(requests, expected.map(|tail| Ok(format!(">set k 0 0 {tail}"))));
    }

    #[test]
    fn keys_that_cannot_be_sent_are_found() {
        let long = "k".repeat(251);
        assert_eq!(
            encoded("get $1", &["", &long, "a b", "a\r\nflush_all", "\u{7f}"]),
            [
                Err(Unsendable::Empty),
                Err(Unsendable::Long),
                Err(Unsendable::Blank),
                Err(Unsendable::Blank),
                Err(Unsendable::Blank)
            ]
        );
    }
}
