//! How long a trial has to run before it counts.
//!
//! - [`fit`]: one decay, fitted to the throughput after *all* switches together: a [`WarmupFit`].
//! - [`WarmupFit::settle`]: the warm-up to use, held to half a trial.
//!
//! Judging each trial's curve on its own leaves several per cent of bias, a fixed second up to twelve; pooled over
//! switches the decay is known to a fraction of a per cent. The fit is blind to which variant ran.
//! A warm-up may only grow within a run, and growing it starts a new sequence.

use crate::dispersion::{self, count};

/// Bias that may remain at the end of the warm-up, on the log scale.
pub const LEFTOVER: f64 = 0.005;
/// Standard errors below which a decay counts as none.
const SIGNIFICANT: f64 = 3.0;
/// Clip of the pooled mean, in standard deviations.
const CLIP: f64 = 1.5;
/// Time constants tried.
const TAU_POINTS: usize = 40;
/// Fewest bins of a curve.
const MIN_BINS: usize = 4;
/// Fewest switches from which their own scatter says how certain the fit is.
const MIN_SWITCHES: usize = 4;

/// Time constants that are tried, on a logarithmic grid of 40 points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TauRange {
    /// Shortest, seconds.
    pub shortest_s: f64,
    /// Longest, seconds.
    pub longest_s: f64,
}

impl Default for TauRange {
    /// 0.1 s to 5 s: what follows a switch between variants that are already up.
    fn default() -> TauRange {
        TauRange { shortest_s: 0.1, longest_s: 5.0 }
    }
}

impl TauRange {
    /// 0.1 s to 20 s: what follows a restart, on curves of 10 s to 60 s.
    pub fn after_restart() -> TauRange {
        TauRange { longest_s: 20.0, ..TauRange::default() }
    }

    fn grid(self) -> impl Iterator<Item = f64> {
        let growth = (self.longest_s / self.shortest_s).ln() / count(TAU_POINTS - 1);
        (0..TAU_POINTS).map(move |point| self.shortest_s * (growth * count(point)).exp())
    }
}

/// `c0 + a·exp(−t/tau)` on the log scale of throughput, t since the start of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmupFit {
    /// Time constant, seconds.
    pub tau_s: f64,
    /// Settled level, relative to the curves' medians.
    pub c0: f64,
    /// Amplitude at t = 0: −0.3 is a quarter slower than settled.
    pub a: f64,
    /// Standard error of the amplitude.
    pub se: f64,
    /// Switches it was fitted on.
    pub switches: usize,
    /// What should be discarded, seconds: until less than [`LEFTOVER`] remains; 0 if the amplitude is below
    /// three standard errors. Not held to the length of a trial: see [`WarmupFit::settle`].
    pub discard_s: f64,
}

/// The warm-up to use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settle {
    /// Discarded part of a trial, seconds.
    pub settle_s: f64,
    /// It had to be held to half the trial: lengthen the trial.
    pub trial_too_short: bool,
}

impl WarmupFit {
    /// Whether there is a warm-up at all: an amplitude of three standard errors or more.
    pub fn is_significant(&self) -> bool {
        self.a.abs() >= SIGNIFICANT * self.se
    }

    /// What to discard of a trial of that length (warm-up and measured part together), at most half of it.
    pub fn settle(&self, trial_s: f64) -> Settle {
        let most = trial_s / 2.0;
        Settle { settle_s: self.discard_s.min(most), trial_too_short: self.discard_s > most }
    }
}

/// Fits the warm-up from operations per bin of width `bin_s`, one curve per switch, from the start of the load.
///
/// Per curve the logarithm of each bin (an empty one counts half an operation) less the curve's median; per bin the
/// Huber mean over switches; then least squares of `c0 + a·exp(−t/tau)` at bin centres for every tau of the grid.
/// The standard error of `a` is the larger of the one from residuals and the one from the scatter
/// between switches, which sees noise that is correlated within a trial.
/// `None` without at least four bins.
pub fn fit(ops_per_bin: &[Vec<f64>], bin_s: f64) -> Option<WarmupFit> {
    fit_within(ops_per_bin, bin_s, TauRange::default())
}

/// [`fit`] with other time constants, as after a restart.
pub fn fit_within(ops_per_bin: &[Vec<f64>], bin_s: f64, range: TauRange) -> Option<WarmupFit> {
    let pooled = Pooled::of(ops_per_bin)?;
    let decay = Decay::best(&pooled.means, bin_s, range)?;
    let between = pooled.amplitude_error(&decay);
    Some(decay.into_fit(between, ops_per_bin.len()))
}

/// Fits one curve that is already pooled, on the log scale; its standard error comes from residuals alone.
pub fn fit_pooled(log_curve: &[f64], bin_s: f64, range: TauRange) -> Option<WarmupFit> {
    Some(Decay::best(log_curve, bin_s, range)?.into_fit(0.0, 1))
}

/// All switches in one curve.
struct Pooled {
    /// Huber mean per bin.
    means: Vec<f64>,
    /// By switch and bin: clipped deviation from the mean, over the share of deviations that were not clipped. Its
    /// mean square over switches, divided by their number, is the variance of the Huber mean.
    influence: Vec<Vec<f64>>,
}

impl Pooled {
    fn of(curves: &[Vec<f64>]) -> Option<Pooled> {
        let centred = centred_logs(curves);
        let bins = centred.first().map(Vec::len).filter(|bins| *bins >= MIN_BINS)?;
        let mut means = Vec::with_capacity(bins);
        let mut influence = vec![Vec::with_capacity(bins); centred.len()];
        let mut column = Vec::with_capacity(centred.len());
        for bin in 0..bins {
            column.clear();
            column.extend(centred.iter().map(|curve| curve[bin]));
            let (mean, clip) = huber_mean(&column);
            let inside = column.iter().filter(|value| (*value - mean).abs() <= clip).count();
            let share = count(inside.max(1)) / count(column.len());
            for (row, value) in influence.iter_mut().zip(&column) {
                row.push((value - mean).clamp(-clip, clip) / share);
            }
            means.push(mean);
        }
        Some(Pooled { means, influence })
    }

    /// Standard error of the amplitude from the scatter between switches; 0 below four of them.
    fn amplitude_error(&self, decay: &Decay) -> f64 {
        let switches = count(self.influence.len());
        if self.influence.len() < MIN_SWITCHES {
            return 0.0;
        }
        let squares: f64 = self
            .influence
            .iter()
            .map(|row| {
                row.iter().zip(&decay.weights).map(|(value, weight)| value * weight).sum::<f64>().powi(2)
            })
            .sum();
        (squares / (switches * (switches - 1.0))).sqrt()
    }
}

/// Logs less the curve's own median, cut to a common length: the median one, curves shorter than it left out.
fn centred_logs(curves: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut lengths: Vec<usize> = curves.iter().map(Vec::len).collect();
    lengths.sort_unstable();
    let Some(bins) = lengths.get(lengths.len() / 2).copied() else { return Vec::new() };
    let mut scratch = Vec::with_capacity(bins);
    curves
        .iter()
        .filter(|curve| curve.len() >= bins)
        .map(|curve| {
            let logs: Vec<f64> = curve[..bins].iter().map(|ops| ops.max(0.5).ln()).collect();
            let (median, _) = dispersion::median_and_mad(&logs, &mut scratch);
            logs.into_iter().map(|log| log - median).collect()
        })
        .collect()
}

/// Huber's location with clip 1.5 · 1.4826 · MAD, and that clip. The plain mean where the MAD is 0.
fn huber_mean(values: &[f64]) -> (f64, f64) {
    let (median, spread) = dispersion::median_and_mad(values, &mut Vec::with_capacity(values.len()));
    if spread == 0.0 {
        return (dispersion::mean(values), f64::INFINITY);
    }
    let clip = CLIP * spread;
    let mut location = median;
    for _ in 0..50 {
        let step = dispersion::mean(
            &values.iter().map(|value| (value - location).clamp(-clip, clip)).collect::<Vec<_>>(),
        );
        location += step;
        if step.abs() < 1e-10 * clip {
            break;
        }
    }
    (location, clip)
}

/// A least-squares decay.
struct Decay {
    tau_s: f64,
    c0: f64,
    a: f64,
    residual_error: f64,
    /// The amplitude is the sum of weight × bin.
    weights: Vec<f64>,
    squares: f64,
}

impl Decay {
    fn best(curve: &[f64], bin_s: f64, range: TauRange) -> Option<Decay> {
        if curve.len() < MIN_BINS
            || bin_s.is_nan()
            || bin_s <= 0.0
            || curve.iter().any(|value| !value.is_finite())
        {
            return None;
        }
        range
            .grid()
            .filter_map(|tau_s| Decay::at(curve, bin_s, tau_s))
            .min_by(|one, other| one.squares.total_cmp(&other.squares))
    }

    /// Least squares for one tau: regression of the curve on `exp(−t/tau)`.
    fn at(curve: &[f64], bin_s: f64, tau_s: f64) -> Option<Decay> {
        let bins = count(curve.len());
        let shape: Vec<f64> =
            (0..curve.len()).map(|bin| (-(count(bin) + 0.5) * bin_s / tau_s).exp()).collect();
        let (shape_mean, curve_mean) = (dispersion::mean(&shape), dispersion::mean(curve));
        let shape_squares: f64 = shape.iter().map(|x| (x - shape_mean).powi(2)).sum();
        // Vanishes when the bins are far wider than tau: the decay is over before the first centre.
        if shape_squares < 1e-12 {
            return None;
        }
        let weights: Vec<f64> = shape.iter().map(|x| (x - shape_mean) / shape_squares).collect();
        let a: f64 = weights.iter().zip(curve).map(|(weight, y)| weight * y).sum();
        let c0 = curve_mean - a * shape_mean;
        let squares: f64 = shape.iter().zip(curve).map(|(x, y)| (y - c0 - a * x).powi(2)).sum();
        let residual_error = (squares / (bins - 2.0) / shape_squares).sqrt();
        Some(Decay { tau_s, c0, a, residual_error, weights, squares })
    }

    fn into_fit(self, between: f64, switches: usize) -> WarmupFit {
        let mut fit = WarmupFit {
            tau_s: self.tau_s,
            c0: self.c0,
            a: self.a,
            se: self.residual_error.max(between),
            switches,
            discard_s: 0.0,
        };
        if fit.is_significant() && fit.a.abs() > LEFTOVER {
            fit.discard_s = fit.tau_s * (fit.a.abs() / LEFTOVER).ln();
        }
        fit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_of_one_curve() {
        let curve = [
            -0.292955, -0.200843, -0.139698, -0.098077, -0.069285, -0.049152, -0.034972, -0.024934,
            -0.017802, -0.012724,
        ];
        let found = fit_pooled(&curve, 0.2, TauRange::default()).unwrap();
        assert!((found.tau_s - 0.550_271).abs() < 1e-6, "{found:?}");
        assert!((found.c0 + 0.001_665).abs() < 1e-6 && (found.a + 0.346_763).abs() < 1e-6, "{found:?}");
        assert!((found.discard_s - 2.333).abs() < 1e-3, "{found:?}");
        let settle = found.settle(3.0);
        assert_eq!(settle, Settle { settle_s: 1.5, trial_too_short: true });
        assert!(!found.settle(6.0).trial_too_short);
    }

    #[test]
    fn flat_curves_need_no_warm_up() {
        let flat: Vec<Vec<f64>> = (0..12).map(|_| vec![100.0; 20]).collect();
        let found = fit(&flat, 0.1).unwrap();
        assert_eq!(found.discard_s, 0.0);
    }

    #[test]
    fn a_start_without_operations_is_a_warm_up() {
        let mut curve = vec![200.0; 20];
        curve[0] = 0.0;
        curve[1] = 20.0;
        let found = fit(&vec![curve; 8], 0.1).unwrap();
        assert!(found.discard_s > 0.2, "{found:?}");
    }

    #[test]
    fn curves_of_other_lengths_are_cut_or_left_out() {
        let mut curves: Vec<Vec<f64>> = (0..9).map(|_| vec![100.0; 20]).collect();
        curves[2].truncate(3);
        curves[5].push(40.0);
        assert_eq!(centred_logs(&curves).len(), 8);
        assert!(centred_logs(&curves).iter().all(|curve| curve.len() == 20));
    }

    #[test]
    fn too_little_gives_no_fit() {
        assert_eq!(fit(&[], 0.2), None);
        assert_eq!(fit(&[vec![1.0, 2.0, 3.0]], 0.2), None);
        assert_eq!(fit(&[vec![1.0; 10]], 0.0), None);
    }
}
