//! One parameter's generator: what it draws from, and the value it holds.

use std::time::{SystemTime, UNIX_EPOCH};

use rand::distr::{Distribution, Uniform};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::document;
use super::spec::GeneratorSpec;
use super::zipf::{Scatter, Zipf};

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

/// The values of `sequence`: one counter per client, shared by all its sequence parameters.
///
/// value = start + 1 + trial · 2^40 + counter · clients + client
#[derive(Debug)]
pub(super) struct SequenceCounter {
    next: i64,
    stride: i64,
}

/// Room for the values of one trial.
const TRIAL_STRIDE: i64 = 1 << 40;

impl SequenceCounter {
    /// The counter of `client` (below `clients`) in trial `trial_number` (below 2^20, as the load's check ensures).
    pub(super) fn new(client: usize, clients: usize, trial_number: u64) -> Self {
        let as_i64 = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let first = as_i64(trial_number).saturating_mul(TRIAL_STRIDE).saturating_add(1);
        Self { next: first.saturating_add(as_i64(client as u64)), stride: as_i64(clients.max(1) as u64) }
    }

    fn take(&mut self) -> i64 {
        let value = self.next;
        self.next = self.next.saturating_add(self.stride);
        value
    }
}

/// Where values come from.
#[derive(Clone, Debug)]
enum Source {
    Sequence { start: i64 },
    Repeats { start: i64, every: i64 },
    Constant,
    Uniform(Uniform<i64>),
    Zipf { min: i64, ranks: Zipf, scatter: Option<Scatter> },
    Text { size: usize },
    Bytes,
    Document { size: usize },
    Choice { values: Vec<String>, index: Uniform<usize> },
    Time,
}

/// The value drawn last.
#[derive(Clone, Debug)]
enum Current {
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
    Choice(usize),
}

/// The generator of one parameter of one client.
#[derive(Clone, Debug)]
pub(super) struct Generator {
    source: Source,
    current: Current,
    random: Xoshiro256PlusPlus,
}

impl Generator {
    /// A generator of a validated spec; an impossible one degrades to a constant instead of failing.
    pub(super) fn new(spec: &GeneratorSpec, seed: u64) -> Self {
        let (source, current) = Self::parts(spec);
        Self { source, current, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    fn parts(spec: &GeneratorSpec) -> (Source, Current) {
        let number = Current::Integer(0);
        match *spec {
            GeneratorSpec::Sequence { start } => (Source::Sequence { start }, number),
            GeneratorSpec::Repeats { start, every } => {
                (Source::Repeats { start, every: i64::from(every.max(2)) }, number)
            }
            GeneratorSpec::Uniform { min, max } => match Uniform::new_inclusive(min, max) {
                Ok(uniform) => (Source::Uniform(uniform), number),
                Err(_) => (Source::Constant, Current::Integer(min)),
            },
            GeneratorSpec::Zipf { min, max, exponent, scatter } => {
                let n = max.abs_diff(min).saturating_add(1);
                let scatter = scatter.then(|| Scatter::new(n));
                (Source::Zipf { min, ranks: Zipf::new(n, exponent), scatter }, number)
            }
            GeneratorSpec::String { size } => {
                (Source::Text { size }, Current::Text(String::with_capacity(size + CHARACTERS_PER_DRAW)))
            }
            GeneratorSpec::Bytes { size } => (Source::Bytes, Current::Bytes(vec![0; size])),
            GeneratorSpec::Json { size } => {
                (Source::Document { size }, Current::Text(String::with_capacity(size + CHARACTERS_PER_DRAW)))
            }
            GeneratorSpec::Choice { ref values } => match Uniform::new(0, values.len()) {
                Ok(index) => (Source::Choice { values: values.clone(), index }, Current::Choice(0)),
                Err(_) => (Source::Constant, Current::Text(String::new())),
            },
            GeneratorSpec::Time {} => (Source::Time, number),
        }
    }

    /// Replaces the value by the next one.
    pub(super) fn draw(&mut self, sequence: &mut SequenceCounter) {
        let random = &mut self.random;
        match (&self.source, &mut self.current) {
            (Source::Sequence { start }, Current::Integer(value)) => {
                *value = start.saturating_add(sequence.take())
            }
            (Source::Repeats { start, every }, Current::Integer(value)) => {
                let place = sequence.take();
                // Counted from the trial's first value, so that every trial repeats at the same places.
                let repeats = place % TRIAL_STRIDE % every == 0;
                *value = start.saturating_add(place - i64::from(repeats));
            }
            (Source::Uniform(uniform), Current::Integer(value)) => *value = uniform.sample(random),
            (Source::Zipf { min, ranks, scatter }, Current::Integer(value)) => {
                let rank = ranks.draw(random) - 1;
                let place = scatter.map_or(rank, |s| s.place(rank));
                *value = min.wrapping_add_unsigned(place);
            }
            (Source::Text { size }, Current::Text(text)) => {
                text.clear();
                push_text(random, *size, text);
            }
            (Source::Document { size }, Current::Text(text)) => document::write(random, *size, text),
            (Source::Bytes, Current::Bytes(bytes)) => random.fill_bytes(bytes),
            (Source::Choice { index, .. }, Current::Choice(value)) => *value = index.sample(random),
            (Source::Time, Current::Integer(value)) => *value = now_us(),
            _ => {}
        }
    }

    /// The value drawn last.
    pub(super) fn value(&self) -> Value<'_> {
        match (&self.current, &self.source) {
            (Current::Integer(value), _) => Value::Integer(*value),
            (Current::Text(text), _) => Value::Text(text),
            (Current::Bytes(bytes), _) => Value::Bytes(bytes),
            (Current::Choice(index), Source::Choice { values, .. }) => Value::Text(&values[*index]),
            (Current::Choice(_), _) => Value::Text(""),
        }
    }
}

fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// 64 letters and digits, so that six random bits choose one (`a` and `b` come twice).
const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ab";

/// How many characters one 64-bit draw gives.
const CHARACTERS_PER_DRAW: usize = 10;

/// Appends `size` random letters and digits.
pub(super) fn push_text(random: &mut impl Rng, size: usize, out: &mut String) {
    let mut left = size;
    while left > 0 {
        let mut bits = random.next_u64();
        let count = left.min(CHARACTERS_PER_DRAW);
        let mut chunk = [0_u8; CHARACTERS_PER_DRAW];
        for byte in &mut chunk {
            *byte = ALPHABET[(bits & 63) as usize];
            bits >>= 6;
        }
        // Always ASCII; the check is a few nanoseconds per ten characters.
        out.push_str(std::str::from_utf8(&chunk[..count]).unwrap_or_default());
        left -= count;
    }
}
