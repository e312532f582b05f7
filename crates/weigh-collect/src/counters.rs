//! The form in which every collector hands over what it read: [`Counters`].
//!
//! A key names who used something, what, and last its unit: `server.cpu_us`, `disk.write_bytes`,
//! `server.minor_faults`. Counters only grow while the thing they count lives; what goes up and down
//! (memory in use, number of processes) is a gauge, comes from a method called `gauges`, and is never
//! passed to [`delta`].

use std::collections::BTreeMap;

/// Counters, or gauges, by key. Keys end in their unit.
pub type Counters = BTreeMap<String, f64>;

/// What was counted between two readings.
///
/// A key that is not in both is left out, and so is one that went backwards or is not a number: its
/// owner was restarted in between, and no difference would be true.
pub fn delta(before: &Counters, after: &Counters) -> Counters {
    after
        .iter()
        .filter_map(|(key, &later)| {
            let grown = later - before.get(key)?;
            (grown >= 0.0).then(|| (key.clone(), grown))
        })
        .collect()
}

/// Builds [`Counters`] below one prefix.
#[derive(Debug)]
pub(crate) struct Tally {
    prefix: &'static str,
    values: Counters,
}

impl Tally {
    pub(crate) fn new(prefix: &'static str) -> Tally {
        Tally { prefix, values: Counters::new() }
    }

    /// Adds `prefix.name`. Whole numbers above 2^53 lose their last digits; no counter gets there.
    pub(crate) fn add(&mut self, name: &str, value: u64) {
        self.add_f64(name, value as f64);
    }

    pub(crate) fn add_f64(&mut self, name: &str, value: f64) {
        self.values.insert(format!("{}.{name}", self.prefix), value);
    }

    /// Adds the value if there is one.
    pub(crate) fn add_known(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    pub(crate) fn finish(self) -> Counters {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(pairs: &[(&str, f64)]) -> Counters {
        pairs.iter().map(|&(key, value)| (key.to_owned(), value)).collect()
    }

    #[test]
    fn delta_leaves_out_what_cannot_be_told() {
        let before = counters(&[("a.cpu_us", 10.0), ("a.calls", 7.0), ("a.gone", 1.0), ("a.nan", f64::NAN)]);
        let after = counters(&[("a.cpu_us", 15.0), ("a.calls", 3.0), ("a.new", 1.0), ("a.nan", 1.0)]);
        assert_eq!(delta(&before, &after), counters(&[("a.cpu_us", 5.0)]));
    }

    #[test]
    fn an_unchanged_counter_is_a_difference_of_zero() {
        let one = counters(&[("a.reads", 3.0)]);
        assert_eq!(delta(&one, &one), counters(&[("a.reads", 0.0)]));
    }
}
