//! How many rounds fit in the budget: fixed after the pilot, from timings only.

use weigh_results::analysis::judge::first_look;
use weigh_results::model::Replication;

/// Rounds of the pilot: enough switches to see the warm-up, few enough to throw away.
pub(crate) const PILOT_ROUNDS: u32 = 3;
/// Rounds between restarts before the variance between starts is known (docs/methods.md, restarts).
const ROUNDS_PER_EPOCH: u32 = 6;
/// Epochs that the budget should hold.
const EPOCHS_WANTED: f64 = 8.0;

/// What fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Horizon {
    /// Units: rounds or epochs.
    pub(crate) units: u32,
    /// Rounds per unit.
    pub(crate) rounds_per_unit: u32,
}

/// The horizon, from what remains of the budget and what rounds and restarts have taken so far.
pub(crate) fn horizon(
    replication: Replication,
    remaining_s: f64,
    round_s: f64,
    rounds_done: u32,
    restart_s: f64,
) -> Horizon {
    let remaining_s = remaining_s.max(0.0);
    let done = f64::from(rounds_done);
    match replication {
        Replication::Round => Horizon {
            units: floor(done + remaining_s / round_s).max(first_look(replication)),
            rounds_per_unit: 1,
        },
        Replication::Epoch => {
            let whole_s = remaining_s + done * round_s;
            let per_unit = floor((whole_s / EPOCHS_WANTED - restart_s) / round_s).clamp(1, ROUNDS_PER_EPOCH);
            let unit_s = f64::from(per_unit) * round_s + restart_s;
            Horizon {
                units: floor((whole_s + restart_s) / unit_s).max(first_look(replication)),
                rounds_per_unit: per_unit,
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating, and never negative")]
fn floor(value: f64) -> u32 {
    if value.is_finite() { value.max(0.0).floor() as u32 } else { u32::MAX / 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_fill_the_budget() {
        let found = horizon(Replication::Round, 100.0, 5.0, 3, 0.0);
        assert_eq!(found, Horizon { units: 23, rounds_per_unit: 1 });
    }

    #[test]
    fn a_tiny_budget_still_holds_the_fewest_units() {
        assert_eq!(horizon(Replication::Round, -3.0, 5.0, 3, 0.0).units, 8);
        let found = horizon(Replication::Epoch, 0.0, 5.0, 3, 2.0);
        assert_eq!(found, Horizon { units: 5, rounds_per_unit: 1 });
    }

    #[test]
    fn epochs_shrink_so_that_eight_fit() {
        let found = horizon(Replication::Epoch, 300.0, 6.0, 3, 5.0);
        assert_eq!(found.rounds_per_unit, 5);
        assert!(found.units >= 8, "{found:?}");
        assert_eq!(horizon(Replication::Epoch, 3_000.0, 6.0, 3, 5.0).rounds_per_unit, ROUNDS_PER_EPOCH);
    }
}
