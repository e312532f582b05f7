//! Checks of the experiment on itself: when one fails, a result is not to be believed as it stands.
//!
//! - [`identical_copies`]: the hidden second baseline against the first (A/A).
//! - [`carry_over`]: whether what ran just before leaves a trace.
//! - [`halves`]: whether trials are still changing after their warm-up.
//! - [`drifting_effect`]: whether the effect itself changes in the course of the run.
//!
//! They are smoke alarms: passing one proves little (with a start-up layout effect of 1 % and one start each,
//! the A/A check passes half the time). None of them ever drops data.

use crate::Interval;
use crate::dispersion::count;
use crate::distributions::{t_critical, t_p_value};
use crate::huber::{LogRatios, clustered_huber};
use crate::verdict::{self, Decision, Rule};

/// Two-sided level at which [`carry_over`], [`halves`] and [`drifting_effect`] fail.
pub const CHECK_LEVEL: f64 = 0.01;
/// Fewest rounds with any exposure for [`carry_over`].
const MIN_EXPOSED: usize = 4;
/// Fewest units in each half for [`drifting_effect`].
const MIN_UNITS_PER_HALF: usize = 4;

/// The hidden second baseline against the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopyCheck {
    /// Log ratio second copy / first copy.
    pub interval: Interval,
    /// [`Decision::Same`]: they agree within the difference that matters. [`Decision::Undecided`]: they agree
    /// within [`CopyCheck::agrees_within`]. [`Decision::Different`]: the check fails.
    pub decision: Decision,
    /// Relative difference between identical copies that is not excluded.
    pub agrees_within: f64,
}

impl CopyCheck {
    /// Whether the check fails: verdicts of this metric are withheld.
    pub fn fails(&self) -> bool {
        self.decision == Decision::Different
    }

    /// Whether a variant's interval lies wholly outside what identical copies differ by: the only
    /// difference that may still be claimed after a failure.
    pub fn is_beyond(&self, variant: &Interval) -> bool {
        let limit = self.interval.largest_magnitude();
        variant.low > limit || variant.high < -limit
    }
}

/// The A/A check at a look: same looks, same spending, one log ratio per round (ln A' − ln A).
///
/// Chance failure at N = 96 and 3 % noise is 3.3 %; a bias bound to the label of 2 % is found in 98 %.
pub fn identical_copies(copies: &LogRatios, nominal_p: f64, rule: &Rule) -> Option<CopyCheck> {
    let interval = clustered_huber(copies, nominal_p)?;
    let decision = verdict::decide(&interval, rule).decision;
    Some(CopyCheck { interval, decision, agrees_within: verdict::excluded_above(&interval) })
}

/// What remains of a predecessor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CarryOver {
    /// Log effect on a baseline trial of following directly on a variant instead of on its copy, with
    /// its interval at level [`CHECK_LEVEL`].
    pub interval: Interval,
    /// The estimate alone.
    pub effect: f64,
    /// Heteroscedasticity-consistent standard error.
    pub standard_error: f64,
    /// Effect over standard error.
    pub t: f64,
    /// Rounds − 2.
    pub degrees_of_freedom: f64,
    /// Two-sided.
    pub p_value: f64,
    /// Whether it fails at [`CHECK_LEVEL`]: lengthen the warm-up.
    pub fails: bool,
}

/// Carry-over from the trial that ran before, which random order hides from the A/A check (both copies
/// suffer alike).
///
/// Per round `D = ln A − ln A'` and exposure `x = [A directly follows a variant] − [A' does]` in {−1, 0, 1};
/// `c = ΣxD/Σx²`, `se = sqrt(Σx²(D − cx)²)/Σx²`, t with n − 2 degrees of freedom.
/// `None` unless at least four rounds are exposed; rounds with a figure that is not finite do not count.
///
/// Source: White's covariance (Econometrica 48, 1980) for a regression through the origin.
pub fn carry_over(differences: &[f64], exposures: &[f64]) -> Option<CarryOver> {
    let rounds: Vec<(f64, f64)> = differences
        .iter()
        .copied()
        .zip(exposures.iter().copied())
        .filter(|(difference, exposure)| difference.is_finite() && exposure.is_finite())
        .collect();
    if rounds.iter().filter(|(_, x)| *x != 0.0).count() < MIN_EXPOSED {
        return None;
    }
    let squares: f64 = rounds.iter().map(|(_, x)| x * x).sum();
    let effect = rounds.iter().map(|(d, x)| x * d).sum::<f64>() / squares;
    let standard_error =
        rounds.iter().map(|(d, x)| (x * (d - effect * x)).powi(2)).sum::<f64>().sqrt() / squares;
    let degrees_of_freedom = count(rounds.len()) - 2.0;
    let t = if effect == 0.0 { 0.0 } else { effect / standard_error };
    let p_value = t_p_value(t, degrees_of_freedom);
    let half = t_critical(CHECK_LEVEL / 2.0, degrees_of_freedom) * standard_error;
    Some(CarryOver {
        interval: Interval::symmetric(effect, half),
        effect,
        standard_error,
        t,
        degrees_of_freedom,
        p_value,
        fails: p_value < CHECK_LEVEL,
    })
}

/// Change within trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Halves {
    /// Log ratio second half of the trial / first half.
    pub interval: Interval,
    /// Whether the interval excludes 0: the warm-up is too short, or something trends within the trial.
    pub fails: bool,
}

/// Whether the second half of trials differs from the first, at two-sided level `level`.
///
/// Per round, the values are one variant's log ratios of the metric in the second half of a trial over the first.
pub fn halves(second_over_first: &LogRatios, level: f64) -> Option<Halves> {
    let interval = clustered_huber(second_over_first, level)?;
    Some(Halves { interval, fails: !interval.contains(0.0) })
}

/// The effect early and late in the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriftingEffect {
    /// Log ratio variant / baseline in the first half of the units.
    pub first: Interval,
    /// In the second half.
    pub second: Interval,
    /// Second − first.
    pub change: Interval,
    /// Degrees of freedom of `change`.
    pub degrees_of_freedom: f64,
    /// Two-sided p-value of "no change".
    pub p_value: f64,
    /// Whether it fails at the level asked: print both, "the effect grows as the table fills".
    pub fails: bool,
}

/// Whether the effect in the first half of the units differs from that in the second, at two-sided level `level`.
///
/// The standard error of each half is its half-width over its t quantile; their difference is judged with
/// Welch and Satterthwaite's degrees of freedom. `None` below four units in each half.
pub fn drifting_effect(ratios: &LogRatios, level: f64) -> Option<DriftingEffect> {
    let (early, late) = ratios.halves();
    if early.clusters() < MIN_UNITS_PER_HALF {
        return None;
    }
    let first = clustered_huber(&early, level)?;
    let second = clustered_huber(&late, level)?;
    let variance = |half: &Interval, clusters: usize| {
        let freedom = count(clusters) - 1.0;
        ((half.half_width() / t_critical(level / 2.0, freedom)).powi(2), freedom)
    };
    let (first_variance, first_freedom) = variance(&first, early.clusters());
    let (second_variance, second_freedom) = variance(&second, late.clusters());
    let both = first_variance + second_variance;
    let estimate = second.estimate - first.estimate;
    if both == 0.0 {
        let fails = estimate != 0.0;
        return Some(DriftingEffect {
            first,
            second,
            change: Interval::exact(estimate),
            degrees_of_freedom: first_freedom + second_freedom,
            p_value: if fails { 0.0 } else { 1.0 },
            fails,
        });
    }
    let degrees_of_freedom =
        both * both / (first_variance.powi(2) / first_freedom + second_variance.powi(2) / second_freedom);
    let change = Interval::symmetric(estimate, t_critical(level / 2.0, degrees_of_freedom) * both.sqrt());
    let p_value = t_p_value(estimate / both.sqrt(), degrees_of_freedom);
    Some(DriftingEffect { first, second, change, degrees_of_freedom, p_value, fails: p_value < level })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> LogRatios {
        let mut ratios = LogRatios::new();
        for (round, value) in (0u32..).zip(values) {
            ratios.push_round(round, &[value]);
        }
        ratios
    }

    fn wave(round: i32) -> f64 {
        0.01 * f64::from(round * 7 % 11 - 5)
    }

    #[test]
    fn copies_agree_fail_or_leave_it_open() {
        let rule = Rule::default();
        let agree = identical_copies(&of((0..44).map(|round| 0.2 * wave(round))), 0.01, &rule).unwrap();
        assert_eq!(agree.decision, Decision::Same);
        let open = identical_copies(&of((0..12).map(wave)), 0.01, &rule).unwrap();
        assert!(!open.fails() && open.agrees_within > 0.02, "{open:?}");
        let fails = identical_copies(&of((0..22).map(|round| wave(round) + 0.08)), 0.01, &rule).unwrap();
        assert!(fails.fails());
        assert!(fails.is_beyond(&Interval::symmetric(-0.5, 0.1)));
        assert!(!fails.is_beyond(&Interval::symmetric(0.1, 0.01)));
    }

    #[test]
    fn carry_over_needs_exposed_rounds() {
        assert_eq!(carry_over(&[0.1; 20], &[0.0; 20]), None);
        assert_eq!(carry_over(&[0.1, 0.2, 0.3], &[1.0, -1.0, 1.0]), None);
        let silent = carry_over(&[0.0; 8], &[1.0, -1.0, 0.0, 1.0, -1.0, 0.0, 1.0, 1.0]).unwrap();
        assert_eq!((silent.p_value, silent.fails), (1.0, false));
    }

    #[test]
    fn trials_that_still_change_fail() {
        assert!(!halves(&of((0..22).map(wave)), CHECK_LEVEL).unwrap().fails);
        assert!(halves(&of((0..22).map(|round| wave(round) + 0.06)), CHECK_LEVEL).unwrap().fails);
    }

    #[test]
    fn an_effect_that_grows_is_seen() {
        let steady = drifting_effect(&of((0..44).map(|round| 0.5 + wave(round))), CHECK_LEVEL).unwrap();
        assert!(!steady.fails, "{steady:?}");
        let growing =
            drifting_effect(&of((0..44).map(|round| 0.01 * f64::from(round) + wave(round))), CHECK_LEVEL)
                .unwrap();
        assert!(growing.fails && growing.change.low > 0.1, "{growing:?}");
        assert_eq!(drifting_effect(&of((0..7).map(wave)), CHECK_LEVEL), None);
        let step = drifting_effect(&of((0..20).map(|round| if round < 10 { 0.1 } else { 0.2 })), CHECK_LEVEL)
            .unwrap();
        assert!(step.fails && step.p_value == 0.0);
    }
}
