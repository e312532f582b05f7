//! Factorial designs: noise is not sold as an effect, the intervals hold together, and shares are what they should be.

use weigh_stats::factorial::{self, Decomposition, Factorial};

use super::design::{Order, Table, at_most, many, rate, rounds};
use super::noise::Noise;

const EXPERIMENTS: usize = 1_000;
const NOISES: [Noise; 5] =
    [Noise::White(0.05), Noise::Drift(0.95), Noise::Bursts(0.20), Noise::HeavyTails, Noise::Mix];
/// Levels of the two factors.
const LEVELS: [usize; 2] = [2, 3];

/// Cells of two factors with main effects and one interaction, log scale.
const EFFECTS: [f64; 6] = [0.0, 0.3, 0.6, 0.7, 1.0, 1.1];

/// Decompositions of `count` rounds of six cells under a noise, in random order.
fn found(seed: u64, noise: Noise, count: usize, cells: &[f64; 6]) -> Vec<Decomposition> {
    many(seed, EXPERIMENTS, |source| {
        let mut data = Factorial::new(&LEVELS).unwrap();
        for (cluster, round) in (0..).zip(rounds(source, noise, Order::Random, cells, count)) {
            data.push_round(cluster, &round);
        }
        factorial::decompose(&data, &[0, 0], 0.05, 1).unwrap()
    })
}

fn mean(found: &[Decomposition], of: impl Fn(&Decomposition) -> f64) -> f64 {
    found.iter().map(of).sum::<f64>() / found.len() as f64
}

#[test]
fn where_nothing_differs_nothing_is_explained() {
    let mut table =
        Table::new("six equal cells: any effect or interaction claimed (5 % promised), mean largest share");
    for (seed, noise) in (2_100..).zip(NOISES) {
        for count in [8, 30] {
            let found = found(seed * 10 + count as u64, noise, count, &[0.0; 6]);
            let claimed = rate(&found, |run| {
                run.effects.iter().any(|of| !of.effect.contains(0.0))
                    || run.interactions.iter().any(factorial::Interaction::is_certain)
            });
            let largest =
                |run: &Decomposition| run.shares.iter().map(|share| share.share.estimate).fold(0.0, f64::max);
            let (share, bound) = (mean(&found, largest), 1.0 / count as f64);
            let sure = rate(&found, |run| run.shares.iter().any(|share| share.share.low > 0.0));
            let name = format!("{}, {count} rounds", noise.name());
            table.row(&name, &[("claimed", claimed), ("share", share), ("share above 0", sure)]);
            at_most("an effect is claimed where there is none", claimed, 0.06, EXPERIMENTS);
            at_most("a share is certain where there is none", sure, 0.06, EXPERIMENTS);
            assert!(share < bound, "{name}: noise explains {share}");
        }
    }
}

#[test]
fn intervals_of_effects_hold_together() {
    let mut table = Table::new("two factors that interact: any of 5 intervals misses (5 % promised)");
    // Means of the second row less the first, of columns 2 and 3 less 1; what the interaction adds to both.
    let main = [(0.7 + 1.0 + 1.1 - 0.9) / 3.0, 0.3, (0.6 + 1.1 - 0.7) / 2.0];
    let together = [0.0, -0.2];
    for (seed, noise) in (2_200..).zip(NOISES) {
        for count in [8, 30] {
            let found = found(seed * 10 + count as u64, noise, count, &EFFECTS);
            let missed = rate(&found, |run| {
                run.effects.iter().zip(main).any(|(of, truth)| !of.effect.contains(truth))
                    || run.interactions.iter().zip(together).any(|(of, truth)| !of.effect.contains(truth))
            });
            table.row(&format!("{}, {count} rounds", noise.name()), &[("misses", missed)]);
            at_most("one of the intervals misses", missed, 0.06, EXPERIMENTS);
        }
    }
}

#[test]
fn shares_are_right_on_average_and_their_intervals_hold() {
    let mut table =
        Table::new("shares of two factors and both together under white noise: mean less truth, misses");
    // Sums of squares by hand: a row mean lies 19/60 from the grand mean; columns at 0.35, 0.65, 0.85; the rest.
    let grand = EFFECTS.iter().sum::<f64>() / 6.0;
    let rows = 6.0 * (19.0_f64 / 60.0).powi(2);
    let columns = 2.0 * [0.35, 0.65, 0.85].iter().map(|mean: &f64| (mean - grand).powi(2)).sum::<f64>();
    let all: f64 = EFFECTS.iter().map(|cell| (cell - grand).powi(2)).sum();
    let squares = [rows, columns, all - rows - columns];
    for (seed, sd) in (2_300..).zip([0.02, 0.10, 0.30]) {
        for count in [8, 30] {
            let found = found(seed * 10 + count as u64, Noise::White(sd), count, &EFFECTS);
            let total = all + 5.0 * sd * sd;
            for (at, squares) in squares.iter().enumerate() {
                let truth = squares / total;
                let off = mean(&found, |run| run.shares[at].share.estimate) - truth;
                let missed = rate(&found, |run| !run.shares[at].share.contains(truth));
                let name = format!("share {at}, sd {:.0} %, {count} rounds", 100.0 * sd);
                table.row(&name, &[("off", off), ("misses", missed)]);
                assert!(off.abs() < 0.035, "{name}: off by {off}");
                at_most("the interval of a share misses", missed, 0.10, EXPERIMENTS);
            }
        }
    }
}
