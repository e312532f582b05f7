//! The checks of the experiment on itself: how often they fail by chance, and what they find.

use weigh_stats::boundary::Boundary;
use weigh_stats::checks::{CHECK_LEVEL, carry_over, drifting_effect, halves, identical_copies};
use weigh_stats::huber::LogRatios;
use weigh_stats::verdict::Rule;

use super::design::{Table, at_most, many, rate};
use super::noise::Source;

const EXPERIMENTS: usize = 4_000;

/// Rounds of A, A', B; a baseline trial that directly follows B is changed by `carried`. Returns the
/// differences ln A − ln A' with their exposures, the first round left out.
fn carried(source: &mut Source, rounds: usize, carried: f64) -> (Vec<f64>, Vec<f64>) {
    const VARIANT: usize = 2;
    let (mut differences, mut exposures) = (Vec::new(), Vec::new());
    let mut previous = None;
    for _ in 0..rounds {
        let order = source.order(3);
        let (mut value, mut follows) = ([0.0; 3], [0.0; 3]);
        for label in order {
            follows[label] = if previous == Some(VARIANT) { 1.0 } else { 0.0 };
            value[label] = 0.03 * source.normal() + carried * follows[label];
            previous = Some(label);
        }
        differences.push(value[0] - value[1]);
        exposures.push(follows[0] - follows[1]);
    }
    (differences[1..].to_vec(), exposures[1..].to_vec())
}

/// The size at a nominal 1 % is known to be nearer 2 %; a carry-over of 5 % is found.
#[test]
fn carry_over_size_and_power() {
    let mut table = Table::new("carry-over, noise 3 %, nominal level 1 %");
    for (seed, rounds) in (1_100..).zip([20, 60, 120]) {
        let fails = |effect: f64, seed: u64| {
            let found = many(seed, EXPERIMENTS, |source| {
                let (differences, exposures) = carried(source, rounds, effect);
                carry_over(&differences, &exposures).is_some_and(|found| found.fails)
            });
            rate(&found, |fails| *fails)
        };
        let (size, two, five) = (fails(0.0, seed), fails(-0.02, seed + 20), fails(-0.05, seed + 40));
        table.row(
            &format!("{rounds} rounds"),
            &[("by chance", size), ("2 % found", two), ("5 % found", five)],
        );
        at_most("carry-over by chance", size, if rounds < 60 { 0.035 } else { 0.018 }, EXPERIMENTS);
        assert!(rounds < 60 || (two > 0.5 && five > 0.99), "{two} {five}");
    }
}

fn ratios(source: &mut Source, rounds: u32, value: impl Fn(u32) -> f64) -> LogRatios {
    let mut ratios = LogRatios::new();
    for round in 0..rounds {
        let b = 0.03 * source.normal() + value(round);
        ratios.push_round(round, &[b - 0.03 * source.normal(), b - 0.03 * source.normal()]);
    }
    ratios
}

/// Halves of trials and a drifting effect: seldom by chance, nearly always when it is there.
#[test]
fn halves_and_drift_size_and_power() {
    let mut table = Table::new("halves and drifting effect, noise 3 %, nominal level 1 %");
    for (seed, rounds) in (1_200..).zip([20, 60]) {
        let drift = |grows: f64, seed: u64| {
            let found = many(seed, EXPERIMENTS, |source| {
                let ratios =
                    ratios(source, rounds, |round| if round < rounds / 2 { 0.2 } else { 0.2 + grows });
                drifting_effect(&ratios, CHECK_LEVEL).unwrap().fails
            });
            rate(&found, |fails| *fails)
        };
        let change = |size: f64, seed: u64| {
            let found = many(seed, EXPERIMENTS, |source| {
                halves(&ratios(source, rounds, |_| size), CHECK_LEVEL).unwrap().fails
            });
            rate(&found, |fails| *fails)
        };
        let figures =
            [drift(0.0, seed), drift(0.05, seed + 20), change(0.0, seed + 40), change(0.04, seed + 60)];
        table.row(
            &format!("{rounds} rounds"),
            &[
                ("drift by chance", figures[0]),
                ("+5 % found", figures[1]),
                ("halves by chance", figures[2]),
                ("4 % found", figures[3]),
            ],
        );
        at_most("drift by chance", figures[0], 0.015, EXPERIMENTS);
        at_most("halves by chance", figures[2], 0.015, EXPERIMENTS);
        assert!(rounds < 60 || (figures[1] > 0.9 && figures[3] > 0.99), "{figures:?}");
    }
}

/// The A/A check over all its looks: the chance of failure, and a bias bound to the label.
#[test]
fn copies_fail_seldom_by_chance_and_nearly_always_when_biased() {
    const RUNS: usize = 2_000;
    let boundary = Boundary::new(8, 96, 0.05);
    let fails = |bias: f64, seed: u64| {
        let found = many(seed, RUNS, |source| {
            let mut copies = LogRatios::new();
            for look in boundary.looks() {
                for round in copies.rounds()..look.units as usize {
                    let value = bias + 0.03 * source.normal() - 0.03 * source.normal();
                    copies.push_round(u32::try_from(round).unwrap(), &[value]);
                }
                let check = identical_copies(&copies, look.nominal_p, &Rule::default()).unwrap();
                if check.fails() {
                    return true;
                }
            }
            false
        });
        rate(&found, |fails| *fails)
    };
    let figures = [fails(0.0, 1_300), fails(0.01, 1_301), fails(0.02, 1_302), fails(0.03, 1_303)];
    Table::new("A/A check, noise 3 %, 96 rounds").row(
        "fails",
        &[("by chance", figures[0]), ("bias 1 %", figures[1]), ("2 %", figures[2]), ("3 %", figures[3])],
    );
    at_most("by chance", figures[0], 0.05, RUNS);
    assert!(figures[2] > 0.9 && figures[3] > 0.99, "{figures:?}");
}
