//! Logging in, and what a user reads when that fails.

use std::sync::{Arc, OnceLock};

use weigh_drivers::ServerUrl;
use weigh_drivers::mongodb::{Mechanism, MongodbConfig};
use weigh_load::{LoadReport, start};

use crate::support::ferretdb::{Server, shared};
use crate::support::keyvalue::{call, commands, load_spec};
use crate::support::load::chain;
use crate::support::tls::Authority;

/// A FerretDB that knows `weigh`.
fn guarded() -> &'static Server {
    static GUARDED: OnceLock<Server> = OnceLock::new();
    GUARDED.get_or_init(Server::with_users)
}

fn run(config: MongodbConfig) -> Result<LoadReport, String> {
    let calls = [call("find", r#"{"find": "nothing", "limit": 1}"#, vec![])];
    let driver = MongodbConfig { operations: commands(&calls), ..config }.build().map_err(|e| chain(&e))?;
    let load = start(&load_spec(4, 1, &calls), Arc::new(driver)).map_err(|error| chain(&error))?;
    load.finish().map_err(|error| chain(&error))
}

fn by_url(server: &Server, credentials: &str, rest: &str) -> MongodbConfig {
    let url = format!("mongodb://{credentials}127.0.0.1:{}/{rest}", server.port);
    MongodbConfig::from_url(&ServerUrl::parse(&url).unwrap()).unwrap()
}

#[test]
fn every_mechanism_logs_in() {
    for options in [
        "?authSource=admin",
        "shop?authSource=admin&authMechanism=SCRAM-SHA-256",
        "admin?authMechanism=SCRAM-SHA-1",
    ] {
        let report = run(by_url(guarded(), "weigh:sesame@", options)).unwrap();
        assert!(report.errors.is_empty() && report.operations_total > 3, "{options}: {:?}", report.errors);
    }
}

#[test]
fn a_wrong_password_is_one_clear_line() {
    for mechanism in [None, Some(Mechanism::ScramSha1), Some(Mechanism::ScramSha256)] {
        for credentials in ["weigh:guess@", "stranger:sesame@"] {
            let user = credentials.split(':').next().unwrap();
            let config = MongodbConfig { mechanism, ..by_url(guarded(), credentials, "?authSource=admin") };
            let expected = format!(
                "none of 4 clients could connect: authentication of `{user}` (authSource `admin`) failed: \
                 Authentication failed. (18 AuthenticationFailed)"
            );
            assert_eq!(run(config).unwrap_err(), expected, "{mechanism:?}");
        }
    }
    let none = by_url(guarded(), "weigh@", "?authSource=admin");
    assert_eq!(run(none).unwrap_err(), "none of 4 clients could connect: no password is given for `weigh`");
}

#[test]
fn other_refusals_are_in_the_servers_words() {
    let plain = by_url(guarded(), "weigh:sesame@", "?authSource=admin&authMechanism=PLAIN");
    let text = run(plain).unwrap_err();
    assert!(
        text.contains("Unsupported authentication mechanism \"PLAIN\". (18 AuthenticationFailed)"),
        "{text}"
    );
    let report = run(by_url(guarded(), "", "")).unwrap();
    assert_eq!(
        report.errors.keys().collect::<Vec<_>>(),
        ["13 Unauthorized Command find requires authentication"],
    );
    let set = run(by_url(shared(), "", "?replicaSet=rs0")).unwrap_err();
    assert!(set.ends_with("the server's replica set is `none`, not `rs0`"), "{set}");
}

#[test]
fn tls_is_spoken_and_its_certificate_checked() {
    let authority = Authority::new();
    let server = Server::with_tls(&authority.right());
    let trusting = format!("?tls=true&tlsCAFile={}", authority.ca_file().display());
    let report = run(by_url(&server, "", &trusting)).unwrap();
    assert!(report.errors.is_empty() && report.operations_total > 3, "{:?}", report.errors);
    let stranger = Authority::new();
    let distrusting = format!("?tls=true&tlsCAFile={}", stranger.ca_file().display());
    let text = run(by_url(&server, "", &distrusting)).unwrap_err();
    assert!(text.contains("tlsCAFile=FILE"), "{text}");
    let report = run(by_url(&server, "", "?tls=true&tlsInsecure=true")).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
}

#[test]
fn several_batches_are_refused_inside_tls() {
    let authority = Authority::new();
    let server = Server::with_tls(&authority.right());
    let config = by_url(&server, "", &format!("?tls=true&tlsCAFile={}", authority.ca_file().display()));
    let mut session = config.session().unwrap();
    session.ask(r#"{"insert": "c", "documents": [{}, {}, {}]}"#).unwrap();
    let calls = [call("find", r#"{"find": "c", "batchSize": 1}"#, vec![])];
    let driver = MongodbConfig { operations: commands(&calls), ..config }.build().unwrap();
    let report = start(&load_spec(1, 1, &calls), Arc::new(driver)).unwrap().finish().unwrap();
    assert!(
        report.errors.keys().all(|message| message.contains("cannot be read inside TLS")),
        "{:?}",
        report.errors
    );
    assert_eq!(report.operations_total, 0);
}
