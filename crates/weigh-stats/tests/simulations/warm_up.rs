//! The pooled warm-up fit: what bias is left after the time it says to discard.

use weigh_stats::warmup::fit;

use super::design::{Table, many, rate};
use super::noise::{Source, as_f64};

const SWITCHES: usize = 18;
const BINS: usize = 50;
const BIN_S: f64 = 0.1;

/// Operations per bin after each switch: a decay, noise per bin, drift within the trial, one trial in ten
/// with a stall.
fn curves(source: &mut Source, amplitude: f64, tau_s: f64, noise: f64) -> Vec<Vec<f64>> {
    (0..SWITCHES)
        .map(|_| {
            let slope = 0.01 * source.normal();
            let stall = if source.uniform() < 0.1 { source.below(BINS) } else { BINS };
            (0..BINS)
                .map(|bin| {
                    let t = (as_f64(bin) + 0.5) * BIN_S;
                    let log = amplitude * (-t / tau_s).exp() + noise * source.normal() + slope * t / 5.0;
                    let factor = if (stall..stall + 3).contains(&bin) { 0.3 } else { 1.0 };
                    (1_000.0 * factor * log.exp()).round()
                })
                .collect()
        })
        .collect()
}

/// Mean log bias that the part of a 5 s trial after `discard_s` still has.
fn leftover(amplitude: f64, tau_s: f64, discard_s: f64) -> f64 {
    let (from, until) = (discard_s.min(2.5), 5.0);
    (amplitude * tau_s * ((-from / tau_s).exp() - (-until / tau_s).exp()) / (until - from)).abs()
}

#[test]
fn pooled_fit_leaves_little_bias() {
    let mut table = Table::new("warm-up from 18 switches of 5 s, 0.1 s bins");
    for (seed, (amplitude, tau_s, noise)) in
        (1_400..).zip([(-0.5, 0.3, 0.10), (-0.3, 0.8, 0.10), (-0.5, 0.3, 0.30), (-0.3, 0.8, 0.30)])
    {
        let found = many(seed, 400, |source| {
            let discard_s = fit(&curves(source, amplitude, tau_s, noise), BIN_S).unwrap().discard_s;
            (leftover(amplitude, tau_s, discard_s), discard_s)
        });
        let mut bias: Vec<f64> = found.iter().map(|found| 100.0 * found.0).collect();
        bias.sort_by(f64::total_cmp);
        let p90 = bias[bias.len() * 9 / 10];
        let discarded = found.iter().map(|found| found.1).sum::<f64>() / as_f64(found.len());
        table.row(
            &format!("a {amplitude}, tau {tau_s} s, noise {noise}"),
            &[
                ("bias % p90", p90),
                ("discarded s, mean", discarded),
                ("bias % undone", 100.0 * leftover(amplitude, tau_s, 0.0)),
            ],
        );
        assert!(p90 < 1.6, "{p90}");
    }
    let flat = many(1_450, 1_000, |source| fit(&curves(source, 0.0, 1.0, 0.10), BIN_S).unwrap().discard_s);
    let needless = rate(&flat, |discard_s| *discard_s > 0.0);
    table.row("no warm-up, noise 0.1", &[("found one", needless)]);
    assert!(needless < 0.05, "{needless}");
}
