//! When to look, and how wide an interval has to be at each look so that all of them together hold.
//!
//! - [`Boundary`]: the looks of an experiment whose budget is known, with their nominal levels.
//! - [`Look`]: one of them.
//!
//! Looking after every round and stopping at the first "significant" result finds a difference in one
//! A/A experiment out of four. Here the permitted error is *spent* over the looks (Lan & DeMets), in
//! proportion to the units seen, so that the intervals at all looks cover the truth together.
//! The horizon must be fixed from timings, never from results.

use crate::dispersion::count;
use crate::distributions::{normal_critical, normal_density, normal_tail};

/// Share of alpha that is spent up to the horizon. The rest absorbs the error of the t approximation
/// with few units, or is the reserve for [`Boundary::continue_to`].
pub const SPENT_SHARE: f64 = 0.8;
/// Fewest units a verdict is ever based on.
pub const MIN_UNITS: u32 = 3;
/// First look when the unit is the round.
pub const FIRST_LOOK_ROUNDS: u32 = 8;
/// First look when the unit is the epoch.
pub const FIRST_LOOK_EPOCHS: u32 = 5;

/// A look this close below the horizon (as a factor) is dropped.
const NEAR_HORIZON: f64 = 1.08;
/// Points of the density grid; odd, for Simpson's rule.
const GRID: usize = 801;

/// One look at the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Units of replication (rounds or epochs) it is taken at.
    pub units: u32,
    /// Error spent up to and including this look, two-sided.
    pub cumulative: f64,
    /// Critical value of a standard normal statistic.
    pub z: f64,
    /// Two-sided nominal level of the interval at this look, `2(1 − Φ(z))`.
    pub nominal_p: f64,
}

/// The looks of one comparison up to its horizon.
///
/// Looks at `n₁`, then `⌈1.25 n⌉`, the last at the horizon N (one closer than 8 % to it is dropped).
/// Error spent after the look at n: `A(n) = 0.8 · alpha · n / N`. The critical values solve
/// `P(|S_j| < z_j √n_j for all j < k, |S_k| ≥ z_k √n_k) = A(n_k) − A(n_{k−1})` for Brownian motion S, by
/// the recursion of Armitage, McPherson & Rowe (J. R. Stat. Soc. A 132, 1969) with the spending of
/// Lan & DeMets (Biometrika 70, 1983).
#[derive(Clone, Debug, PartialEq)]
pub struct Boundary {
    alpha: f64,
    looks: Vec<Look>,
}

impl Boundary {
    /// The looks from `first_look` to `horizon` units at level `alpha`, which is already divided by
    /// the number of comparisons; the share 0.8 is applied here.
    ///
    /// A horizon below (or hardly above) the first look gives one single look, at the horizon but no
    /// earlier than three units. `alpha` is held within 1e-9 and 0.5.
    pub fn new(first_look: u32, horizon: u32, alpha: f64) -> Boundary {
        let alpha = held(alpha);
        let horizon = horizon.max(MIN_UNITS);
        let planned: Vec<(u32, f64)> = look_units(first_look.max(MIN_UNITS), horizon)
            .into_iter()
            .map(|units| (units, SPENT_SHARE * alpha * f64::from(units) / f64::from(horizon)))
            .collect();
        Boundary { alpha, looks: solve(&planned) }
    }

    /// The looks, in order. Never empty.
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// Units at the last look.
    pub fn horizon(&self) -> u32 {
        self.looks.last().map_or(MIN_UNITS, |look| look.units)
    }

    /// Level of the comparison, before the share is taken off.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The look at exactly that many units.
    pub fn at(&self, units: u32) -> Option<&Look> {
        self.looks.iter().find(|look| look.units == units)
    }

    /// The last look at or before that many units.
    pub fn latest(&self, units: u32) -> Option<&Look> {
        self.looks.iter().rev().find(|look| look.units <= units)
    }

    /// The look that closes an experiment which ended at `units`, before its horizon, for a reason that
    /// has nothing to do with its results: it may spend all that is left.
    ///
    /// It replaces a planned look at the same number of units. `None` below two units (no interval
    /// exists) and at the horizon or beyond (nothing is left to spend).
    pub fn end_early(&self, units: u32) -> Option<Look> {
        let last = self.looks.last()?;
        if units < 2 || units >= last.units {
            return None;
        }
        let mut planned: Vec<(u32, f64)> = self
            .looks
            .iter()
            .filter(|look| look.units < units)
            .map(|look| (look.units, look.cumulative))
            .collect();
        planned.push((units, last.cumulative));
        solve(&planned).pop()
    }

    /// The boundary of an experiment that is taken up again past its horizon: the same looks up to
    /// it, then further ones up to `horizon`, which spend the reserved fifth of alpha in proportion.
    ///
    /// The same boundary when there is no reserve left or the new horizon is not beyond the old one.
    pub fn continue_to(&self, horizon: u32) -> Boundary {
        let from = self.horizon();
        let spent = self.looks.last().map_or(0.0, |look| look.cumulative);
        if horizon <= from || spent >= self.alpha * (1.0 - 1e-9) {
            return self.clone();
        }
        let mut planned: Vec<(u32, f64)> =
            self.looks.iter().map(|look| (look.units, look.cumulative)).collect();
        planned.extend(look_units(next_look(from), horizon).into_iter().map(|units| {
            let share = f64::from(units - from) / f64::from(horizon - from);
            (units, spent + (self.alpha - spent) * share)
        }));
        Boundary { alpha: self.alpha, looks: solve(&planned) }
    }
}

fn held(alpha: f64) -> f64 {
    if alpha.is_nan() { 1e-9 } else { alpha.clamp(1e-9, 0.5) }
}

/// Units grow by a quarter from one look to the next: `⌈1.25 n⌉`, in whole numbers.
fn next_look(units: u32) -> u32 {
    units.saturating_add(units.div_ceil(4))
}

fn look_units(first: u32, horizon: u32) -> Vec<u32> {
    let mut units = Vec::new();
    let mut next = first;
    while f64::from(next) <= f64::from(horizon) / NEAR_HORIZON {
        units.push(next);
        next = next_look(next);
    }
    units.push(horizon);
    units
}

/// Critical values for looks at the given units with the given cumulative two-sided error.
fn solve(planned: &[(u32, f64)]) -> Vec<Look> {
    let mut looks: Vec<Look> = Vec::with_capacity(planned.len());
    let mut inside: Option<Inside> = None;
    for &(units, cumulative) in planned {
        let n = f64::from(units);
        let spent = looks.last().map_or(0.0, |look| look.cumulative);
        let newly = (cumulative - spent).max(f64::MIN_POSITIVE);
        let z = match &inside {
            None => normal_critical(newly / 2.0),
            Some(before) => before.critical(n, newly, looks.last().map_or(3.0, |look| look.z)),
        };
        inside = Some(match &inside {
            None => Inside::first(n, z),
            Some(before) => before.next(n, z),
        });
        looks.push(Look { units, cumulative, z, nominal_p: 2.0 * normal_tail(z) });
    }
    looks
}

/// Density of the partial sum of the experiments that have not crossed yet, on a grid over the
/// continuation region. It is even, so only the half at and above zero is stored and computed.
struct Inside {
    /// Units it stands at.
    n: f64,
    /// Distance of two grid points; point i lies at i · step.
    step: f64,
    /// Density times Simpson weight, from zero upwards; the point at zero is halved, being its own mirror.
    weighted: Vec<f64>,
}

impl Inside {
    const HALF: usize = GRID / 2;

    fn first(n: f64, z: f64) -> Inside {
        Inside::from_density(n, z, |x| normal_density(x, n.sqrt()))
    }

    fn from_density(n: f64, z: f64, density: impl Fn(f64) -> f64) -> Inside {
        let step = z * n.sqrt() / count(Inside::HALF);
        let weighted = (0..=Inside::HALF)
            .map(|point| {
                density(count(point) * step) * simpson(point) * step * if point == 0 { 0.5 } else { 1.0 }
            })
            .collect();
        Inside { n, step, weighted }
    }

    /// Mass that lies outside ±`z √n` after the step to `n` units.
    fn crossing(&self, n: f64, z: f64) -> f64 {
        let (limit, sd) = (z * n.sqrt(), (n - self.n).sqrt());
        2.0 * self.sum(|x| normal_tail((limit - x) / sd) + normal_tail((limit + x) / sd))
    }

    /// Its derivative by `z`.
    fn crossing_slope(&self, n: f64, z: f64) -> f64 {
        let (limit, sd) = (z * n.sqrt(), (n - self.n).sqrt());
        -2.0 * n.sqrt() * self.sum(|x| normal_density(limit - x, sd) + normal_density(limit + x, sd))
    }

    /// Integral of an even density times `part`, which stands for a point and its mirror together.
    fn sum(&self, part: impl Fn(f64) -> f64) -> f64 {
        self.weighted.iter().enumerate().map(|(point, weight)| weight * part(count(point) * self.step)).sum()
    }

    /// The z at which exactly `newly` crosses: Newton's method on the logarithm, held in a bracket.
    fn critical(&self, n: f64, newly: f64, start: f64) -> f64 {
        let (mut low, mut high) = (0.0, 12.0);
        let mut z = start;
        for _ in 0..80 {
            let crossed = self.crossing(n, z);
            if crossed > newly {
                low = z
            } else {
                high = z
            }
            let newton = z - crossed * (crossed / newly).ln() / self.crossing_slope(n, z);
            let next = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
            if (next - z).abs() < 1e-12 {
                return next;
            }
            z = next;
        }
        z
    }

    /// The density after the step to `n` units with everything outside ±`z √n` taken away.
    fn next(&self, n: f64, z: f64) -> Inside {
        let sd = (n - self.n).sqrt();
        Inside::from_density(n, z, |y| self.convolved(y, sd))
    }

    /// Density at `y` after adding a normal step.
    ///
    /// Neighbouring grid points differ by a constant, so the normal density is carried from point to
    /// point by two multiplications: φ(u + h) = φ(u)·r, r' = r·q with constant q.
    fn convolved(&self, y: f64, sd: f64) -> f64 {
        let h = self.step / sd;
        let q = (-h * h).exp();
        let mut sum = 0.0;
        for direction in [1.0, -1.0] {
            // Distance from y to the grid point, in standard deviations, starts at -direction·y/sd.
            sum += self.one_side(direction * y / sd, h, q, sd);
        }
        sum
    }

    /// Sum of weight × density of a normal at distance `u − i·h` over the points i ≥ 0.
    fn one_side(&self, u: f64, h: f64, q: f64, sd: f64) -> f64 {
        let last = self.weighted.len() - 1;
        // Start at the point nearest to the peak and go outwards, so that nothing overflows.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "held within the grid")]
        let peak = (u / h).round().clamp(0.0, count(last)) as usize;
        let distance = count(peak) * h - u;
        let at_peak = normal_density(distance, 1.0) / sd;
        let (mut up, mut down) = (at_peak, at_peak);
        let mut up_ratio = (-h * distance - 0.5 * h * h).exp();
        let mut down_ratio = (h * distance - 0.5 * h * h).exp();
        let mut sum = self.weighted[peak] * at_peak;
        for weight in &self.weighted[peak + 1..] {
            up *= up_ratio;
            up_ratio *= q;
            sum += weight * up;
        }
        for weight in self.weighted[..peak].iter().rev() {
            down *= down_ratio;
            down_ratio *= q;
            sum += weight * down;
        }
        sum
    }
}

/// Simpson weight of the i-th point from the middle of the grid (the middle is even, the end weighs 1).
fn simpson(from_middle: usize) -> f64 {
    let from_end = Inside::HALF - from_middle;
    match (from_end, from_end % 2) {
        (0, _) => 1.0 / 3.0,
        (_, 1) => 4.0 / 3.0,
        _ => 2.0 / 3.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn z_of(planned: &[(u32, f64)]) -> Vec<f64> {
        solve(planned).iter().map(|look| look.z).collect()
    }

    fn near(found: &[f64], expected: &[f64], tolerance: f64) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < tolerance, "{found} is not {expected}");
        }
    }

    /// Lan & DeMets' spending functions at five equal looks, alpha 0.05: published constants.
    #[test]
    fn recursion_reproduces_published_boundaries() {
        let times = [0.2, 0.4, 0.6, 0.8, 1.0];
        let pocock: Vec<(u32, f64)> =
            (1..).zip(times).map(|(n, t)| (n, 0.05 * (1.0 + (std::f64::consts::E - 1.0) * t).ln())).collect();
        near(&z_of(&pocock), &[2.4380, 2.4268, 2.4102, 2.3966, 2.3860], 1e-4);
        let obrien: Vec<(u32, f64)> = (1..)
            .zip(times)
            .map(|(n, t): (u32, f64)| (n, 4.0 * normal_tail(normal_critical(0.0125) / t.sqrt())))
            .collect();
        near(&z_of(&obrien), &[4.8769, 3.3570, 2.6803, 2.2898, 2.0310], 1e-4);
    }

    #[test]
    fn looks_grow_by_a_quarter_and_end_at_the_horizon() {
        assert_eq!(look_units(8, 64), [8, 10, 13, 17, 22, 28, 35, 44, 55, 64]);
        assert_eq!(look_units(8, 109), [8, 10, 13, 17, 22, 28, 35, 44, 55, 69, 87, 109]);
        assert_eq!(look_units(5, 20), [5, 7, 9, 12, 15, 20]);
        // 8 is within 8 % of 8; a look at 44 would be within 8 % of 46.
        assert_eq!(look_units(8, 8), [8]);
        assert_eq!(look_units(8, 46), [8, 10, 13, 17, 22, 28, 35, 46]);
    }

    #[test]
    fn short_horizons_give_a_single_look() {
        for (horizon, at) in [(0, 3), (1, 3), (3, 3), (7, 7), (8, 8)] {
            let boundary = Boundary::new(8, horizon, 0.05);
            assert_eq!(boundary.looks().len(), 1, "{horizon}");
            assert_eq!(boundary.horizon(), at);
            assert!((boundary.looks()[0].nominal_p - 0.04).abs() < 1e-9);
        }
    }

    #[test]
    fn looks_are_found_by_their_units() {
        let boundary = Boundary::new(8, 64, 0.05);
        assert_eq!(boundary.at(17).map(|look| look.units), Some(17));
        assert_eq!(boundary.at(18), None);
        assert_eq!(boundary.latest(21).map(|look| look.units), Some(17));
        assert_eq!(boundary.latest(7), None);
        assert_eq!(boundary.latest(1_000).map(|look| look.units), Some(64));
    }

    #[test]
    fn ending_early_spends_the_rest_on_one_look() {
        let boundary = Boundary::new(8, 64, 0.05);
        let closing = boundary.end_early(30).unwrap();
        assert_eq!(closing.units, 30);
        assert!((closing.cumulative - 0.04).abs() < 1e-12);
        assert!(closing.z < boundary.at(28).unwrap().z, "a closing look is easier to cross");
        let replaced = boundary.end_early(28).unwrap();
        assert!(replaced.nominal_p > boundary.at(28).unwrap().nominal_p);
        let before_any_look = boundary.end_early(5).unwrap();
        assert!((before_any_look.nominal_p - 0.04).abs() < 1e-9);
        assert_eq!(boundary.end_early(1), None);
        assert_eq!(boundary.end_early(64), None, "nothing is left at the horizon");
    }

    #[test]
    fn continuing_spends_the_reserve_once() {
        let boundary = Boundary::new(8, 64, 0.05);
        let longer = boundary.continue_to(128);
        assert_eq!(longer.looks()[..10], boundary.looks()[..], "what was seen stays as it was");
        assert_eq!(longer.looks()[10..].iter().map(|look| look.units).collect::<Vec<_>>(), [80, 100, 128]);
        assert!((longer.looks().last().unwrap().cumulative - 0.05).abs() < 1e-12);
        assert_eq!(longer.continue_to(256), longer);
        assert_eq!(boundary.continue_to(64), boundary);
        assert_eq!(boundary.continue_to(65).horizon(), 65);
    }

    #[test]
    fn strict_levels_and_long_horizons_stay_finite_and_ordered() {
        for alpha in [0.05, 0.05 / 63.0, 1e-6] {
            let boundary = Boundary::new(8, 2_000, alpha);
            for look in boundary.looks() {
                assert!(look.z.is_finite() && look.z > 1.5 && look.nominal_p > 0.0, "{look:?}");
                assert!(look.nominal_p <= look.cumulative * (1.0 + 1e-9), "{look:?}");
            }
        }
    }
}
