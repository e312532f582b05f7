//! The verdict itself: false alarms, simultaneous coverage, power, direction, equivalence.

use weigh_stats::boundary::Boundary;
use weigh_stats::huber::{LogRatios, clustered_huber};
use weigh_stats::verdict::{Decision, Rule};

use super::design::{
    Order, Table, against, at_least, at_most, compare, extend, many, median, rate, rounds, sequential,
};
use super::noise::Noise;

const EXPERIMENTS: usize = 3_000;

/// Identical variants: at most one run in twenty claims a difference, and at most one in twenty has an interval,
/// at any of twelve looks, that leaves the truth out.
#[test]
fn identical_variants() {
    let boundary = Boundary::new(8, 109, 0.05);
    let mut table = Table::new("A/A, horizon 109 rounds");
    for (seed, noise) in (100..).zip(Noise::TABLE.into_iter().chain([Noise::HeavyTails])) {
        let found =
            many(seed, EXPERIMENTS, |source| compare(source, noise, Order::Random, 0.0, &boundary, true));
        let different = rate(&found, |outcome| outcome.decision == Decision::Different);
        let missed = rate(&found, |outcome| outcome.missed);
        let same = rate(&found, |outcome| outcome.decision == Decision::Same);
        let rounds = median(found.iter().map(|outcome| f64::from(outcome.units)).collect());
        table.row(
            &noise.name(),
            &[("different", different), ("missed", missed), ("same", same), ("rounds", rounds)],
        );
        at_most(&noise.name(), different, 0.05, EXPERIMENTS);
        at_most(&noise.name(), missed, 0.05, EXPERIMENTS);
    }
}

/// The same in other shapes: one copy of the baseline, a long horizon, a strict level, a short horizon.
#[test]
fn identical_variants_in_other_designs() {
    let mut table = Table::new("A/A in other designs: missed at any look");
    let designs = [
        ("one copy", 109, 0.05, 1),
        ("366 rounds", 366, 0.05, 2),
        ("alpha / 4", 109, 0.0125, 2),
        ("12 rounds", 12, 0.05, 2),
    ];
    for (seed, (name, horizon, alpha, copies)) in (200..).zip(designs) {
        for noise in [Noise::White(0.05), Noise::Bursts(0.20), Noise::Mix] {
            let boundary = Boundary::new(8, horizon, alpha);
            let found = many(seed, 2_000, |source| {
                let rounds = rounds(source, noise, Order::Random, &vec![0.0; copies + 1], horizon as usize);
                let units: Vec<_> =
                    (0..).zip(rounds.iter().map(|round| against(round, copies, copies))).collect();
                sequential(&units, 1, &boundary, &Rule::default(), 0.0, true).missed
            });
            let missed = rate(&found, |missed| *missed);
            table.row(&format!("{name}, {}", noise.name()), &[("missed", missed)]);
            // The t approximation at very strict levels and eight rounds: .010-.020 for a promise of .0125.
            at_most(name, missed, if alpha < 0.05 { 0.02 } else { 0.05 }, 2_000);
        }
    }
}

/// A variant 5 % better: found, in the right direction, with an interval that holds at the moment of stopping.
#[test]
fn five_per_cent_better() {
    let effect = 1.05_f64.ln();
    let boundary = Boundary::new(8, 183, 0.05);
    let mut table = Table::new("+5 %, horizon 183 rounds");
    for (seed, noise) in (300..).zip(Noise::TABLE) {
        let found =
            many(seed, 1_500, |source| compare(source, noise, Order::Random, effect, &boundary, false));
        let right = rate(&found, |outcome| outcome.is_different(1.0));
        let wrong = rate(&found, |outcome| outcome.is_different(-1.0));
        let same = rate(&found, |outcome| outcome.decision == Decision::Same);
        let covered = rate(&found, |outcome| outcome.interval.contains(effect));
        let bias = median(found.iter().map(|outcome| outcome.interval.estimate).collect()) - effect;
        let rounds = median(found.iter().map(|outcome| f64::from(outcome.units)).collect());
        table.row(
            &noise.name(),
            &[
                ("found", right),
                ("wrong", wrong),
                ("covered", covered),
                ("bias %", 100.0 * bias),
                ("rounds", rounds),
            ],
        );
        at_least(&noise.name(), right, if noise == Noise::White(0.10) { 0.90 } else { 0.99 }, 1_500);
        at_most(&noise.name(), wrong + same, 0.005, 1_500);
        at_least(&noise.name(), covered, 0.95, 1_500);
        assert!(bias.abs() < 0.002, "{}: selection bias {bias}", noise.name());
    }
}

/// A variant exactly at, and just above, the difference that matters is seldom called the same; one
/// of half of it seldom gets the wrong direction.
#[test]
fn near_the_difference_that_matters() {
    let boundary = Boundary::new(8, 183, 0.05);
    let mut table = Table::new("near the difference that matters (2 %), horizon 183 rounds");
    for (seed, noise) in
        (400..).zip([Noise::White(0.02), Noise::White(0.05), Noise::Bursts(0.20), Noise::Mix])
    {
        let run = |effect: f64, seed: u64| {
            many(seed, 1_500, |source| compare(source, noise, Order::Random, effect, &boundary, false))
        };
        let same =
            |effect: f64, seed: u64| rate(&run(effect, seed), |outcome| outcome.decision == Decision::Same);
        let (border, above) = (same(1.02_f64.ln(), seed), same(1.03_f64.ln(), seed + 50));
        let wrong = rate(&run(1.01_f64.ln(), seed + 90), |outcome| outcome.is_different(-1.0));
        table.row(
            &noise.name(),
            &[("+2 % same", border), ("+3 % same", above), ("+1 % wrong direction", wrong)],
        );
        at_most(&noise.name(), border, 0.025, 1_500);
        at_most(&noise.name(), above, 0.005, 1_500);
        at_most(&noise.name(), wrong, 0.005, 1_500);
    }
}

/// Why there is a boundary at all: an ordinary 95 % interval at the same looks finds a difference between
/// identical variants far more often than it says.
#[test]
fn peeking_without_a_boundary_fails() {
    let boundary = Boundary::new(8, 109, 0.05);
    let found = many(500, 1_500, |source| {
        let rounds = rounds(source, Noise::White(0.05), Order::Random, &[0.0; 3], 109);
        let mut ratios = LogRatios::new();
        boundary.looks().iter().any(|look| {
            extend(&mut ratios, &rounds, look.units);
            !clustered_huber(&ratios, 0.05).unwrap().contains(0.0)
        })
    });
    let claimed = rate(&found, |claimed| *claimed);
    Table::new("plain 95 % interval at twelve looks").row("white 5 %", &[("different", claimed)]);
    assert!(claimed > 0.15, "{claimed}");
}
