//! CPU per operation of our clients beside the best-known tool for each protocol, on the same server, with the same
//! clients, in turn. Ends in a table of ratios and bars.
//!
//! `cargo bench -p weigh-drivers --bench peers [-- [--rounds N] [--seconds N] [NAME…]]` with names of contests
//! (`postgres`, …); all of them without one. A peer that is not installed is named and left out.

#![allow(missing_docs, unreachable_pub, dead_code, clippy::print_stdout, clippy::unwrap_used)]
#![allow(clippy::cast_precision_loss)]

#[path = "../../tests/support/mod.rs"]
mod support;

mod contest;
mod floor;
mod http;
mod memcached;
mod mongodb;
mod postgres;
mod redis;

use contest::{Amount, Verdict, print_table};

/// A protocol's contests. Leaves out, with a line, those whose peer is missing.
type Contests = fn(Amount) -> Vec<Verdict>;

const ALL: &[(&str, Contests)] = &[
    ("http", http::contests),
    ("memcached", memcached::contests),
    ("mongodb", mongodb::contests),
    ("postgres", postgres::contests),
    ("redis", redis::contests),
];

fn main() {
    let (mut amount, mut names) = (Amount { rounds: 5, seconds: 3 }, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse().ok()).expect("a number");
        match argument.as_str() {
            "--rounds" => amount.rounds = number(),
            "--seconds" => amount.seconds = number(),
            // Cargo adds it.
            "--bench" => {}
            name => names.push(name.to_owned()),
        }
    }
    for name in &names {
        assert!(ALL.iter().any(|(known, _)| known == name), "no contest `{name}`");
    }
    let chosen = ALL.iter().filter(|(name, _)| names.is_empty() || names.iter().any(|n| n == name));
    let verdicts: Vec<Verdict> = chosen.flat_map(|(_, contests)| contests(amount)).collect();
    print_table(&verdicts);
}
