//! One operation with nothing left to substitute, in the words of its system.
//!
//! - [`ResolvedOperation`]: name, weight, parameters and a [`ResolvedText`].
//! - [`default_operation`]: what is sent to a server when nobody says what.

use weigh_drivers::http::StatusExpect;
use weigh_load::Operation;
use weigh_load::generator::GeneratorSpec;

use crate::experiment::TextKind;

/// One operation, with nothing left to substitute.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedOperation {
    /// Name as reported.
    pub name: String,
    /// Relative frequency, at least 1.
    pub weight: u32,
    /// What it does.
    pub text: ResolvedText,
    /// Parameters.
    pub parameters: Vec<GeneratorSpec>,
    /// SQL: repetitions of the single statement within one transaction, at least 1. 1 for the others.
    pub repeat: u32,
    /// What one operation counts for in the throughput, at least 1.
    pub items: u32,
    /// The key its answer is kept under in a cache in front of the server.
    pub cached_as: Option<String>,
}

/// What an operation does. `$1`, `$2`, … stand for its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum ResolvedText {
    /// Statements; more than one run as one transaction.
    Sql(Vec<String>),
    /// One command.
    Command(ResolvedCommandText),
    /// One request.
    Request(ResolvedRequest),
}

/// One command of Redis, memcached or MongoDB.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedCommandText {
    /// Its text.
    pub command: String,
    /// MongoDB: copies of the only element of its list, each with parameters of its own. 1 for the others.
    pub rows: u32,
    /// The reply must be this text.
    pub expect: Option<String>,
}

/// One HTTP request.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedRequest {
    /// Method in capitals.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Header fields in order.
    pub headers: Vec<(String, String)>,
    /// The body; `None`: none.
    pub body: Option<String>,
    /// The status the reply must have; `None`: any that is no error.
    pub status: Option<StatusExpect>,
    /// The reply's body must be this text.
    pub expect_body: Option<String>,
    /// The reply's body must be this long, bytes.
    pub expect_length: Option<u64>,
}

impl ResolvedText {
    /// Which kind it is.
    pub fn kind(&self) -> TextKind {
        match self {
            ResolvedText::Sql(_) => TextKind::Sql,
            ResolvedText::Command(_) => TextKind::Command,
            ResolvedText::Request(_) => TextKind::Request,
        }
    }

    /// The statements of SQL; nothing for the others.
    pub fn statements(&self) -> &[String] {
        match self {
            ResolvedText::Sql(statements) => statements,
            _ => &[],
        }
    }

    /// In one line, as a reader recognises it.
    pub fn summary(&self) -> String {
        let text = match self {
            ResolvedText::Sql(statements) => statements.join("; "),
            ResolvedText::Command(command) => command.command.clone(),
            ResolvedText::Request(request) => format!("{} {}", request.method, request.target),
        };
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl ResolvedOperation {
    /// What the engine draws: how often, and with which parameters.
    pub(crate) fn drawn(&self) -> Operation {
        Operation { name: self.name.clone(), weight: self.weight, parameters: self.parameters.clone() }
    }

    /// An operation without parameters that counts for itself.
    fn plain(name: &str, text: ResolvedText) -> ResolvedOperation {
        let name = name.to_owned();
        ResolvedOperation {
            name,
            weight: 1,
            text,
            parameters: Vec::new(),
            repeat: 1,
            items: 1,
            cached_as: None,
        }
    }
}

/// Client threads where none are asked for: half the CPUs, for the server needs the others.
pub(crate) fn default_threads(cpus: usize) -> usize {
    (cpus / 2).max(1)
}

/// What is sent to a server when nobody says what: an operation that needs no data and changes nothing.
///
/// HTTP gets the URL's path and query (`target`), which is what a user means who names only a URL. The others get
/// the cheapest question of their protocol that makes a whole round trip through the server: `SELECT 1`, `PING`,
/// `version`, `{"ping": 1}`. `None` for a system without such a question.
pub fn default_operation(system: &str, target: &str) -> Option<ResolvedOperation> {
    let command = |name: &str, command: &str, expect: Option<&str>| {
        let (command, expect) = (command.to_owned(), expect.map(str::to_owned));
        let text = ResolvedText::Command(ResolvedCommandText { command, rows: 1, expect });
        Some(ResolvedOperation::plain(name, text))
    };
    match system {
        "postgres" | "sqlite" => {
            Some(ResolvedOperation::plain("SELECT 1", ResolvedText::Sql(vec!["SELECT 1".to_owned()])))
        }
        "redis" => command("PING", "PING", Some("PONG")),
        "memcached" => command("version", "version", None),
        "mongodb" => command("ping", r#"{"ping": 1}"#, None),
        "http" => {
            let target = if target.is_empty() { "/".to_owned() } else { target.replace('$', "$$") };
            let request = ResolvedRequest {
                method: "GET".to_owned(),
                target: target.clone(),
                headers: Vec::new(),
                body: None,
                status: None,
                expect_body: None,
                expect_length: None,
            };
            Some(ResolvedOperation::plain(&format!("GET {target}"), ResolvedText::Request(request)))
        }
        _ => None,
    }
}
