//! Several variants in one run, and the best of them.

use weigh_stats::best::leading_set;
use weigh_stats::boundary::Boundary;
use weigh_stats::huber::{LogRatios, clustered_huber};
use weigh_stats::multiplicity::{bonferroni_share, pairs};
use weigh_stats::verdict::{Decision, Rule};

use super::design::{Order, Table, against, at_least, at_most, many, rate, rounds, sequential};
use super::noise::Noise;

const EXPERIMENTS: usize = 1_500;

/// Any wrong verdict in a run with these effects (of four variants) at that level per comparison.
fn wrong(noise: Noise, effects: [f64; 4], alpha: f64, seed: u64) -> f64 {
    let boundary = Boundary::new(8, 109, alpha);
    let mut slots = vec![0.0, 0.0];
    slots.extend(effects);
    let found = many(seed, EXPERIMENTS, |source| {
        let rounds = rounds(source, noise, Order::Random, &slots, 109);
        (2..slots.len()).any(|slot| {
            let units: Vec<_> = (0..).zip(rounds.iter().map(|round| against(round, slot, 2))).collect();
            let outcome = sequential(&units, 1, &boundary, &Rule::default(), slots[slot], false);
            match outcome.decision {
                Decision::Different => !outcome.is_different(slots[slot]),
                Decision::Same => slots[slot].abs() >= 1.02_f64.ln(),
                Decision::Undecided => false,
            }
        })
    });
    rate(&found, |wrong| *wrong)
}

/// Alpha is shared: at most one run in twenty contains any wrong verdict at all.
#[test]
fn four_variants_share_one_alpha() {
    let mut table = Table::new("four variants: any wrong verdict in the run");
    let shared = bonferroni_share(0.05, 4);
    for (seed, noise) in (800..).zip([Noise::White(0.05), Noise::Bursts(0.20), Noise::Mix]) {
        let null = wrong(noise, [0.0; 4], shared, seed);
        let unshared = wrong(noise, [0.0; 4], 0.05, seed);
        let mixed = wrong(noise, [0.0, 0.0, 1.05_f64.ln(), 0.9_f64.ln()], shared, seed + 50);
        table.row(
            &noise.name(),
            &[
                ("all identical", null),
                ("the same, alpha not shared", unshared),
                ("0, 0, +5 %, -10 %", mixed),
            ],
        );
        at_most(&noise.name(), null, 0.05, EXPERIMENTS);
        at_most(&noise.name(), mixed, 0.05, EXPERIMENTS);
        assert!(unshared > 2.0 * null, "{unshared} {null}");
    }
}

/// The truly best variant is in the leading set in at least 95 of 100 runs; one 10 % behind seldom is.
#[test]
fn the_best_is_in_the_leading_set() {
    let slots = [0.0, 0.0, 0.10, 0.10, 0.0];
    let p = 0.05 / f64::from(u32::try_from(pairs(4)).unwrap());
    let found = many(850, EXPERIMENTS, |source| {
        let rounds = rounds(source, Noise::Bursts(0.05), Order::Random, &slots, 30);
        // Variants as the reader sees them: the baseline's first copy and slots 2, 3, 4.
        let shown = [0, 2, 3, 4];
        let interval = |one: usize, other: usize, p: f64| {
            let mut ratios = LogRatios::new();
            for (round, values) in (0..).zip(&rounds) {
                ratios.push_round(round, &[values[shown[one]] - values[shown[other]]]);
            }
            clustered_huber(&ratios, p)
        };
        let estimates: Vec<f64> = (0..4)
            .map(|variant| if variant == 0 { 0.0 } else { interval(variant, 0, p).unwrap().estimate })
            .collect();
        leading_set(&estimates, |one, other| interval(one, other, p))
    });
    let both = rate(&found, |set| set.contains(&1) && set.contains(&2));
    let behind = rate(&found, |set| set.contains(&0) || set.contains(&3));
    Table::new("leading set of 0, +10 %, +10 %, 0 after 30 rounds")
        .row("bursts 5 %", &[("both best in", both), ("any other in", behind)]);
    at_least("both best", both, 0.95, EXPERIMENTS);
    assert!(behind < 0.05, "{behind}");
}
