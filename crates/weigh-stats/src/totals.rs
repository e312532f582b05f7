//! The second estimator, for costs per operation: bytes, CPU time, faults, switches, errors.
//!
//! - [`Totals`]: numerators and denominators of variant and baseline, by round.
//! - [`ratio_of_totals`], [`difference_of_totals`]: estimate, interval and test by leaving one unit out.
//! - [`compare`]: what a cost table needs of a counter; [`Lumps`]: whether the counter came in too few lumps.
//!
//! A cost may come in rare lumps (a checkpoint every minute), and it is the lumps that are paid for: the
//! typical ratio of [`crate::huber`] would not see them. Never used where a zero total would need a
//! logarithm: then it is the difference that is reported.

use std::collections::BTreeMap;

use crate::Interval;
use crate::dispersion::{self, count};
use crate::distributions::{t_critical, t_p_value};

/// Lumpy trials below which a verdict on totals is withheld: with about ten the interval covers the
/// truth in 86 % instead of 95 %.
pub const ENOUGH_LUMPS: usize = 20;

/// Sums of a counter and of operations, by round, for one variant and the baseline (its copies pooled).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    cluster: u32,
    sums: Sums,
}

/// Numerator and denominator of both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    baseline: (f64, f64),
    variant: (f64, f64),
}

impl Sums {
    fn plus(self, other: Sums) -> Sums {
        let add = |a: (f64, f64), b: (f64, f64)| (a.0 + b.0, a.1 + b.1);
        Sums { baseline: add(self.baseline, other.baseline), variant: add(self.variant, other.variant) }
    }

    fn minus(self, other: Sums) -> Sums {
        let negative = |a: (f64, f64)| (-a.0, -a.1);
        self.plus(Sums { baseline: negative(other.baseline), variant: negative(other.variant) })
    }

    fn log_ratio(self) -> Option<f64> {
        let positive = |side: (f64, f64)| side.0 > 0.0 && side.1 > 0.0;
        (positive(self.baseline) && positive(self.variant))
            .then(|| (self.variant.0 / self.variant.1).ln() - (self.baseline.0 / self.baseline.1).ln())
    }

    fn difference(self) -> Option<f64> {
        (self.baseline.1 > 0.0 && self.variant.1 > 0.0)
            .then(|| self.variant.0 / self.variant.1 - self.baseline.0 / self.baseline.1)
    }
}

impl Totals {
    /// No rounds yet.
    pub fn new() -> Totals {
        Totals::default()
    }

    /// Adds a round in which both took part: its unit of replication, then (numerator, denominator) of
    /// the baseline, its copies added up, and of the variant.
    ///
    /// Left out whole when a figure is not finite or a denominator negative: returns whether it was taken.
    pub fn push_round(&mut self, cluster: u32, baseline: (f64, f64), variant: (f64, f64)) -> bool {
        let figures = [baseline.0, baseline.1, variant.0, variant.1];
        if figures.iter().any(|figure| !figure.is_finite()) || baseline.1 < 0.0 || variant.1 < 0.0 {
            return false;
        }
        self.rows.push(Row { cluster, sums: Sums { baseline, variant } });
        true
    }

    /// Rounds taken.
    pub fn rounds(&self) -> usize {
        self.rows.len()
    }

    /// Units of replication they belong to.
    pub fn clusters(&self) -> usize {
        self.by_cluster().len()
    }

    /// Total cost per operation of the baseline; `None` without operations.
    pub fn baseline_per_op(&self) -> Option<f64> {
        per_op(self.total().baseline)
    }

    /// Total cost per operation of the variant; `None` without operations.
    pub fn variant_per_op(&self) -> Option<f64> {
        per_op(self.total().variant)
    }

    fn total(&self) -> Sums {
        self.rows.iter().fold(Sums::default(), |sum, row| sum.plus(row.sums))
    }

    fn by_cluster(&self) -> Vec<Sums> {
        let mut clusters: BTreeMap<u32, Sums> = BTreeMap::new();
        for row in &self.rows {
            let sum = clusters.entry(row.cluster).or_default();
            *sum = sum.plus(row.sums);
        }
        clusters.into_values().collect()
    }
}

fn per_op((above, below): (f64, f64)) -> Option<f64> {
    (below > 0.0).then(|| above / below)
}

/// An estimate with the interval and the test of "no difference".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TotalsEstimate {
    /// Estimate and interval: log ratio, or difference per operation.
    pub interval: Interval,
    /// Jackknife standard error.
    pub standard_error: f64,
    /// Estimate over standard error; infinite when leaving out any one unit changes nothing.
    pub t: f64,
    /// Units of replication − 1.
    pub degrees_of_freedom: f64,
    /// Two-sided p-value of "no difference".
    pub p_value: f64,
}

/// Log of the ratio of total cost per operation, variant / baseline, with an interval at two-sided level `p`.
///
/// `θ = ln[(Σn_B/Σd_B)/(Σn_A/Σd_A)]`; with `θ_(−c)` the same without unit c,
/// `se² = (m − 1)/m · Σ(θ_(−c) − mean)²`; interval `θ ± t_{m−1}·se`.
/// `None` below two units, and when a total is zero with or without one of the units.
///
/// Source: Efron & Tibshirani, *An Introduction to the Bootstrap* (1993), chapter 11.
pub fn ratio_of_totals(totals: &Totals, p: f64) -> Option<TotalsEstimate> {
    // Below 1e-12 a log ratio is rounding: a counter that is the same for every operation.
    jackknife(&totals.by_cluster(), p, 1e-12, Sums::log_ratio)
}

/// Difference of total cost per operation, variant − baseline, by the same jackknife: for a count that is
/// zero for one of them.
pub fn difference_of_totals(totals: &Totals, p: f64) -> Option<TotalsEstimate> {
    let scale = totals.baseline_per_op()?.abs().max(totals.variant_per_op()?.abs());
    jackknife(&totals.by_cluster(), p, 1e-12 * scale, Sums::difference)
}

fn jackknife(
    units: &[Sums],
    p: f64,
    resolution: f64,
    statistic: impl Fn(Sums) -> Option<f64>,
) -> Option<TotalsEstimate> {
    if units.len() < 2 || !(p > 0.0 && p < 1.0) {
        return None;
    }
    let m = count(units.len());
    let total = units.iter().fold(Sums::default(), |sum, unit| sum.plus(*unit));
    let estimate = statistic(total)?;
    let without: Vec<f64> = units.iter().map(|unit| statistic(total.minus(*unit))).collect::<Option<_>>()?;
    let mean = dispersion::mean(&without);
    let squares: f64 = without.iter().map(|value| (value - mean).powi(2)).sum();
    let standard_error = ((m - 1.0) / m * squares).sqrt();
    let degrees_of_freedom = m - 1.0;
    let t = if estimate.abs() <= resolution {
        0.0
    } else if standard_error <= resolution {
        f64::INFINITY.copysign(estimate)
    } else {
        estimate / standard_error
    };
    let half = t_critical(p / 2.0, degrees_of_freedom) * standard_error;
    Some(TotalsEstimate {
        interval: Interval::symmetric(estimate, half),
        standard_error,
        t,
        degrees_of_freedom,
        p_value: t_p_value(t, degrees_of_freedom),
    })
}

/// A counter of a variant beside the baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Total cost per operation of the baseline.
    pub baseline_per_op: f64,
    /// Total cost per operation of the variant.
    pub variant_per_op: f64,
    /// Log ratio; `None` when a total is zero, with or without one of the units.
    pub ratio: Option<Interval>,
    /// Difference per operation.
    pub difference: Interval,
    /// Of "no difference": of the ratio where there is one, else of the difference.
    pub p_value: f64,
    /// Whether the counter came in lumps.
    pub lumps: Lumps,
}

impl Comparison {
    /// Whether a verdict is withheld because the counter came in too few lumps.
    pub fn too_few_lumps(&self) -> bool {
        self.ratio.is_some_and(|ratio| self.lumps.too_few(ratio.estimate))
    }
}

/// Everything a cost table says about one counter, intervals at two-sided level `p`.
///
/// `None` below two units or when one side has no operations.
pub fn compare(totals: &Totals, p: f64) -> Option<Comparison> {
    let difference = difference_of_totals(totals, p)?;
    let ratio = ratio_of_totals(totals, p);
    Some(Comparison {
        baseline_per_op: totals.baseline_per_op()?,
        variant_per_op: totals.variant_per_op()?,
        ratio: ratio.map(|ratio| ratio.interval),
        difference: difference.interval,
        p_value: ratio.map_or(difference.p_value, |ratio| ratio.p_value),
        lumps: lumpy_units(totals),
    })
}

/// How much of a counter came in rare large amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lumps {
    /// Lumpy rounds, both sides together.
    pub units: usize,
    /// Share of the counter's total that the lumps added on top of the usual amount, 0 to 1; the larger of
    /// the two sides.
    pub share: f64,
}

impl Lumps {
    /// Whether there are some lumps, fewer than [`ENOUGH_LUMPS`], and they weigh enough to make up half of
    /// the log ratio `effect` on their own: then a few more on the other side would have turned the verdict.
    pub fn too_few(&self, effect: f64) -> bool {
        (1..ENOUGH_LUMPS).contains(&self.units) && -(-self.share).ln_1p() >= 0.5 * effect.abs()
    }
}

/// Counts the rounds in which a side's cost per operation lies above its own median by more than the median
/// itself and by more than five robust standard deviations (1.4826 · MAD).
pub fn lumpy_units(totals: &Totals) -> Lumps {
    let side = |pick: fn(&Sums) -> (f64, f64)| lumps_of(totals.rows.iter().map(|row| pick(&row.sums)));
    let (baseline, variant) = (side(|sums| sums.baseline), side(|sums| sums.variant));
    Lumps { units: baseline.units + variant.units, share: baseline.share.max(variant.share) }
}

fn lumps_of(side: impl Iterator<Item = (f64, f64)>) -> Lumps {
    let pairs: Vec<(f64, f64)> = side.filter(|pair| pair.1 > 0.0).collect();
    let costs: Vec<f64> = pairs.iter().map(|(above, below)| above / below).collect();
    if costs.is_empty() {
        return Lumps::default();
    }
    let (median, spread) = dispersion::median_and_mad(&costs, &mut Vec::new());
    let limit = median + median.max(5.0 * spread);
    let total: f64 = pairs.iter().map(|pair| pair.0).sum();
    let lumpy = |cost: f64| cost > limit;
    let excess: f64 = pairs.iter().filter(|(a, b)| lumpy(a / b)).map(|(a, b)| a - median * b).sum();
    Lumps {
        units: costs.iter().filter(|cost| lumpy(**cost)).count(),
        share: if total > 0.0 { (excess / total).clamp(0.0, 1.0) } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[(f64, f64, f64, f64)]) -> Totals {
        let mut totals = Totals::new();
        for (round, (na, da, nb, db)) in (0u32..).zip(rows) {
            assert!(totals.push_round(round, (*na, *da), (*nb, *db)));
        }
        totals
    }

    #[test]
    fn a_constant_counter_is_exactly_the_same_or_exactly_different() {
        let same = of(&[(3.0, 7.0, 3.0, 7.0), (6.0, 14.0, 9.0, 21.0), (0.3, 0.7, 0.6, 1.4)]);
        assert_eq!(ratio_of_totals(&same, 0.05).unwrap().p_value, 1.0);
        let half = of(&[(3.0, 7.0, 1.5, 7.0), (6.0, 14.0, 4.5, 21.0), (0.3, 0.7, 0.3, 1.4)]);
        let found = ratio_of_totals(&half, 0.05).unwrap();
        assert_eq!((found.t, found.p_value), (f64::NEG_INFINITY, 0.0));
        assert!((found.interval.estimate - 0.5_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn zero_on_one_side_gives_a_difference_and_no_ratio() {
        let rows: Vec<_> = (0..10).map(|round| (100.0 + f64::from(round), 100.0, 0.0, 120.0)).collect();
        let found = compare(&of(&rows), 0.05).unwrap();
        assert_eq!(found.ratio, None);
        assert!(found.difference.high < -1.0 && found.p_value < 1e-9, "{found:?}");
        // A count that one single unit saw: without that unit the total is zero, so no ratio either.
        let mut rare = rows.clone();
        rare[3].2 = 5.0;
        assert_eq!(compare(&of(&rare), 0.05).unwrap().ratio, None);
    }

    #[test]
    fn rounds_of_one_cluster_are_left_out_together() {
        let mut clustered = Totals::new();
        let mut merged = Totals::new();
        for cluster in 0..5u32 {
            let cost = 10.0 + f64::from(cluster * cluster);
            clustered.push_round(cluster, (cost, 10.0), (12.0, 10.0));
            clustered.push_round(cluster, (cost + 1.0, 11.0), (11.0, 9.0));
            merged.push_round(cluster, (2.0 * cost + 1.0, 21.0), (23.0, 19.0));
        }
        assert_eq!((clustered.rounds(), clustered.clusters()), (10, 5));
        assert_eq!(ratio_of_totals(&clustered, 0.05), ratio_of_totals(&merged, 0.05));
    }

    #[test]
    fn rounds_that_are_not_numbers_are_left_out() {
        let mut totals = Totals::new();
        assert!(!totals.push_round(0, (f64::NAN, 1.0), (1.0, 1.0)));
        assert!(!totals.push_round(0, (1.0, -1.0), (1.0, 1.0)));
        assert_eq!(compare(&totals, 0.05), None);
    }

    #[test]
    fn lumps_are_counted_and_weighed() {
        let smooth: Vec<_> = (0..40).map(|round| (10.0 + f64::from(round % 5), 1.0, 11.0, 1.0)).collect();
        assert_eq!(lumpy_units(&of(&smooth)).units, 0);
        let mut lumpy = smooth.clone();
        for round in [3, 17, 31] {
            lumpy[round].0 = 100.0;
        }
        let lumps = lumpy_units(&of(&lumpy));
        assert_eq!(lumps.units, 3);
        assert!((0.3..0.4).contains(&lumps.share), "{lumps:?}");
        assert!(lumps.too_few(0.3) && !lumps.too_few(2.3), "a tenfold effect does not hang on three lumps");
        assert!(!Lumps { units: 20, share: 0.4 }.too_few(0.1));
        assert!(!Lumps::default().too_few(0.0));
    }
}
