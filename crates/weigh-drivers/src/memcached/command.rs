//! The commands there are: their words, and what their replies mean.

use weigh_load::DriverError;

use crate::command::CommandOperation;
use crate::keyvalue::{Expectation, Word, words_of};

/// Longest key, bytes: the protocol's limit.
pub(super) const LONGEST_KEY: usize = 250;

/// Where the words of a command stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// None.
    Bare,
    /// KEY…
    Keys,
    /// EXPTIME KEY…
    TimeKeys,
    /// KEY VALUE, or KEY FLAGS EXPTIME VALUE
    Store,
    /// KEY
    Key,
    /// KEY ARGUMENT
    KeyArgument,
    /// KEY FLAG…
    Meta,
    /// KEY VALUE FLAG…
    MetaStore,
}

/// What a reply brings when there is something to bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brings {
    /// One of the words in `done`.
    Nothing,
    /// A number.
    Number,
    /// `VALUE KEY FLAGS LENGTH` and the value, for every key that is there, then `END`.
    Values,
    /// `VA LENGTH` and the value; or one of the words in `done`.
    Value,
}

/// A command and what its replies begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grammar {
    pub(super) name: &'static str,
    form: Form,
    pub(super) brings: Brings,
    /// Done, without a value.
    pub(super) done: &'static [&'static str],
    /// Not there, or a condition that did not hold.
    pub(super) missing: &'static [&'static str],
}

type Words = &'static [&'static str];

const fn grammar(name: &'static str, form: Form, brings: Brings, done: Words, missing: Words) -> Grammar {
    Grammar { name, form, brings, done, missing }
}

const fn plain(name: &'static str, form: Form, done: Words, missing: Words) -> Grammar {
    grammar(name, form, Brings::Nothing, done, missing)
}

const fn store(name: &'static str) -> Grammar {
    plain(name, Form::Store, &["STORED"], &["NOT_STORED"])
}

const fn retrieval(name: &'static str, form: Form) -> Grammar {
    grammar(name, form, Brings::Values, &[], &[])
}

const fn arithmetic(name: &'static str) -> Grammar {
    grammar(name, Form::KeyArgument, Brings::Number, &[], &["NOT_FOUND"])
}

const fn meta(name: &'static str, form: Form, missing: Words) -> Grammar {
    grammar(name, form, Brings::Value, &["HD"], missing)
}

const GRAMMARS: &[Grammar] = &[
    retrieval("get", Form::Keys),
    retrieval("gets", Form::Keys),
    retrieval("gat", Form::TimeKeys),
    retrieval("gats", Form::TimeKeys),
    store("set"),
    store("add"),
    store("replace"),
    store("append"),
    store("prepend"),
    plain("delete", Form::Key, &["DELETED"], &["NOT_FOUND"]),
    arithmetic("incr"),
    arithmetic("decr"),
    plain("touch", Form::KeyArgument, &["TOUCHED"], &["NOT_FOUND"]),
    meta("mg", Form::Meta, &["EN"]),
    meta("md", Form::Meta, &["NF", "EX"]),
    meta("ma", Form::Meta, &["NF", "NS", "EX"]),
    meta("ms", Form::MetaStore, &["NF", "NS", "EX"]),
    plain("mn", Form::Bare, &["MN"], &[]),
    VERSION,
    plain("flush_all", Form::Bare, &["OK"], &[]),
];

/// What is sent instead of a request that cannot be sent.
pub(super) const VERSION: Grammar = plain("version", Form::Bare, &["VERSION"], &[]);

/// A word of a request's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A word as it is.
    Word(Word),
    /// The length of the value.
    Length,
}

/// One operation, taken apart and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckedCommand {
    pub(super) grammar: Grammar,
    pub(super) line: Vec<Part>,
    pub(super) value: Option<Word>,
    /// Values that a reply may bring.
    pub(super) keys: usize,
    pub(super) expectation: Expectation,
}

impl CheckedCommand {
    /// # Errors
    /// Says what makes the operation impossible, with its name.
    pub(super) fn new(operation: &CommandOperation) -> Result<Self, DriverError> {
        Self::parse(operation).map_err(|error| error.of(operation))
    }

    fn parse(operation: &CommandOperation) -> Result<Self, DriverError> {
        let mut words = words_of(operation)?;
        let grammar = find(words.remove(0).literal().unwrap_or_default())?;
        let (mut line, mut value) = (vec![Part::Word(Word::Literal(grammar.name.into()))], None);
        let keys = arrange(grammar, words, &mut line, &mut value)?;
        for part in &line {
            check_word(part)?;
        }
        let expectation = Expectation::parse(operation.expect.as_deref(), operation.parameters)?;
        Ok(Self { grammar, line, value, keys, expectation })
    }
}

fn find(name: &[u8]) -> Result<Grammar, DriverError> {
    if name == b"cas" || name == b"me" || name == b"stats" {
        let name = name.escape_ascii();
        let why = "what it needs or brings changes with every reply; `ms` and `mg` can do most of it";
        return Err(DriverError::new(format!("`{name}` cannot be an operation: {why}")));
    }
    GRAMMARS.iter().find(|grammar| grammar.name.as_bytes() == name).copied().ok_or_else(|| {
        let known = GRAMMARS.iter().map(|grammar| grammar.name).collect::<Vec<_>>().join(", ");
        DriverError::new(format!(
            "`{}` is not a command of memcached; these are: {known}",
            name.escape_ascii()
        ))
    })
}

/// Puts the words where the protocol wants them; gives how many values may come back.
fn arrange(
    grammar: Grammar,
    mut words: Vec<Word>,
    line: &mut Vec<Part>,
    value: &mut Option<Word>,
) -> Result<usize, DriverError> {
    if words.iter().any(|word| word.literal() == Some(b"noreply")) && !matches!(grammar.form, Form::Store) {
        return Err(DriverError::new("`noreply` cannot be measured: there is no reply"));
    }
    let (count, form) = (words.len(), grammar.form);
    let fits = match form {
        Form::Bare => count == 0,
        Form::Keys | Form::Meta => count >= 1,
        Form::TimeKeys | Form::MetaStore => count >= 2,
        Form::Store => count == 2 || count == 4,
        Form::Key => count == 1,
        Form::KeyArgument => count == 2,
    };
    if !fits {
        let usage = usage(form);
        return Err(DriverError::new(format!("`{}` takes {usage}; {count} words are given", grammar.name)));
    }
    let zero = || Part::Word(Word::Literal(b"0".to_vec()));
    match form {
        Form::Store => {
            *value = words.pop();
            line.extend(words.into_iter().map(Part::Word));
            if count == 2 {
                line.extend([zero(), zero()]);
            }
            line.push(Part::Length);
        }
        Form::MetaStore => {
            *value = Some(words.remove(1));
            line.extend(words.into_iter().map(Part::Word));
            line.insert(2, Part::Length);
        }
        _ => line.extend(words.into_iter().map(Part::Word)),
    }
    if matches!(form, Form::Meta | Form::MetaStore) && line[2..].iter().any(is_quiet) {
        return Err(DriverError::new("the flag `q` cannot be measured: it takes replies away"));
    }
    Ok(match form {
        Form::Keys => count,
        Form::TimeKeys => count - 1,
        _ => 1,
    })
}

fn usage(form: Form) -> &'static str {
    match form {
        Form::Bare => "no words",
        Form::Keys => "KEY…",
        Form::TimeKeys => "EXPTIME KEY…",
        Form::Store => "KEY VALUE or KEY FLAGS EXPTIME VALUE",
        Form::Key => "KEY",
        Form::KeyArgument => "KEY and one more",
        Form::Meta => "KEY FLAG…",
        Form::MetaStore => "KEY VALUE FLAG…",
    }
}

fn is_quiet(part: &Part) -> bool {
    matches!(part, Part::Word(word) if word.literal() == Some(b"q"))
}

/// Every word of a line obeys the rules of keys; words with parameters are looked at when they are rendered.
fn check_word(part: &Part) -> Result<(), DriverError> {
    let Part::Word(Word::Literal(bytes)) = part else { return Ok(()) };
    unsendable(bytes).map_or(Ok(()), |why| {
        Err(DriverError::new(format!("`{}` cannot be sent: it is {}", bytes.escape_ascii(), why.describe())))
    })
}

/// Why a word cannot stand in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsendable {
    Empty,
    Long,
    Blank,
}

impl Unsendable {
    /// All, in the order of their numbers.
    pub(super) const ALL: [Self; 3] = [Self::Empty, Self::Long, Self::Blank];

    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Empty => "an empty word",
            Self::Long => "a word of more than 250 bytes",
            Self::Blank => "a word with blanks or control characters",
        }
    }
}

/// What makes a word impossible in a line, if anything does.
#[inline]
pub(super) fn unsendable(word: &[u8]) -> Option<Unsendable> {
    if word.is_empty() {
        Some(Unsendable::Empty)
    } else if word.len() > LONGEST_KEY {
        Some(Unsendable::Long)
    } else if word.iter().fold(false, |blank, byte| blank | (*byte <= b' ') | (*byte == 0x7f)) {
        Some(Unsendable::Blank)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(command: &str) -> Result<CheckedCommand, DriverError> {
        let operation = CommandOperation {
            name: "a".into(),
            command: command.into(),
            parameters: 1,
            ..Default::default()
        };
        CheckedCommand::new(&operation)
    }

    #[test]
    fn words_are_arranged_as_the_protocol_wants_them() {
        let line = |command: &str| {
            let checked = parse(command).unwrap();
            let words = checked.line.iter().map(|part| match part {
                Part::Word(word) => {
                    word.literal().map_or("…".into(), |bytes| String::from_utf8_lossy(bytes))
                }
                Part::Length => "LENGTH".into(),
            });
            (words.collect::<Vec<_>>().join(" "), checked.keys)
        };
        assert_eq!(line("get a$1 b"), ("get … b".into(), 2));
        assert_eq!(line("gat 60 a"), ("gat 60 a".into(), 1));
        assert_eq!(line("set k 'a b'"), ("set k 0 0 LENGTH".into(), 1));
        assert_eq!(line("append k 3 $1 noreply"), ("append k 3 … LENGTH".into(), 1));
        assert_eq!(line("ms k value T60 c"), ("ms k LENGTH T60 c".into(), 1));
        assert_eq!(line("mg k v t"), ("mg k v t".into(), 1));
        assert_eq!(line("mn"), ("mn".into(), 1));
    }

    #[test]
    fn what_cannot_be_an_operation_is_refused() {
        let message = |command: &str| parse(command).unwrap_err().to_string();
        assert_eq!(message("get"), "operation `a`: `get` takes KEY…; 0 words are given");
        assert_eq!(
            message("set k 1 v"),
            "operation `a`: `set` takes KEY VALUE or KEY FLAGS EXPTIME VALUE; 3 words are given"
        );
        assert!(
            message("GET k")
                .starts_with("operation `a`: `GET` is not a command of memcached; these are: get, ")
        );
        assert!(message("cas k 0 0 5 v").contains("`cas` cannot be an operation"));
        assert!(message("delete k noreply").contains("there is no reply"));
        assert!(message("mg k q v").contains("the flag `q`"));
        assert!(message("$1 k").contains("must be written out"));
        assert_eq!(
            message("get 'a b'"),
            "operation `a`: `a b` cannot be sent: it is a word with blanks or control characters"
        );
        assert!(message(&format!("get {}", "k".repeat(251))).contains("more than 250 bytes"));
        assert!(parse(&format!("get {}", "k".repeat(250))).is_ok());
        assert!(message("get ''").contains("an empty word"));
        assert_eq!(message("get $2"), "operation `a`: `$2` is used and there are 1 parameters");
    }
}
