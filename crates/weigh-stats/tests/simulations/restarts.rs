//! Start-up layout: a variant that has its own process is a new draw at every start.

use weigh_stats::boundary::Boundary;
use weigh_stats::huber::LogRatios;
use weigh_stats::replication::Variances;
use weigh_stats::verdict::Rule;

use super::design::{Table, at_most, many, rate, sequential};
use super::noise::{Source, as_f64};

const EXPERIMENTS: usize = 2_000;
const PER_EPOCH: usize = 6;
const EPOCHS: usize = 16;

/// Log ratios by round; every start draws a layout effect of SD `tau` for each of A, A' and B.
fn epochs(source: &mut Source, tau: f64, rounds_per_start: usize, rounds: usize) -> Vec<(u32, Vec<f64>)> {
    let mut layout = [0.0; 3];
    (0..rounds)
        .map(|round| {
            if round % rounds_per_start == 0 {
                layout = [0.0; 3].map(|_: f64| tau * source.normal());
            }
            let [a, copy, b] = layout.map(|effect| effect + 0.03 * source.normal());
            (u32::try_from(round / rounds_per_start).unwrap(), vec![b - a, b - copy])
        })
        .collect()
}

/// The interval misses "no difference" at some look.
fn missed(units: &[(u32, Vec<f64>)], rounds_per_unit: usize, boundary: &Boundary) -> bool {
    sequential(units, rounds_per_unit, boundary, &Rule::default(), 0.0, true).missed
}

/// Epochs as units keep the promise whatever the layout effect; rounds as units do not, and one start
/// per variant is hopeless.
#[test]
fn the_unit_is_the_epoch() {
    let rounds = PER_EPOCH * EPOCHS;
    let by_round = Boundary::new(8, 96, 0.05);
    let by_epoch = Boundary::new(5, 16, 0.05);
    let as_rounds = |units: &[(u32, Vec<f64>)]| -> Vec<(u32, Vec<f64>)> {
        (0..).zip(units.iter().map(|(_, values)| values.clone())).collect()
    };
    let mut table = Table::new("A/A with a layout effect per start, 96 rounds: missed at any look");
    for (seed, tau) in (700..).zip([0.0, 0.005, 0.01, 0.02]) {
        let found = many(seed, EXPERIMENTS, |source| {
            let once = epochs(source, tau, rounds, rounds);
            let restarted = epochs(source, tau, PER_EPOCH, rounds);
            [
                missed(&as_rounds(&once), 1, &by_round),
                missed(&as_rounds(&restarted), 1, &by_round),
                missed(&restarted, PER_EPOCH, &by_epoch),
            ]
        });
        let [once, round, epoch] = [0, 1, 2].map(|which| rate(&found, |missed| missed[which]));
        table.row(
            &format!("layout {:.2} %", 100.0 * tau),
            &[
                ("one start, unit round", once),
                ("restarts, unit round", round),
                ("restarts, unit epoch", epoch),
            ],
        );
        at_most(&format!("unit epoch, layout {tau}"), epoch, 0.05, EXPERIMENTS);
        if tau >= 0.01 {
            assert!(once > 0.4, "one start per variant must fail at {tau}: {once}");
        }
        if tau >= 0.02 {
            assert!(round > 0.15, "the wrong unit must fail at {tau}: {round}");
        }
    }
}

/// The components that the number of rounds per epoch is balanced by come back from data.
#[test]
fn variance_components_are_recovered() {
    let found = many(750, 1_000, |source| {
        let mut ratios = LogRatios::new();
        for (epoch, values) in epochs(source, 0.02, PER_EPOCH, PER_EPOCH * 20) {
            ratios.push_round(epoch, &values);
        }
        Variances::of(&ratios).unwrap()
    });
    let mean = |pick: fn(&Variances) -> f64| found.iter().map(pick).sum::<f64>() / as_f64(found.len());
    // A round's value is b − (a + a')/2: 1.5 times the variance of one trial, at both levels.
    let (round, epoch) = (mean(|v| v.round) / (1.5 * 0.03 * 0.03), mean(|v| v.epoch) / (1.5 * 0.02 * 0.02));
    Table::new("variance components, measured / true")
        .row("20 epochs of 6", &[("round", round), ("epoch", epoch)]);
    assert!((round - 1.0).abs() < 0.03 && (epoch - 1.0).abs() < 0.06, "{round} {epoch}");
}
