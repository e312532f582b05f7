//! "Which is best": the set of variants that cannot be told from the leading one.
//!
//! A winner is never picked from intervals that merely overlap or not: each variant is compared with
//! the leading one directly, with an interval at alpha shared among all pairs
//! ([`crate::multiplicity::pairs`]), so that choosing the leader after the fact costs nothing.

use crate::Interval;

/// Indices of the variants that may be the best: the leader (largest estimate) and every one whose
/// interval against the leader includes 0, in the order given. Empty for no variants.
///
/// `estimates` are log values of which larger is better (negate them for a latency); one that is NaN
/// never leads. `pairwise(a, b)` is the interval of the log ratio a / b at `alpha / pairs`; `None`, not known, keeps
/// the variant in.
pub fn leading_set(
    estimates: &[f64],
    mut pairwise: impl FnMut(usize, usize) -> Option<Interval>,
) -> Vec<usize> {
    let rank = |index: usize| if estimates[index].is_nan() { f64::NEG_INFINITY } else { estimates[index] };
    let Some(leader) = (0..estimates.len()).max_by(|a, b| rank(*a).total_cmp(&rank(*b)).then(b.cmp(a)))
    else {
        return Vec::new();
    };
    (0..estimates.len())
        .filter(|&index| {
            index == leader || pairwise(index, leader).is_none_or(|interval| interval.contains(0.0))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_those_that_cannot_be_told_from_the_leader() {
        let estimates = [0.0, 0.30, 0.29, -0.2, f64::NAN];
        let half = [0.05, 0.0, 0.02, 0.05, 0.0];
        let set = leading_set(&estimates, |a, b| {
            assert_eq!(b, 1, "everything is compared with the leader");
            (a != 4).then(|| Interval::symmetric(estimates[a] - estimates[b], half[a]))
        });
        assert_eq!(set, [1, 2, 4]);
        assert!(leading_set(&[], |_, _| None).is_empty());
        assert_eq!(leading_set(&[f64::NAN], |_, _| None), [0]);
    }
}
