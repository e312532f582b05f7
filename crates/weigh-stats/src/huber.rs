//! The main estimator: a clustered Huber score on log ratios, its interval by inverting the
//! self-normalised score.
//!
//! - [`LogRatios`]: the data, one or more log ratios per round, rounds grouped in units of replication.
//! - [`clustered_huber`]: estimate and interval.
//!
//! Why this one: the label a trial ran under is exchangeable within its round, because the order is
//! drawn at random; so under "no difference" the score has mean zero whatever the machine does, and
//! nothing about the noise has to be modelled. Clipping keeps a burst from costing more than one
//! round's worth of information. It estimates the *typical* ratio: rare long stalls of one variant
//! show in [`crate::totals`] and in high percentiles, never here.

use crate::Interval;
use crate::dispersion::{self, count};
use crate::distributions::t_critical;

/// Log ratios variant / baseline, by round, rounds grouped in units of replication (clusters).
///
/// With two hidden copies of the baseline a round gives two log ratios, one against each; they share
/// the variant's trial and are therefore summed within their cluster before anything is squared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogRatios {
    values: Vec<f64>,
    /// Index into `cluster_ids`, one per value.
    cluster_of: Vec<u32>,
    cluster_ids: Vec<u32>,
    /// Where each round's values end.
    round_ends: Vec<usize>,
}

impl LogRatios {
    /// No rounds yet.
    pub fn new() -> LogRatios {
        LogRatios::default()
    }

    /// Adds a round: its unit of replication and its log ratios (one per copy of the baseline).
    ///
    /// A round without values, or with one that is not finite, is left out whole: returns whether it
    /// was taken. Rounds of one cluster need not be neighbours.
    pub fn push_round(&mut self, cluster: u32, values: &[f64]) -> bool {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return false;
        }
        let index = self.cluster_index(cluster);
        self.values.extend_from_slice(values);
        self.cluster_of.resize(self.values.len(), index);
        self.round_ends.push(self.values.len());
        true
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are at most as many clusters as u32 ids")]
    fn cluster_index(&mut self, cluster: u32) -> u32 {
        // Searched from the end: rounds come in order, so the cluster is nearly always the last one or new.
        if self.cluster_ids.iter().all(|known| *known < cluster) {
            self.cluster_ids.push(cluster);
        }
        if let Some(index) = self.cluster_ids.iter().rposition(|known| *known == cluster) {
            return index as u32;
        }
        self.cluster_ids.push(cluster);
        self.cluster_ids.len() as u32 - 1
    }

    /// Rounds taken.
    pub fn rounds(&self) -> usize {
        self.round_ends.len()
    }

    /// Units of replication they belong to.
    pub fn clusters(&self) -> usize {
        self.cluster_ids.len()
    }

    /// Whether there is no round yet.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Each round's cluster and log ratios, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[f64])> {
        let mut start = 0;
        self.round_ends.iter().map(move |end| {
            let round = &self.values[start..*end];
            let cluster = self.cluster_ids[self.cluster_of[start] as usize];
            start = *end;
            (cluster, round)
        })
    }

    /// The clusters in order of first appearance, cut in two halves (the middle one of an odd number
    /// belongs to the second).
    pub(crate) fn halves(&self) -> (LogRatios, LogRatios) {
        let first_clusters = &self.cluster_ids[..self.cluster_ids.len() / 2];
        let (mut first, mut second) = (LogRatios::new(), LogRatios::new());
        for (cluster, values) in self.iter() {
            let half = if first_clusters.contains(&cluster) { &mut first } else { &mut second };
            half.push_round(cluster, values);
        }
        (first, second)
    }
}

/// Estimate and interval of the typical log ratio at the two-sided level `nominal_p`.
///
/// With d the log ratios of n rounds in m clusters:
/// `med` = median of all d, `s` = 1.4826 · median |d − med| (their standard deviation if that is 0),
/// clip `c = (1.5 + 12/n) · s`, `psi(x) = max(−1, min(1, x))`,
/// `U_k(θ)` = sum of `psi((d − θ)/c)` over cluster k, `T(θ) = ΣU_k / sqrt(ΣU_k²)`.
/// The estimate is the root of T; the interval is `{θ : |T(θ)| ≤ q·sqrt(m)/sqrt(m − 1 + q²)}` with
/// q the quantile `1 − p/2` of t with m − 1 degrees of freedom.
///
/// All values equal: an interval of zero width ([`Interval::is_exact`]), "identical to resolution".
/// `None` below two clusters, for a level outside (0, 1), and when clusters are so unequal in size that no θ
/// at all could be excluded at this level.
///
/// Source: Huber, *Robust estimation of a location parameter*, Ann. Math. Stat. 35 (1964), for the score;
/// inversion of a self-normalised sum, with Efron's equivalence of T and Student's t under symmetry
/// (*Student's t-test under symmetry conditions*, JASA 64, 1969). The term 12/n is a calibration for few
/// rounds (`docs/methods.md`).
pub fn clustered_huber(ratios: &LogRatios, nominal_p: f64) -> Option<Interval> {
    let clusters = ratios.clusters();
    if clusters < 2 || !(nominal_p > 0.0 && nominal_p < 1.0) {
        return None;
    }
    let (lowest, highest) = range(&ratios.values);
    if lowest == highest {
        return Some(Interval::exact(lowest));
    }
    let mut scratch = Vec::with_capacity(ratios.values.len());
    let (median, mad) = dispersion::median_and_mad(&ratios.values, &mut scratch);
    let spread = if mad > 0.0 { mad } else { dispersion::population_sd(&ratios.values) };
    let clip = (1.5 + 12.0 / count(ratios.rounds())) * spread;
    if clip <= 1e-13 * lowest.abs().max(highest.abs()) {
        // They differ by their own last digits: no spread that could be worked with.
        return Some(Interval::exact(median));
    }
    scratch.clear();
    scratch.resize(clusters, 0.0);
    let mut score = Score { ratios, clip, sums: scratch };

    let m = count(clusters);
    let q = t_critical(nominal_p / 2.0, m - 1.0);
    let critical = q * m.sqrt() / (m - 1.0 + q * q).sqrt();
    let (bottom, top) = (lowest - clip, highest + clip);
    if score.at(bottom) <= critical || score.at(top) >= -critical {
        return None;
    }
    let estimate = score.root(0.0, bottom, top);
    let low = score.root(critical, bottom, estimate);
    let high = score.root(-critical, estimate, top);
    Some(Interval { estimate, low, high })
}

/// The self-normalised score T(θ).
struct Score<'a> {
    ratios: &'a LogRatios,
    clip: f64,
    sums: Vec<f64>,
}

impl Score<'_> {
    fn at(&mut self, theta: f64) -> f64 {
        self.sums.fill(0.0);
        let scale = 1.0 / self.clip;
        for (value, cluster) in self.ratios.values.iter().zip(&self.ratios.cluster_of) {
            self.sums[*cluster as usize] += ((value - theta) * scale).clamp(-1.0, 1.0);
        }
        let (sum, squares) =
            self.sums.iter().fold((0.0, 0.0), |(sum, squares), u| (sum + u, squares + u * u));
        if squares > 0.0 { sum / squares.sqrt() } else { 0.0 }
    }

    /// Bisection for `T = target` in `[low, high]`, T above target at `low`: T need not be monotone, and
    /// bisection always ends at a crossing.
    fn root(&mut self, target: f64, mut low: f64, mut high: f64) -> f64 {
        let tolerance = 1e-10 * self.clip;
        while high - low > tolerance {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                break;
            }
            if self.at(middle) > target {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }
}

fn range(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> LogRatios {
        let mut ratios = LogRatios::new();
        for (round, value) in (0u32..).zip(values) {
            assert!(ratios.push_round(round, &[*value]));
        }
        ratios
    }

    #[test]
    fn rounds_that_are_not_numbers_are_left_out_whole() {
        let mut ratios = LogRatios::new();
        assert!(!ratios.push_round(0, &[0.1, f64::NAN]));
        assert!(!ratios.push_round(0, &[f64::NEG_INFINITY]));
        assert!(!ratios.push_round(0, &[]));
        assert!(ratios.is_empty());
        assert!(ratios.push_round(7, &[0.1, 0.2]));
        assert!(ratios.push_round(3, &[0.3]));
        assert!(ratios.push_round(7, &[0.4]));
        assert_eq!((ratios.rounds(), ratios.clusters()), (3, 2));
        let back: Vec<_> = ratios.iter().map(|(cluster, values)| (cluster, values.to_vec())).collect();
        assert_eq!(back, [(7, vec![0.1, 0.2]), (3, vec![0.3]), (7, vec![0.4])]);
    }

    #[test]
    fn too_little_data_gives_no_interval() {
        assert_eq!(clustered_huber(&of(&[]), 0.05), None);
        assert_eq!(clustered_huber(&of(&[0.1]), 0.05), None);
        let mut one_start = LogRatios::new();
        for value in [0.1, 0.2, 0.3, 0.4] {
            one_start.push_round(0, &[value]);
        }
        assert_eq!(clustered_huber(&one_start, 0.05), None, "many rounds of one start are one unit");
        assert_eq!(clustered_huber(&of(&[0.1, 0.2, 0.3]), 0.0), None);
        assert!(clustered_huber(&of(&[0.1, 0.2, 0.3]), 0.05).is_some());
    }

    #[test]
    fn equal_values_are_identical_to_resolution() {
        assert_eq!(clustered_huber(&of(&[0.25; 9]), 0.01), Some(Interval::exact(0.25)));
    }

    #[test]
    fn more_than_half_equal_falls_back_to_the_standard_deviation() {
        let found = clustered_huber(&of(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3]), 0.05).unwrap();
        assert!(found.low < 0.0 && found.high > 0.0 && found.high < 0.3, "{found:?}");
    }

    #[test]
    fn very_unequal_clusters_at_a_strict_level_exclude_nothing() {
        let mut ratios = LogRatios::new();
        for (cluster, rounds) in [(0, 6), (1, 6), (2, 6), (3, 6), (4, 1)] {
            for round in 0..rounds {
                ratios.push_round(cluster, &[0.01 * f64::from(round) + 0.003 * f64::from(cluster)]);
            }
        }
        assert!(clustered_huber(&ratios, 0.05).is_some());
        assert_eq!(clustered_huber(&ratios, 0.005), None);
    }

    /// The score of the ten-round vector at θ = −0.05, computed independently.
    #[test]
    fn score_of_the_vector() {
        let a = [102.1, 99.4, 101.7, 87.2, 100.9, 98.8, 103.3, 97.6, 100.2, 96.1];
        let copy = [101.0, 100.6, 99.2, 99.9, 52.0, 99.5, 101.8, 98.9, 101.1, 97.0];
        let b = [95.2, 93.8, 96.4, 92.9, 94.7, 61.3, 97.1, 92.0, 95.5, 90.4_f64];
        let mut ratios = LogRatios::new();
        for round in 0..10u32 {
            let i = round as usize;
            ratios.push_round(round, &[(b[i] / a[i]).ln(), (b[i] / copy[i]).ln()]);
        }
        let (median, spread) = dispersion::median_and_mad(&ratios.values, &mut Vec::new());
        assert!((median + 0.060_143).abs() < 1e-6 && (spread - 0.014_951).abs() < 1e-6);
        let mut score = Score { ratios: &ratios, clip: 2.7 * spread, sums: vec![0.0; 10] };
        assert!((score.at(-0.05) + 1.415_921).abs() < 1e-6);
        let expected = [
            -0.721209, -0.693001, 0.442116, 0.439002, 0.667655, -2.0, -0.227033, -0.778092, -0.124502,
            -0.783101,
        ];
        for (found, expected) in score.sums.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
        }
    }
}
