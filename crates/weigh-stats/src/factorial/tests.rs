//! Tables worked out by hand. Rates of error are in the simulations.

use super::*;

/// Cells of 2 × 3 levels in eight rounds whose noise cancels: ±`noise` on one cell after the other, and a drift.
fn rounds(cells: &[f64; 6], noise: f64) -> Factorial {
    let mut data = Factorial::new(&[2, 3]).unwrap();
    for round in 0..12_u32 {
        let mut values: Vec<f64> = cells.iter().map(|cell| cell + 0.1 * f64::from(round)).collect();
        let at = round as usize % 6;
        values[at] += if round < 6 { noise } else { -noise };
        assert!(data.push_round(round, &values));
    }
    data
}

fn close(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "{found} is not {expected}");
}

#[test]
fn shares_of_a_table_worked_out_by_hand() {
    // Sums of squares by hand: rows 24, columns 12, both 4; 40 in all.
    let data = rounds(&[1.0, 2.0, 3.0, 5.0, 4.0, 9.0], 0.0);
    let found = decompose(&data, &[0, 0], 0.05, 1).unwrap();
    let shares: Vec<(Vec<usize>, f64)> =
        found.shares.iter().map(|share| (share.factors.clone(), share.share.estimate)).collect();
    for ((factors, share), (known, expected)) in
        shares.iter().zip([(vec![0], 24.0 / 40.0), (vec![1], 12.0 / 40.0), (vec![0, 1], 4.0 / 40.0)])
    {
        assert_eq!(*factors, known);
        close(*share, expected, 1e-9);
    }
    close(found.noise, 0.0, 1e-9);
    assert_eq!((found.higher, found.rounds, found.units), (0.0, 12, 12));
}

#[test]
fn effects_and_interactions_of_a_table_worked_out_by_hand() {
    let data = rounds(&[1.0, 2.0, 3.0, 5.0, 4.0, 9.0], 0.01);
    let found = decompose(&data, &[0, 0], 0.05, 2).unwrap();
    // Row means 2, 6; column means 3, 3, 6.
    let effects: Vec<(usize, usize, f64)> =
        found.effects.iter().map(|of| (of.factor, of.level, of.effect.estimate)).collect();
    for ((factor, level, effect), expected) in effects.iter().zip([(0, 1, 4.0), (1, 1, 0.0), (1, 2, 3.0)]) {
        assert_eq!((*factor, *level), (expected.0, expected.1));
        close(*effect, expected.2, 0.01);
    }
    assert!(found.effects[0].effect.low > 3.9 && found.effects[1].effect.contains(0.0));
    // (4 − 2) − (5 − 1) = −2 and (9 − 3) − (5 − 1) = 2.
    let [one, two] = &found.interactions[..] else { panic!("{:?}", found.interactions) };
    assert_eq!((one.factors, one.levels, two.levels), ([0, 1], [1, 1], [1, 2]));
    close(one.effect.estimate, -2.0, 0.02);
    close(two.effect.estimate, 2.0, 0.02);
    assert!(one.is_certain() && two.is_certain());
    close(one.first[0], 4.0, 0.02);
    close(one.first[1], 2.0, 0.02);
    close(one.second[0], 1.0, 0.02);
    close(one.second[1], -1.0, 0.02);
    close(found.nominal_p, 0.05 / 10.0, 1e-15);
}

#[test]
fn another_baseline_turns_effects_round_and_leaves_shares() {
    let data = rounds(&[1.0, 2.0, 3.0, 5.0, 4.0, 9.0], 0.01);
    let (one, other) =
        (decompose(&data, &[0, 0], 0.05, 1).unwrap(), decompose(&data, &[1, 2], 0.05, 1).unwrap());
    assert_eq!(one.shares, other.shares);
    close(other.effects[0].effect.estimate, -4.0, 0.01);
    assert_eq!((other.effects[1].factor, other.effects[1].level), (1, 0));
    close(other.effects[1].effect.estimate, -3.0, 0.01);
}

#[test]
fn three_factors_that_only_work_together_are_the_rest() {
    let mut data = Factorial::new(&[2, 2, 2]).unwrap();
    for round in 0..9_u32 {
        let mut cells = [0.0; 8];
        cells.iter_mut().enumerate().for_each(|(cell, value)| {
            // +1 with an odd number of second levels, −1 with an even one: no pair knows anything.
            *value = if cell.count_ones() % 2 == 1 { 1.0 } else { -1.0 };
        });
        assert!(data.push_round(round, &cells));
    }
    let found = decompose(&data, &[0, 0, 0], 0.05, 1).unwrap();
    close(found.higher, 1.0, 1e-9);
    assert!(found.shares.iter().all(|share| share.share.estimate < 1e-9), "{:?}", found.shares);
}

#[test]
fn epochs_are_the_units_and_a_burst_explains_nothing() {
    let mut data = Factorial::new(&[2, 2]).unwrap();
    for round in 0..24_u32 {
        let epoch = round / 4;
        let start = 0.002 * f64::from((epoch * 3) % 5);
        let noise = 0.003 * f64::from((round * 7) % 5) - 0.006;
        let mut cells = [start + noise, 1.0 - noise, 0.0, 1.0 + noise];
        if round == 9 {
            cells[2] = 4.0;
        }
        assert!(data.push_round(epoch, &cells));
    }
    let found = decompose(&data, &[0, 0], 0.05, 1).unwrap();
    assert_eq!((found.rounds, found.units), (24, 6));
    assert!(found.shares[1].share.estimate > 0.98, "{:?}", found.shares);
}

#[test]
fn what_is_no_full_design_is_refused() {
    for levels in [&[3][..], &[2, 1], &[], &[2, 2, 2, 2, 2, 2, 2]] {
        assert_eq!(Factorial::new(levels), None, "{levels:?}");
    }
    let mut data = Factorial::new(&[2, 2]).unwrap();
    assert!(!data.push_round(0, &[0.0, 1.0, 2.0]), "a cell is missing");
    assert!(!data.push_round(0, &[0.0, 1.0, 2.0, f64::NAN]));
    for round in 0..2 {
        data.push_round(round, &[0.0, 1.0, 2.0, 3.1]);
    }
    assert_eq!(decompose(&data, &[0, 0], 0.05, 1), None, "two units");
    data.push_round(2, &[0.0, 1.0, 2.1, 3.0]);
    assert!(decompose(&data, &[0, 0], 0.05, 1).is_some());
    assert_eq!(decompose(&data, &[0], 0.05, 1), None);
    assert_eq!(decompose(&data, &[0, 2], 0.05, 1), None);
}

#[test]
fn cells_that_are_all_the_same_have_nothing_to_explain() {
    let mut data = Factorial::new(&[2, 2]).unwrap();
    for round in 0..5_u32 {
        data.push_round(round, &[f64::from(round); 4]);
    }
    let found = decompose(&data, &[0, 0], 0.05, 1).unwrap();
    assert!(found.shares.iter().all(|share| share.share.estimate.abs() < 1e-12), "{found:?}");
    assert!(found.effects.iter().all(|effect| effect.effect.estimate.abs() < 1e-12));
}
