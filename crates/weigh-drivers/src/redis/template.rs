//! Requests by template: an array of bulk strings whose unchanging parts are rendered once.

use weigh_load::generator::Row;

use crate::keyvalue::{LastRequest, LengthField, Word};

/// A command, ready to be encoded.
#[derive(Clone, Debug)]
pub(super) struct CommandTemplate {
    words: Vec<WordTemplate>,
    /// What follows the last word with parameters.
    tail: Vec<u8>,
    last: LastRequest,
}

/// A word with parameters in it and everything before it that never changes.
#[derive(Clone, Debug)]
struct WordTemplate {
    /// Up to the `$` before the word's length.
    head: Vec<u8>,
    length: LengthField,
    word: Word,
    /// Where it began in the request that was rendered last.
    begin: usize,
}

impl CommandTemplate {
    pub(super) fn new(words: &[Word]) -> Self {
        let mut templates = Vec::new();
        let mut literal = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            literal.push(b'$');
            if let Some(bytes) = word.literal() {
                literal.extend_from_slice(bytes.len().to_string().as_bytes());
                literal.extend_from_slice(b"\r\n");
                literal.extend_from_slice(bytes);
            } else {
                let head = std::mem::take(&mut literal);
                templates.push(WordTemplate {
                    head,
                    length: LengthField::default(),
                    word: word.clone(),
                    begin: 0,
                });
            }
            literal.extend_from_slice(b"\r\n");
        }
        Self { words: templates, tail: literal, last: LastRequest::default() }
    }

    /// Appends the request with the values of `row`.
    #[inline]
    pub(super) fn encode(&mut self, row: Row<'_>, out: &mut Vec<u8>) {
        if !self.last.append_like(row, out) {
            self.render(row, out);
        }
    }

    fn render(&mut self, row: Row<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        for WordTemplate { head, length, word, begin } in &mut self.words {
            out.extend_from_slice(head);
            let at = length.reserve(out);
            out.extend_from_slice(b"\r\n");
            let text_at = out.len();
            word.render(row, out);
            let text_length = out.len() - text_at;
            length.fill(at, text_length, out);
            *begin = out.len() - text_length - start;
        }
        out.extend_from_slice(&self.tail);
        let words = self.words.iter().map(|template| (template.begin, &template.word));
        self.last.remember(&out[start..], words, row);
    }
}

#[cfg(test)]
mod tests {
    use weigh_load::Operation;
    use weigh_load::generator::{GeneratorSpec, ParameterStream, Value};

    use super::*;
    use crate::command::CommandOperation;
    use crate::keyvalue::words_of;

    fn words(command: &str, parameters: usize) -> Vec<Word> {
        words_of(&CommandOperation { command: command.into(), parameters, ..Default::default() }).unwrap()
    }

    fn encoded(command: &str, values: &[&str]) -> Vec<String> {
        let mut template = CommandTemplate::new(&words(command, 1));
        let encode = |value: &&str| {
            let parameters = vec![GeneratorSpec::Choice { values: vec![(*value).to_owned()] }];
            let operations = [Operation { name: "a".into(), weight: 1, parameters }];
            let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
            let mut out = b">".to_vec();
            template.encode(stream.parameters(0).draw(), &mut out);
            String::from_utf8(out).unwrap()
        };
        values.iter().map(encode).collect()
    }

    #[test]
    fn numbers_of_any_width_are_put_in_their_places() {
        let mut template = CommandTemplate::new(&words("SET k:$1:$2 '$2' x$1", 2));
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
            template.encode(row, &mut out);
            let bulk = |text: String| format!("${}\r\n{text}\r\n", text.len());
            let words =
                [bulk("SET".into()), bulk(format!("k:{a}:{b}")), bulk(b.to_string()), bulk(format!("x{a}"))];
            assert_eq!(String::from_utf8(out).unwrap(), format!(">*4\r\n{}", words.concat()));
        }
    }

    #[test]
    fn requests_are_arrays_of_bulk_strings() {
        assert_eq!(encoded("PING", &["x"]), [">*1\r\n$4\r\nPING\r\n"]);
        assert_eq!(
            encoded("SET k:$1 '' é$1", &["a", "123456789", "", "é"]),
            [
                ">*4\r\n$3\r\nSET\r\n$3\r\nk:a\r\n$0\r\n\r\n$3\r\néa\r\n",
                ">*4\r\n$3\r\nSET\r\n$11\r\nk:123456789\r\n$0\r\n\r\n$11\r\né123456789\r\n",
                ">*4\r\n$3\r\nSET\r\n$2\r\nk:\r\n$0\r\n\r\n$2\r\né\r\n",
                ">*4\r\n$3\r\nSET\r\n$4\r\nk:é\r\n$0\r\n\r\n$4\r\néé\r\n",
            ]
        );
    }
}
