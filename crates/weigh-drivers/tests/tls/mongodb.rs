//! MongoDB's protocol inside TLS, by FerretDB.

use std::path::Path;
use std::sync::Arc;

use weigh_drivers::mongodb::MongodbConfig;
use weigh_load::{LoadReport, start};

use super::{SHAPES, check_certificates, check_client_certificates, options, read};
use crate::support::ferretdb::{Server, number};
use crate::support::keyvalue::{Call, call, commands, load_spec};
use crate::support::load::sequence;
use crate::support::tls::{Authority, Pair};

fn begin(pair: &Pair, clients: Option<&Path>) -> Server {
    let mut arguments = vec![
        "--listen-tls=127.0.0.1:{port}".to_owned(),
        "--listen-addr=".into(),
        format!("--listen-tls-cert-file={}", pair.certificate.display()),
        format!("--listen-tls-key-file={}", pair.key.display()),
    ];
    arguments.extend(clients.map(|ca| format!("--listen-tls-ca-file={}", ca.display())));
    Server::ferretdb(&arguments)
}

fn config(server: &Server, query: &str) -> MongodbConfig {
    MongodbConfig { tls: Some(options(query)), ..server.config("inside") }
}

fn run(
    server: &Server,
    query: &str,
    clients: usize,
    pipeline: usize,
    call: &Call,
) -> Result<LoadReport, String> {
    let calls = [call.clone()];
    let driver = MongodbConfig { operations: commands(&calls), ..config(server, query) }.build().unwrap();
    read(start(&load_spec(clients, pipeline, &calls), Arc::new(driver)).and_then(|load| load.finish()))
}

#[test]
fn certificates_are_checked() {
    let ping = call("ping", r#"{"ping": 1}"#, vec![]);
    let run = |server: &Server, query: &str| run(server, query, 1, 1, &ping);
    check_certificates(["tlsCAFile=FILE", "tlsAllowInvalidHostnames=true"], begin, run);
    check_client_certificates(begin, run);
}

#[test]
fn every_acknowledged_insert_inside_tls_is_there_once() {
    let server = begin(&Authority::new().right(), None);
    let insert = call("insert", r#"{"insert": "log", "documents": [{"at": "$1"}]}"#, vec![sequence()]);
    let mut session = config(&server, "tls_verify=none").session().unwrap();
    for (clients, pipeline) in SHAPES {
        session.ask(r#"{"dropDatabase": 1}"#).unwrap();
        let report = run(&server, "tls_verify=none", clients, pipeline, &insert).unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert!(report.operations_measured > 5, "{report:?}");
        let reply = session.ask(r#"{"count": "log", "query": {}}"#).unwrap();
        assert_eq!(report.operations_total, number(&reply, "n"), "{clients} x {pipeline}");
    }
}
