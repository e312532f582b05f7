//! Every trial on its own: its figures, and whether it counts.
//!
//! - [`trials`]: all of them in the order they ran, with their [`Standing`]; those that do not count as well, because
//!   a reader who looks for a drift or a burst wants to see them.
//! - [`SeenTrial::figure`]: one trial by one metric; unknown where a trial has too few operations for a percentile.
//! - [`Distribution`]: the latencies of many trials together.
//!
//! Histograms are decoded once, here, and not kept. No verdict rests on anything in this file: verdicts are about
//! ratios within rounds ([`super::judge`]).

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;

use super::rounds::{self, Latencies, Rounds};
use crate::model::{Metric, Run, Trial};

/// A trial, with what is known about it alone.
#[derive(Clone)]
pub struct SeenTrial<'a> {
    /// As stored.
    pub trial: &'a Trial,
    /// Whether it counts.
    pub standing: Standing,
    latency: Option<Latencies>,
    service: Option<Latencies>,
}

/// Whether a trial counts for the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Counts,
    /// Its round is set aside by the rule on interference; the reason.
    SetAside(String),
    /// It belongs to an earlier sequence: the warm-up was still being found.
    Earlier,
    /// Its round or its epoch was never completed.
    Incomplete,
}

impl SeenTrial<'_> {
    /// The trial by one metric, in the metric's unit; `None` where it is not known from this trial alone.
    #[must_use]
    pub fn figure(&self, metric: Metric) -> Option<f64> {
        rounds::figure(metric, self.trial, || self.latency, || self.service).filter(|value| value.is_finite())
    }
}

/// Latencies of many trials together: every distinct value with how often it was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// (seconds, operations), ascending.
    pub values: Vec<(f64, u64)>,
    /// Operations in all.
    pub total: u64,
}

impl Distribution {
    /// The smallest value that at least a share `quantile` of operations did not exceed, and how many exceeded it.
    #[must_use]
    pub fn at(&self, quantile: f64) -> Option<(f64, u64)> {
        #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
        let wanted = quantile * self.total as f64;
        let mut below = 0_u64;
        for (value, times) in &self.values {
            below += times;
            #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
            if below as f64 >= wanted - 1e-9 {
                return Some((*value, self.total - below));
            }
        }
        None
    }

    #[expect(clippy::cast_precision_loss, reason = "nanoseconds up to one hour are exact")]
    fn of(histogram: &Histogram<u64>) -> Distribution {
        let values = histogram
            .iter_recorded()
            .map(|seen| (seen.value_iterated_to() as f64 / 1e9, seen.count_at_value()))
            .collect();
        Distribution { values, total: histogram.len() }
    }
}

/// What every trial of a run and all of them together show.
pub struct Seen<'a> {
    /// In the order they ran.
    pub trials: Vec<SeenTrial<'a>>,
    /// Response times of the trials that count, by variant, the copies of the baseline together.
    pub response: BTreeMap<usize, Distribution>,
    /// Open loops: their service times.
    pub service: BTreeMap<usize, Distribution>,
}

/// One trial by one metric, from this trial alone; `None` where it has too few operations for a percentile.
#[must_use]
pub fn figure(metric: Metric, trial: &Trial) -> Option<f64> {
    let of = |histogram: Option<Histogram<u64>>| histogram.as_ref().map(Latencies::of);
    let (latency, service) = (|| of(rounds::decoded(trial)), || of(rounds::decoded_service(trial)));
    rounds::figure(metric, trial, latency, service).filter(|value| value.is_finite())
}

/// Looks at every trial once.
#[must_use]
pub fn trials(run: &Run) -> Seen<'_> {
    let standings = Standings::of(run);
    let mut response: BTreeMap<usize, Histogram<u64>> = BTreeMap::new();
    let mut service: BTreeMap<usize, Histogram<u64>> = BTreeMap::new();
    let trials = run.trials.iter().map(|trial| {
        let standing = standings.of_trial(trial);
        let counts = standing == Standing::Counts;
        let (latency, waited) = (rounds::decoded(trial), rounds::decoded_service(trial));
        for (sums, histogram) in [(&mut response, &latency), (&mut service, &waited)] {
            if let Some(histogram) = histogram.as_ref().filter(|_| counts) {
                add(sums, trial.slot.variant, histogram);
            }
        }
        SeenTrial {
            trial,
            standing,
            latency: latency.as_ref().map(Latencies::of),
            service: waited.as_ref().map(Latencies::of),
        }
    });
    let trials: Vec<SeenTrial<'_>> = trials.collect();
    let distributions = |sums: &BTreeMap<usize, Histogram<u64>>| {
        sums.iter().map(|(variant, sum)| (*variant, Distribution::of(sum))).collect::<BTreeMap<_, _>>()
    };
    let (mut response, service) = (distributions(&response), distributions(&service));
    if response.is_empty() {
        response = times(&trials);
    }
    Seen { trials, response, service }
}

fn add(sums: &mut BTreeMap<usize, Histogram<u64>>, variant: usize, histogram: &Histogram<u64>) {
    match sums.get_mut(&variant) {
        // Histograms that were recorded with other bounds do not fit without growing.
        Some(sum) => {
            sum.auto(true);
            sum.add(histogram).unwrap_or_default();
        }
        None => {
            sums.insert(variant, histogram.clone());
        }
    }
}

/// Commands have one time per trial and no histogram.
fn times(trials: &[SeenTrial<'_>]) -> BTreeMap<usize, Distribution> {
    let mut by_variant: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for seen in trials.iter().filter(|seen| seen.standing == Standing::Counts && seen.trial.latency.is_none())
    {
        let time = seen.figure(Metric::Time).filter(|time| *time > 0.0);
        by_variant.entry(seen.trial.slot.variant).or_default().extend(time);
    }
    by_variant.retain(|_, times| !times.is_empty());
    let of = |(variant, mut times): (usize, Vec<f64>)| {
        times.sort_by(f64::total_cmp);
        (
            variant,
            Distribution { total: times.len() as u64, values: times.iter().map(|time| (*time, 1)).collect() },
        )
    };
    by_variant.into_iter().map(of).collect()
}

/// Which rounds count, and why the others do not.
struct Standings {
    sequence: u32,
    counted: BTreeSet<u32>,
    /// Round to reason, of the sequence that counts.
    set_aside: BTreeMap<u32, String>,
}

impl Standings {
    fn of(run: &Run) -> Standings {
        let sequence = run.current_sequence().map_or(0, |record| record.sequence);
        let counted = Rounds::of(run).rounds.iter().map(|round| round.number).collect();
        let set_aside = run
            .trials
            .iter()
            .filter(|trial| trial.sequence == sequence)
            .filter_map(|trial| Some((trial.round, trial.contaminated.clone()?)))
            .collect();
        Standings { sequence, counted, set_aside }
    }

    fn of_trial(&self, trial: &Trial) -> Standing {
        if trial.sequence != self.sequence {
            Standing::Earlier
        } else if self.counted.contains(&trial.round) {
            Standing::Counts
        } else if let Some(reason) = self.set_aside.get(&trial.round) {
            Standing::SetAside(reason.clone())
        } else {
            Standing::Incomplete
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_counts_what_lies_beyond() {
        let seen = Distribution { values: vec![(1.0, 50), (2.0, 40), (3.0, 10)], total: 100 };
        assert_eq!(seen.at(0.0), Some((1.0, 50)));
        assert_eq!(seen.at(0.5), Some((1.0, 50)));
        assert_eq!(seen.at(0.51), Some((2.0, 10)));
        assert_eq!(seen.at(0.9), Some((2.0, 10)));
        assert_eq!(seen.at(1.0), Some((3.0, 0)));
        assert_eq!(Distribution::default().at(0.5), None);
    }
}
