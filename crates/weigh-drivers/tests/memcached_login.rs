//! Logging in to memcached, and what a user reads when that fails.

use std::os::unix::fs::PermissionsExt;

use weigh_drivers::memcached::MemcachedConfig;
use weigh_drivers::{Endpoint, ServerUrl, TlsConfig};

use crate::support::kept::{Kept, shown};
use crate::support::keyvalue::{Call, call, commands, load, scripted};
use crate::support::load::chain;
use crate::support::memcached::MemcachedServer;
use crate::support::tls::Authority;

fn get() -> Vec<Call> {
    vec![call("get", "get k", vec![])]
}

fn works(config: MemcachedConfig) {
    let report = load(config.build().unwrap(), 2, 2, &get()).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert!(report.operations_total > 20);
}

fn refusal(config: MemcachedConfig) -> String {
    let text = chain(&load(config.build().unwrap(), 2, 1, &get()).unwrap_err());
    text.strip_prefix("none of 2 clients could connect: ").unwrap_or(&text).to_owned()
}

#[test]
fn users_of_a_file_and_their_refusals() {
    let kept = Kept::new();
    let file = kept.file("users");
    std::fs::write(&file, "me:sesame street\nother:x\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let server = MemcachedServer::under(&[], &["-Y", &shown(&file)], kept);
    let with = |user: Option<&str>, password: Option<&str>| MemcachedConfig {
        user: user.map(Into::into),
        password: password.map(Into::into),
        ..server.config(&get())
    };
    works(with(Some("other"), Some("x")));
    assert_eq!(
        refusal(with(Some("other"), Some("guess"))),
        "the server refuses the log-in of `other`: CLIENT_ERROR authentication failure"
    );
    assert_eq!(
        refusal(with(None, None)),
        "the server asks for user and password and they are not given: CLIENT_ERROR unauthenticated"
    );
}

#[test]
fn a_password_nobody_asked_for_is_not_sent() {
    let server = MemcachedServer::new(&[]);
    let config =
        MemcachedConfig { user: Some("me".into()), password: Some("sesame".into()), ..server.config(&get()) };
    assert!(refusal(config).starts_with("a user or password is given and the server does not ask for them"));
    assert_eq!(server.stat("cmd_set"), 0);
}

#[test]
fn a_url_is_enough() {
    let from = |url: String| MemcachedConfig {
        operations: commands(&get()),
        ..MemcachedConfig::from_url(&ServerUrl::parse(&url).unwrap()).unwrap()
    };
    let server = MemcachedServer::new(&[]);
    works(from(format!("memcached://127.0.0.1:{}", server.port)));
    let mut kept = Kept::new();
    let socket = kept.file("socket");
    let command = ["memcached", "-u", "nobody", "-a", "777", "-s", &shown(&socket)].map(Into::into);
    kept.start(&command, "apt-get install memcached", || socket.exists());
    works(from(format!("memcached://{}", socket.display())));
    assert!(refusal(from("memcached://127.0.0.1:1".into())).starts_with("cannot connect to `127.0.0.1:1`: "));
}

#[test]
fn servers_that_speak_something_else() {
    let config = |answer: &[u8]| MemcachedConfig {
        endpoint: scripted(&[answer]),
        operations: commands(&get()),
        ..MemcachedConfig::from_url(&ServerUrl::parse("memcached://h").unwrap()).unwrap()
    };
    assert_eq!(
        refusal(config(b"HTTP/1.1 400 No\r\nServer: x\r\n\r\n")),
        "the server does not speak memcached's text protocol"
    );
    assert_eq!(
        refusal(config(b"ERROR Too many open connections\r\n")),
        "the server does not take commands: ERROR Too many open connections"
    );
}

#[test]
fn tls_with_the_right_certificate_and_with_none() {
    let authority = Authority::new();
    let pair = authority.right();
    let files = format!("ssl_chain_cert={},ssl_key={}", shown(&pair.certificate), shown(&pair.key));
    let server = MemcachedServer::new(&["-Z", "-o", &files]);
    let Endpoint::Tcp { port, .. } = server.tcp() else { panic!() };
    let with = |tls: TlsConfig| MemcachedConfig {
        endpoint: Endpoint::Tcp { host: "127.0.0.1".into(), port },
        tls: Some(tls),
        ..server.config(&get())
    };
    works(with(TlsConfig { ca_file: Some(authority.ca_file().into()), ..TlsConfig::default() }));
    let text = refusal(with(TlsConfig::default()));
    assert!(text.contains("certificate"), "{text}");
}
