//! When a percentile of latency is known at all.
//!
//! A p99 from 200 requests rests on two of them. A percentile is taken from a trial only if at least ten
//! of its operations lie above it; otherwise consecutive rounds are merged until they do, and those
//! blocks are the rounds of the analysis. Requests are never the n of a test: they come in slow runs, and treating
//! them as independent finds a difference between identical servers in 85 % of cases.

use crate::dispersion::count;

/// Operations that must lie above a percentile.
pub const MIN_ABOVE: f64 = 10.0;
/// Fewest merged blocks an analysis is made of.
pub const MIN_BLOCKS: usize = 8;

/// Whether `quantile` (0.99 for p99) is known from that many operations: `ops · (1 − q) ≥ 10`.
pub fn is_known(quantile: f64, ops: u64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
    let above = ops as f64 * (1.0 - quantile);
    // 1 − 0.99 is not exactly 0.01.
    above >= MIN_ABOVE * (1.0 - 1e-9)
}

/// Smallest number of consecutive rounds to merge so that `quantile` is known in every block.
///
/// `ops_per_round` holds, by round, the operations of the slot that completed fewest. Rounds that are left
/// over at the end do not form a block. `None` when even the largest block that leaves eight of them
/// (or, below eight rounds, single rounds) is not enough: "not enough requests".
pub fn rounds_to_merge(quantile: f64, ops_per_round: &[u64]) -> Option<u32> {
    let largest = (ops_per_round.len() / MIN_BLOCKS).max(1);
    (1..=largest)
        .find(|size| {
            let mut blocks = ops_per_round.chunks_exact(*size).peekable();
            blocks.peek().is_some() && blocks.all(|block| is_known(quantile, block.iter().sum()))
        })
        .and_then(|size| u32::try_from(size).ok())
}

/// Rounds to merge when every round completes about `ops_per_round` operations: for planning.
pub fn rounds_to_merge_at(quantile: f64, ops_per_round: f64) -> Option<u32> {
    let rounds = (MIN_ABOVE * (1.0 - 1e-9) / (1.0 - quantile) / ops_per_round).ceil().max(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    (rounds <= count(u32::MAX as usize)).then_some(rounds as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_operations_must_lie_above() {
        assert!(is_known(0.5, 20) && !is_known(0.5, 19));
        assert!(is_known(0.95, 200) && !is_known(0.95, 199));
        assert!(is_known(0.99, 1_000) && !is_known(0.99, 999));
        assert!(is_known(0.999, 10_000) && !is_known(0.999, 9_999));
        assert!(!is_known(1.0, u64::MAX >> 12));
    }

    #[test]
    fn merges_as_few_rounds_as_needed() {
        assert_eq!(rounds_to_merge(0.99, &[1_000; 10]), Some(1));
        assert_eq!(rounds_to_merge(0.99, &[400; 40]), Some(3));
        assert_eq!(rounds_to_merge(0.99, &[400; 24]), Some(3), "24 rounds give eight blocks of three");
        assert_eq!(rounds_to_merge(0.99, &[400; 23]), None, "23 do not");
        assert_eq!(rounds_to_merge(0.999, &[100; 40]), None);
        assert_eq!(rounds_to_merge(0.5, &[]), None);
        assert_eq!(rounds_to_merge(0.5, &[30, 30, 30]), Some(1));
        let mut uneven = [1_000; 16];
        uneven[5] = 10;
        assert_eq!(rounds_to_merge(0.99, &uneven), Some(2), "every block must know it");
    }

    #[test]
    fn planning_agrees_with_merging() {
        assert_eq!(rounds_to_merge_at(0.99, 400.0), Some(3));
        assert_eq!(rounds_to_merge_at(0.99, 1_000.0), Some(1));
        assert_eq!(rounds_to_merge_at(0.99, 0.0), None);
    }
}
