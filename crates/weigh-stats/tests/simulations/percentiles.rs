//! Requests are not independent: intervals from trials hold, intervals from requests do not.

use weigh_stats::huber::{LogRatios, clustered_huber};

use super::design::{Table, at_most, many, rate};
use super::noise::{Source, as_f64};

const ROUNDS: u32 = 24;
const REQUESTS: usize = 1_000;
const EXPERIMENTS: usize = 600;

/// Latencies of one trial: log-normal, with runs of about thirty slow requests, on a level that drifts.
fn trial(source: &mut Source, level: f64) -> Vec<f64> {
    let mut slow = source.uniform() < 0.05;
    let mut latencies: Vec<f64> = (0..REQUESTS)
        .map(|_| {
            let draw = source.uniform();
            slow = if slow { draw > 1.0 / 30.0 } else { draw < 0.05 / 0.95 / 30.0 };
            (level + 0.3 * source.normal() + if slow { 1.5 } else { 0.0 }).exp()
        })
        .collect();
    latencies.sort_by(f64::total_cmp);
    latencies
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index within the sample")]
fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted[((as_f64(sorted.len()) * q) as usize).min(sorted.len() - 1)]
}

/// 95 % interval of the log of a quantile from order statistics, as if requests were independent.
fn as_if_independent(sorted: &[f64], q: f64) -> (f64, f64) {
    let half = 1.96 * (q * (1.0 - q) / as_f64(sorted.len())).sqrt();
    let error = (quantile(sorted, (q + half).min(1.0)).ln() - quantile(sorted, q - half).ln()) / (2.0 * 1.96);
    (quantile(sorted, q).ln(), error * error)
}

#[test]
fn requests_are_not_independent() {
    let mut table = Table::new("identical servers, percentiles of latency: false differences at 5 %");
    for (seed, q) in (1_500..).zip([0.50, 0.95, 0.99]) {
        let found = many(seed, EXPERIMENTS, |source| {
            let mut ratios = LogRatios::new();
            let (mut all_a, mut all_b) = (Vec::new(), Vec::new());
            let mut level = 0.05 * source.normal();
            for round in 0..ROUNDS {
                let mut trials = [0, 1].map(|_| {
                    level = 0.9 * level + 0.05 * (1.0_f64 - 0.81).sqrt() * source.normal();
                    trial(source, level)
                });
                if source.uniform() < 0.5 {
                    trials.swap(0, 1);
                }
                let [a, b] = trials;
                ratios.push_round(round, &[(quantile(&b, q) / quantile(&a, q)).ln()]);
                all_a.extend(a);
                all_b.extend(b);
            }
            all_a.sort_by(f64::total_cmp);
            all_b.sort_by(f64::total_cmp);
            let ((a, var_a), (b, var_b)) = (as_if_independent(&all_a, q), as_if_independent(&all_b, q));
            let by_request = (b - a).abs() > 1.96 * (var_a + var_b).sqrt();
            (!clustered_huber(&ratios, 0.05).unwrap().contains(0.0), by_request)
        });
        let (by_trial, by_request) = (rate(&found, |found| found.0), rate(&found, |found| found.1));
        table.row(
            &format!("p{:.0}", 100.0 * q),
            &[("trials are the n", by_trial), ("requests are the n", by_request)],
        );
        at_most("by trial", by_trial, 0.05, EXPERIMENTS);
        assert!(by_request > 0.15, "{by_request}");
    }
}
