//! The operations of a load: typed as flags, read from a workload file, or what the protocol expects of a bare URL.

use weigh_drivers::ServerUrl;
use weigh_drivers::http::StatusExpect;
use weigh_load::generator::GeneratorSpec;

use super::parameter;
use crate::experiment::TextKind;
use crate::plan::{ResolvedCommandText, ResolvedOperation, ResolvedRequest, ResolvedText};
use crate::systems::{SystemError, drivers};

/// Names are cut to this, characters: they head lines and columns.
const NAME_CHARS: usize = 40;

/// Where the operations come from.
#[derive(Clone, Debug)]
pub enum OperationSource {
    /// `--operation`, `--parameter`, …
    Flags(OperationFlags),
    /// `--workload FILE`, read by the caller.
    File {
        /// The file as named by the user.
        name: String,
        /// Its text.
        text: String,
    },
}

/// Operations as typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationFlags {
    /// `--operation`: a statement, a command, or for HTTP `METHOD /path`. None: what the protocol expects.
    pub operations: Vec<String>,
    /// `--parameter`: `$1`, `$2`, … of every operation.
    pub parameters: Vec<String>,
    /// `--weight`, in the order of the operations.
    pub weights: Vec<u32>,
    /// `--expect`: HTTP a status (`200`, `2xx`, `any`), else the reply's text.
    pub expect: Option<String>,
    /// HTTP: `--method`.
    pub method: Option<String>,
    /// HTTP: `--header 'Name: value'`.
    pub headers: Vec<String>,
    /// HTTP: `--body`.
    pub body: Option<String>,
}

/// The driver's name and the operations for the system at `url`.
///
/// # Errors
/// When no driver takes the URL, a flag does not belong to its protocol, or a text makes no sense.
pub fn operations(
    url: &str,
    source: &OperationSource,
) -> Result<(String, Vec<ResolvedOperation>), LoadMistake> {
    let system = drivers::system_of(url)?;
    let server = ServerUrl::parse(url).map_err(|error| SystemError::new(error.to_string()))?;
    let operations = match source {
        OperationSource::File { name, text } => drivers::read_workload(name, text, system)?,
        OperationSource::Flags(flags) => Typed { system, server: &server, flags }.operations()?,
    };
    Ok((system.to_owned(), operations))
}

/// What a user got wrong before anything was started.
#[derive(Debug, thiserror::Error)]
pub enum LoadMistake {
    /// A URL or a flag.
    #[error(transparent)]
    Flag(#[from] SystemError),
    /// A workload file.
    #[error(transparent)]
    File(#[from] crate::experiment::ExperimentErrors),
}

/// Flags, and the system they are for.
struct Typed<'a> {
    system: &'static str,
    server: &'a ServerUrl,
    flags: &'a OperationFlags,
}

impl Typed<'_> {
    fn operations(&self) -> Result<Vec<ResolvedOperation>, SystemError> {
        self.check()?;
        let parameters = self.parameters()?;
        if self.flags.operations.is_empty() {
            let mut only = self.default_operation()?;
            only.parameters = used(&parameters, &only.text);
            return Ok(vec![only]);
        }
        let mut operations = Vec::new();
        for (index, typed) in self.flags.operations.iter().enumerate() {
            let text = self.text(typed)?;
            let parameters = used(&parameters, &text);
            let name = name(&text, &operations);
            let weight = self.flags.weights.get(index).copied().unwrap_or(1);
            operations.push(ResolvedOperation {
                name,
                weight,
                text,
                parameters,
                repeat: 1,
                items: 1,
                cached_as: None,
            });
        }
        Ok(operations)
    }

    /// Flags that belong to another protocol, and numbers that do not fit.
    fn check(&self) -> Result<(), SystemError> {
        let flags = self.flags;
        let http_only = [
            ("--method", flags.method.is_some()),
            ("--header", !flags.headers.is_empty()),
            ("--body", flags.body.is_some()),
        ];
        if let Some((flag, _)) = http_only.iter().find(|(_, given)| *given && self.system != "http") {
            return Err(SystemError::new(format!(
                "`{flag}` is for `http://` URLs, and this is `{}`",
                self.system
            )));
        }
        if flags.method.is_some() && !flags.operations.is_empty() {
            return Err(SystemError::new(
                "`--method` beside `--operation`: write `--operation 'METHOD /path'`",
            ));
        }
        if flags.expect.is_some() && self.system == "postgres" {
            return Err(SystemError::new(
                "`--expect` is not for SQL: a statement that fails is an error by itself",
            ));
        }
        if !flags.weights.is_empty() && flags.weights.len() != flags.operations.len() {
            return Err(SystemError::new(format!(
                "{} of `--weight` for {} of `--operation`",
                flags.weights.len(),
                flags.operations.len()
            )));
        }
        if flags.weights.contains(&0) {
            return Err(SystemError::new("a `--weight` must be at least 1"));
        }
        Ok(())
    }

    fn parameters(&self) -> Result<Vec<GeneratorSpec>, SystemError> {
        let parsed = self.flags.parameters.iter().map(|typed| parameter::parse(typed));
        parsed.map(|found| found.map_err(|error| SystemError::new(format!("--parameter: {error}")))).collect()
    }

    /// What a bare URL means: for HTTP its own path, else a question that costs the system nothing.
    fn default_operation(&self) -> Result<ResolvedOperation, SystemError> {
        let target = target(self.server);
        let mut only = crate::plan::default_operation(self.system, &target).ok_or_else(|| {
            SystemError::new(format!(
                "`{}` has no operation of its own: give one with `--operation`",
                self.system
            ))
        })?;
        match &mut only.text {
            ResolvedText::Request(_) => {
                let method = self.flags.method.as_deref().unwrap_or("GET");
                // A URL's own dollar signs are not parameters, unless there are some.
                let target =
                    if self.flags.parameters.is_empty() { target.replace('$', "$$") } else { target };
                only.text = ResolvedText::Request(self.request(method, &target)?);
                only.name = name(&only.text, &[]);
            }
            ResolvedText::Command(command) => {
                if let Some(expect) = &self.flags.expect {
                    command.expect = Some(expect.clone());
                }
            }
            ResolvedText::Sql(_) => {}
        }
        Ok(only)
    }

    fn text(&self, typed: &str) -> Result<ResolvedText, SystemError> {
        match kind_of(self.system) {
            TextKind::Sql => {
                let statement = typed.trim().trim_end_matches(';').trim_end();
                Ok(ResolvedText::Sql(vec![statement.to_owned()]))
            }
            TextKind::Command => Ok(ResolvedText::Command(ResolvedCommandText {
                command: typed.to_owned(),
                rows: 1,
                expect: self.flags.expect.clone(),
            })),
            TextKind::Request => {
                let (method, target) = match typed.trim().split_once(char::is_whitespace) {
                    Some((method, target)) => (method, target.trim()),
                    None if typed.starts_with('/') => ("GET", typed.trim()),
                    None => {
                        let message = format!("--operation: `{typed}` is no request, like `POST /items/$1`");
                        return Err(SystemError::new(message));
                    }
                };
                Ok(ResolvedText::Request(self.request(method, target)?))
            }
        }
    }

    fn request(&self, method: &str, target: &str) -> Result<ResolvedRequest, SystemError> {
        let status = match &self.flags.expect {
            None => None,
            Some(text) => Some(text.parse::<StatusExpect>().map_err(|_| {
                SystemError::new(format!("--expect: `{text}` is no status, like `200`, `2xx` or `any`"))
            })?),
        };
        Ok(ResolvedRequest {
            method: method.to_ascii_uppercase(),
            target: target.to_owned(),
            headers: self.flags.headers.iter().map(|typed| header(typed)).collect::<Result<_, _>>()?,
            body: self.flags.body.clone(),
            status,
            expect_body: None,
            expect_length: None,
        })
    }
}

fn kind_of(system: &str) -> TextKind {
    match system {
        "postgres" | "sqlite" => TextKind::Sql,
        "http" => TextKind::Request,
        _ => TextKind::Command,
    }
}

/// Path and query, as a request line has them.
fn target(server: &ServerUrl) -> String {
    let path = if server.path.is_empty() { "/" } else { &server.path };
    match &server.query {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    }
}

/// `Name: value`.
fn header(typed: &str) -> Result<(String, String), SystemError> {
    let parts = typed.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
    let (name, value) = parts.filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
        SystemError::new(format!("--header: `{typed}` is no header, like `Accept: text/html`"))
    })?;
    Ok((name.to_owned(), value.to_owned()))
}

/// The parameters an operation gets: those up to the highest number in its text, so that none is generated for
/// nothing.
fn used(parameters: &[GeneratorSpec], text: &ResolvedText) -> Vec<GeneratorSpec> {
    let highest = match text {
        ResolvedText::Sql(statements) => statements.iter().map(|text| highest_number(text)).max(),
        ResolvedText::Command(command) => {
            let expect = command.expect.as_deref().unwrap_or_default();
            Some(highest_number(&command.command).max(highest_number(expect)))
        }
        ResolvedText::Request(request) => {
            let headers = request.headers.iter().map(|(_, value)| value.as_str());
            let texts = [request.target.as_str(), request.body.as_deref().unwrap_or_default()];
            headers.chain(texts).map(highest_number).max()
        }
    };
    parameters[..highest.unwrap_or(0).min(parameters.len())].to_vec()
}

/// The highest `$n` in a text; a `$$n` too many does no harm.
fn highest_number(text: &str) -> usize {
    let after_dollars = text.split('$').skip(1);
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>();
    after_dollars.filter_map(|part| digits(part).parse().ok()).max().unwrap_or(0)
}

/// The text itself, cut, and made unique.
fn name(text: &ResolvedText, taken: &[ResolvedOperation]) -> String {
    let summary = text.summary();
    let short: String = summary.chars().take(NAME_CHARS).collect();
    let short = if short.len() < summary.len() { format!("{}…", short.trim_end()) } else { short };
    let is_taken = |name: &String| taken.iter().any(|operation| operation.name == *name);
    let numbered = (2..).map(|number| format!("{short} ({number})"));
    std::iter::once(short.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(short.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(url: &str, flags: OperationFlags) -> Result<Vec<ResolvedOperation>, String> {
        let found = operations(url, &OperationSource::Flags(flags));
        found.map(|(_, operations)| operations).map_err(|error| error.to_string())
    }

    fn texts(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_bare_url_means_what_its_users_mean() {
        let only = |url: &str| typed(url, OperationFlags::default()).unwrap().remove(0).text.summary();
        assert_eq!(only("http://h/a/b?c=$1"), "GET /a/b?c=$$1");
        assert_eq!(only("http://h"), "GET /");
        assert_eq!(only("postgres://h/d"), "SELECT 1");
        assert_eq!(only("redis://h"), "PING");
    }

    #[test]
    fn operations_get_the_parameters_they_use() {
        let flags = OperationFlags {
            operations: texts(&["GET user:$1", "SET user:$1 $2", "PING", "GET user:$1"]),
            parameters: texts(&["uniform:1..9", "string:8"]),
            weights: vec![9, 1, 1, 1],
            ..OperationFlags::default()
        };
        let found = typed("redis://h", flags).unwrap();
        let counts: Vec<(&str, u32, usize)> = found
            .iter()
            .map(|operation| (operation.name.as_str(), operation.weight, operation.parameters.len()))
            .collect();
        assert_eq!(
            counts,
            [("GET user:$1", 9, 1), ("SET user:$1 $2", 1, 2), ("PING", 1, 0), ("GET user:$1 (2)", 1, 1)]
        );
    }

    #[test]
    fn requests_take_method_header_body_and_status() {
        let flags = OperationFlags {
            parameters: texts(&["uniform:1..9"]),
            method: Some("post".into()),
            headers: texts(&["Content-Type: application/json", "X-Id: $1"]),
            body: Some("{}".into()),
            expect: Some("201".into()),
            ..OperationFlags::default()
        };
        let found = typed("http://h/items/$1", flags).unwrap().remove(0);
        let ResolvedText::Request(request) = &found.text else { panic!("{found:?}") };
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/items/$1"));
        assert_eq!(request.headers[0], ("Content-Type".into(), "application/json".into()));
        assert_eq!((request.status, found.parameters.len()), (Some(StatusExpect::Code(201)), 1));
    }

    #[test]
    fn mistakes_name_the_flag() {
        let check = |url: &str, flags: OperationFlags, part: &str| {
            let error = typed(url, flags).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        let flags = OperationFlags::default;
        check("ftp://h", flags(), "`http://`");
        check("no url", flags(), "");
        check("redis://h", OperationFlags { body: Some("x".into()), ..flags() }, "`--body` is for");
        check("http://h", OperationFlags { headers: texts(&["x"]), ..flags() }, "--header: `x`");
        check("http://h", OperationFlags { expect: Some("ok".into()), ..flags() }, "--expect: `ok`");
        check("http://h", OperationFlags { operations: texts(&["POST"]), ..flags() }, "`POST` is no request");
        check("redis://h", OperationFlags { parameters: texts(&["x"]), ..flags() }, "--parameter: `x`");
        check("redis://h", OperationFlags { weights: vec![1], ..flags() }, "1 of `--weight`");
        let both = OperationFlags { weights: vec![0], operations: texts(&["PING"]), ..flags() };
        check("redis://h", both, "at least 1");
    }
}
