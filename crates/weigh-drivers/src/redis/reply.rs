//! What replies mean for the operations that wait for them.

use std::sync::Arc;

use weigh_load::generator::Row;
use weigh_load::{Decoded, Outcome};

use super::command::CheckedCommand;
use super::failure::countable;
use super::resp::{Progress, Reply, ReplyParser};
use crate::keyvalue::{Expectation, InFlight};

/// The replies of one connection.
#[derive(Debug)]
pub(super) struct Replies {
    commands: Arc<[CheckedCommand]>,
    in_flight: InFlight,
    parser: ReplyParser,
}

impl Replies {
    pub(super) fn new(commands: Arc<[CheckedCommand]>, expectations: Arc<[Expectation]>) -> Self {
        Self { commands, in_flight: InFlight::new(expectations), parser: ReplyParser::default() }
    }

    /// A request of `operation` with the values of `row` will be answered after those before it.
    #[inline]
    pub(super) fn expect(&mut self, operation: usize, row: Row<'_>) {
        self.in_flight.push(operation, row);
    }

    /// Consumes at most one complete reply.
    #[inline]
    pub(super) fn decode(&mut self, received: &[u8]) -> Decoded {
        if let Some((value, used)) = self.parser.whole_value(received)
            && let Some((_, expected)) = self.in_flight.oldest()
            && expected.is_none_or(|expected| expected == value)
        {
            self.in_flight.pop();
            return Decoded::finished(used, Outcome::Success);
        }
        self.decode_slowly(received)
    }

    #[inline(never)]
    fn decode_slowly(&mut self, received: &[u8]) -> Decoded {
        let Some((operation, expected)) = self.in_flight.oldest() else { return self.unasked(received) };
        match self.parser.parse(received, expected) {
            Progress::More(used) => Decoded::more(used),
            Progress::Done(used, reply) => {
                let outcome = outcome(reply, &self.commands[operation]);
                self.in_flight.pop();
                Decoded::finished(used, outcome)
            }
            Progress::Malformed(message) => Decoded::finished(0, Outcome::Broken(message)),
        }
    }

    /// Nothing is asked: only messages may come.
    #[cold]
    fn unasked(&mut self, received: &[u8]) -> Decoded {
        let broken = |message| Decoded::finished(0, Outcome::Broken(message));
        match self.parser.parse(received, None) {
            Progress::More(used) => Decoded::more(used),
            Progress::Done(_, Reply::Error(text)) => broken(countable(&text, &[])),
            Progress::Done(..) => broken("the server sent a reply without a request".into()),
            Progress::Malformed(message) => broken(message),
        }
    }
}

fn outcome(reply: Reply, command: &CheckedCommand) -> Outcome {
    let anything = command.expectation == Expectation::Anything;
    match reply {
        Reply::Null if command.null_is_miss => Outcome::Miss,
        Reply::Null if anything => Outcome::Success,
        Reply::Null => Outcome::Error("the reply is a null, not the expected value".into()),
        Reply::Value { expected: true } => Outcome::Success,
        Reply::Value { expected: false } => Outcome::Error("the reply is not the expected value".into()),
        Reply::Error(text) => Outcome::Error(countable(&text, &command.literals())),
        Reply::Aggregate { errors } if !errors.is_empty() => {
            let literals = command.literals();
            let errors = errors.into_iter().map(|(text, count)| (countable(&text, &literals), count));
            Outcome::Partial(errors.collect())
        }
        Reply::Aggregate { .. } if anything => Outcome::Success,
        Reply::Aggregate { .. } => {
            Outcome::Error("the reply has several values; `expect` is for a single one".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use weigh_load::Operation;
    use weigh_load::generator::{GeneratorSpec, ParameterStream};

    use super::*;
    use crate::command::CommandOperation;

    fn waiting(command: CheckedCommand) -> Replies {
        let expectations = [command.expectation.clone()];
        Replies::new([command].into(), expectations.into())
    }

    /// What each reply means for a command that expects something or nothing.
    fn outcomes(command: &str, expect: Option<&str>, replies: &[&str]) -> Vec<Outcome> {
        let operation = CommandOperation {
            name: "a".into(),
            command: command.into(),
            parameters: 1,
            rows: 1,
            expect: expect.map(Into::into),
        };
        let mut decoder = waiting(CheckedCommand::new(&operation).unwrap());
        let parameters = vec![GeneratorSpec::Sequence { start: 0 }];
        let operations = [Operation { name: "a".into(), weight: 1, parameters }];
        let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
        for _ in replies {
            decoder.expect(0, stream.parameters(0).draw());
        }
        let decode = |reply: &&str| {
            let decoded = decoder.decode(reply.as_bytes());
            assert!(matches!(decoded.finished, Some(Outcome::Broken(_))) || decoded.consumed == reply.len());
            decoded.finished.unwrap()
        };
        replies.iter().map(decode).collect()
    }

    fn error(message: &str) -> Outcome {
        Outcome::Error(message.into())
    }

    #[test]
    fn nulls_are_misses_where_a_value_was_asked() {
        let nulls = ["$-1\r\n", "_\r\n", "*-1\r\n"];
        assert_eq!(outcomes("GET k", None, &nulls), [Outcome::Miss, Outcome::Miss, Outcome::Miss]);
        assert_eq!(outcomes("GET k", Some("v"), &nulls[..1]), [Outcome::Miss]);
        assert_eq!(outcomes("SET k v NX", None, &nulls[..1]), [Outcome::Success]);
        let missing = error("the reply is a null, not the expected value");
        assert_eq!(outcomes("SET k v NX", Some("OK"), &["+OK\r\n", "$-1\r\n"]), [Outcome::Success, missing]);
    }

    #[test]
    fn values_are_compared_with_what_was_rendered_for_their_request() {
        let wrong = error("the reply is not the expected value");
        assert_eq!(
            outcomes("GET $1", Some("v$1"), &["$2\r\nv1\r\n", "$2\r\nv9\r\n", "+v3\r\n", "$3\r\nv44\r\n"]),
            [Outcome::Success, wrong.clone(), Outcome::Success, wrong]
        );
        let several = error("the reply has several values; `expect` is for a single one");
        assert_eq!(outcomes("MGET $1", Some("v"), &["*1\r\n$1\r\nv\r\n"]), [several]);
    }

    #[test]
    fn errors_are_counted_by_message() {
        assert_eq!(
            outcomes("EVAL x 0", None, &["-ERR unknown 'x' '7'\r\n", "*2\r\n-ERR 'Z'\r\n:1\r\n"]),
            [error("ERR unknown 'x' '…'"), Outcome::Partial(vec![("ERR '…'".into(), 1)])]
        );
    }

    #[test]
    fn a_reply_without_a_request_breaks_the_connection() {
        let mut decoder = Replies::new([].into(), [].into());
        assert_eq!(decoder.decode(b">1\r\n+hello\r\n"), Decoded::more(12));
        let broken = |decoded: Decoded| match decoded.finished {
            Some(Outcome::Broken(message)) => message,
            other => panic!("{other:?}"),
        };
        assert_eq!(broken(decoder.decode(b"+OK\r\n")), "the server sent a reply without a request");
        assert_eq!(broken(decoder.decode(b"-ERR idle too long\r\n")), "ERR idle too long");
        assert_eq!(broken(decoder.decode(b"X\r\n")), "the server sent a reply that begins with `X`");
    }
}
