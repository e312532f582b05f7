//! An estimate with its interval, the one result type of this room.

use serde::{Deserialize, Serialize};

/// An estimate and the interval that goes with it, on the log scale unless said otherwise.
///
/// Always finite, and `low <= estimate <= high` except where [`Interval::is_exact`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The point estimate.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// An interval of zero width: every observation was the same number.
    pub fn exact(value: f64) -> Interval {
        Interval { estimate: value, low: value, high: value }
    }

    /// `estimate ± half_width`.
    pub fn symmetric(estimate: f64, half_width: f64) -> Interval {
        Interval { estimate, low: estimate - half_width, high: estimate + half_width }
    }

    /// Whether every observation was the same number: there is no spread to build an interval from,
    /// and the value is known to the resolution of the measurement and no better.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// Whether `value` lies in the closed interval.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Half of the interval's width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Largest distance from zero that the interval still allows.
    pub fn largest_magnitude(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// Estimate, lower and upper end as ratios: `exp` of a log-scale interval.
    pub fn ratio(&self) -> (f64, f64, f64) {
        (self.estimate.exp(), self.low.exp(), self.high.exp())
    }

    /// The interval seen from the other side: baseline against variant.
    pub fn negated(&self) -> Interval {
        Interval { estimate: -self.estimate, low: -self.high, high: -self.low }
    }
}

#[cfg(test)]
mod tests {
    use super::Interval;

    #[test]
    fn helpers_agree_with_their_words() {
        let interval = Interval { estimate: 0.1, low: -0.1, high: 0.2 };
        assert!(interval.contains(-0.1) && interval.contains(0.2) && !interval.contains(0.201));
        assert!((interval.half_width() - 0.15).abs() < 1e-15);
        assert_eq!(interval.largest_magnitude(), 0.2);
        assert_eq!(interval.negated(), Interval { estimate: -0.1, low: -0.2, high: 0.1 });
        assert!((interval.ratio().0 - 1.105_170_918).abs() < 1e-9);
        assert!(Interval::exact(0.3).is_exact() && !interval.is_exact());
    }

    #[test]
    fn survives_json_to_the_last_bit() {
        let interval = Interval { estimate: 0.1 + 0.2, low: -1.0 / 3.0, high: 1e-300 };
        let text = serde_json::to_string(&interval).unwrap();
        assert_eq!(serde_json::from_str::<Interval>(&text).unwrap(), interval);
    }
}
