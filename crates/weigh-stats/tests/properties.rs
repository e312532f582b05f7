//! What must hold for any data whatever.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use weigh_stats::Interval;
use weigh_stats::boundary::Boundary;
use weigh_stats::huber::{LogRatios, clustered_huber};
use weigh_stats::multiplicity::holm;
use weigh_stats::totals::{Totals, difference_of_totals, ratio_of_totals};
use weigh_stats::verdict::{Decision, Goal, Rule, decide};

/// Rounds of `copies` log ratios, `per_cluster` rounds to a cluster.
fn build(rows: &[Vec<f64>], per_cluster: u32) -> LogRatios {
    let mut ratios = LogRatios::new();
    for (round, row) in (0u32..).zip(rows) {
        assert!(ratios.push_round(round / per_cluster, row));
    }
    ratios
}

fn rows(copies: usize) -> impl Strategy<Value = Vec<Vec<f64>>> {
    // Ordinary ratios, ties, and bursts.
    let value = prop_oneof![5 => -0.2..0.2, 1 => Just(0.0), 1 => -2.0..2.0];
    vec(vec(value, copies), 8..40)
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-7 * (1.0 + one.abs())
}

fn all_close(one: &Interval, other: &Interval) -> bool {
    close(one.estimate, other.estimate) && close(one.low, other.low) && close(one.high, other.high)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/properties.txt"))),
        ..ProptestConfig::default()
    })]

    /// Baseline and variant exchanged: the same interval from the other side.
    #[test]
    fn exchanging_the_sides_negates_the_interval(rows in rows(1), p in 0.001..0.1) {
        let there = clustered_huber(&build(&rows, 1), p).unwrap();
        let negative: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|value| -value).collect()).collect();
        let back = clustered_huber(&build(&negative, 1), p).unwrap();
        prop_assert!(all_close(&there, &back.negated()), "{there:?} {back:?}");
    }

    /// The unit of the metric is of no consequence, nor is a common factor of one side.
    #[test]
    fn interval_moves_and_stretches_with_the_data(rows in rows(2), shift in -3.0..3.0, scale in 0.01..10.0) {
        let plain = clustered_huber(&build(&rows, 1), 0.01).unwrap();
        let moved: Vec<Vec<f64>> =
            rows.iter().map(|row| row.iter().map(|value| scale * value + shift).collect()).collect();
        let found = clustered_huber(&build(&moved, 1), 0.01).unwrap();
        let expected = Interval {
            estimate: scale * plain.estimate + shift,
            low: scale * plain.low + shift,
            high: scale * plain.high + shift,
        };
        prop_assert!(all_close(&found, &expected), "{found:?} {expected:?}");
    }

    /// Neither the order of rounds nor that of the copies in a round matters.
    #[test]
    fn order_of_rounds_is_of_no_consequence(rows in rows(2), seed in any::<u64>()) {
        let plain = clustered_huber(&build(&rows, 1), 0.01).unwrap();
        let mut shuffled: Vec<(u32, Vec<f64>)> = (0..).zip(rows.clone()).collect();
        shuffled.sort_by_key(|(round, _)| (u64::from(*round) + 1).wrapping_mul(seed | 1));
        let mut ratios = LogRatios::new();
        for (round, mut row) in shuffled {
            row.reverse();
            ratios.push_round(round, &row);
        }
        prop_assert!(all_close(&clustered_huber(&ratios, 0.01).unwrap(), &plain));
    }

    /// Finite, ordered, inside the data's range by a clip, and wider at a stricter level.
    #[test]
    fn intervals_are_ordered_finite_and_nested(rows in rows(2), p in 0.001..0.05) {
        let ratios = build(&rows, 1);
        let loose = clustered_huber(&ratios, 2.0 * p).unwrap();
        let strict = clustered_huber(&ratios, p).unwrap();
        for found in [loose, strict] {
            prop_assert!(found.low.is_finite() && found.high.is_finite());
            prop_assert!(found.low <= found.estimate && found.estimate <= found.high, "{found:?}");
        }
        prop_assert!(strict.low <= loose.low + 1e-9 && loose.high <= strict.high + 1e-9, "{strict:?} {loose:?}");
    }

    /// How far out a burst lies is of no consequence once it is outside the clip.
    #[test]
    fn a_burst_costs_the_same_however_large(values in vec(-0.05..0.05, 20..40), far in 2.0..50.0) {
        let with = |burst: f64| {
            let mut rows: Vec<Vec<f64>> = values.iter().map(|value| vec![*value]).collect();
            rows[3] = vec![burst];
            clustered_huber(&build(&rows, 1), 0.01).unwrap()
        };
        prop_assert!(all_close(&with(2.0), &with(far)));
    }

    /// An interval that does not reach zero is never "same" outside the band or "undecided".
    #[test]
    fn rulings_follow_from_the_interval(low in -1.0..1.0, width in 0.0..1.0, sign in any::<bool>()) {
        let interval = Interval { estimate: low + width / 2.0, low, high: low + width };
        let rule = Rule { goal: if sign { Goal::Sign } else { Goal::Size }, ..Rule::default() };
        let ruling = decide(&interval, &rule);
        prop_assert_eq!(ruling, decide(&interval.negated(), &rule), "both directions alike");
        match ruling.decision {
            Decision::Same => prop_assert!(interval.largest_magnitude() < 1.02_f64.ln() && ruling.is_final),
            Decision::Different => prop_assert!(!interval.contains(0.0)),
            Decision::Undecided => prop_assert!(interval.contains(0.0) && !ruling.is_final),
        }
    }

    /// Shares of the error add up, looks grow, and later looks are never cheaper than their share.
    #[test]
    fn boundaries_spend_what_they_say(first in 3u32..12, horizon in 1u32..250, alpha in 0.0005..0.1) {
        let boundary = Boundary::new(first, horizon, alpha);
        let looks = boundary.looks();
        prop_assert!((looks.last().unwrap().cumulative - 0.8 * alpha).abs() < 1e-12);
        prop_assert_eq!(boundary.horizon(), horizon.max(3));
        for pair in looks.windows(2) {
            prop_assert!(pair[0].units < pair[1].units && pair[0].cumulative < pair[1].cumulative);
            // The nominal level is at least the error newly spent and at most all of it.
            prop_assert!(pair[1].nominal_p >= pair[1].cumulative - pair[0].cumulative - 1e-9);
            prop_assert!(pair[1].nominal_p <= pair[1].cumulative + 1e-9);
        }
    }

    /// Bonferroni's rejections are among Holm's, and Holm rejects a set closed downwards.
    #[test]
    fn holm_rejects_at_least_what_bonferroni_does(p_values in vec(0.0..0.2, 1..20)) {
        let rejected = holm(&p_values, 0.05);
        #[expect(clippy::cast_precision_loss, reason = "a short list")]
        let share = 0.05 / p_values.len() as f64;
        for (p, found) in p_values.iter().zip(&rejected) {
            prop_assert!(*found || *p > share);
            prop_assert!(!*found || p_values.iter().zip(&rejected).all(|(other, too)| other > p || *too));
        }
    }

    /// Totals: exchanged sides negate, units of the counter cancel in the ratio and scale the difference.
    #[test]
    fn totals_are_equivariant(
        rows in vec((1.0..100.0, 10.0..20.0, 1.0..100.0, 10.0..20.0), 5..30),
        scale in 0.01..1000.0,
    ) {
        let with = |exchange: bool, scale: f64| {
            let mut totals = Totals::new();
            for (round, (na, da, nb, db)) in (0u32..).zip(&rows) {
                let (a, b) = ((na * scale, *da), (nb * scale, *db));
                let (a, b) = if exchange { (b, a) } else { (a, b) };
                assert!(totals.push_round(round, a, b));
            }
            totals
        };
        let plain = ratio_of_totals(&with(false, 1.0), 0.05).unwrap();
        prop_assert!(all_close(&plain.interval, &ratio_of_totals(&with(false, scale), 0.05).unwrap().interval));
        let back = ratio_of_totals(&with(true, 1.0), 0.05).unwrap();
        prop_assert!(all_close(&plain.interval, &back.interval.negated()));
        prop_assert!(close(plain.p_value, back.p_value));
        let one = difference_of_totals(&with(false, 1.0), 0.05).unwrap();
        let many = difference_of_totals(&with(false, scale), 0.05).unwrap();
        prop_assert!((many.interval.low / scale - one.interval.low).abs() < 1e-7 * (1.0 + one.interval.low.abs()));
    }
}
