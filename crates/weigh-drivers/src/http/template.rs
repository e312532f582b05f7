//! Requests by template: everything that does not change is put together once.
//!
//! A request without parameters is one copy. With parameters in its body the length is not known before the body is
//! written, so `Content-Length` gets a field of fixed width: blanks may precede a field's value (RFC 9110 5.5).

use weigh_load::DriverError;
use weigh_load::generator::Row;

use super::operation::HttpOperation;
use super::syntax::{bad_in_path, is_field_value, is_token, make_field_value, make_path};
use crate::text::TextTemplate;

/// Width of a `Content-Length` that is filled in; values are at most 16 MiB each, so this is never too short.
const LENGTH_DIGITS: usize = 12;

/// Methods whose requests say that they have no body (RFC 9110 8.6).
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

/// Fields that frame the request and are ours to write.
const FRAMING: [&str; 2] = ["Content-Length", "Transfer-Encoding"];

/// What all requests of a driver have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Common<'a> {
    /// Before every path; without a `/` at its end.
    pub(super) base_path: &'a str,
    /// Header fields, `Host` among them.
    pub(super) headers: Vec<(String, String)>,
}

/// An operation's request, ready to be filled in.
#[derive(Clone, Debug)]
pub(super) struct RequestTemplate {
    pieces: Vec<Piece>,
    /// Whether a row is drawn per request.
    draws: bool,
}

#[derive(Clone, Debug)]
enum Piece {
    Literal(Vec<u8>),
    Path(TextTemplate),
    FieldValue(TextTemplate),
    /// A place for `Content-Length`, filled in when the body is written.
    Length,
    Body(TextTemplate),
}

impl RequestTemplate {
    /// Puts the request of an operation together.
    ///
    /// # Errors
    /// Names what cannot be sent: a method, path or header field with a character that would break the request, a
    /// parameter number that the operation does not have.
    pub(super) fn new(operation: &HttpOperation, common: &Common<'_>) -> Result<Self, DriverError> {
        let mut builder = Builder { parameters: operation.parameters, pieces: Vec::new() };
        builder.literal(method(&operation.method)?.as_bytes());
        builder.literal(b" ");
        builder.text(&target(operation, common.base_path)?, Piece::Path)?;
        builder.literal(b" HTTP/1.1\r\n");
        for (name, value) in fields(common, operation) {
            check_field(name, value)?;
            builder.literal(name.as_bytes());
            builder.literal(b": ");
            builder.text(value, Piece::FieldValue)?;
            builder.literal(b"\r\n");
        }
        builder.body(operation)?;
        Ok(Self { pieces: builder.pieces, draws: operation.parameters > 0 })
    }

    /// Whether the request draws parameters.
    pub(super) fn draws(&self) -> bool {
        self.draws
    }

    /// Appends the request without parameters.
    #[inline]
    pub(super) fn encode_literal(&self, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            if let Piece::Literal(bytes) = piece {
                out.extend_from_slice(bytes);
            }
        }
    }

    /// Appends the request with the values of `row`.
    pub(super) fn encode(&self, row: Row<'_>, out: &mut Vec<u8>) {
        let mut length_ends = 0;
        for piece in &self.pieces {
            let begin = out.len();
            match piece {
                Piece::Literal(bytes) => out.extend_from_slice(bytes),
                Piece::Path(text) => {
                    text.render(row, out);
                    make_path(out, begin);
                }
                Piece::FieldValue(text) => {
                    text.render(row, out);
                    make_field_value(&mut out[begin..]);
                }
                Piece::Length => {
                    out.extend_from_slice(&[b' '; LENGTH_DIGITS]);
                    length_ends = out.len();
                }
                Piece::Body(text) => {
                    text.render(row, out);
                    let mut digits = itoa::Buffer::new();
                    let digits = digits.format(out.len() - begin).as_bytes();
                    out[length_ends - digits.len()..length_ends].copy_from_slice(digits);
                }
            }
        }
    }
}

/// Collects pieces, literals merged.
struct Builder {
    parameters: usize,
    pieces: Vec<Piece>,
}

impl Builder {
    fn literal(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            Some(Piece::Literal(last)) => last.extend_from_slice(bytes),
            _ => self.pieces.push(Piece::Literal(bytes.to_vec())),
        }
    }

    fn text(&mut self, text: &str, piece: fn(TextTemplate) -> Piece) -> Result<(), DriverError> {
        let template = TextTemplate::parse(text, self.parameters)?;
        match template.literal() {
            Some(bytes) => self.literal(bytes),
            None => self.pieces.push(piece(template)),
        }
        Ok(())
    }

    /// `Content-Length` where there is or could be a body, the end of the head, the body.
    fn body(&mut self, operation: &HttpOperation) -> Result<(), DriverError> {
        let body = match &operation.body {
            None if WITH_BODY.contains(&operation.method.as_str()) => TextTemplate::default(),
            None => {
                self.literal(b"\r\n");
                return Ok(());
            }
            Some(body) => TextTemplate::parse(body, self.parameters)?,
        };
        self.literal(b"Content-Length: ");
        if let Some(bytes) = body.literal() {
            self.literal(bytes.len().to_string().as_bytes());
            self.literal(b"\r\n\r\n");
            self.literal(bytes);
        } else {
            self.pieces.push(Piece::Length);
            self.literal(b"\r\n\r\n");
            self.pieces.push(Piece::Body(body));
        }
        Ok(())
    }
}

fn method(method: &str) -> Result<&str, DriverError> {
    if method.eq_ignore_ascii_case("CONNECT") {
        return Err(DriverError::new(
            "`CONNECT` makes a tunnel of the connection and cannot be an operation",
        ));
    }
    let error = || DriverError::new(format!("`{}` is no HTTP method", method.escape_debug()));
    is_token(method).then_some(method).ok_or_else(error)
}

/// Path and query of the request line.
fn target(operation: &HttpOperation, base_path: &str) -> Result<String, DriverError> {
    let path = operation.path.as_str();
    if path == "*" && operation.method == "OPTIONS" {
        return Ok(path.to_owned());
    }
    let begins = |text: &str| text.starts_with(['/', '?', '$']);
    if !path.is_empty() && !begins(path) {
        return Err(DriverError::new(format!("the path `{path}` must begin with `/` or `?`")));
    }
    if !base_path.is_empty() && !base_path.starts_with(['/', '?']) {
        return Err(DriverError::new(format!("the base path `{base_path}` must begin with `/`")));
    }
    if !path.is_empty() && base_path.contains('?') {
        let text = format!("the path `{path}` cannot follow the query of the base path `{base_path}`");
        return Err(DriverError::new(text));
    }
    // The base path is no template.
    let base = base_path.replace('$', "$$");
    let base = if path.starts_with('?') || path.is_empty() {
        base.as_str()
    } else {
        base.strip_suffix('/').unwrap_or(&base)
    };
    let slash = if base.is_empty() && (path.is_empty() || path.starts_with('?')) || base.starts_with('?') {
        "/"
    } else {
        ""
    };
    let target = format!("{slash}{base}{path}");
    match bad_in_path(&target) {
        None => Ok(target),
        Some(bad) => {
            let encoded: String = bad.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect();
            Err(DriverError::new(format!(
                "`{}` cannot stand in the path `{}`; write `{encoded}`",
                bad.escape_debug(),
                target.escape_debug()
            )))
        }
    }
}

/// All header fields of an operation: its own take the place of those of equal name in common.
fn fields<'a>(
    common: &'a Common<'_>,
    operation: &'a HttpOperation,
) -> impl Iterator<Item = &'a (String, String)> {
    let own = |name: &str| operation.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    common.headers.iter().filter(move |(name, _)| !own(name)).chain(&operation.headers)
}

fn check_field(name: &str, value: &str) -> Result<(), DriverError> {
    if !is_token(name) {
        return Err(DriverError::new(format!("`{}` is no name of a header field", name.escape_debug())));
    }
    if FRAMING.iter().any(|framing| framing.eq_ignore_ascii_case(name)) {
        return Err(DriverError::new(format!(
            "the header field `{name}` is written by the driver; leave it out"
        )));
    }
    if !is_field_value(value) {
        let value = value.escape_debug();
        return Err(DriverError::new(format!("the header field `{name}` cannot have the value `{value}`")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use weigh_load::Operation;
    use weigh_load::generator::{GeneratorSpec, ParameterStream};

    use super::*;

    fn common(base_path: &str) -> Common<'_> {
        Common { base_path, headers: vec![("Host".into(), "h:8080".into()), ("Accept".into(), "a/b".into())] }
    }

    fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
        headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    /// The request with `$1` = -7 and `$2` = `a é\r\n`.
    fn request(operation: HttpOperation, base_path: &str) -> Result<String, String> {
        let operation = HttpOperation { parameters: 2, ..operation };
        let template =
            RequestTemplate::new(&operation, &common(base_path)).map_err(|error| error.to_string())?;
        let parameters = vec![
            GeneratorSpec::Uniform { min: -7, max: -7 },
            GeneratorSpec::Choice { values: vec!["a é\r\n".into()] },
        ];
        let operations = [Operation { name: "a".into(), weight: 1, parameters }];
        let mut stream = ParameterStream::new(&operations, 1, 0, 1, 0);
        let mut out = b">".to_vec();
        template.encode(stream.parameters(0).draw(), &mut out);
        Ok(String::from_utf8(out[1..].to_vec()).unwrap())
    }

    fn get(path: &str) -> HttpOperation {
        HttpOperation::new("read", "GET", path)
    }

    #[test]
    fn a_plain_request_is_one_literal() {
        let template = RequestTemplate::new(&get("/x"), &common("")).unwrap();
        assert!(matches!(template.pieces.as_slice(), [Piece::Literal(_)]) && !template.draws());
        assert_eq!(request(get("/x"), "").unwrap(), "GET /x HTTP/1.1\r\nHost: h:8080\r\nAccept: a/b\r\n\r\n");
    }

    #[test]
    fn base_and_path_are_joined() {
        let line = |base: &str, path: &str| {
            let request = request(get(path), base).unwrap();
            request.split(' ').nth(1).unwrap().to_owned()
        };
        assert_eq!(line("", ""), "/");
        assert_eq!(line("/", ""), "/");
        assert_eq!(line("/", "/a"), "/a");
        assert_eq!(line("/api/", "/a"), "/api/a");
        assert_eq!(line("/api", "?q=$1"), "/api?q=-7");
        assert_eq!(line("/api/", ""), "/api/");
        assert_eq!(line("/$1?x=1", ""), "/$1?x=1", "a URL is no template");
        assert_eq!(line("", "?q"), "/?q");
        assert_eq!(line("?q", ""), "/?q");
        assert_eq!(line("", "$1"), "-7");
        assert_eq!(line("", "/$1/$2?n=$2"), "/-7/a%20%C3%A9%0D%0A?n=a%20%C3%A9%0D%0A");
        let options = HttpOperation::new("o", "OPTIONS", "*");
        assert!(request(options, "/api").unwrap().starts_with("OPTIONS * HTTP/1.1\r\n"));
    }

    #[test]
    fn fields_of_the_operation_take_the_place_of_common_ones() {
        let operation = HttpOperation {
            headers: pairs(&[("accept", "c/d"), ("X-Id", "$1;$2!"), ("X-Id", "$$1")]),
            ..get("/")
        };
        assert_eq!(
            request(operation, "").unwrap(),
            "GET / HTTP/1.1\r\nHost: h:8080\r\naccept: c/d\r\nX-Id: -7;a é  !\r\nX-Id: $1\r\n\r\n"
        );
    }

    #[test]
    fn bodies_have_their_length() {
        let post = |body: Option<&str>| {
            let operation = HttpOperation::new("write", "POST", "/");
            let request = request(HttpOperation { body: body.map(Into::into), ..operation }, "").unwrap();
            request.split_once("a/b\r\n").unwrap().1.to_owned()
        };
        assert_eq!(post(None), "Content-Length: 0\r\n\r\n");
        assert_eq!(post(Some("é")), "Content-Length: 2\r\n\r\né");
        assert_eq!(post(Some("<$1>")), "Content-Length:            4\r\n\r\n<-7>");
        assert_eq!(post(Some("$2$2$2")), "Content-Length:           18\r\n\r\na é\r\na é\r\na é\r\n");
    }

    #[test]
    fn what_would_break_a_request_is_refused_by_name() {
        let refused = |operation: HttpOperation| request(operation, "").unwrap_err();
        let header = |name: &str, value: &str| HttpOperation { headers: pairs(&[(name, value)]), ..get("/") };
        assert_eq!(refused(get("/a b")), "` ` cannot stand in the path `/a b`; write `%20`");
        assert_eq!(refused(get("/é")), "`é` cannot stand in the path `/é`; write `%C3%A9`");
        assert_eq!(refused(get("a")), "the path `a` must begin with `/` or `?`");
        assert_eq!(refused(get("/$3")), "`$3` is used and there are 2 parameters");
        assert_eq!(refused(header("a b", "c")), "`a b` is no name of a header field");
        assert_eq!(
            refused(header("content-length", "1")),
            "the header field `content-length` is written by the driver; leave it out"
        );
        assert_eq!(
            refused(header("X", "a\r\nY: b")),
            "the header field `X` cannot have the value `a\\r\\nY: b`"
        );
        assert_eq!(refused(HttpOperation { method: "G T".into(), ..get("/") }), "`G T` is no HTTP method");
        assert!(refused(HttpOperation { method: "connect".into(), ..get("/") }).contains("tunnel"));
        let base = |base| request(get("/b"), base).unwrap_err();
        assert_eq!(base("/a?x=1"), "the path `/b` cannot follow the query of the base path `/a?x=1`");
        assert_eq!(base("a"), "the base path `a` must begin with `/`");
    }
}
