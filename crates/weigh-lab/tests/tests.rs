//! Every integration test of the lab, in one program.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, clippy::cast_possible_truncation)]

mod experiments;
mod host;
mod mongodb;
mod postgres;
mod postgres_tls;
mod postgres_trials;
mod postgres_versions;
mod private;
mod remote;
mod servers;
mod sqlite;
mod stage;

// The launchers of the drivers' tests.
#[allow(dead_code, unreachable_pub, reason = "other tests use the rest")]
#[path = "../../weigh-drivers/tests/support/cluster.rs"]
mod cluster;
#[allow(dead_code, unreachable_pub, reason = "other tests use the rest")]
#[path = "../../weigh-drivers/tests/support/tls.rs"]
mod tls;
