//! HTTPS, by nginx.

use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::Instant;

use weigh_drivers::http::HttpConfig;
use weigh_load::LoadReport;

use super::{SHAPES, USUAL, check_certificates, options, read};
use crate::support::kept::free_port;
use crate::support::load::ms;
use crate::support::nginx::{Nginx, config, get, run_http};
use crate::support::tls::{Authority, Pair};

struct Place {
    nginx: Nginx,
    tls_port: u16,
}

fn start(pair: &Pair, clients: Option<&Path>) -> Place {
    let tls_port = free_port();
    let (certificate, key) = (pair.certificate.display(), pair.key.display());
    let clients = clients.map_or(String::new(), |ca| {
        format!("ssl_verify_client on; ssl_client_certificate {};", ca.display())
    });
    let server = format!(
        "server {{ listen 127.0.0.1:{tls_port} ssl; ssl_certificate {certificate}; ssl_certificate_key {key}; {clients} \
         return 200 \"inside\"; }}"
    );
    let nginx = Nginx::with(&server, None);
    // It listens on the plain port a moment before.
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", tls_port)).is_err() {
        assert!(begun.elapsed() < ms(5000), "nginx does not listen for TLS");
        thread::sleep(ms(5));
    }
    Place { nginx, tls_port }
}

fn load(place: &Place, query: &str, clients: usize, pipeline: usize) -> Result<LoadReport, String> {
    let mut operation = get("/a");
    operation.expect.body = Some("inside".into());
    let secure = config(&format!("https://127.0.0.1:{}", place.tls_port));
    let secure = HttpConfig { tls: Some(options(query)), ..secure };
    read(run_http(secure, clients, pipeline, &[(operation, vec![])]))
}

#[test]
fn certificates_are_checked() {
    check_certificates(USUAL, start, |place, query| load(place, query, 1, 1));
}

#[test]
fn a_client_certificate_is_shown_where_it_is_wanted() {
    let authority = Authority::new();
    let place = start(&authority.right(), Some(authority.ca_file()));
    let pair = authority.client("somebody");
    let query =
        format!("tls_verify=none&tls_cert={}&tls_key={}", pair.certificate.display(), pair.key.display());
    let report = load(&place, &query, 1, 1).unwrap();
    assert!(report.errors.is_empty() && report.operations_measured > 10, "{report:?}");
    // nginx says so in HTTP.
    let report = load(&place, "tls_verify=none", 1, 1).unwrap();
    assert!(report.errors.keys().any(|message| message.contains("400")), "{:?}", report.errors);
    assert_eq!(report.operations_total, 0);
}

#[test]
fn every_reply_inside_tls_is_one_request_of_the_servers_count() {
    let place = start(&Authority::new().right(), None);
    for (clients, pipeline) in SHAPES {
        let before = place.nginx.requests();
        let report = load(&place, "tls_verify=none", clients, pipeline).unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert!(report.operations_measured > 50);
        // The question before counted itself.
        assert_eq!(report.operations_total, place.nginx.requests() - before - 1, "{clients} x {pipeline}");
    }
}

#[test]
fn a_server_without_tls_is_one_line() {
    let nginx = Nginx::new();
    let tls_port = nginx.port;
    let text = load(&Place { nginx, tls_port }, "", 1, 1).unwrap_err();
    assert_eq!(text, "what answers at `127.0.0.1` does not speak TLS on this port");
}
