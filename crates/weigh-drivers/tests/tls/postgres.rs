//! PostgreSQL with `ssl = on`.

use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

use weigh_drivers::ServerUrl;
use weigh_drivers::postgres::PostgresConfig;
use weigh_load::LoadReport;

use crate::support::cluster::Cluster;
use crate::support::load::{chain, ms, run, sequence, work};
use crate::support::tls::Authority;

const NAME: &str = "the authority of this server";

struct Place {
    cluster: Cluster,
    authority: Authority,
}

/// One server with the right certificate for all tests that do not change it.
fn place() -> &'static Place {
    static PLACE: OnceLock<Place> = OnceLock::new();
    PLACE.get_or_init(|| {
        let authority = Authority::named(NAME);
        let cluster = Cluster::with_tls(&authority.right(), authority.ca_file());
        Place { cluster, authority }
    })
}

/// A load of one client by URL: `user[:password]`, options. `{ca}` in them is the authority's file.
fn try_url(place: &Place, user: &str, query: &str, sql: &str) -> Result<LoadReport, String> {
    let query = query.replace("{ca}", place.authority.ca_file().to_str().unwrap());
    let url = format!("postgres://{user}@127.0.0.1:{}/postgres?{query}", place.cluster.port);
    let config = PostgresConfig::from_url(&ServerUrl::parse(&url).unwrap()).map_err(|error| chain(&error))?;
    let operation = work("one", &[sql], vec![], 1);
    run(config, 1, 1, &[operation]).map_err(|error| chain(&error))
}

/// Fails on the server unless the session is as asked.
const SECURE: &str = "SELECT 1 / (SELECT count(*) FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl)";
const PLAIN: &str = "SELECT 1 / (SELECT count(*) FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND NOT ssl)";

fn check(user: &str, query: &str, sql: &str) {
    let report = try_url(place(), user, query, sql).unwrap_or_else(|error| panic!("{user} {query}: {error}"));
    assert!(report.errors.is_empty(), "{user} {query}: {:?}", report.errors);
    assert!(report.operations_measured > 10, "{user} {query}");
}

fn refusal(user: &str, query: &str) -> String {
    let error = try_url(place(), user, query, "SELECT 1").unwrap_err();
    error.strip_prefix("none of 1 clients could connect: ").unwrap_or_else(|| panic!("{error}")).to_owned()
}

#[test]
fn every_sslmode_does_what_libpq_does() {
    check("by_trust", "sslmode=disable", PLAIN);
    check("by_trust", "sslmode=allow", PLAIN);
    check("by_trust", "", SECURE);
    check("by_trust", "sslmode=prefer", SECURE);
    check("by_trust", "sslmode=require", SECURE);
    check("by_trust", "sslmode=verify-ca&sslrootcert={ca}", SECURE);
    check("by_trust", "sslmode=verify-full&sslrootcert={ca}", SECURE);
}

#[test]
fn rules_of_the_server_decide_where_the_client_leaves_it_open() {
    check("only_tls:sesame", "sslmode=allow", SECURE);
    check("only_tls:sesame", "sslmode=prefer", SECURE);
    check("never_tls", "sslmode=prefer", PLAIN);
    check("never_tls", "sslmode=allow", PLAIN);
    assert_eq!(
        refusal("only_tls:sesame", "sslmode=disable"),
        "no pg_hba.conf entry for host \"127.0.0.1\", user \"only_tls\", database \"postgres\", \
         no encryption (28000)"
    );
    assert!(refusal("never_tls", "sslmode=require").contains("SSL encryption (28000)"));
}

#[test]
fn passwords_go_through_tls_and_are_bound_to_it() {
    check("by_scram:sesame", "sslmode=require&channel_binding=require", SECURE);
    check("by_scram:sesame", "sslmode=require&channel_binding=disable", SECURE);
    let wrong = refusal("by_scram:guess", "sslmode=require");
    assert_eq!(wrong, "password authentication failed for user \"by_scram\" (28P01)");
    let unbound = "the log-in is not bound to the TLS session, and `channel_binding` demands it";
    assert_eq!(refusal("by_scram:sesame", "sslmode=disable&channel_binding=require"), unbound);
    assert_eq!(refusal("by_trust", "sslmode=require&channel_binding=require"), unbound);
}

#[test]
fn client_certificates_are_shown_where_they_are_wanted() {
    let Place { authority, .. } = place();
    let with = |name: &str| {
        let pair = authority.client(name);
        format!("sslmode=require&sslcert={}&sslkey={}", pair.certificate.display(), pair.key.display())
    };
    check("by_certificate", &with("by_certificate"), SECURE);
    check("shows_certificate", &with("somebody"), SECURE);
    assert_eq!(
        refusal("by_certificate", &with("somebody")),
        "certificate authentication failed for user \"by_certificate\" (28000)"
    );
    assert_eq!(
        refusal("by_certificate", "sslmode=require"),
        "connection requires a valid client certificate (28000)"
    );
    let stranger = Authority::new();
    let pair = stranger.client("by_certificate");
    let query = format!("sslmode=require&sslcert={}", pair.together.display());
    let text = refusal("by_certificate", &query);
    assert!(
        text.ends_with("does not accept our client certificate (unknown ca): check `sslcert=FILE`"),
        "{text}"
    );
}

#[test]
fn an_authority_nobody_knows_is_one_line() {
    let text = refusal("by_trust", "sslmode=verify-full");
    let unknown = "the certificate of `127.0.0.1` is signed by nobody trusted here: name the authority's file with \
                   `sslrootcert=FILE`";
    assert_eq!(text, unknown);
    let (other, anew) = (Authority::new(), Authority::named(NAME));
    let query = |ca: &Authority| format!("sslmode=require&sslrootcert={}", ca.ca_file().display());
    assert_eq!(refusal("by_trust", &query(&other)), unknown);
    assert_eq!(refusal("by_trust", &query(&anew)), unknown);
    // What libpq does as well: prefer goes on without TLS.
    check("by_trust", &query(&other).replace("require", "prefer"), PLAIN);
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let refused = |query: &str| {
        let url = ServerUrl::parse(&format!("postgres://a@h/?sslmode=verify-full&{query}")).unwrap();
        chain(&PostgresConfig::from_url(&url).unwrap().build().unwrap_err())
    };
    let text = refused("sslrootcert=/no/such.pem");
    assert!(text.starts_with("cannot read certificates in `/no/such.pem`: No such file"), "{text}");
    assert_eq!(refused("sslrootcert=/dev/null"), "`/dev/null` holds no certificate in PEM form");
    let authority = Authority::new();
    let (one, other) = (authority.client("one"), authority.client("other"));
    let text = refused(&format!("sslcert={}&sslkey={}", one.certificate.display(), other.key.display()));
    assert!(text.starts_with("the client certificate and its key cannot be used together: "), "{text}");
    let text = refused(&format!("sslcert={}", one.certificate.display()));
    assert_eq!(text, format!("`{}` holds no key in PEM form", one.certificate.display()));
}

#[test]
fn a_server_without_tls_is_one_line() {
    let plain = Cluster::new();
    let url = format!("postgres://by_trust@127.0.0.1:{}/postgres?sslmode=require", plain.port);
    let config = PostgresConfig::from_url(&ServerUrl::parse(&url).unwrap()).unwrap();
    let one = [work("one", &["SELECT 1"], vec![], 1)];
    let text = chain(&run(config, 1, 1, &one).unwrap_err());
    let expected = format!(
        "none of 1 clients could connect: the server at `127.0.0.1:{}` does not offer TLS: \
         set `ssl = on` there, or `sslmode=disable` here",
        plain.port
    );
    assert_eq!(text, expected);
    let url = url.replace("require", "prefer");
    let config = PostgresConfig::from_url(&ServerUrl::parse(&url).unwrap()).unwrap();
    assert!(run(config, 1, 1, &one).unwrap().errors.is_empty());
}

#[test]
fn bad_certificates_are_one_line_each() {
    let authority = Authority::new();
    let cluster = Cluster::with_tls(&authority.expired(), authority.ca_file());
    let place = Place { cluster, authority };
    let full = "sslmode=verify-full&sslrootcert={ca}";
    let refused = |query: &str| {
        let error = try_url(&place, "by_trust", query, "SELECT 1").err().unwrap_or_default();
        error.strip_prefix("none of 1 clients could connect: ").unwrap_or(&error).to_owned()
    };
    let reload = |pair: &crate::support::tls::Pair, expected: &str| {
        place.cluster.place_certificate(pair);
        place.cluster.client().batch_execute("SELECT pg_reload_conf()").unwrap();
        let begun = Instant::now();
        while refused(full) != expected {
            assert!(begun.elapsed() < ms(5000), "{:?} and not {expected:?}", refused(full));
            thread::sleep(ms(20));
        }
    };
    let expired = "the certificate of `127.0.0.1`, or one above it, expired on 2020-01-01T00:00:00Z";
    assert_eq!(refused(full), expired);
    reload(
        &place.authority.wrong_name(),
        "the certificate is made out to `elsewhere.example`, not to `127.0.0.1`; \
         `sslmode=verify-ca` leaves the name unchecked",
    );
    assert_eq!(refused("sslmode=verify-ca&sslrootcert={ca}"), "");
    reload(
        &place.authority.common_name_only(),
        "the certificate names no host in a subjectAltName, only `CN=localhost` as its subject, so it is not made out to \
         `127.0.0.1`; `sslmode=verify-ca` leaves the name unchecked",
    );
    let own = place.authority.self_signed();
    reload(
        &own,
        "the certificate of `127.0.0.1` is signed by nobody trusted here: name the authority's file with \
         `sslrootcert=FILE`",
    );
    assert_eq!(refused(&format!("sslmode=verify-full&sslrootcert={}", own.certificate.display())), "");
    assert_eq!(refused("sslmode=require"), "");
}

#[test]
fn every_acknowledged_insert_inside_tls_is_in_the_table_once() {
    let Place { cluster, .. } = place();
    let mut client = cluster.client();
    for (clients, pipeline) in [(1, 1), (4, 1), (3, 8)] {
        client.batch_execute("DROP TABLE IF EXISTS log; CREATE TABLE log (id bigint PRIMARY KEY)").unwrap();
        client.batch_execute("GRANT ALL ON log TO by_scram").unwrap();
        let url = format!("postgres://by_scram:sesame@127.0.0.1:{}/postgres?sslmode=require", cluster.port);
        let config = PostgresConfig::from_url(&ServerUrl::parse(&url).unwrap()).unwrap();
        let insert = work("insert", &["INSERT INTO log VALUES ($1)"], vec![sequence()], 1);
        let report = run(config, clients, pipeline, &[insert]).unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert!(report.operations_measured > 50);
        let rows: i64 = client.query_one("SELECT count(*) FROM log", &[]).unwrap().get(0);
        assert_eq!(report.operations_total, u64::try_from(rows).unwrap(), "{clients} x {pipeline}");
    }
    let log = cluster.log();
    assert!(!log.contains("SSL error") && !log.contains("unexpected EOF"), "{log}");
}

#[test]
fn large_results_inside_tls_are_passed_over() {
    let rows = "SELECT i, repeat('x', 500) FROM generate_series(1, 2000) i";
    let report = try_url(place(), "by_trust", "sslmode=require", rows).unwrap();
    assert!(report.errors.is_empty() && report.operations_total > 2, "{report:?}");
}
