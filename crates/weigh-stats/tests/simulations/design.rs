//! An experiment in numbers: rounds in random order, looks, the stopping rule; and many of them at once.

use std::fmt::Write as _;

use weigh_stats::Interval;
use weigh_stats::boundary::Boundary;
use weigh_stats::huber::{LogRatios, clustered_huber};
use weigh_stats::verdict::{Decision, Rule, decide};

use super::noise::{Noise, Source, as_f64};

/// How the trials of a round are ordered.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Order {
    Random,
    Fixed,
}

/// Log values by round and slot: `effects` holds one log effect per slot, zeros first for the baseline's copies.
pub(super) fn rounds(
    source: &mut Source,
    noise: Noise,
    order: Order,
    effects: &[f64],
    count: usize,
) -> Vec<Vec<f64>> {
    let disturbance = noise.draw(source, count * effects.len());
    disturbance
        .chunks_exact(effects.len())
        .map(|slots| {
            let labels = match order {
                Order::Random => source.order(effects.len()),
                Order::Fixed => (0..effects.len()).collect(),
            };
            let mut round = vec![0.0; effects.len()];
            for (label, disturbed) in labels.into_iter().zip(slots) {
                round[label] = effects[label] + disturbed;
            }
            round
        })
        .collect()
}

/// Log ratios of one slot against the first `copies` slots.
pub(super) fn against(round: &[f64], slot: usize, copies: usize) -> Vec<f64> {
    round[..copies].iter().map(|base| round[slot] - base).collect()
}

/// Adds rounds of A, A', B to the ratios of B against both copies, until there are that many.
pub(super) fn extend(ratios: &mut LogRatios, rounds: &[Vec<f64>], until: u32) {
    let from = ratios.rounds();
    for (cluster, round) in (0..until).zip(rounds).skip(from) {
        ratios.push_round(cluster, &against(round, 2, 2));
    }
}

/// What one comparison came to.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    pub(super) decision: Decision,
    /// At the look that ended it.
    pub(super) interval: Interval,
    pub(super) units: u32,
    /// The true value was outside the interval at some look.
    pub(super) missed: bool,
}

impl Outcome {
    pub(super) fn is_different(&self, sign: f64) -> bool {
        self.decision == Decision::Different && self.interval.estimate * sign > 0.0
    }
}

/// Runs the stopping rule on units of log ratios given in order. With `all_looks`, looks after the verdict are
/// taken as well, for `missed`.
pub(super) fn sequential(
    units: &[(u32, Vec<f64>)],
    rounds_per_unit: usize,
    boundary: &Boundary,
    rule: &Rule,
    truth: f64,
    all_looks: bool,
) -> Outcome {
    let mut ratios = LogRatios::new();
    let mut missed = false;
    let mut ended: Option<Outcome> = None;
    for look in boundary.looks() {
        let upto = look.units as usize * rounds_per_unit;
        for (cluster, values) in &units[ratios.rounds()..upto] {
            ratios.push_round(*cluster, values);
        }
        let interval = clustered_huber(&ratios, look.nominal_p).unwrap();
        missed |= !interval.contains(truth);
        let ruling = decide(&interval, rule);
        if ended.is_none() && (ruling.is_final || look.units == boundary.horizon()) {
            ended = Some(Outcome { decision: ruling.decision, interval, units: look.units, missed });
            if !all_looks {
                break;
            }
        }
    }
    Outcome { missed, ..ended.unwrap() }
}

/// One comparison of a variant with an effect against two copies of the baseline, unit = round.
pub(super) fn compare(
    source: &mut Source,
    noise: Noise,
    order: Order,
    effect: f64,
    boundary: &Boundary,
    all_looks: bool,
) -> Outcome {
    let rounds = rounds(source, noise, order, &[0.0, 0.0, effect], boundary.horizon() as usize);
    let units: Vec<(u32, Vec<f64>)> = (0..).zip(rounds.iter().map(|round| against(round, 2, 2))).collect();
    sequential(&units, 1, boundary, &Rule::default(), effect, all_looks)
}

/// Runs `count` experiments, each with its own seed, on all CPUs.
pub(super) fn many<T: Send>(seed: u64, count: usize, experiment: impl Fn(&mut Source) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = count.div_ceil(threads);
    let experiment = &experiment;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let range = (thread * share).min(count)..((thread + 1) * share).min(count);
                scope.spawn(move || {
                    range
                        .map(|index| {
                            experiment(&mut Source::new(seed.wrapping_mul(1_000_003) + index as u64))
                        })
                        .collect::<Vec<T>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

/// Share of outcomes for which something holds.
pub(super) fn rate<T>(outcomes: &[T], holds: impl Fn(&T) -> bool) -> f64 {
    as_f64(outcomes.iter().filter(|outcome| holds(outcome)).count()) / as_f64(outcomes.len())
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Three Monte Carlo standard errors of a rate.
pub(super) fn margin(rate: f64, experiments: usize) -> f64 {
    3.0 * (rate * (1.0 - rate) / as_f64(experiments)).sqrt()
}

/// Asserts that a rate promised to be at most `promised` was, up to Monte Carlo error.
#[track_caller]
pub(super) fn at_most(what: &str, measured: f64, promised: f64, experiments: usize) {
    let limit = promised + margin(promised, experiments);
    assert!(measured <= limit, "{what}: {measured:.4} is above {promised} (with margin {limit:.4})");
}

/// Asserts that a rate promised to be at least `promised` was, up to Monte Carlo error.
#[track_caller]
pub(super) fn at_least(what: &str, measured: f64, promised: f64, experiments: usize) {
    let limit = promised - margin(promised, experiments);
    assert!(measured >= limit, "{what}: {measured:.4} is below {promised} (with margin {limit:.4})");
}

/// A small table, shown with `--nocapture`; printed in one piece so that tests do not interleave.
pub(super) struct Table(String);

impl Table {
    pub(super) fn new(title: &str) -> Table {
        Table(format!("\n{title}\n"))
    }

    pub(super) fn row(&mut self, name: &str, figures: &[(&str, f64)]) {
        write!(self.0, "  {name:<28}").unwrap();
        for (what, figure) in figures {
            write!(self.0, "  {what} {figure:<7.4}").unwrap();
        }
        self.0.push('\n');
    }
}

impl Drop for Table {
    #[expect(clippy::print_stdout, reason = "the table is for who runs the test with --nocapture")]
    fn drop(&mut self) {
        print!("{}", self.0);
    }
}
