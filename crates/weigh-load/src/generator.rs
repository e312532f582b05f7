//! Seeded parameters of operations: sequence, uniform, zipf, string, bytes, JSON document, choice, time.
//!
//! A [`GeneratorSpec`] is what an experiment says; [`Parameters`] is the stream one client draws from.
//! The same seed gives the same stream, whatever the variant.

use serde::{Deserialize, Serialize};

/// What an experiment says about one parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum GeneratorSpec {
    /// 64-bit integers that never repeat within a run: unique over clients and trials.
    Sequence {
        /// First value.
        #[serde(default)]
        start: i64,
    },
    /// Integers, each equally likely.
    Uniform {
        /// Smallest value.
        min: i64,
        /// Largest value, included.
        max: i64,
    },
    /// Integers where rank k is drawn in proportion to 1 / k^exponent; ranks are scattered over the range
    /// unless `scatter = false`.
    Zipf {
        /// Smallest value.
        min: i64,
        /// Largest value, included.
        max: i64,
        /// Skew, above 0; 1 is Zipf's law.
        exponent: f64,
        /// Scatter the ranks over the range.
        #[serde(default = "yes")]
        scatter: bool,
    },
    /// Text of letters and digits.
    String {
        /// Length, characters.
        size: usize,
    },
    /// Random bytes.
    Bytes {
        /// Length, bytes.
        size: usize,
    },
    /// A JSON object of about this many bytes.
    Json {
        /// Length of its text, bytes.
        size: usize,
    },
    /// One of the values, each equally likely.
    Choice {
        /// The values, as text.
        values: Vec<String>,
    },
    /// The wall clock, microseconds since 1970.
    Time {},
}

fn yes() -> bool {
    true
}

/// One generated value, borrowed from the generator's own buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// An integer.
    Integer(i64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// The parameter stream of one client for the operation it is about to send.
pub struct Parameters<'a> {
    // Filled in by the engine.
    _private: std::marker::PhantomData<&'a ()>,
}
