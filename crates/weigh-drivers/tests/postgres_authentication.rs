//! Logging in, and what a user reads when that fails.

use std::path::Path;

use weigh_drivers::Endpoint;
use weigh_drivers::postgres::{PostgresConfig, socket_in};

use crate::support::cluster::shared;
use crate::support::load::{chain, run, work};

fn over_tcp(user: &str, password: Option<&str>) -> PostgresConfig {
    let cluster = shared();
    PostgresConfig {
        endpoint: Endpoint::Tcp { host: "127.0.0.1".into(), port: cluster.port },
        user: user.into(),
        password: password.map(Into::into),
        ..cluster.config()
    }
}

fn refusal(config: PostgresConfig) -> String {
    chain(&run(config, 2, 1, &[work("one", &["SELECT 1"], vec![], 1)]).unwrap_err())
}

#[test]
fn every_kind_of_authentication_logs_in() {
    for user in ["by_trust", "by_password", "by_md5", "by_scram"] {
        let password = (user != "by_trust").then_some("sesame");
        let one = [work("one", &["SELECT 1"], vec![], 1)];
        let report = run(over_tcp(user, password), 2, 1, &one).unwrap();
        assert!(report.errors.is_empty(), "{user}: {:?}", report.errors);
        assert!(report.operations_measured > 20, "{user}");
    }
}

#[test]
fn a_wrong_password_is_one_clear_line() {
    for user in ["by_password", "by_md5", "by_scram"] {
        let text = refusal(over_tcp(user, Some("guess")));
        let expected = format!(
            "none of 2 clients could connect: password authentication failed for user \"{user}\" (28P01)"
        );
        assert_eq!(text, expected);
        let text = refusal(over_tcp(user, None));
        assert_eq!(
            text,
            format!(
                "none of 2 clients could connect: the server asks for the password of `{user}` and none is given"
            )
        );
    }
}

#[test]
fn other_refusals_are_in_the_servers_words() {
    let text = refusal(over_tcp("stranger", None));
    assert!(text.contains("no pg_hba.conf entry for host \"127.0.0.1\", user \"stranger\""), "{text}");
    let missing = PostgresConfig { database: "nowhere".into(), ..shared().config() };
    assert_eq!(
        refusal(missing),
        "none of 2 clients could connect: database \"nowhere\" does not exist (3D000)"
    );
    let nobody = socket_in(Path::new("/var/tmp/no-such-directory"), 1);
    let text = refusal(PostgresConfig { endpoint: nobody, ..shared().config() });
    assert!(
        text.contains("cannot connect to `/var/tmp/no-such-directory/.s.PGSQL.1`: No such file"),
        "{text}"
    );
}
