//! A workload by itself, for a load without an experiment.

use weigh_lab::plan::{ResolvedOperation, ResolvedText, default_operation};
use weigh_lab::systems::drivers::{self, DriverOptions, read_workload};
use weigh_load::generator::GeneratorSpec;

fn read(text: &str, system: &str) -> Result<Vec<ResolvedOperation>, String> {
    read_workload("w.toml", text, system).map_err(|errors| errors.to_string())
}

#[test]
fn a_workload_is_read_with_its_variables_and_weights() {
    let text = "[vars]\nkeys = 50\n[[operations]]\nname = \"get\"\nweight = 9\ncommand = \"GET user:$1\"\n\
        parameters = [{ kind = \"uniform\", min = 1, max = \"{keys}\" }]\n[[operations]]\nname = \"off\"\nweight = 0\n\
        command = \"PING\"\n[[operations]]\nname = \"set\"\ncommand = \"SET a {keys}\"\n";
    let found = read(text, "redis").unwrap();
    let names: Vec<(&str, u32)> = found.iter().map(|one| (one.name.as_str(), one.weight)).collect();
    assert_eq!(names, [("get", 9), ("set", 1)], "what is switched off is left out");
    assert_eq!(found[0].parameters, [GeneratorSpec::Uniform { min: 1, max: 50 }]);
    assert_eq!(found[1].text.summary(), "SET a 50");
    let driver = drivers::driver("redis://127.0.0.1:1", &found, &DriverOptions::default());
    assert!(driver.is_ok(), "nothing connects");
}

#[test]
fn the_workload_of_an_experiments_file_will_do() {
    let bulk = weigh_lab::experiment::shipped().iter().find(|one| one.name == "postgres/bulk").unwrap();
    let found = read(bulk.text, "postgres").unwrap();
    assert_eq!(found.len(), 1);
    assert!(matches!(&found[0].text, ResolvedText::Sql(statements) if statements.len() == 1));
}

#[test]
fn mistakes_have_their_place() {
    let check = |text: &str, system: &str, part: &str| {
        let said = read(text, system).unwrap_err();
        assert!(said.starts_with(part), "{said}");
    };
    check("[vars]\na = 1\n", "redis", "w.toml:1:1: no operations");
    check("", "redis", "w.toml: no operations");
    check(
        "[[operations]]\nsql = \"SELECT 1\"\n",
        "redis",
        "w.toml:2:1: `sql` in an operation of the system `redis`",
    );
    check("[[operations]]\ncommand = \"GET {k}\"\n", "redis", "w.toml:2:11: variable `{k}` is not defined");
    check("[[operations]]\nrequest = \"GET\"\n", "http", "w.toml:2:11: `GET` is not a request");
    check(
        "[[operations]]\ncommand = \"SUBSCRIBE a\"\n",
        "redis",
        "w.toml:2:11: `SUBSCRIBE` cannot be an operation",
    );
    check("operations = 1\n", "redis", "w.toml:1:14: wrong type for `operations`");
    check(
        "[[operations]]\nweight = 0\ncommand = \"PING\"\n",
        "redis",
        "w.toml:2:10: every operation has weight 0",
    );
    check("x = [", "redis", "w.toml:1:");
}

#[test]
fn every_server_has_an_operation_for_nobody_in_particular() {
    for (system, url) in [
        ("postgres", "postgres://me@127.0.0.1/x"),
        ("redis", "rediss://127.0.0.1"),
        ("redis", "valkey://127.0.0.1"),
        ("memcached", "memcached://127.0.0.1"),
        ("mongodb", "mongodb://127.0.0.1/test"),
        ("http", "http://127.0.0.1/a?price=$1"),
        ("http", "https://127.0.0.1/"),
    ] {
        assert_eq!(drivers::system_of(url).unwrap(), system);
        let operation = default_operation(system, "/a?price=$1").unwrap();
        drivers::driver(url, &[operation], &DriverOptions::default()).map(|_| ()).unwrap();
    }
    assert!(default_operation("commands", "").is_none());
    let error = drivers::system_of("ftp://me:secret@h").unwrap_err().to_string();
    assert!(
        error.starts_with("no driver takes `ftp://`; there are ") && !error.contains("secret"),
        "{error}"
    );
    assert!(!drivers::system_of("not a url:secret@").unwrap_err().to_string().contains("secret"));
}

#[test]
fn a_place_to_connect_to_is_understood_or_refused() {
    let operation = [default_operation("http", "/").unwrap()];
    let driver = |place: &str| {
        let options = DriverOptions { connect_to: Some(place.to_owned()), ..DriverOptions::default() };
        drivers::driver("http://shop.example/", &operation, &options)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    for place in ["127.0.0.1:80", "[::1]:8080", "/run/x.sock", "host:1"] {
        assert_eq!(driver(place), Ok(()), "{place}");
    }
    for place in ["127.0.0.1", ":80", "host:http", ""] {
        assert!(driver(place).unwrap_err().contains("is not a place to connect to"), "{place}");
    }
}
