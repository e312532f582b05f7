//! What a command is before it is a request: which are refused, and what a null means.

use weigh_load::DriverError;

use crate::command::CommandOperation;
use crate::keyvalue::{Expectation, Word, words_of};

/// Commands that cannot be an operation, and why. A second word is a subcommand.
const REFUSED: &[(&str, &str, &str)] = &[
    ("SUBSCRIBE", "", MESSAGES),
    ("PSUBSCRIBE", "", MESSAGES),
    ("SSUBSCRIBE", "", MESSAGES),
    ("UNSUBSCRIBE", "", MESSAGES),
    ("PUNSUBSCRIBE", "", MESSAGES),
    ("SUNSUBSCRIBE", "", MESSAGES),
    ("MONITOR", "", MESSAGES),
    ("SYNC", "", MESSAGES),
    ("PSYNC", "", MESSAGES),
    ("REPLCONF", "", MESSAGES),
    ("CLIENT", "REPLY", "it takes the replies away"),
    ("QUIT", "", "it ends the connection"),
    ("SHUTDOWN", "", "it ends the server"),
    ("RESET", "", CONNECTION),
    ("HELLO", "", CONNECTION),
    ("AUTH", "", CONNECTION),
    ("SELECT", "", CONNECTION),
    ("MULTI", "", TRANSACTION),
    ("EXEC", "", TRANSACTION),
    ("DISCARD", "", TRANSACTION),
    ("WATCH", "", TRANSACTION),
];

const MESSAGES: &str = "it is answered by messages without end, not by a reply";
const CONNECTION: &str = "user, password, database and protocol belong into the URL";
const TRANSACTION: &str = "a transaction takes several requests; use `EVAL` with a script";

/// Commands whose null says that what was asked for is not there. Sorted.
pub(super) const MISSING_IS_NULL: &[&str] = &[
    "DUMP",
    "GEODIST",
    "GET",
    "GETDEL",
    "GETEX",
    "HGET",
    "HRANDFIELD",
    "JSON.GET",
    "LINDEX",
    "LMOVE",
    "LMPOP",
    "LPOP",
    "LPOS",
    "MEMORY",
    "OBJECT",
    "RANDOMKEY",
    "RPOP",
    "RPOPLPUSH",
    "SPOP",
    "SRANDMEMBER",
    "XREAD",
    "XREADGROUP",
    "ZMPOP",
    "ZRANDMEMBER",
    "ZRANK",
    "ZREVRANK",
    "ZSCORE",
];

/// One operation, taken apart and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckedCommand {
    pub(super) words: Vec<Word>,
    pub(super) expectation: Expectation,
    /// What a null reply means.
    pub(super) null_is_miss: bool,
}

impl CheckedCommand {
    /// # Errors
    /// Says what makes the operation impossible, with its name.
    pub(super) fn new(operation: &CommandOperation) -> Result<Self, DriverError> {
        Self::parse(operation).map_err(|error| error.of(operation))
    }

    fn parse(operation: &CommandOperation) -> Result<Self, DriverError> {
        let words = words_of(operation)?;
        let name = upper(&words, 0).unwrap_or_default();
        refuse(&name, &upper(&words, 1).unwrap_or_default())?;
        let blocks = || (1..words.len()).any(|at| upper(&words, at).as_deref() == Some("BLOCK"));
        let null_is_miss =
            MISSING_IS_NULL.binary_search(&name.as_str()).is_ok() && !(name.starts_with("XREAD") && blocks());
        let expectation = Expectation::parse(operation.expect.as_deref(), operation.parameters)?;
        Ok(Self { words, expectation, null_is_miss })
    }

    /// Texts that are the same in every request: they may stay in error messages.
    pub(super) fn literals(&self) -> Vec<Vec<u8>> {
        self.words.iter().filter_map(|word| word.literal().map(<[u8]>::to_vec)).collect()
    }
}

/// Word `at` in upper case, if it is written out.
fn upper(words: &[Word], at: usize) -> Option<String> {
    let literal = words.get(at)?.literal()?;
    Some(String::from_utf8_lossy(literal).to_ascii_uppercase())
}

fn refuse(name: &str, subcommand: &str) -> Result<(), DriverError> {
    let found =
        REFUSED.iter().find(|(refused, sub, _)| *refused == name && (sub.is_empty() || *sub == subcommand));
    match found {
        None => Ok(()),
        Some((_, sub, why)) => {
            let shown = [name, sub].join(" ");
            Err(DriverError::new(format!("`{}` cannot be an operation: {why}", shown.trim_end())))
        }
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

    fn refusal(command: &str) -> String {
        parse(command).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_an_operation_is_refused_by_name() {
        let messages = "it is answered by messages without end, not by a reply";
        let expected = format!("operation `a`: `SUBSCRIBE` cannot be an operation: {messages}");
        assert_eq!(refusal("subscribe news"), expected);
        let expected = "operation `a`: `CLIENT REPLY` cannot be an operation: it takes the replies away";
        assert_eq!(refusal("Client reply OFF"), expected);
        assert!(parse("CLIENT ID").is_ok());
        for (name, subcommand, _) in REFUSED {
            assert!(parse(&format!("{name} {subcommand} x")).is_err(), "{name}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(refusal("GET $2"), "operation `a`: `$2` is used and there are 1 parameters");
        assert_eq!(refusal("GET 'a"), "operation `a`: a quote is not closed");
        assert!(refusal("$1 a").contains("name must be written out"));
        let bulk = CommandOperation { rows: 2, command: "PING".into(), ..Default::default() };
        assert!(CheckedCommand::new(&bulk).is_err());
        let expect =
            CommandOperation { expect: Some("$1".into()), command: "PING".into(), ..Default::default() };
        assert!(CheckedCommand::new(&expect).is_err());
    }

    #[test]
    fn a_null_is_a_miss_where_it_says_that_there_is_none() {
        assert!(MISSING_IS_NULL.is_sorted());
        for command in ["get k", "HGET h f", "LPOP q", "XREAD COUNT 1 STREAMS s 0"] {
            assert!(parse(command).unwrap().null_is_miss, "{command}");
        }
        for command in ["SET k v NX", "BLPOP q 1", "EVAL 'return false' 0", "XREAD block 10 STREAMS s $1"] {
            assert!(!parse(command).unwrap().null_is_miss, "{command}");
        }
    }
}
