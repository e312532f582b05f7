//! Every integration test of the lab, in one program.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, clippy::cast_possible_truncation)]

mod experiments;
mod host;
mod postgres;
mod remote;
mod servers;
mod sqlite;
mod stage;
