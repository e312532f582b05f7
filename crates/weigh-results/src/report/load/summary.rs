//! Percentiles of one load: each with its value, if it is known, and with what is behind it.
//!
//! - [`LoadSummary::of`] decodes a record's histograms once; page, JSON and doubts read it.
//! - [`Distribution`]: response times, or service times, with its [`Percentile`]s.
//!
//! Three rules. A percentile is known when at least [`LEAST_ABOVE`] operations lie beyond it (docs/methods.md,
//! latency quantiles). Operations that were due and never answered count as slower than every answered one.
//! There is no confidence interval: operations of one load depend on each other, so what is given beside a
//! percentile is how it differed between single seconds.

use hdrhistogram::Histogram;

use super::{number, seconds};
use crate::model::histogram::{HistogramError, decode};
use crate::model::load::LoadRecord;

/// Operations beyond a percentile for it to be known.
pub const LEAST_ABOVE: u64 = 10;

/// Seconds in which a percentile must be known for its spread to be told.
const LEAST_SECONDS: usize = 3;

/// The percentiles of every report, in parts per million.
pub const LEVELS_PPM: [u64; 6] = [500_000, 750_000, 900_000, 990_000, 999_000, 999_900];

const MILLION: u64 = 1_000_000;

/// What a report says about latencies.
#[derive(Clone, Debug)]
pub struct LoadSummary {
    /// From sending (closed loop) or from the intended start (open loop).
    pub response: Distribution,
    /// Open loop: from really sending.
    pub service: Option<Distribution>,
    /// Per operation, as asked.
    pub operations: Vec<Distribution>,
    /// Open loop: really sent minus intended start.
    pub lag: Option<Distribution>,
    /// Open loop: the client's own part of it.
    pub client_lag: Option<Distribution>,
}

/// Times of one kind.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// The answered ones, nanoseconds.
    pub histogram: Histogram<u64>,
    /// Due (or sent) and never answered: slower than all of the histogram.
    pub unanswered: u64,
    /// At [`LEVELS_PPM`].
    pub percentiles: Vec<Percentile>,
}

/// One percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// Parts per million: 990,000 is p99.
    pub ppm: u64,
    /// Operations beyond it.
    pub above: u64,
    /// Its value.
    pub value: PercentileValue,
    /// How it differed between single seconds.
    pub spread: Option<Spread>,
}

/// A percentile's value, if it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PercentileValue {
    /// Seconds.
    Known(f64),
    /// Fewer than [`LEAST_ABOVE`] operations lie beyond it.
    TooFew {
        /// So many more operations are needed.
        missing: u64,
    },
    /// It lies among the operations that were never answered.
    Unanswered,
}

/// Lowest and highest value of a percentile in single seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The lowest, seconds.
    pub low_s: f64,
    /// The highest, seconds.
    pub high_s: f64,
    /// In how many intervals of about a second it was known.
    pub intervals: usize,
}

impl LoadSummary {
    /// Decodes what a record holds.
    ///
    /// # Errors
    /// When a histogram is not readable.
    pub fn of(record: &LoadRecord) -> Result<LoadSummary, HistogramError> {
        let schedule = record.schedule.as_ref();
        // Who was outstanding when a signal came had no time to be answered.
        let waited = schedule.filter(|_| record.signal.is_none());
        let never_answered = waited.map_or(0, |schedule| schedule.never_answered);
        let unanswered = never_answered + waited.map_or(0, |schedule| schedule.never_sent);
        let mut response = Distribution::new(decode(&record.response)?, unanswered);
        response.spread(record)?;
        let of = |text: &str| Ok(Distribution::new(decode(text)?, 0));
        let service = match &record.service {
            Some(text) => Some(Distribution::new(decode(text)?, never_answered)),
            None => None,
        };
        Ok(LoadSummary {
            response,
            service,
            operations: record
                .operations
                .iter()
                .map(|operation| of(&operation.response))
                .collect::<Result<_, _>>()?,
            lag: schedule.map(|schedule| of(&schedule.lag)).transpose()?,
            client_lag: schedule.map(|schedule| of(&schedule.client_lag)).transpose()?,
        })
    }
}

impl Distribution {
    /// Of answered operations, and so many that never were.
    pub fn new(histogram: Histogram<u64>, unanswered: u64) -> Distribution {
        let percentiles = LEVELS_PPM.map(|ppm| percentile(&histogram, unanswered, ppm)).to_vec();
        Distribution { histogram, unanswered, percentiles }
    }

    /// Answered and unanswered.
    pub fn count(&self) -> u64 {
        self.histogram.len() + self.unanswered
    }

    /// The percentile at `ppm`.
    pub fn at(&self, ppm: u64) -> Percentile {
        percentile(&self.histogram, self.unanswered, ppm)
    }

    /// The value at `ppm` in seconds, if it is known.
    pub fn known_s(&self, ppm: u64) -> Option<f64> {
        self.at(ppm).known_s()
    }

    /// The slowest answered operation, seconds.
    pub fn max_s(&self) -> Option<f64> {
        (!self.histogram.is_empty()).then(|| seconds(self.histogram.max()))
    }

    fn spread(&mut self, record: &LoadRecord) -> Result<(), HistogramError> {
        let texts = record.intervals.iter().filter_map(|interval| interval.response.as_deref());
        let intervals: Vec<Histogram<u64>> = texts.map(decode).collect::<Result<_, _>>()?;
        for found in &mut self.percentiles {
            let known = intervals.iter().filter_map(|interval| percentile(interval, 0, found.ppm).known_s());
            let values: Vec<f64> = known.collect();
            if values.len() >= LEAST_SECONDS {
                let low_s = values.iter().copied().fold(f64::INFINITY, f64::min);
                let high_s = values.iter().copied().fold(0.0, f64::max);
                found.spread = Some(Spread { low_s, high_s, intervals: values.len() });
            }
        }
        Ok(())
    }
}

impl Percentile {
    /// `p50`, `p99.9`.
    pub fn name(&self) -> String {
        format!("p{}", number(self.ppm) / 10_000.0)
    }

    /// Seconds, if it is known.
    pub fn known_s(&self) -> Option<f64> {
        match self.value {
            PercentileValue::Known(value_s) => Some(value_s),
            _ => None,
        }
    }
}

/// The operation of rank ⌈q·n⌉ among answered and unanswered ones.
fn percentile(histogram: &Histogram<u64>, unanswered: u64, ppm: u64) -> Percentile {
    let count = histogram.len() + unanswered;
    let rank = u64::try_from((u128::from(count) * u128::from(ppm)).div_ceil(u128::from(MILLION)))
        .unwrap_or(u64::MAX);
    let above = count - rank;
    let value = if above < LEAST_ABOVE {
        let needed = (LEAST_ABOVE * MILLION).div_ceil(MILLION - ppm);
        PercentileValue::TooFew { missing: needed.saturating_sub(count).max(1) }
    } else if rank > histogram.len() {
        PercentileValue::Unanswered
    } else {
        // Half a rank below, so that no rounding of the quotient finds the next one.
        let quantile = (number(rank) - 0.5) / number(histogram.len());
        PercentileValue::Known(seconds(histogram.value_at_quantile(quantile).min(histogram.max())))
    };
    Percentile { ppm, above, value, spread: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(100, 3_600_000_000_000, 3).unwrap();
        for value in values {
            histogram.record(value).unwrap();
        }
        histogram
    }

    #[track_caller]
    fn check(found: Percentile, value_s: f64, above: u64) {
        let value = found.known_s().unwrap();
        assert!((value / value_s - 1.0).abs() < 0.001, "{found:?}");
        assert_eq!(found.above, above);
    }

    #[test]
    fn known_percentiles_are_order_statistics() {
        let thousand = Distribution::new(of((1..=1000).map(|n| n * 1_000_000)), 0);
        check(thousand.at(500_000), 0.5, 500);
        check(thousand.at(900_000), 0.9, 100);
        check(thousand.at(990_000), 0.99, 10);
        assert!((thousand.max_s().unwrap() - 1.0).abs() < 0.001);
    }

    #[test]
    fn with_fewer_than_ten_beyond_nothing_is_known() {
        let few = Distribution::new(of((1..=999).map(|n| n * 1_000_000)), 0);
        assert_eq!(few.at(990_000).value, PercentileValue::TooFew { missing: 1 });
        assert_eq!(few.at(999_900).value, PercentileValue::TooFew { missing: 99_001 });
        let none = Distribution::new(of([]), 0);
        assert_eq!(none.at(500_000).value, PercentileValue::TooFew { missing: 20 });
        assert_eq!(none.max_s(), None);
        // What is asked for is enough, for every level.
        for ppm in LEVELS_PPM {
            let PercentileValue::TooFew { missing } = none.at(ppm).value else { panic!("{ppm}") };
            let enough = Distribution::new(of((0..missing).map(|n| 1_000 + n)), 0);
            assert!(enough.known_s(ppm).is_some(), "{ppm}");
            let less = Distribution::new(of((0..missing - 1).map(|n| 1_000 + n)), 0);
            assert_eq!(less.at(ppm).value, PercentileValue::TooFew { missing: 1 }, "{ppm}");
        }
    }

    #[test]
    fn whoever_was_never_answered_waited_longest() {
        let stalled = Distribution::new(of((1..=800).map(|n| n * 1_000_000)), 200);
        check(stalled.at(500_000), 0.5, 500);
        assert_eq!(stalled.at(900_000).value, PercentileValue::Unanswered);
        check(stalled.at(800_000), 0.8, 200);
    }

    #[test]
    fn names() {
        let names: Vec<String> =
            Distribution::new(of([1]), 0).percentiles.iter().map(Percentile::name).collect();
        assert_eq!(names, ["p50", "p75", "p90", "p99", "p99.9", "p99.99"]);
    }
}
