//! Logging in to Redis, and what a user reads when that fails.

use std::time::Instant;

use weigh_drivers::redis::{RedisConfig, RespVersion};
use weigh_drivers::{Endpoint, ServerUrl, TlsConfig};

use crate::support::keyvalue::{Call, call, commands, load, scripted};
use crate::support::load::{chain, ms};
use crate::support::redis::RedisServer;
use crate::support::tls::Authority;

fn ping() -> Vec<Call> {
    vec![call("get", "GET k", vec![])]
}

fn works(config: RedisConfig) {
    let report = load(config.build().unwrap(), 2, 1, &ping()).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert!(report.operations_total > 20);
}

fn refusal(config: RedisConfig) -> String {
    let text = chain(&load(config.build().unwrap(), 2, 1, &ping()).unwrap_err());
    text.strip_prefix("none of 2 clients could connect: ").unwrap_or(&text).to_owned()
}

const BOTH: [RespVersion; 2] = [RespVersion::Two, RespVersion::Three];

#[test]
fn a_password_as_of_old_and_its_refusals() {
    let server = RedisServer::new(&["--requirepass", "sesame"]);
    for protocol in BOTH {
        let with = |user: Option<&str>, password: Option<&str>| RedisConfig {
            protocol,
            user: user.map(Into::into),
            password: password.map(Into::into),
            ..server.config(&ping())
        };
        works(with(None, Some("sesame")));
        works(with(Some("default"), Some("sesame")));
        let wrong = "WRONGPASS invalid username-password pair or user is disabled.";
        assert_eq!(refusal(with(None, Some("guess"))), wrong);
        assert_eq!(refusal(with(Some("stranger"), Some("sesame"))), wrong);
        let none = refusal(with(None, None));
        assert!(none.starts_with("the server asks for a password and none is given: NOAUTH "), "{none}");
    }
}

#[test]
fn users_of_the_access_control_list_and_their_rights() {
    let server = RedisServer::new(&[]);
    server.cli(&["ACL", "SETUSER", "me", "on", ">secret", "~k", "+get", "+hello", "+auth"]);
    server.cli(&["ACL", "SETUSER", "other", "on", ">secret", "~x", "+@all"]);
    for protocol in BOTH {
        let with = |user: &str| RedisConfig {
            protocol,
            user: Some(user.into()),
            password: Some("secret".into()),
            ..server.config(&ping())
        };
        // Without the right to PING.
        works(with("me"));
        let report = load(with("other").build().unwrap(), 1, 1, &ping()).unwrap();
        let expected = "NOPERM this user has no permissions to access one of the keys used as arguments";
        assert_eq!(report.errors.keys().collect::<Vec<_>>(), [expected]);
    }
}

#[test]
fn a_password_nobody_asked_for_is_refused_in_the_servers_words() {
    let server = RedisServer::new(&[]);
    let config = RedisConfig { password: Some("x".into()), ..server.config(&ping()) };
    let text = refusal(config);
    assert!(
        text.starts_with("the server refuses log-in: ERR AUTH <password> called without any password"),
        "{text}"
    );
}

#[test]
fn a_url_is_enough() {
    let server = RedisServer::new(&[]);
    let from = |url: String| RedisConfig {
        operations: commands(&ping()),
        ..RedisConfig::from_url(&ServerUrl::parse(&url).unwrap()).unwrap()
    };
    works(from(format!("redis://127.0.0.1:{}/3?protocol=3", server.port)));
    let Endpoint::Unix(path) = server.socket() else { panic!() };
    works(from(format!("redis://{}?db=2", path.display())));
    assert_eq!(
        refusal(from(format!("redis://127.0.0.1:{}/99", server.port))),
        "the server refuses database 99: ERR DB index is out of range"
    );
}

#[test]
fn databases_are_apart() {
    let server = RedisServer::new(&[]);
    server.cli(&["-n", "5", "SET", "k", "five"]);
    let expecting = [call("get", "GET k", vec![]).expecting("five")];
    let config = RedisConfig { database: 5, ..server.config(&expecting) };
    let report = load(config.build().unwrap(), 2, 2, &expecting).unwrap();
    assert!(report.errors.is_empty() && report.misses == 0 && report.operations_total > 20, "{report:?}");
    let report = load(server.driver(&expecting), 2, 2, &expecting).unwrap();
    assert_eq!(report.misses, report.operations_total);
}

#[test]
fn servers_that_are_not_there_or_not_redis() {
    let nobody = Endpoint::Tcp { host: "127.0.0.1".into(), port: 1 };
    let config = |endpoint: Endpoint| RedisConfig {
        endpoint,
        ..RedisConfig::from_url(&ServerUrl::parse("redis://h").unwrap()).unwrap()
    };
    let config = |endpoint| RedisConfig { operations: commands(&ping()), ..config(endpoint) };
    assert!(refusal(config(nobody)).starts_with("cannot connect to `127.0.0.1:1`: Connection refused"));
    let begun = Instant::now();
    assert_eq!(
        refusal(config(scripted(&[b"HTTP/1.1 400 Bad Request\r\n\r\n"]))),
        "the server sent a reply that begins with `H`: it does not speak Redis's protocol"
    );
    assert_eq!(
        refusal(config(scripted(&[b"-LOADING Redis is loading the dataset in memory\r\n"]))),
        "the server refuses PING: LOADING Redis is loading the dataset in memory"
    );
    assert!(begun.elapsed() < ms(2000));
}

#[test]
fn too_many_clients_are_counted_in_the_servers_words() {
    let server = RedisServer::new(&["--maxclients", "5"]);
    let report = load(server.driver(&ping()), 12, 1, &ping()).unwrap();
    let refused =
        report.errors.iter().find(|(message, _)| message.contains("ERR max number of clients reached"));
    assert!(refused.is_some_and(|(_, count)| *count >= 7), "{:?}", report.errors);
    assert!(report.operations_total > 0);
}

#[test]
fn tls_with_the_right_certificate_and_with_none() {
    let authority = Authority::new();
    let pair = authority.right();
    let port = crate::support::kept::free_port();
    let (port_text, file) = (port.to_string(), |path: &std::path::Path| path.display().to_string());
    let (certificate, key, ca) = (file(&pair.certificate), file(&pair.key), file(authority.ca_file()));
    let options = ["--tls-port", &port_text, "--tls-cert-file", &certificate, "--tls-key-file", &key];
    let server =
        RedisServer::new(&[&options[..], &["--tls-ca-cert-file", &ca, "--tls-auth-clients", "no"]].concat());
    let with = |tls: TlsConfig| RedisConfig {
        endpoint: Endpoint::Tcp { host: "127.0.0.1".into(), port },
        tls: Some(tls),
        ..server.config(&ping())
    };
    let trusting = TlsConfig { ca_file: Some(authority.ca_file().into()), ..TlsConfig::default() };
    works(RedisConfig { protocol: RespVersion::Three, ..with(trusting.clone()) });
    let report = load(with(trusting).build().unwrap(), 3, 16, &ping()).unwrap();
    assert!(report.errors.is_empty() && report.operations_total > 100, "{report:?}");
    let text = refusal(with(TlsConfig::default()));
    assert!(text.contains("certificate"), "{text}");
}
