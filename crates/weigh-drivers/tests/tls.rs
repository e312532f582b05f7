//! TLS on real servers: what is checked, what a user reads when it is refused, and that a load inside TLS counts
//! what happened.

mod http;
mod key_value;
mod mongodb;
mod postgres;

use std::path::Path;

use weigh_drivers::{ServerUrl, TlsConfig};
use weigh_load::{LoadError, LoadReport};

use crate::support::load::chain;
use crate::support::tls::{Authority, Pair};

/// Shapes of load: clients and pipeline.
const SHAPES: [(usize, usize); 3] = [(1, 1), (4, 1), (3, 16)];

/// How most protocols spell what a refused client has to say.
const USUAL: [&str; 2] = ["tls_ca=FILE", "tls_verify=chain"];

/// What options of a URL mean.
fn options(query: &str) -> TlsConfig {
    TlsConfig::from_options(&ServerUrl::parse(&format!("any://h/?{query}")).unwrap()).unwrap()
}

/// The outcome of a load, as a user reads it when it could not begin.
fn read(outcome: Result<LoadReport, LoadError>) -> Result<LoadReport, String> {
    outcome.map_err(|error| {
        let text = chain(&error);
        text.strip_prefix("none of 1 clients could connect: ").unwrap_or(&text).to_owned()
    })
}

/// Servers with right and wrong certificates, on 127.0.0.1, and what a client of theirs reads.
///
/// `start` takes the server's certificate and the authority its clients must be signed by, if they must; `run` puts
/// a load of one client on it, with options of a URL. `ca` and `chain` are how the protocol spells two of them.
fn check_certificates<S>(
    [ca, chain]: [&str; 2],
    start: impl Fn(&Pair, Option<&Path>) -> S,
    run: impl Fn(&S, &str) -> Result<LoadReport, String>,
) {
    let authority = Authority::new();
    let trusting = |more: &str| format!("tls_ca={}{more}", authority.ca_file().display());
    let passes = |server: &S, query: &str| {
        let report = run(server, query).unwrap_or_else(|error| panic!("{query}: {error}"));
        assert!(report.errors.is_empty() && report.operations_measured > 10, "{query}: {report:?}");
    };
    let server = start(&authority.right(), None);
    passes(&server, &trusting(""));
    passes(&server, "tls_verify=none");
    assert_eq!(
        run(&server, "").unwrap_err(),
        format!(
            "the certificate of `127.0.0.1` is signed by nobody trusted here: name the authority's file with `{ca}`"
        )
    );
    let server = start(&authority.expired(), None);
    let expired = "the certificate of `127.0.0.1`, or one above it, expired on 2020-01-01T00:00:00Z";
    assert_eq!(run(&server, &trusting("")).unwrap_err(), expired);
    assert_eq!(run(&server, &trusting("&tls_verify=chain")).unwrap_err(), expired);
    let server = start(&authority.wrong_name(), None);
    assert_eq!(
        run(&server, &trusting("")).unwrap_err(),
        format!(
            "the certificate is made out to `elsewhere.example`, not to `127.0.0.1`; `{chain}` leaves the name \
             unchecked"
        )
    );
    passes(&server, &trusting("&tls_verify=chain"));
    passes(&server, &trusting("&tls_name=elsewhere.example"));
}

/// Servers that want their clients' certificates and break the connection without.
fn check_client_certificates<S>(
    start: impl Fn(&Pair, Option<&Path>) -> S,
    run: impl Fn(&S, &str) -> Result<LoadReport, String>,
) {
    let authority = Authority::new();
    let server = start(&authority.right(), Some(authority.ca_file()));
    let with = |pair: &Pair| format!("tls_verify=none&tls_cert={}", pair.together.display());
    let report = run(&server, &with(&authority.client("somebody"))).unwrap();
    assert!(report.errors.is_empty() && report.operations_measured > 10, "{report:?}");
    let text = run(&server, "tls_verify=none").map(|report| report.errors).unwrap_err();
    assert!(text.contains("`127.0.0.1` wants a client certificate: give one with `"), "{text}");
    let text = run(&server, &with(&Authority::new().client("somebody"))).unwrap_err();
    assert!(text.contains("`127.0.0.1` does not accept our client certificate ("), "{text}");
}
