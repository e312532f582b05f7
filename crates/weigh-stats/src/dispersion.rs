//! Medians and spreads that more than one estimator needs.

/// Scale that makes the median absolute deviation of normal data its standard deviation.
const MAD_TO_SD: f64 = 1.482_6;

/// The median; reorders `values`. NaN for none.
pub(crate) fn median_in_place(values: &mut [f64]) -> f64 {
    let count = values.len();
    if count == 0 {
        return f64::NAN;
    }
    let (below, middle, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    let upper = *middle;
    if count % 2 == 1 {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    f64::midpoint(lower, upper)
}

/// Median and normal-consistent median absolute deviation (1.4826 × MAD); overwrites `scratch`.
pub(crate) fn median_and_mad(values: &[f64], scratch: &mut Vec<f64>) -> (f64, f64) {
    scratch.clear();
    scratch.extend_from_slice(values);
    let median = median_in_place(scratch);
    for value in scratch.iter_mut() {
        *value = (*value - median).abs();
    }
    (median, MAD_TO_SD * median_in_place(scratch))
}

/// Arithmetic mean. NaN for none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

/// Variance about the mean, divided by `len - 1`. NaN below two values.
pub(crate) fn sample_variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    squares_about_mean(values) / count(values.len() - 1)
}

/// Standard deviation of the values as a whole population.
pub(crate) fn population_sd(values: &[f64]) -> f64 {
    (squares_about_mean(values) / count(values.len())).sqrt()
}

fn squares_about_mean(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts of rounds and bins are far below 2^52")]
pub(crate) fn count(value: usize) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median_in_place(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median_in_place(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert!(median_in_place(&mut []).is_nan());
        assert_eq!(median_and_mad(&[1.0, 2.0, 3.0, 4.0, 100.0], &mut Vec::new()), (3.0, MAD_TO_SD));
    }

    #[test]
    fn variances_of_a_known_sample() {
        let sample = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(population_sd(&sample), 2.0);
        assert!((sample_variance(&sample) - 32.0 / 7.0).abs() < 1e-12);
        assert!(sample_variance(&[1.0]).is_nan());
    }
}
