//! Intervals that hold at every moment, for an experiment without a budget.
//!
//! About 20 % wider at a known horizon than [`crate::boundary`], worst for *the same*: the fallback, not
//! the rule.

use crate::Interval;
use crate::dispersion::{self, count};

/// Variance of the normal mixture over standardised effects that [`t_mixture`] uses.
pub const MIXTURE_VARIANCE: f64 = 0.25;

/// Half-width of an interval for a mean that covers at all n together with probability 1 − alpha.
///
/// `g = 1 + n·c2`, `R = (g/alpha²)^(1/n)`, half-width `sqrt((n − 1)(R − 1)/(1 − R/g)) · s/√n`; infinite if
/// `R ≥ g`, and below two values. `sd` is the sample standard deviation (n − 1).
///
/// Source: the t statistic with a normal mixture N(0, c2) over the effect size and the right-invariant
/// prior on the scale: Lai, Ann. Stat. 4 (1976); Wang & Ramdas, *Anytime-valid t-tests* (2024).
pub fn t_mixture_half_width(n: u32, sd: f64, alpha: f64, c2: f64) -> f64 {
    let n = f64::from(n);
    let g = 1.0 + n * c2;
    let r = (g / (alpha * alpha)).powf(1.0 / n);
    if n < 2.0 || r >= g {
        return f64::INFINITY;
    }
    ((n - 1.0) * (r - 1.0) / (1.0 - r / g)).sqrt() * sd / n.sqrt()
}

/// Mean of one value per unit with an interval that holds at every moment; `None` while it is infinite.
pub fn t_mixture(values: &[f64], alpha: f64) -> Option<Interval> {
    let n = u32::try_from(values.len()).ok()?;
    let sd = dispersion::sample_variance(values).sqrt();
    let half = t_mixture_half_width(n, sd, alpha, MIXTURE_VARIANCE);
    let mean = values.iter().sum::<f64>() / count(values.len());
    (half.is_finite() && mean.is_finite()).then(|| Interval::symmetric(mean, half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_of_the_closed_form() {
        assert!((t_mixture_half_width(20, 0.05, 0.05, 0.25) - 0.038_710).abs() < 1e-6);
        assert_eq!(t_mixture_half_width(2, 0.05, 0.05, 0.25), f64::INFINITY);
        assert_eq!(t_mixture_half_width(1, 0.05, 0.05, 0.25), f64::INFINITY);
    }

    #[test]
    fn no_interval_before_there_is_one() {
        assert_eq!(t_mixture(&[], 0.05), None);
        assert_eq!(t_mixture(&[0.1, 0.2], 0.05), None);
        let found = t_mixture(&[0.1; 30], 0.05).unwrap();
        assert!((found.estimate - 0.1).abs() < 1e-12 && found.half_width() < 1e-9);
    }
}
