//! Many questions at once, one permitted error.
//!
//! Verdicts share alpha by [`bonferroni_share`]; explanations (which counters differ) go through
//! [`holm`]. Dunnett's constants would make intervals at most 3 % narrower here: not worth the code.

use crate::dispersion::count;

/// Each comparison's share of `alpha`: variants × metrics that decide. Valid under any dependence.
pub fn bonferroni_share(alpha: f64, comparisons: usize) -> f64 {
    alpha / count(comparisons.max(1))
}

/// Number of pairs among `variants`, the baseline counted: K variants against it give K(K + 1)/2.
pub fn pairs(variants: usize) -> usize {
    variants * variants.saturating_sub(1) / 2
}

/// Which hypotheses are rejected at family-wise level `alpha`, in the order given.
///
/// Holm's step-down (Scand. J. Stat. 6, 1979): the i-th smallest of k p-values is compared with
/// `alpha / (k − i + 1)`, and the first that is not below its limit keeps all larger ones. NaN is never
/// rejected but counts as a question asked.
pub fn holm(p_values: &[f64], alpha: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    let rank = |index: usize| if p_values[index].is_nan() { f64::INFINITY } else { p_values[index] };
    order.sort_by(|a, b| rank(*a).total_cmp(&rank(*b)));
    let mut rejected = vec![false; p_values.len()];
    for (smaller, index) in order.iter().enumerate() {
        let limit = bonferroni_share(alpha, p_values.len() - smaller);
        if rank(*index) > limit {
            break;
        }
        rejected[*index] = true;
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_steps_down_and_stops() {
        // Holm's limits at 0.05 for four: 0.0125, 0.0167, 0.025, 0.05.
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        assert_eq!(holm(&[0.012, 0.016, 0.024, 0.049], 0.05), [true; 4]);
        assert_eq!(holm(&[0.013, 0.0, 0.016], 0.05), [true, true, true]);
        assert_eq!(holm(&[0.02, 0.0001], 0.05), [true, true], "the second limit is the whole of alpha");
        assert_eq!(holm(&[f64::NAN, 0.001, -f64::NAN], 0.05), [false, true, false]);
        assert!(holm(&[], 0.05).is_empty());
    }

    #[test]
    fn shares_and_pairs() {
        assert_eq!(bonferroni_share(0.05, 4), 0.0125);
        assert_eq!(bonferroni_share(0.05, 0), 0.05);
        assert_eq!((pairs(0), pairs(1), pairs(2), pairs(5)), (0, 0, 1, 10));
    }
}
