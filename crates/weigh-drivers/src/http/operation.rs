//! What one operation asks and what its reply must look like.

use std::fmt;
use std::str::FromStr;

use weigh_load::DriverError;

/// One request. `$1`, `$2`, … in path, values of headers, body and expected body stand for its parameters.
///
/// In the path a parameter's value is percent-encoded where it could not stand in a request line (spaces, control
/// characters, quotes, `#`, everything beyond ASCII); `/`, `?`, `&` and `%` stay as they are, so that whole paths can
/// be parameters. In a header's value control characters become spaces. In a body values stand as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpOperation {
    /// Name, for messages.
    pub name: String,
    /// Method, as written (`GET`).
    pub method: String,
    /// Path and query behind the base path; empty for the base path itself. Percent-encoded by the user.
    pub path: String,
    /// Header fields of this operation, beside those of every request; an equal name takes their place.
    pub headers: Vec<(String, String)>,
    /// Body; `Content-Length` is filled in.
    pub body: Option<String>,
    /// How many parameters the operation draws.
    pub parameters: usize,
    /// What the reply must look like.
    pub expect: HttpExpect,
}

impl HttpOperation {
    /// A request without headers, body and parameters of its own.
    #[must_use]
    pub fn new(name: impl Into<String>, method: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            method: method.into(),
            path: path.into(),
            headers: Vec::new(),
            body: None,
            parameters: 0,
            expect: HttpExpect::default(),
        }
    }
}

/// What a reply must look like to count as done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpExpect {
    /// Its status.
    pub status: StatusExpect,
    /// Its body, exactly, without any transfer coding; parameters may occur in it.
    pub body: Option<String>,
    /// Length of its body without any transfer coding, bytes.
    pub body_length: Option<u64>,
}

/// Which status codes are a success. As text: `200`, `2xx`, `any`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusExpect {
    /// Any below 400. What is taken when nothing is said; it has no text.
    #[default]
    NoError,
    /// This one.
    Code(u16),
    /// A hundred of them, by its first digit (2 for `2xx`).
    Class(u8),
    /// Every one, errors included.
    Any,
}

impl StatusExpect {
    /// Whether a reply with this status is a success.
    #[must_use]
    pub fn accepts(self, status: u16) -> bool {
        match self {
            Self::NoError => status < 400,
            Self::Code(code) => status == code,
            Self::Class(first) => status / 100 == u16::from(first),
            Self::Any => true,
        }
    }
}

impl fmt::Display for StatusExpect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoError => formatter.write_str("below 400"),
            Self::Code(code) => write!(formatter, "{code}"),
            Self::Class(first) => write!(formatter, "{first}xx"),
            Self::Any => formatter.write_str("any"),
        }
    }
}

impl FromStr for StatusExpect {
    type Err = DriverError;

    /// # Errors
    /// What is neither a code from 200 to 599, nor a class, nor `any`.
    fn from_str(text: &str) -> Result<Self, DriverError> {
        let class = || match text.as_bytes() {
            [first @ b'2'..=b'5', b'x' | b'X', b'x' | b'X'] => Some(Self::Class(first - b'0')),
            _ => None,
        };
        let code = || text.parse().ok().filter(|code| (200..600).contains(code)).map(Self::Code);
        let any = (text == "any").then_some(Self::Any);
        any.or_else(class).or_else(code).ok_or_else(|| {
            DriverError::new(format!(
                "`{text}` is no status to expect; give a code (`200`), a class (`2xx`) or `any`"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_read_and_compared() {
        for (text, good, bad) in [("200", 200, 201), ("2xx", 299, 300), ("5XX", 503, 499)] {
            let expect: StatusExpect = text.parse().unwrap();
            assert!(expect.accepts(good) && !expect.accepts(bad), "{text}");
            assert_eq!(expect.to_string(), text.to_lowercase());
        }
        assert!("any".parse::<StatusExpect>().unwrap().accepts(599));
        assert!(StatusExpect::default().accepts(304) && !StatusExpect::default().accepts(404));
    }

    #[test]
    fn what_is_no_status_is_refused() {
        for text in ["", "2x", "1xx", "6xx", "99", "600", "65536", "all", "2xxx", "éx"] {
            let error = text.parse::<StatusExpect>().unwrap_err();
            assert!(error.message.contains("is no status to expect"), "{error}");
        }
    }
}
