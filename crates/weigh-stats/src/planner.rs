//! What more time would bring: units needed, the difference a budget can see, when to give up.
//!
//! Everything here is advice. It looks at interval widths and never changes a boundary, a horizon or a
//! verdict; offering to stop for futility costs no alpha because nothing is rejected by it.

use crate::Interval;
use crate::boundary::{Boundary, Look};
use crate::verdict::Rule;

/// Normal quantile of the power planned for: nine times out of ten.
const Z_POWER: f64 = 1.281_551_565_5;
/// A goal that needs more than this many times the horizon is out of reach.
const FUTILE: f64 = 1.5;

/// Half-width to expect at the boundary's last look: `hw · (z_N/z_now) · sqrt(n_now/N)`.
pub fn half_width_at_horizon(half_width: f64, now: &Look, boundary: &Boundary) -> Option<f64> {
    let last = boundary.looks().last()?;
    let expected = half_width * last.z / now.z * (f64::from(now.units) / f64::from(last.units)).sqrt();
    (expected.is_finite() && expected >= 0.0).then_some(expected)
}

/// Units needed for a half-width, at the last look's critical value: `n = n_now·(hw·z_N/(z_now·h))²`.
///
/// `None` when that is not a number of units (a half-width of zero asked for).
pub fn units_for_half_width(half_width: f64, now: &Look, boundary: &Boundary, wanted: f64) -> Option<u32> {
    let last = boundary.looks().last()?;
    let units = f64::from(now.units) * (half_width * last.z / (now.z * wanted)).powi(2);
    if !(wanted > 0.0 && units <= f64::from(u32::MAX)) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    {
        Some((units - 1e-9).ceil().max(1.0) as u32)
    }
}

/// Smallest log effect the whole budget finds nine times out of ten at the present noise: the half-width
/// expected at the horizon times `1 + 1.28/z_N`.
pub fn detectable(half_width: f64, now: &Look, boundary: &Boundary) -> Option<f64> {
    let last = boundary.looks().last()?;
    Some(half_width_at_horizon(half_width, now, boundary)? * (1.0 + Z_POWER / last.z))
}

/// Units needed in all to find a log effect nine times out of ten at the present noise; the inverse of
/// [`detectable`]. `None` for an effect of zero.
pub fn units_needed(half_width: f64, now: &Look, boundary: &Boundary, effect: f64) -> Option<u32> {
    let last = boundary.looks().last()?;
    units_for_half_width(half_width, now, boundary, effect.abs() / (1.0 + Z_POWER / last.z))
}

/// Whether the goal can still be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Units needed in all for either verdict, if the estimate stays where it is; `None` if no number would do.
    pub units_needed: Option<u32>,
    /// More than one and a half times the horizon would be needed: say so and offer to stop.
    pub futile: bool,
}

/// What the present interval says about reaching the rule's goal by the horizon.
///
/// The half-width that would settle it with the estimate where it is: `|est|` for *different* (and, for the
/// size of the effect, `max(delta, 0.15|est|)`), or `delta − |est|` for *same*, whichever comes sooner.
pub fn outlook(interval: &Interval, rule: &Rule, now: &Look, boundary: &Boundary) -> Outlook {
    let effect = interval.estimate.abs();
    let different = effect.min(rule.wanted_half_width(interval.estimate));
    let same = rule.log_difference() - effect;
    let units_needed = units_for_half_width(interval.half_width(), now, boundary, different.max(same));
    let reach = FUTILE * f64::from(boundary.horizon());
    Outlook { units_needed, futile: units_needed.is_none_or(|units| f64::from(units) > reach) }
}

/// Rounds to plan for before anything has been measured: the rule of thumb `1.5·((z + 1.28)·cv/effect)²` for
/// white noise of coefficient of variation `cv` per trial and a log `effect`, with two copies of the baseline.
pub fn rule_of_thumb(cv: f64, effect: f64, z: f64) -> f64 {
    1.5 * ((z + Z_POWER) * cv / effect).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Goal;

    #[test]
    fn needed_and_detectable_are_inverse() {
        let boundary = Boundary::new(8, 109, 0.05);
        let now = boundary.at(22).unwrap();
        let smallest = detectable(0.06, now, &boundary).unwrap();
        assert_eq!(units_needed(0.06, now, &boundary, smallest), Some(109));
        assert_eq!(units_for_half_width(0.06, boundary.at(109).unwrap(), &boundary, 0.06), Some(109));
        let four_times = units_needed(0.06, now, &boundary, smallest / 2.0).unwrap();
        assert!((435..=437).contains(&four_times), "{four_times}");
    }

    #[test]
    fn impossible_wishes_have_no_number() {
        let boundary = Boundary::new(8, 109, 0.05);
        let now = boundary.at(22).unwrap();
        assert_eq!(units_needed(0.06, now, &boundary, 0.0), None);
        assert_eq!(units_for_half_width(0.06, now, &boundary, f64::NAN), None);
        assert_eq!(units_for_half_width(0.06, now, &boundary, 1e-9), None);
        assert_eq!(units_for_half_width(0.0, now, &boundary, 0.01), Some(1));
    }

    #[test]
    fn outlook_takes_the_nearer_verdict() {
        let boundary = Boundary::new(8, 109, 0.05);
        let now = boundary.at(22).unwrap();
        let rule = Rule::default();
        let close = outlook(&Interval::symmetric(0.0005, 0.03), &rule, now, &boundary);
        assert!(!close.futile && close.units_needed.is_some(), "{close:?}");
        let hopeless = outlook(&Interval::symmetric(0.01, 0.30), &rule, now, &boundary);
        assert!(hopeless.futile, "{hopeless:?}");
        let sign = Rule { goal: Goal::Sign, ..rule };
        let size = outlook(&Interval::symmetric(0.2, 0.25), &rule, now, &boundary).units_needed.unwrap();
        assert!(outlook(&Interval::symmetric(0.2, 0.25), &sign, now, &boundary).units_needed.unwrap() < size);
    }

    #[test]
    fn thumb_agrees_with_the_simulated_table() {
        // White noise of 5 %: +5 % is signed at 22 (median) to 35 (90 %) rounds, +10 % at 10 to 17.
        assert!((22.0..45.0).contains(&rule_of_thumb(0.05, 1.05_f64.ln(), 2.6)));
        assert!((5.0..17.0).contains(&rule_of_thumb(0.05, 1.10_f64.ln(), 2.6)));
    }
}
