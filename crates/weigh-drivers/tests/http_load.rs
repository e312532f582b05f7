//! Loads on nginx: what the client says happened is what the server counted.

use weigh_drivers::Endpoint;
use weigh_drivers::http::{HttpConfig, HttpOperation, StatusExpect};
use weigh_load::LoadReport;
use weigh_load::generator::GeneratorSpec;

use crate::support::load::{chain, sequence};
use crate::support::nginx::{Nginx, Work, config, get, run_http};

/// Runs one operation; nothing may fail.
fn clean(config: HttpConfig, operation: HttpOperation, parameters: Vec<GeneratorSpec>) -> LoadReport {
    let report = run_http(config, 2, 1, &[(operation, parameters)]).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert!(report.operations_measured > 20 && report.reconnects == 0, "{report:?}");
    assert_eq!(report.latency.len(), report.operations_measured);
    report
}

fn expecting_body(operation: HttpOperation, body: &str) -> HttpOperation {
    let mut operation = operation;
    operation.expect.body = Some(body.into());
    operation
}

#[test]
fn every_reply_is_one_request_of_the_servers_count() {
    let nginx = Nginx::new();
    for (clients, pipeline) in [(1, 1), (10, 1), (3, 8)] {
        let before = nginx.requests();
        let mut operation = get("/64");
        operation.expect.body_length = Some(64);
        let report = run_http(nginx.config(""), clients, pipeline, &[(operation, vec![])]).unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert!(report.operations_measured > 100);
        // The question before counted itself.
        assert_eq!(report.operations_total, nginx.requests() - before - 1, "{clients} x {pipeline}");
    }
}

#[test]
fn every_value_of_a_parameter_is_in_the_access_log_once() {
    let nginx = Nginx::new();
    let text = GeneratorSpec::Choice { values: vec!["a b".into(), "é&x=1".into()] };
    let operation =
        HttpOperation { headers: vec![("X-Id".into(), "<$1>".into())], ..get("/logged/$1?n=$1&t=$2") };
    let operation = expecting_body(operation, "$1 <$1>");
    let report = run_http(nginx.config(""), 3, 4, &[(operation, vec![sequence(), text])]).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let logged = nginx.logged();
    assert_eq!(logged.values().sum::<u64>(), report.operations_total);
    assert_eq!(logged.len() as u64, report.operations_total, "no value comes twice");
    let good = |line: &String| {
        line.starts_with("200 GET 127.0.0.1 /logged/")
            && (line.ends_with("&t=a%20b") || line.ends_with("&t=%C3%A9&x=1"))
    };
    assert!(logged.keys().all(good), "{:?}", logged.keys().find(|line| !good(line)));
}

#[test]
fn a_base_path_and_a_unix_socket_lead_to_the_same() {
    let nginx = Nginx::new();
    clean(nginx.config("/64"), get(""), vec![]);
    nginx.write("a", b"hello");
    clean(nginx.config("/files"), expecting_body(get("/a"), "hello"), vec![]);
    let socket = Endpoint::Unix(nginx.dir().join("socket"));
    let by_socket = HttpConfig { connect_to: Some(socket), ..config("http://nowhere.example/") };
    clean(by_socket, get("/64"), vec![]);
}

#[test]
fn error_statuses_are_counted_by_status_and_not_timed() {
    let nginx = Nginx::new();
    let works: Vec<Work> =
        ["/64", "/none", "/fails", "/busy"].into_iter().map(|path| (get(path), vec![])).collect();
    let report = run_http(nginx.config(""), 2, 3, &works).unwrap();
    let messages: Vec<_> = report.errors.keys().map(String::as_str).collect();
    assert_eq!(
        messages,
        [
            "status 404 Not Found",
            "status 500 Internal Server Error",
            "status 503 Service Temporarily Unavailable"
        ]
    );
    assert_eq!(report.operations_total + report.errors.values().sum::<u64>(), nginx.requests());
    assert_eq!(report.latency.len(), report.operations_measured);
    assert_eq!(report.operations[1].latency.len(), 0);
    assert_eq!(report.reconnects, 0);
}

#[test]
fn statuses_are_as_expected_or_errors() {
    let nginx = Nginx::new();
    let expecting = |path: &str, status: &str| {
        let mut operation = get(path);
        operation.expect.status = status.parse().unwrap();
        operation
    };
    clean(nginx.config(""), expecting("/none", "404"), vec![]);
    clean(nginx.config(""), expecting("/fails", "any"), vec![]);
    clean(nginx.config(""), expecting("/moved", "3xx"), vec![]);
    assert_eq!(get("/moved").expect.status, StatusExpect::NoError);
    clean(nginx.config(""), get("/moved"), vec![]);
    let report = run_http(nginx.config(""), 1, 1, &[(expecting("/moved", "2xx"), vec![])]).unwrap();
    let messages: Vec<_> = report.errors.keys().collect();
    assert_eq!(messages, ["status 301 Moved Permanently where 2xx is expected"]);
    assert_eq!(report.operations_total, 0);
}

#[test]
fn bodies_are_as_expected_or_errors() {
    let nginx = Nginx::new();
    nginx.write("a", b"hello");
    clean(nginx.config(""), expecting_body(get("/files/a"), "hello"), vec![]);
    let wrong =
        run_http(nginx.config(""), 1, 2, &[(expecting_body(get("/files/a"), "hallo"), vec![])]).unwrap();
    assert_eq!(wrong.errors.keys().collect::<Vec<_>>(), ["the body is not the expected one"]);
    let mut length = get("/files/a");
    length.expect.body_length = Some(6);
    let wrong = run_http(nginx.config(""), 1, 2, &[(length, vec![])]).unwrap();
    assert_eq!(wrong.errors.keys().collect::<Vec<_>>(), ["the body does not have the expected 6 bytes"]);
    assert_eq!(wrong.operations_total, 0);
}

#[test]
fn replies_without_a_body_are_complete_at_once() {
    let nginx = Nginx::new();
    nginx.write("a", b"hello");
    clean(nginx.config(""), get("/nothing"), vec![]);
    clean(nginx.config(""), HttpOperation::new("look", "HEAD", "/files/a"), vec![]);
    let headers = vec![("If-None-Match".into(), "*".into())];
    let mut unchanged = HttpOperation { headers, ..get("/files/a") };
    unchanged.expect.status = StatusExpect::Code(304);
    clean(nginx.config(""), unchanged, vec![]);
}

#[test]
fn chunked_replies_are_put_together() {
    let nginx = Nginx::new();
    nginx.write("page", b"<<!--#echo var=\"arg_n\" -->|<!--#echo var=\"arg_n\" -->>");
    let page = expecting_body(get("/ssi/page?n=$1"), "<$1|$1>");
    for pipeline in [1, 5] {
        let report = run_http(nginx.config(""), 2, pipeline, &[(page.clone(), vec![sequence()])]).unwrap();
        assert!(report.errors.is_empty() && report.operations_total > 50, "{:?}", report.errors);
    }
    nginx.write("text", "hello ".repeat(5000).as_bytes());
    let zipped =
        HttpOperation { headers: vec![("Accept-Encoding".into(), "gzip".into())], ..get("/gzip/text") };
    clean(nginx.config(""), zipped, vec![]);
}

#[test]
fn bodies_arrive_as_they_were_drawn() {
    let nginx = Nginx::new();
    let parameters = vec![sequence(), GeneratorSpec::String { size: 900 }];
    let mut put = HttpOperation::new("put", "PUT", "/put/$1");
    put.body = Some("$1 $$ $2".into());
    put.expect.status = StatusExpect::Code(201);
    let report = run_http(nginx.config(""), 2, 2, &[(put, parameters)]).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let mut files = 0;
    for entry in std::fs::read_dir(nginx.dir().join("put")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(text.starts_with(&format!("{name} $ ")) && text.len() == name.len() + 903, "{text}");
        files += 1;
    }
    assert!(files > 10);
    assert_eq!(files, report.operations_total);
}

#[test]
fn large_bodies_go_both_ways() {
    let nginx = Nginx::new();
    nginx.write("large", &vec![b'x'; 20 << 20]);
    let mut large = get("/files/large");
    large.expect.body_length = Some(20 << 20);
    let report = run_http(nginx.config(""), 1, 2, &[(large, vec![])]).unwrap();
    assert!(report.errors.is_empty() && report.operations_total > 2, "{report:?}");
    let mut put = HttpOperation::new("put", "PUT", "/put/$1");
    put.body = Some("$2".into());
    let parameters = vec![sequence(), GeneratorSpec::Bytes { size: 3 << 20 }];
    let report = run_http(nginx.config(""), 1, 1, &[(put, parameters)]).unwrap();
    assert!(report.errors.is_empty() && report.operations_total > 2, "{report:?}");
}

#[test]
fn hosts_are_mapped() {
    let nginx = Nginx::new();
    let local = Endpoint::Tcp { host: "127.0.0.1".into(), port: nginx.port };
    let mapped = HttpConfig { connect_to: Some(local), ..config("http://shop.example:81/") };
    clean(mapped, expecting_body(get("/"), "shop shop.example shop.example:81"), vec![]);
    let named = HttpConfig { host_header: Some("shop.example".into()), ..nginx.config("") };
    clean(named, expecting_body(get("/"), "shop shop.example shop.example"), vec![]);
    let own = HttpOperation { headers: vec![("host".into(), "shop.example".into())], ..get("/") };
    clean(nginx.config(""), expecting_body(own, "shop shop.example shop.example"), vec![]);
}

#[test]
fn users_are_known_by_their_password() {
    let nginx = Nginx::new();
    nginx.write("a", b"hello");
    let url = |who: &str| config(&format!("http://{who}127.0.0.1:{}/secret/a", nginx.port));
    clean(url("me:sesame@"), expecting_body(get(""), "hello"), vec![]);
    for who in ["", "me:wrong@", "you:sesame@"] {
        let report = run_http(url(who), 1, 1, &[(get(""), vec![])]).unwrap();
        assert_eq!(report.errors.keys().collect::<Vec<_>>(), ["status 401 Unauthorized"], "{who}");
    }
}

#[test]
fn a_refused_connection_is_one_clear_line() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = run_http(config(&format!("http://{free}/")), 2, 1, &[(get("/"), vec![])]).unwrap_err();
    let text = chain(&error);
    assert!(
        text.starts_with(&format!("none of 2 clients could connect: cannot connect to `{free}`: ")),
        "{text}"
    );
    assert!(text.to_lowercase().contains("refused"), "{text}");
}
