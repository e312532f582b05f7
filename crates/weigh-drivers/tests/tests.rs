//! The drivers against real systems: a private PostgreSQL cluster, and SQLite files.
#![allow(missing_docs, unreachable_pub, dead_code, clippy::unwrap_used)]

mod http_failures;
mod http_load;
mod http_replies;
mod memcached_failures;
mod memcached_load;
mod memcached_login;
mod mongodb_failures;
mod mongodb_load;
mod mongodb_login;
mod postgres_authentication;
mod postgres_failures;
mod postgres_load;
mod redis_failures;
mod redis_load;
mod redis_login;
mod sqlite;
mod support;
mod tls;
mod truth;

#[test]
fn no_test_file_is_forgotten() {
    let root = include_str!("tests.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(name == "tests" || root.contains(&format!("mod {name};")), "`{name}` is not in tests.rs");
    }
}
