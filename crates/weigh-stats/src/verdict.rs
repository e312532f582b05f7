//! From an interval to a verdict.
//!
//! - [`Rule`]: the difference that matters and what is asked of a *different* verdict.
//! - [`decide`]: [`Ruling`] = [`Decision`] and whether measuring may stop.
//!
//! One sequence of intervals decides everything: because they cover the truth at all looks together, no
//! order of questions asked of them can raise the error. Nothing here looks at data again.

use crate::Interval;

/// What can be said about a variant against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The interval excludes "no difference".
    Different,
    /// The interval lies inside ± the difference that matters.
    Same,
    /// Neither, so far.
    Undecided,
}

/// What is asked of a *different* verdict before measuring stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The size of the effect: half-width at most max(difference that matters, precision × effect).
    Size,
    /// Its direction only.
    Sign,
}

/// How an interval is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Relative difference that matters: 0.02 is 2 %, either way.
    pub difference: f64,
    /// What is asked of a *different* verdict.
    pub goal: Goal,
    /// Half-width asked for with [`Goal::Size`], as a share of the effect on the log scale.
    pub precision: f64,
}

impl Default for Rule {
    fn default() -> Rule {
        Rule { difference: 0.02, goal: Goal::Size, precision: 0.15 }
    }
}

impl Rule {
    /// The difference that matters on the log scale, `ln(1 + x)`.
    pub fn log_difference(&self) -> f64 {
        self.difference.ln_1p()
    }

    /// Half-width at which a *different* verdict with this estimate is precise enough.
    pub fn wanted_half_width(&self, estimate: f64) -> f64 {
        match self.goal {
            Goal::Size => self.log_difference().max(self.precision * estimate.abs()),
            Goal::Sign => f64::INFINITY,
        }
    }
}

/// A decision and whether it may end the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What can be said.
    pub decision: Decision,
    /// Whether the goal is reached: no further rounds are needed for this comparison.
    pub is_final: bool,
}

/// Judges a log-scale interval.
///
/// *Same* if the whole interval lies strictly inside ±ln(1 + x): two one-sided tests at the interval's level
/// (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987). Otherwise *different* if it excludes 0; final once
/// it is precise enough for the goal. *Same* goes first: an interval of +0.5 % to +1.5 % is both, and
/// what the reader asked is whether it matters.
pub fn decide(interval: &Interval, rule: &Rule) -> Ruling {
    if interval.largest_magnitude() < rule.log_difference() {
        return Ruling { decision: Decision::Same, is_final: true };
    }
    if interval.contains(0.0) {
        return Ruling { decision: Decision::Undecided, is_final: false };
    }
    let is_final = interval.half_width() <= rule.wanted_half_width(interval.estimate);
    Ruling { decision: Decision::Different, is_final }
}

/// The relative difference above which everything is excluded by a log-scale interval: 0.031 reads
/// "differences above 3.1 % are excluded". `exp(max(|low|, |high|)) − 1`, counted alike in both directions
/// as in [`decide`].
pub fn excluded_above(interval: &Interval) -> f64 {
    interval.largest_magnitude().exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(low: f64, high: f64, goal: Goal) -> (Decision, bool) {
        let interval = Interval { estimate: f64::midpoint(low, high), low, high };
        let ruling = decide(&interval, &Rule { goal, ..Rule::default() });
        (ruling.decision, ruling.is_final)
    }

    #[test]
    fn each_verdict_and_its_border() {
        let delta = 1.02_f64.ln();
        assert_eq!(ruling(-0.01, 0.01, Goal::Size), (Decision::Same, true));
        assert_eq!(ruling(0.005, 0.015, Goal::Sign), (Decision::Same, true), "real, but it does not matter");
        assert_eq!(ruling(-delta, 0.0, Goal::Size), (Decision::Undecided, false), "the border is outside");
        assert_eq!(ruling(-0.03, 0.01, Goal::Size), (Decision::Undecided, false));
        assert_eq!(
            ruling(0.0, 0.05, Goal::Sign),
            (Decision::Undecided, false),
            "0 is inside a closed interval"
        );
        assert_eq!(
            ruling(0.01, 0.04, Goal::Size),
            (Decision::Different, true),
            "half-width 1.5 % is below 2 %"
        );
        assert_eq!(ruling(0.01, 0.09, Goal::Size), (Decision::Different, false));
        assert_eq!(ruling(0.01, 0.09, Goal::Sign), (Decision::Different, true));
        assert_eq!(ruling(-0.8, -0.6, Goal::Size), (Decision::Different, true), "0.1 is below 15 % of 0.7");
    }

    #[test]
    fn exact_intervals_are_judged_like_any_other() {
        let rule = Rule::default();
        assert_eq!(decide(&Interval::exact(0.0), &rule).decision, Decision::Same);
        assert_eq!(
            decide(&Interval::exact(0.7), &rule),
            Ruling { decision: Decision::Different, is_final: true }
        );
    }

    #[test]
    fn what_is_excluded_counts_both_directions_alike() {
        let interval = Interval { estimate: 0.0, low: -(1.05_f64.ln()), high: 0.01 };
        assert!((excluded_above(&interval) - 0.05).abs() < 1e-12);
        assert!((excluded_above(&interval.negated()) - 0.05).abs() < 1e-12);
    }
}
