//! Order statistics: percentiles of samples that are all at hand.

use hdrhistogram::Histogram;
use weigh_results::model::selftest::{Figure, FigureUnit, Right};

/// A latency histogram of the engine has three significant digits.
pub(super) const PRECISION: f64 = 0.001;
/// Two readings of the clock that bound one thing are this far apart at most, nanoseconds.
pub(super) const READINGS_NS: f64 = 1_000.0;

/// Samples in ascending order.
#[derive(Clone, Debug)]
pub(super) struct Ordered(Vec<u64>);

impl Ordered {
    pub(super) fn new(mut samples: Vec<u64>) -> Ordered {
        samples.sort_unstable();
        Ordered(samples)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The smallest sample that a share `quantile` of them do not exceed: the definition of the histogram too.
    /// 0 without samples.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank lies within 1 and the number of samples"
    )]
    pub(super) fn at(&self, quantile: f64) -> f64 {
        let rank = (quantile * self.0.len() as f64).ceil().max(1.0) as usize;
        self.0.get(rank.min(self.0.len()).wrapping_sub(1)).map_or(0.0, |sample| *sample as f64)
    }
}

/// One figure per quantile: what the histogram says must lie between the order statistics of lower and of upper
/// bounds of the same samples. Both hold sample by sample, so they hold for every order statistic.
pub(super) fn bracketed(
    name: &str,
    histogram: &Histogram<u64>,
    (low, high): (&Ordered, &Ordered),
    quantiles: &[f64],
    why: &str,
) -> Vec<Figure> {
    let figure = |quantile: &f64| {
        let measured_ns = histogram.value_at_quantile(*quantile) as f64;
        let low_ns = low.at(*quantile) * (1.0 - PRECISION) - READINGS_NS;
        let high_ns = high.at(*quantile) * (1.0 + PRECISION) + READINGS_NS;
        let right = Right::Between { low: low_ns / 1e9, high: high_ns / 1e9 };
        let what = format!("{name}p{}", trimmed(100.0 * quantile));
        Figure::always(what, measured_ns / 1e9, FigureUnit::Seconds, right, why)
    };
    quantiles.iter().map(figure).collect()
}

/// `99.9`, not `99.90000000000001`.
fn trimmed(percent: f64) -> String {
    format!("{}", (percent * 1e6).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_statistics_are_those_of_the_definition() {
        let ordered = Ordered::new(vec![30, 10, 20, 40]);
        assert_eq!([0.0, 0.25, 0.26, 0.5, 0.99, 1.0].map(|q| ordered.at(q)), [10., 10., 20., 20., 40., 40.]);
        assert_eq!(Ordered::new(Vec::new()).at(0.5), 0.0);
    }

    #[test]
    fn a_histogram_outside_the_bounds_is_caught() {
        let mut histogram = Histogram::<u64>::new_with_bounds(100, 3_600_000_000_000, 3).unwrap();
        let samples: Vec<u64> = (1..=1000).map(|n| n * 10_000).collect();
        samples.iter().for_each(|sample| histogram.record(*sample).unwrap());
        let judge = |shift: u64| {
            let bound = Ordered::new(samples.iter().map(|sample| sample + shift).collect());
            let figures = bracketed("", &histogram, (&bound, &bound), &[0.5, 0.999], "");
            figures.iter().filter(|figure| figure.right.holds(figure.value)).count()
        };
        assert_eq!(judge(0), 2);
        assert_eq!(judge(20_000), 0, "two times ten microseconds off is seen");
        let names = bracketed("x ", &histogram, (&Ordered::new(vec![]), &Ordered::new(vec![])), &[0.999], "");
        assert_eq!(names[0].what, "x p99.9");
    }
}
