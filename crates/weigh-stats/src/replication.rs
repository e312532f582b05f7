//! Restarts: how many rounds to run between them, from what they cost and how much they change.
//!
//! - [`rounds_per_epoch`]: the balance, held so that the budget has room for enough epochs.
//! - [`Variances`]: how much rounds and epochs scatter, from data.
//!
//! A server that was started twice is two servers: memory layout, file layout and hash seeds differ. With one
//! start per variant a per-start effect of 0.5 % makes 24 % of the intervals miss; replicating the
//! highest random level is the only cure.

use std::collections::BTreeMap;

use crate::dispersion::{self, count};
use crate::huber::LogRatios;

/// Rounds per epoch before anything has been measured.
pub const DEFAULT_ROUNDS_PER_EPOCH: u32 = 6;
/// Epochs the budget must hold.
pub const WANTED_EPOCHS: u32 = 8;

/// What a round and an epoch cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Restart and warm-up of all servers, seconds.
    pub epoch_s: f64,
    /// One round, seconds.
    pub round_s: f64,
}

/// How much log ratios scatter, by level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variances {
    /// Between rounds of one epoch.
    pub round: f64,
    /// Between epochs, what rounds contribute to it taken off; 0 at least.
    pub epoch: f64,
}

impl Variances {
    /// From the rounds of at least two epochs: variance within epochs, pooled; variance of the epochs' means less
    /// the share that rounds contribute to it, `var_round/k` (k the harmonic mean of rounds per epoch).
    ///
    /// A round's value is the mean of its log ratios. `None` below two epochs, or without an epoch of two rounds.
    /// Source: one-way analysis of variance, random effects.
    pub fn of(ratios: &LogRatios) -> Option<Variances> {
        let mut epochs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (epoch, values) in ratios.iter() {
            epochs.entry(epoch).or_default().push(dispersion::mean(values));
        }
        let freedom = ratios.rounds() - epochs.len();
        if epochs.len() < 2 || freedom == 0 {
            return None;
        }
        let within: f64 = epochs
            .values()
            .filter(|rounds| rounds.len() > 1)
            .map(|rounds| dispersion::sample_variance(rounds) * count(rounds.len() - 1))
            .sum();
        let round = within / count(freedom);
        let means: Vec<f64> = epochs.values().map(|rounds| dispersion::mean(rounds)).collect();
        let inverse_k =
            dispersion::mean(&epochs.values().map(|rounds| 1.0 / count(rounds.len())).collect::<Vec<_>>());
        let epoch = (dispersion::sample_variance(&means) - round * inverse_k).max(0.0);
        Some(Variances { round, epoch })
    }
}

/// The best number of rounds per epoch, not held to any budget; infinite if epochs do not differ.
///
/// `k* = sqrt((C_epoch/C_round) · (var_round/var_epoch))`. Source: Kalibera & Jones, *Rigorous benchmarking in
/// reasonable time* (ISMM 2013). Half-widths are within 3 % of the best from k*/2 to 1.5 k*.
pub fn optimal_rounds_per_epoch(costs: &Costs, variances: &Variances) -> f64 {
    (costs.epoch_s / costs.round_s * (variances.round / variances.epoch)).sqrt()
}

/// Rounds per epoch for a budget: [`optimal_rounds_per_epoch`] rounded, at least 1, and no more than leave
/// room for [`WANTED_EPOCHS`]; [`DEFAULT_ROUNDS_PER_EPOCH`], held the same way, before data.
pub fn rounds_per_epoch(costs: &Costs, variances: Option<&Variances>, budget_s: f64) -> u32 {
    let wanted = match variances {
        Some(variances) => optimal_rounds_per_epoch(costs, variances),
        None => f64::from(DEFAULT_ROUNDS_PER_EPOCH),
    };
    let room = ((budget_s / f64::from(WANTED_EPOCHS) - costs.epoch_s) / costs.round_s).floor();
    // Neither a variance of zero in both levels nor a free round says anything: NaN is the default.
    let wanted = if wanted.is_nan() { f64::from(DEFAULT_ROUNDS_PER_EPOCH) } else { wanted.round() };
    let held = wanted.min(if room.is_nan() { 1.0 } else { room }).clamp(1.0, 10_000.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "held in 1..=10000")]
    {
        held as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { epoch_s: 20.0, round_s: 6.0 };

    #[test]
    fn balance_of_kalibera_and_jones() {
        let variances = Variances { round: 0.001_35, epoch: 0.000_15 };
        assert!((optimal_rounds_per_epoch(&COSTS, &variances) - 5.477_226).abs() < 1e-6);
        assert_eq!(rounds_per_epoch(&COSTS, Some(&variances), 3_600.0), 5);
        // Eight epochs of 20 s + k · 6 s in 300 s: k = 2.
        assert_eq!(rounds_per_epoch(&COSTS, Some(&variances), 300.0), 2);
        assert_eq!(rounds_per_epoch(&COSTS, Some(&variances), 10.0), 1, "never below one round");
    }

    #[test]
    fn defaults_and_limits() {
        assert_eq!(rounds_per_epoch(&COSTS, None, 3_600.0), 6);
        let no_layout = Variances { round: 0.001, epoch: 0.0 };
        assert_eq!(rounds_per_epoch(&COSTS, Some(&no_layout), 1_600.0), 30, "as many as leave eight epochs");
        let silent = Variances { round: 0.0, epoch: 0.0 };
        assert_eq!(rounds_per_epoch(&COSTS, Some(&silent), 3_600.0), 6);
    }

    #[test]
    fn components_of_a_known_table() {
        let mut ratios = LogRatios::new();
        for (epoch, values) in [(0, [1.0, 3.0]), (1, [5.0, 7.0]), (2, [3.0, 5.0])] {
            for value in values {
                ratios.push_round(epoch, &[value]);
            }
        }
        // Within: 2 each, pooled 2. Means 2, 6, 4: variance 4, less 2/2.
        assert_eq!(Variances::of(&ratios), Some(Variances { round: 2.0, epoch: 3.0 }));
        let mut single = LogRatios::new();
        for epoch in 0..5 {
            single.push_round(epoch, &[0.1]);
        }
        assert_eq!(Variances::of(&single), None);
    }
}
