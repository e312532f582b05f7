//! Replies, decoded incrementally: lines, and values that are counted off and compared as they arrive.

use std::sync::Arc;

use weigh_load::generator::Row;
use weigh_load::{Decoded, Outcome};

use super::command::{Brings, CheckedCommand, LONGEST_KEY, Unsendable};
use crate::keyvalue::{Body, Expectation, InFlight};

/// Longest line: a key, some numbers and flags, or an error message.
const LONGEST_LINE: usize = 8 << 10;

/// Longest part of a line that is shown, characters.
const LONGEST_SHOWN: usize = 160;

const DIFFERS: &str = "the reply is not the expected value";

/// The replies of one connection.
#[derive(Debug)]
pub(super) struct Replies {
    commands: Arc<[CheckedCommand]>,
    /// Behind the numbers of the operations come those of [`Unsendable::ALL`].
    in_flight: InFlight,
    body: Body,
    /// Values of this reply that have come.
    values: usize,
    /// One of them was not the expected one.
    differs: bool,
}

/// What the replies to operations, and to requests that are sent instead of others, must be.
pub(super) fn expectations(commands: &[CheckedCommand]) -> Arc<[Expectation]> {
    let substitutes = Unsendable::ALL.map(|_| Expectation::Anything);
    commands.iter().map(|command| command.expectation.clone()).chain(substitutes).collect()
}

/// What one step found.
enum Step {
    /// So many bytes are dealt with.
    Passed(usize),
    /// So many bytes are dealt with and end the reply.
    End(usize, Outcome),
    /// More bytes are needed.
    Short,
}

impl Replies {
    pub(super) fn new(commands: Arc<[CheckedCommand]>, expectations: Arc<[Expectation]>) -> Self {
        Self {
            commands,
            in_flight: InFlight::new(expectations),
            body: Body::default(),
            values: 0,
            differs: false,
        }
    }

    /// A request of `operation` with the values of `row` will be answered after those before it.
    #[inline]
    pub(super) fn expect(&mut self, operation: usize, row: Row<'_>) {
        self.in_flight.push(operation, row);
    }

    /// A `version` that was sent instead of a request that cannot be will be answered after those before it.
    #[cold]
    pub(super) fn expect_substitute(&mut self, why: Unsendable, row: Row<'_>) {
        self.in_flight.push(self.commands.len() + why as usize, row);
    }

    /// Consumes at most one complete reply.
    #[inline]
    pub(super) fn decode(&mut self, received: &[u8]) -> Decoded {
        if let Some(used) = self.whole_value(received) {
            self.in_flight.pop();
            return Decoded::finished(used, Outcome::Success);
        }
        self.decode_slowly(received)
    }

    #[inline(never)]
    fn decode_slowly(&mut self, received: &[u8]) -> Decoded {
        let mut at = 0;
        loop {
            match self.step(&received[at..]) {
                Ok(Step::Passed(used)) => at += used,
                Ok(Step::Short) => return Decoded::more(at),
                Ok(Step::End(used, outcome)) => {
                    self.in_flight.pop();
                    (self.values, self.differs) = (0, false);
                    return Decoded::finished(at + used, outcome);
                }
                Err(message) => return Decoded::finished(0, Outcome::Broken(message)),
            }
        }
    }

    /// The usual reply at once: one value that has come whole, as expected. `None`: anything else.
    #[inline]
    fn whole_value(&mut self, received: &[u8]) -> Option<usize> {
        let (operation, expected) = self.in_flight.oldest()?;
        let command = self.commands.get(operation)?;
        let usual = command.grammar.brings == Brings::Values && command.keys == 1;
        if !usual || self.values > 0 || self.body.is_open() {
            return None;
        }
        let (value, used) = split_whole_value(received)?;
        expected.is_none_or(|expected| expected == value).then_some(used)
    }

    fn step(&mut self, rest: &[u8]) -> Result<Step, String> {
        if rest.is_empty() {
            return Ok(Step::Short);
        }
        let Some((operation, expected)) = self.in_flight.oldest() else { return Err(unasked(rest)) };
        if self.body.is_open() {
            let used = self.body.pass(rest, expected)?;
            if self.body.is_open() {
                return Ok(Step::Passed(used));
            }
            self.differs |= !self.body.end(expected);
            self.values += 1;
            let last = self.commands[operation].grammar.brings == Brings::Value;
            return Ok(if last { Step::End(used, checked(!self.differs)) } else { Step::Passed(used) });
        }
        let Some(line) = line(rest)? else { return Ok(Step::Short) };
        let used = line.len() + 2;
        let Some(command) = self.commands.get(operation) else {
            return Ok(Step::End(used, not_sent(operation - self.commands.len())));
        };
        let (first, behind) = split_word(line);
        match (command.grammar.brings, first) {
            (Brings::Values, b"VALUE") if self.values == command.keys => {
                return Err("the server sent more values than it was asked for".into());
            }
            // `VALUE KEY FLAGS LENGTH`
            (Brings::Values, b"VALUE") => self.body.begin(length(split_word(split_word(behind).1).1)?, 0),
            (Brings::Value, b"VA") => self.body.begin(length(behind)?, 0),
            (Brings::Values, b"END") => {
                let complete = self.values == command.keys || self.differs;
                let outcome = if complete { checked(!self.differs) } else { Outcome::Miss };
                return Ok(Step::End(used, outcome));
            }
            _ if self.values > 0 => return Err(unfit(command, line)),
            _ => return Ok(Step::End(used, last_line(command, line, first, expected)?)),
        }
        Ok(Step::Passed(used))
    }
}

/// `VALUE KEY FLAGS LENGTH`, the value and `END` at the beginning of `received`: the value, and the bytes of it all.
#[inline]
fn split_whole_value(received: &[u8]) -> Option<(&[u8], usize)> {
    let words = received.strip_prefix(b"VALUE ")?;
    let (_key, words) = words.split_at_checked(word(words)? + 1)?;
    let (_flags, words) = words.split_at_checked(word(words)? + 1)?;
    let mut length = 0;
    // Nine digits do not overflow.
    for (at, byte) in words.iter().enumerate().take(10) {
        if byte.is_ascii_digit() {
            length = length * 10 + usize::from(byte - b'0');
            continue;
        }
        let (value, behind) = words[at..].strip_prefix(b"\r\n")?.split_at_checked(length)?;
        let rest = behind.strip_prefix(b"\r\nEND\r\n")?;
        return (at > 0).then_some((value, received.len() - rest.len()));
    }
    None
}

/// Length of the word at the beginning, if a blank and no other control byte ends it and it could be a key.
#[inline]
fn word(words: &[u8]) -> Option<usize> {
    let words = &words[..words.len().min(LONGEST_KEY + 1)];
    words.iter().position(|byte| *byte <= b' ').filter(|end| words[*end] == b' ')
}

/// What a reply of one line means.
#[inline]
fn last_line(
    command: &CheckedCommand,
    line: &[u8],
    first: &[u8],
    expected: Option<&[u8]>,
) -> Result<Outcome, String> {
    let is_among = |words: &[&str]| words.iter().any(|word| word.as_bytes() == first);
    let is_number = || !first.is_empty() && first.iter().all(u8::is_ascii_digit);
    if is_among(command.grammar.done) || (command.grammar.brings == Brings::Number && is_number()) {
        return Ok(checked(expected.is_none_or(|expected| expected == line)));
    }
    if is_among(command.grammar.missing) {
        return Ok(Outcome::Miss);
    }
    match first {
        // The server has read the value all the same.
        b"SERVER_ERROR" => Ok(Outcome::Error(shown(line))),
        // The server takes the value for a command: from here on replies would be those of other requests.
        b"ERROR" | b"CLIENT_ERROR" if command.value.is_some() => Err(shown(line)),
        b"ERROR" | b"CLIENT_ERROR" => Ok(Outcome::Error(shown(line))),
        _ => Err(unfit(command, line)),
    }
}

fn checked(expected: bool) -> Outcome {
    if expected { Outcome::Success } else { Outcome::Error(DIFFERS.into()) }
}

/// How an operation ends whose request was not sent, for the reason with this number.
#[cold]
fn not_sent(reason: usize) -> Outcome {
    let reason = Unsendable::ALL.get(reason).map_or("", |reason| reason.describe());
    Outcome::Error(format!("not sent: {reason}"))
}

#[cold]
fn unasked(rest: &[u8]) -> String {
    match line(rest) {
        Ok(Some(line)) => format!("the server sent `{}` without a request", shown(line)),
        _ => "the server sent a reply without a request".into(),
    }
}

#[cold]
fn unfit(command: &CheckedCommand, line: &[u8]) -> String {
    format!("the server answered `{}` to `{}`", shown(line), command.grammar.name)
}

/// A line as text, cut.
fn shown(line: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(line).into_owned();
    if let Some((end, _)) = text.char_indices().nth(LONGEST_SHOWN) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The first line, without its end; `None` if that has not come.
#[inline]
fn line(rest: &[u8]) -> Result<Option<&[u8]>, String> {
    match rest.iter().position(|byte| *byte == b'\n') {
        Some(at) if at <= LONGEST_LINE => match rest[..at].split_last() {
            Some((b'\r', line)) => Ok(Some(line)),
            _ => Err("the server sent a line that does not end as it must".into()),
        },
        None if rest.len() <= LONGEST_LINE => Ok(None),
        _ => Err(format!("the server sent a line of more than {LONGEST_LINE} bytes")),
    }
}

/// The first word, and what follows the blank behind it.
#[inline]
fn split_word(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}

/// The number at the beginning of `words`: a value's length.
#[inline]
fn length(words: &[u8]) -> Result<u64, String> {
    let (digits, _) = split_word(words);
    let number = digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    });
    // Lengths are 32 bits wide in every server.
    number
        .filter(|number| !digits.is_empty() && u32::try_from(*number).is_ok())
        .ok_or_else(|| format!("the server sent a value of the length `{}`", shown(digits)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weigh_load::Operation;
    use weigh_load::generator::{GeneratorSpec, ParameterStream};

    use super::*;
    use crate::command::CommandOperation;

    /// A decoder that waits for one reply to each of these commands, in order; a command and what it expects.
    fn decoder(commands: &[(&str, Option<&str>)]) -> Replies {
        let operation = |(command, expect): &(&str, Option<&str>)| CommandOperation {
            name: "a".into(),
            command: (*command).into(),
            parameters: 1,
            rows: 1,
            expect: expect.map(Into::into),
        };
        let checked = commands.iter().map(|command| CheckedCommand::new(&operation(command)).unwrap());
        let checked: Arc<[_]> = checked.collect();
        let mut decoder = Replies::new(Arc::clone(&checked), super::expectations(&checked));
        let parameters = vec![GeneratorSpec::Sequence { start: 0 }];
        let operations = [Operation { name: "a".into(), weight: 1, parameters }];
        let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
        for index in 0..commands.len() {
            decoder.expect(index, stream.parameters(0).draw());
        }
        decoder
    }

    fn outcome(command: &str, expect: Option<&str>, reply: &str) -> Outcome {
        decoder(&[(command, expect)]).decode(reply.as_bytes()).finished.unwrap()
    }

    fn error(message: &str) -> Outcome {
        Outcome::Error(message.into())
    }

    /// Commands, their replies and what those mean.
    fn dialogue() -> Vec<(&'static str, Option<&'static str>, &'static str, Outcome)> {
        vec![
            ("get k", None, "VALUE k 0 5\r\na\r\nbc\r\nEND\r\n", Outcome::Success),
            ("get k", Some("v"), "VALUE k 0 1\r\nv\r\nEND\r\n", Outcome::Success),
            ("get k", Some("v"), "VALUE k 0 1\r\nw\r\nEND\r\n", error(DIFFERS)),
            ("get k", Some("v$1"), "VALUE k 0 2\r\nv4\r\nEND\r\n", Outcome::Success),
            ("get k", Some("v"), "END\r\n", Outcome::Miss),
            ("gets a b", None, "VALUE a 1 0 77\r\n\r\nVALUE b 0 1 78\r\nx\r\nEND\r\n", Outcome::Success),
            ("get a b", None, "VALUE b 0 1\r\nx\r\nEND\r\n", Outcome::Miss),
            ("get a b", Some("x"), "VALUE b 0 1\r\ny\r\nEND\r\n", error(DIFFERS)),
            ("set k v", None, "STORED\r\n", Outcome::Success),
            ("add k v", None, "NOT_STORED\r\n", Outcome::Miss),
            (
                "set k v",
                None,
                "SERVER_ERROR out of memory storing object\r\n",
                error("SERVER_ERROR out of memory storing object"),
            ),
            ("incr k 1", None, "12\r\n", Outcome::Success),
            ("incr k 1", Some("13"), "12\r\n", error(DIFFERS)),
            ("decr k 1", None, "NOT_FOUND\r\n", Outcome::Miss),
            ("delete k", None, "DELETED\r\n", Outcome::Success),
            ("touch k 1", None, "TOUCHED\r\n", Outcome::Success),
            ("mg k v t", Some("ab"), "VA 2 t-1\r\nab\r\n", Outcome::Success),
            ("mg k v", Some("ab"), "VA 2\r\nac\r\n", error(DIFFERS)),
            ("mg k t", None, "HD t-1\r\n", Outcome::Success),
            ("mg k v", None, "EN\r\n", Outcome::Miss),
            ("ms k v", None, "NS\r\n", Outcome::Miss),
            ("mn", None, "MN\r\n", Outcome::Success),
            ("version", None, "VERSION 1.6.18\r\n", Outcome::Success),
            (
                "get k",
                None,
                "CLIENT_ERROR bad command line format\r\n",
                error("CLIENT_ERROR bad command line format"),
            ),
            ("get k", None, "ERROR\r\n", error("ERROR")),
        ]
    }

    fn feed<'a>(decoder: &mut Replies, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Outcome> {
        crate::pieces::feed(|bytes| decoder.decode(bytes), pieces)
    }

    fn whole_dialogue() -> (Replies, Vec<u8>, Vec<Outcome>) {
        let commands: Vec<_> =
            dialogue().into_iter().map(|(command, expect, ..)| (command, expect)).collect();
        let replies: String = dialogue().into_iter().map(|(_, _, reply, _)| reply).collect();
        (
            decoder(&commands),
            replies.into_bytes(),
            dialogue().into_iter().map(|(.., outcome)| outcome).collect(),
        )
    }

    #[test]
    fn replies_are_known_by_their_first_words() {
        for (command, expect, reply, expected) in dialogue() {
            if expect != Some("v$1") {
                assert_eq!(outcome(command, expect, reply), expected, "{command}: {reply}");
            }
        }
        let (mut decoder, bytes, expected) = whole_dialogue();
        assert_eq!(feed(&mut decoder, bytes.chunks(1)), expected);
    }

    proptest! {
        #[test]
        fn replies_may_be_cut_anywhere(mut cuts in prop::collection::vec(0_usize..900, 0..60)) {
            let (mut decoder, bytes, expected) = whole_dialogue();
            cuts.retain(|cut| *cut < bytes.len());
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(feed(&mut decoder, pieces), expected);
        }

        #[test]
        fn garbage_is_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let decoded = decoder(&[("get k", Some("a")), ("mg k v", None)]).decode(&bytes);
            prop_assert!(decoded.consumed <= bytes.len());
        }

        #[test]
        fn garbage_that_looks_like_replies_is_no_panic(
            words in prop::collection::vec(
                prop::sample::select(vec!["VALUE k 0 ", "END", "VA ", "\r\n", "\r\n", "1", "0", " ", "HD", "ERROR"]),
                0..40,
            ),
        ) {
            let bytes = words.concat().into_bytes();
            let mut decoder = decoder(&[("get k", Some("a")), ("mg k v", None), ("get k", None)]);
            let mut at = 0;
            while at < bytes.len() {
                let decoded = decoder.decode(&bytes[at..]);
                at += decoded.consumed;
                match decoded.finished {
                    None | Some(Outcome::Broken(_)) => break,
                    Some(_) => {}
                }
            }
        }
    }

    #[test]
    fn a_whole_value_is_found_or_left_to_the_general_way() {
        assert_eq!(split_whole_value(b"VALUE k 0 3\r\nabc\r\nEND\r\nVALUE"), Some((&b"abc"[..], 23)));
        assert_eq!(split_whole_value(b"VALUE k 0 0\r\n\r\nEND\r\n"), Some((&b""[..], 20)));
        let long = format!("VALUE {} 0 0\r\n\r\nEND\r\n", "k".repeat(LONGEST_KEY + 1));
        let others: [&[u8]; 8] = [
            long.as_bytes(),
            b"VALUE k 0 3\r\nabc\r\nEND\r",
            b"VALUE k 0 3 77\r\nabc\r\nEND\r\n",
            b"VALUE k 0 4\r\nabc\r\nEND\r\n",
            b"VALUE k 0 \r\nabc\r\nEND\r\n",
            b"VALUE k 0 12345678901\r\n",
            b"VALUE k\r\n0 0\r\n\r\nEND\r\n",
            b"END\r\n",
        ];
        for other in others {
            assert_eq!(split_whole_value(other), None, "{}", other.escape_ascii());
        }
    }

    fn broken(command: &str, reply: &[u8]) -> String {
        match decoder(&[(command, None)]).decode(reply).finished {
            Some(Outcome::Broken(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_not_the_answer_breaks_the_connection() {
        assert_eq!(broken("get k", b"STORED\r\n"), "the server answered `STORED` to `get`");
        assert_eq!(broken("get k", b"VALUE k 0\r\n"), "the server sent a value of the length ``");
        assert_eq!(broken("get k", b"VALUE k 0 -1\r\n"), "the server sent a value of the length `-1`");
        assert_eq!(
            broken("get k", b"VALUE k 0 1\r\nab\r\n"),
            "the server sent a value that is longer than it said"
        );
        let two = b"VALUE k 0 1\r\na\r\nVALUE k 0 1\r\n";
        assert_eq!(broken("get k", two), "the server sent more values than it was asked for");
        assert_eq!(
            broken("get k", b"VALUE k 0 1\r\na\r\nSTORED\r\n"),
            "the server answered `STORED` to `get`"
        );
        assert_eq!(broken("get k", b"END\n"), "the server sent a line that does not end as it must");
        assert_eq!(broken("incr k 1", b"\r\n"), "the server answered `` to `incr`");
        assert_eq!(
            broken("get k", &[b'x'; LONGEST_LINE + 1]),
            "the server sent a line of more than 8192 bytes"
        );
        // The value would be taken for the next command.
        assert_eq!(broken("set k v", b"CLIENT_ERROR bad data chunk\r\n"), "CLIENT_ERROR bad data chunk");
        let unasked = decoder(&[]).decode(b"ERROR Too many open connections\r\n").finished;
        let expected = "the server sent `ERROR Too many open connections` without a request";
        assert_eq!(unasked, Some(Outcome::Broken(expected.into())));
    }

    #[test]
    fn a_request_that_was_not_sent_is_an_error_and_keeps_the_step() {
        let mut decoder = decoder(&[("get k", None)]);
        let operations = [Operation { name: "a".into(), weight: 1, parameters: vec![] }];
        let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
        decoder.expect_substitute(Unsendable::Long, stream.parameters(0).draw());
        let outcomes = feed(&mut decoder, [&b"END\r\nVERSION 1.6.18\r\n"[..]].into_iter());
        assert_eq!(outcomes, [Outcome::Miss, error("not sent: a word of more than 250 bytes")]);
    }

    #[test]
    fn bodies_are_not_kept() {
        let mut decoder = decoder(&[("get k", None)]);
        assert_eq!(decoder.decode(b"VALUE k 0 1000000\r\nxxxx"), Decoded::more(23));
        assert_eq!(decoder.decode(&[b'x'; 500_000]), Decoded::more(500_000));
    }
}
