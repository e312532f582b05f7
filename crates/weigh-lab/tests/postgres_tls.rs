//! A server of the user's own that lets nobody in without TLS: our own connections and those of the load.

use weigh_lab::experiment::{Experiment, SystemSection};
use weigh_lab::systems::{self, SystemError};
use weigh_load::Connection;

use crate::cluster::Cluster;
use crate::stage::{Stage, plan, slot};
use crate::tls::Authority;

fn describe(url: &str) -> Result<String, SystemError> {
    let section =
        SystemSection { name: "postgres".to_owned(), url: Some(url.to_owned()), ..SystemSection::default() };
    systems::describe(&Experiment::of_system(section)).map(|description| description.version)
}

fn whole(error: &SystemError) -> String {
    let below = std::error::Error::source(error).map(|source| format!("{source:?}")).unwrap_or_default();
    format!("{}: {below}", error.message)
}

#[test]
fn a_server_that_demands_tls_gets_it() {
    let authority = Authority::new();
    let cluster = Cluster::with_tls(&authority.right(), authority.ca_file());
    let (port, ca) = (cluster.port, authority.ca_file().display().to_string());
    let url = |options: &str| format!("postgres://only_tls:sesame@localhost:{port}/postgres?{options}");
    for options in ["sslmode=prefer", "sslmode=require", &format!("sslmode=verify-full&sslrootcert={ca}")] {
        let version = describe(&url(options)).unwrap_or_else(|error| panic!("{options}: {}", whole(&error)));
        assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{version}");
    }
    let bound = format!("sslmode=verify-full&sslrootcert={ca}&channel_binding=require");
    assert!(describe(&url(&bound)).is_ok());

    let refused = describe(&url("sslmode=disable")).unwrap_err();
    assert!(refused.message.contains("refuses `only_tls`: no pg_hba.conf entry"), "{}", refused.message);
    let stranger = Authority::new();
    let untrusted = format!("sslmode=verify-ca&sslrootcert={}", stranger.ca_file().display());
    let refused = describe(&url(&untrusted)).unwrap_err();
    assert!(whole(&refused).contains("UnknownIssuer"), "{}", whole(&refused));
    let nowhere = describe(&url("sslmode=verify-ca&sslrootcert=/nowhere/ca.pem")).unwrap_err();
    assert!(nowhere.message.contains("/nowhere/ca.pem"), "{}", nowhere.message);
}

#[test]
fn a_whole_experiment_runs_inside_tls() {
    let authority = Authority::new();
    let cluster = Cluster::with_tls(&authority.right(), authority.ca_file());
    let ca = authority.ca_file().display();
    let port = cluster.port;
    let text = format!(
        "[system]\nname = \"postgres\"\n\
         url = \"postgres://only_tls:sesame@127.0.0.1:{port}/postgres?sslmode=verify-full&sslrootcert={ca}\"\n\
         [[workload.operations]]\nname = \"op\"\nsql = \"SELECT 1\"\n\
         [factors]\n\"settings.work_mem\" = [\"4MB\", \"8MB\"]\n"
    );
    let stage = Stage::new();
    let mut system = stage.build(&plan(&text).unwrap()).unwrap();
    let records = system.start_epoch(0).unwrap();
    assert_eq!(records[0].settings["default_transaction_read_only"], "on");
    let driver = system.enter(slot(1)).unwrap();
    assert!(matches!(driver.connect(0).unwrap(), Connection::Socket(_)));
    assert!(system.counters(slot(0)).unwrap().contains_key("postgres.wal_bytes"));
}
