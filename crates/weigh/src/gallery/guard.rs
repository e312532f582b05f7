//! Who is answered, and the headers of every answer.
//!
//! A page anywhere on the web can make the reader's browser send requests to loopback. [`Guard::refusal`] therefore asks
//! of every request that its `Host` is a loopback name with our port (so that a name of somebody else's that
//! resolves to 127.0.0.1 is of no use: DNS rebinding), and of every request that changes something that the browser
//! says it comes from our own page; [`Guard::holds_token`] then wants the token that only our own pages carry.
//!
//! It keeps out other sites, not other users of the same machine: who can log in here can reach the port.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, Uri};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// A page brings its style, script and data with it and sends forms home; it can load and tell nothing.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
    img-src data: blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What one process of `weigh open` lets through.
#[derive(Debug)]
pub(super) struct Guard {
    port: u16,
    token: String,
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It was sent to another name or port than ours.
    Host,
    /// It would change something and does not come from our own page.
    Origin,
}

impl Guard {
    /// Of the process that listens on `port`, with a token from the system's random source.
    pub(super) fn new(port: u16) -> Result<Guard, getrandom::Error> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Guard { port, token: bytes.iter().map(|byte| format!("{byte:02x}")).collect() })
    }

    /// For the forms of our own pages.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Our port.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Why not to answer.
    pub(super) fn refusal(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Refusal> {
        let hosts = headers.get_all(HOST).iter().map(HeaderValue::to_str);
        // A request line may carry a host of its own, which then counts.
        let hosts =
            hosts.chain(uri.authority().map(|found| Ok(found.as_str()))).collect::<Result<Vec<_>, _>>();
        let hosts = hosts.unwrap_or_default();
        if hosts.is_empty() || !hosts.iter().all(|host| self.is_ours(host)) {
            return Some(Refusal::Host);
        }
        let reads = matches!(*method, Method::GET | Method::HEAD);
        (!reads && !is_from(hosts[0], headers)).then_some(Refusal::Origin)
    }

    /// Whether a form carries our token; compared without telling how much of it was right.
    pub(super) fn holds_token(&self, sent: &str) -> bool {
        sent.len() == self.token.len()
            && sent.bytes().zip(self.token.bytes()).fold(0, |found, (a, b)| found | (a ^ b)) == 0
    }

    fn is_ours(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().ok()),
            None => (host, Some(80)),
        };
        port == Some(self.port) && (name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost"))
    }
}

/// Whether the browser says that the request comes from a page of `host`. Older ones send no `Sec-Fetch-Site`, and
/// some no `Origin`; a request with neither is not from a browser's form.
fn is_from(host: &str, headers: &HeaderMap) -> bool {
    let origin = headers.get(ORIGIN).map(|origin| origin.as_bytes() == format!("http://{host}").as_bytes());
    let site = headers.get(FETCH_SITE).map(|site| site.as_bytes() == b"same-origin");
    (origin.is_some() || site.is_some()) && origin != Some(false) && site != Some(false)
}

/// Puts the headers that every answer has.
pub(super) fn harden(headers: &mut HeaderMap) {
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`: with that, browsers send forms with `Origin: null`.
        (REFERRER_POLICY, "same-origin"),
        (X_FRAME_OPTIONS, "DENY"),
        (RESOURCE_POLICY, "same-origin"),
        (OPENER_POLICY, "same-origin"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(method: Method, uri: &str, headers: &[(&'static str, &str)]) -> Option<Refusal> {
        let guard = Guard { port: 8088, token: "t".into() };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        guard.refusal(&method, &uri.parse().unwrap(), &map)
    }

    #[test]
    fn only_loopback_names_with_our_port_are_answered() {
        for host in ["127.0.0.1:8088", "localhost:8088", "LOCALHOST:8088"] {
            assert_eq!(refused(Method::GET, "/", &[("host", host)]), None, "{host}");
        }
        let wrong = [
            "evil.example:8088",
            "127.0.0.1",
            "localhost:80",
            "127.0.0.1:8089",
            "localhost.evil.example:8088",
            "evil.example",
            "",
            ":8088",
            "127.0.0.1:8088:8088",
            "0.0.0.0:8088",
            "127.0.0.1:08088x",
            "user@localhost:8088",
        ];
        for host in wrong {
            assert_eq!(refused(Method::GET, "/", &[("host", host)]), Some(Refusal::Host), "{host}");
        }
        assert_eq!(refused(Method::GET, "/", &[]), Some(Refusal::Host));
        let two = [("host", "localhost:8088"), ("host", "evil.example")];
        assert_eq!(refused(Method::GET, "/", &two), Some(Refusal::Host));
        let ours = [("host", "localhost:8088")];
        assert_eq!(refused(Method::GET, "http://evil.example/", &ours), Some(Refusal::Host));
    }

    #[test]
    fn what_changes_something_must_come_from_our_own_page() {
        let post = |more: &[(&'static str, &str)]| {
            let headers: Vec<_> = [("host", "localhost:8088")].iter().chain(more).copied().collect();
            refused(Method::POST, "/delete", &headers)
        };
        assert_eq!(post(&[("origin", "http://localhost:8088")]), None);
        assert_eq!(post(&[("sec-fetch-site", "same-origin")]), None);
        for wrong in [
            vec![],
            vec![("origin", "null")],
            vec![("origin", "http://evil.example")],
            vec![("origin", "http://localhost:8089")],
            vec![("origin", "https://localhost:8088")],
            vec![("origin", "http://127.0.0.1:8088")],
            vec![("sec-fetch-site", "cross-site")],
            vec![("sec-fetch-site", "same-site")],
            vec![("sec-fetch-site", "none")],
            vec![("origin", "http://localhost:8088"), ("sec-fetch-site", "cross-site")],
        ] {
            assert_eq!(post(&wrong), Some(Refusal::Origin), "{wrong:?}");
        }
        let delete = [("host", "localhost:8088")];
        assert_eq!(refused(Method::DELETE, "/", &delete), Some(Refusal::Origin));
        assert_eq!(refused(Method::OPTIONS, "/", &delete), Some(Refusal::Origin));
    }

    #[test]
    fn the_token_is_another_each_time_and_must_be_whole() {
        let guard = Guard::new(1).unwrap();
        let token = guard.token().to_owned();
        assert_eq!(token.len(), 32);
        assert_ne!(token, Guard::new(1).unwrap().token());
        assert!(guard.holds_token(&token));
        for wrong in ["", &token[1..], &format!("{token}0"), &"0".repeat(32)] {
            assert!(!guard.holds_token(wrong), "{wrong}");
        }
    }
}
