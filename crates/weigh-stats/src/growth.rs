//! Sweeps: how a metric grows along an ordered numeric factor, and where the growth bends.
//!
//! - [`Sweep`]: the data: by round, one log value per level.
//! - [`fit`]: the exponent b of a power law `y = c·x^b` with its interval, how far the levels are from that law,
//!   and the [`Knee`] where the exponent changes, if one is certain.
//!
//! One straight line is fitted *per round* (least squares of ln y on ln x), so that what the machine did to a round as a whole
//! does not reach the exponent, and the rounds' slopes go through the same estimator as every other figure
//! ([`crate::huber::clustered_huber`]): a burst costs one round's worth of information, and levels that were measured
//! minutes apart are never compared. Fitting all points of all rounds at once would count every trial as evidence of its own.
//!
//! Nothing here extrapolates: an exponent is a statement about the levels that were measured.

use crate::Interval;
use crate::dispersion::{self, count};
use crate::huber::{self, LogRatios};

/// Levels below which there is no exponent.
pub const MIN_LEVELS: usize = 3;
/// Levels below which no knee is looked for: three points fit a bend exactly.
pub const MIN_LEVELS_FOR_KNEE: usize = 4;
/// A change of the exponent smaller than this is no knee, however certain: doubling the level then changes the growth
/// per doubling by less than 7 %.
pub const MIN_BEND: f64 = 0.1;

/// Log values by round, at levels that stay the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// ln of the levels, strictly ascending.
    log_levels: Vec<f64>,
    /// (unit of replication, one log value per level).
    rounds: Vec<(u32, Vec<f64>)>,
}

impl Sweep {
    /// No rounds yet. `None` unless the levels are at least [`MIN_LEVELS`], above zero and strictly ascending.
    pub fn new(levels: &[f64]) -> Option<Sweep> {
        let log_levels: Vec<f64> = levels.iter().map(|level| level.ln()).collect();
        let ascending = log_levels.windows(2).all(|pair| pair[0] < pair[1]);
        let usable =
            levels.len() >= MIN_LEVELS && ascending && log_levels.iter().all(|level| level.is_finite());
        usable.then(|| Sweep { log_levels, rounds: Vec::new() })
    }

    /// Adds a round: its unit of replication and ln y of every level, in order. A round with a level missing or a value that
    /// is not finite is left out whole, because a line through fewer levels answers another question; returns
    /// whether it was taken.
    pub fn push_round(&mut self, cluster: u32, log_values: &[f64]) -> bool {
        let complete =
            log_values.len() == self.log_levels.len() && log_values.iter().all(|value| value.is_finite());
        if complete {
            self.rounds.push((cluster, log_values.to_vec()));
        }
        complete
    }

    /// Rounds taken.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The interval of Σ weight·ln y over rounds: any linear contrast of the levels.
    fn contrast(&self, weights: &[f64], nominal_p: f64) -> Option<Interval> {
        let mut values = LogRatios::new();
        for (cluster, round) in &self.rounds {
            values.push_round(*cluster, &[dot(weights, round)]);
        }
        huber::clustered_huber(&values, nominal_p)
    }

    /// Median over rounds of ln y, by level.
    fn medians(&self) -> Vec<f64> {
        (0..self.log_levels.len())
            .map(|level| {
                let mut values: Vec<f64> = self.rounds.iter().map(|(_, round)| round[level]).collect();
                dispersion::median_in_place(&mut values)
            })
            .collect()
    }
}

/// What a sweep grows like.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// b of `y = c·x^b`: 1 grows in proportion, 0 does not change, -1 halves when the level doubles.
    pub exponent: Interval,
    /// ln c.
    pub log_scale: f64,
    /// Largest factor between a level's median and the law, less 1: 0.08 = every level is within 8 % of it.
    pub worst: f64,
    /// Where the growth changes, if it certainly does.
    pub knee: Option<Knee>,
    /// Rounds it rests on.
    pub rounds: usize,
}

/// Where the exponent changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Index of the level.
    pub level: usize,
    /// Exponent up to it.
    pub before: Interval,
    /// Exponent from it on.
    pub after: Interval,
    /// ln y of the two lines at the level.
    pub log_value: f64,
    /// Largest factor between a level's median and the two lines, less 1.
    pub worst: f64,
}

/// Fits a sweep: intervals at `nominal_p`; a knee must change the curve by more than the relative `difference` that matters.
///
/// Exponent: slope of ln y on ln x by least squares, one per round, located by the clustered Huber score. `None` where that gives no
/// interval (fewer than two units).
///
/// Knee: two lines that meet at an inner level, the one with the smallest sum of squares over the levels' medians
/// (D. J. Hudson, *Fitting segmented curves whose join points have to be estimated*, J. Am. Stat. Assoc. 61, 1966). It is
/// reported only if (1) the change of the exponent, again one per round, has an interval without 0 at
/// `nominal_p` shared among all the inner levels it was chosen from (Bonferroni), (2) the change is at least [`MIN_BEND`], and (3) at some
/// level the two lines differ from the single one by more than `difference`. A penalty on residuals (BIC)
/// would know nothing of how certain the levels are: five points are too few to tell noise from bend, forty rounds are not.
pub fn fit(sweep: &Sweep, nominal_p: f64, difference: f64) -> Option<Fit> {
    let x = &sweep.log_levels;
    let line = Design::line(x);
    let exponent = sweep.contrast(&line.rows[1], nominal_p)?;
    let medians = sweep.medians();
    let log_scale = dispersion::mean(&medians) - exponent.estimate * dispersion::mean(x);
    let single: Vec<f64> = x.iter().map(|x| log_scale + exponent.estimate * x).collect();
    let knee = knee(sweep, &medians, &single, nominal_p, difference);
    let worst = largest_gap(&medians, &single).exp_m1();
    Some(Fit { exponent, log_scale, worst, knee, rounds: sweep.rounds() })
}

/// How much more the one grows than the other: the difference of their exponents, one per round, so that two curves that were measured
/// in the same rounds are compared within them. `None` unless both hold the same rounds in the same order, or below two units.
pub fn difference(of: &Sweep, than: &Sweep, nominal_p: f64) -> Option<Interval> {
    let clusters = |sweep: &Sweep| sweep.rounds.iter().map(|(cluster, _)| *cluster).collect::<Vec<_>>();
    if clusters(of) != clusters(than) {
        return None;
    }
    let slopes = |sweep: &Sweep| {
        let line = Design::line(&sweep.log_levels);
        sweep.rounds.iter().map(|(_, round)| dot(&line.rows[1], round)).collect::<Vec<_>>()
    };
    let mut values = LogRatios::new();
    for ((cluster, of), than) in clusters(of).into_iter().zip(slopes(of)).zip(slopes(than)) {
        values.push_round(cluster, &[of - than]);
    }
    huber::clustered_huber(&values, nominal_p)
}

fn knee(sweep: &Sweep, medians: &[f64], single: &[f64], nominal_p: f64, difference: f64) -> Option<Knee> {
    let x = &sweep.log_levels;
    if x.len() < MIN_LEVELS_FOR_KNEE {
        return None;
    }
    let inner = 1..x.len() - 1;
    let shared = nominal_p / count(inner.len());
    let squares = |design: &Design| {
        let fitted = design.fitted(x, medians);
        medians.iter().zip(&fitted).map(|(seen, fitted)| (seen - fitted).powi(2)).sum::<f64>()
    };
    let (level, design, _) = inner
        .map(|level| {
            let design = Design::hinge(x, x[level]);
            let squares = squares(&design);
            (level, design, squares)
        })
        .min_by(|a, b| a.2.total_cmp(&b.2))?;
    let bend = sweep.contrast(&design.rows[2], shared)?;
    let two = design.fitted(x, medians);
    let certain = !bend.contains(0.0) && bend.estimate.abs() >= MIN_BEND;
    if !certain || largest_gap(single, &two) <= difference.ln_1p() {
        return None;
    }
    let after: Vec<f64> =
        design.rows[1].iter().zip(&design.rows[2]).map(|(slope, bend)| slope + bend).collect();
    Some(Knee {
        level,
        before: sweep.contrast(&design.rows[1], nominal_p)?,
        after: sweep.contrast(&after, nominal_p)?,
        log_value: two[level],
        worst: largest_gap(medians, &two).exp_m1(),
    })
}

fn largest_gap(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Least squares on fixed x: coefficient k is the dot product of row k with the y values.
struct Design {
    /// The hinge, if there is one.
    at: Option<f64>,
    rows: Vec<Vec<f64>>,
}

impl Design {
    /// Intercept and slope.
    fn line(x: &[f64]) -> Design {
        Design { at: None, rows: solve(&[vec![1.0; x.len()], x.to_vec()]) }
    }

    /// Intercept, slope, and the change of slope from `at` on.
    fn hinge(x: &[f64], at: f64) -> Design {
        let bent = x.iter().map(|x| (x - at).max(0.0)).collect();
        Design { at: Some(at), rows: solve(&[vec![1.0; x.len()], x.to_vec(), bent]) }
    }

    fn fitted(&self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let of: Vec<f64> = self.rows.iter().map(|row| dot(row, y)).collect();
        let bend = |x: f64| self.at.map_or(0.0, |at| (x - at).max(0.0));
        x.iter().map(|x| of[0] + of[1] * x + of.get(2).map_or(0.0, |change| change * bend(*x))).collect()
    }
}

/// Rows of (XᵀX)⁻¹Xᵀ for a design of two or three columns, by Gauss-Jordan with pivoting; what cannot be told apart
/// becomes NaN, which no interval accepts.
fn solve(columns: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let size = columns.len();
    // [XᵀX | Xᵀ]
    let mut system: Vec<Vec<f64>> = (0..size)
        .map(|row| {
            let products = (0..size).map(|column| dot(&columns[row], &columns[column]));
            products.chain(columns[row].iter().copied()).collect()
        })
        .collect();
    for pivot in 0..size {
        let best = (pivot..size).max_by(|a, b| system[*a][pivot].abs().total_cmp(&system[*b][pivot].abs()));
        system.swap(pivot, best.unwrap_or(pivot));
        let by = system[pivot][pivot];
        let scaled: Vec<f64> = system[pivot].iter().map(|value| value / by).collect();
        for (row, line) in system.iter_mut().enumerate() {
            let times = line[pivot];
            if row != pivot {
                line.iter_mut().zip(&scaled).for_each(|(value, scaled)| *value -= times * scaled);
            }
        }
        system[pivot] = scaled;
    }
    system.into_iter().map(|row| row[size..].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(levels: &[f64], law: impl Fn(f64) -> f64) -> Sweep {
        let mut sweep = Sweep::new(levels).unwrap();
        for round in 0..12_u32 {
            // A machine that gets slower and slower, and two directions of noise that cancel.
            let level = 0.05 * f64::from(round);
            let tilt = if round % 2 == 0 { 0.01 } else { -0.01 };
            let values: Vec<f64> = levels.iter().map(|x| law(*x).ln() + level + tilt * x.ln()).collect();
            assert!(sweep.push_round(round, &values));
        }
        sweep
    }

    const DOUBLINGS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    #[test]
    fn a_power_law_is_found_whatever_the_machine_drifts() {
        let found = fit(&sweep(&DOUBLINGS, |x| 3.0 * x.powf(0.7)), 0.05, 0.02).unwrap();
        assert!((found.exponent.estimate - 0.7).abs() < 1e-9, "{found:?}");
        assert!(found.exponent.contains(0.7) && found.exponent.half_width() < 0.02, "{found:?}");
        assert!(found.worst < 0.05 && found.knee.is_none() && found.rounds == 12, "{found:?}");
    }

    #[test]
    fn a_bend_is_found_at_its_level() {
        let found = fit(&sweep(&DOUBLINGS, |x| x.min(8.0)), 0.05, 0.02).unwrap();
        let knee = found.knee.unwrap();
        assert_eq!(knee.level, 3);
        assert!((knee.before.estimate - 1.0).abs() < 1e-9 && knee.after.estimate.abs() < 1e-9, "{knee:?}");
        assert!((knee.log_value - 8.0_f64.ln()).abs() < 0.6 && knee.worst < 0.05, "{knee:?}");
    }

    #[test]
    fn two_laws_are_compared_round_by_round() {
        let (flat, steep) = (sweep(&DOUBLINGS, |_| 4.0), sweep(&[1.0, 10.0, 100.0], |x| 2.0 * x));
        let found = difference(&steep, &flat, 0.05).unwrap();
        // The tilt of a round is the same in both and cancels.
        assert!((found.estimate - 1.0).abs() < 1e-9 && found.half_width() < 1e-9, "{found:?}");
        let mut fewer = Sweep::new(&DOUBLINGS).unwrap();
        fewer.push_round(0, &[0.0; 7]);
        assert_eq!(difference(&steep, &fewer, 0.05), None);
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        assert_eq!(Sweep::new(&[1.0, 2.0]), None);
        assert_eq!(Sweep::new(&[0.0, 1.0, 2.0]), None);
        assert_eq!(Sweep::new(&[1.0, 4.0, 2.0]), None);
        assert_eq!(Sweep::new(&[1.0, 2.0, f64::NAN]), None);
        let mut sweep = Sweep::new(&[1.0, 2.0, 3.0]).unwrap();
        assert!(!sweep.push_round(0, &[0.1, 0.2]) && !sweep.push_round(0, &[0.1, 0.2, f64::INFINITY]));
        assert_eq!(fit(&sweep, 0.05, 0.02), None);
        sweep.push_round(0, &[0.1, 0.2, 0.3]);
        assert_eq!(fit(&sweep, 0.05, 0.02), None, "one round has no interval");
    }

    #[test]
    fn least_squares_of_a_known_table() {
        // x 1, 2, 3, y 1, 2, 4: slope 1.5, intercept -2/3.
        let design = Design::line(&[1.0, 2.0, 3.0]);
        let y = [1.0, 2.0, 4.0];
        assert!((dot(&design.rows[0], &y) + 2.0 / 3.0).abs() < 1e-12);
        assert!((dot(&design.rows[1], &y) - 1.5).abs() < 1e-12);
        let hinge = Design::hinge(&[0.0, 1.0, 2.0, 3.0], 1.0);
        let bent = [0.0, 2.0, 1.0, 0.0];
        assert!((dot(&hinge.rows[2], &bent) + 3.0).abs() < 1e-9, "from 2 up to 1 down");
    }
}
