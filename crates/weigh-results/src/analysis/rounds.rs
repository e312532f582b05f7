//! The complete rounds of the sequence that counts, and per-trial values of a metric in them.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use weigh_stats::quantiles;
use weigh_stats::warmup::{self, WarmupFit};

use crate::model::histogram;
use crate::model::{Metric, Replication, Run, Slot, Trial};

/// Complete rounds of the last sequence; without the disturbed ones, unless most of them are.
pub struct Rounds<'a> {
    /// In order.
    pub(crate) rounds: Vec<RoundOf<'a>>,
    /// Complete rounds left out by the rule on interference.
    pub(crate) set_aside: u32,
    /// The unit of replication.
    pub(crate) replication: Replication,
    /// Units that fit in the budget.
    pub(crate) horizon: Option<u32>,
    /// Median wall-clock time of a complete round, seconds.
    pub(crate) round_s: Option<f64>,
    /// The baseline's index.
    pub(crate) baseline: usize,
    latencies: OnceCell<Distributions>,
    services: OnceCell<Distributions>,
}

/// By round and slot.
type Distributions = BTreeMap<(u32, Slot), Latencies>;

/// What a trial's latencies come to. Histograms themselves are too large to keep for thousands of trials.
#[derive(Clone, Copy)]
pub(crate) struct Latencies {
    mean_s: f64,
    p50_s: Option<f64>,
    p95_s: Option<f64>,
    p99_s: Option<f64>,
}

impl Latencies {
    pub(crate) fn of(histogram: &Histogram<u64>) -> Latencies {
        let known = |quantile| {
            quantiles::is_known(quantile, histogram.len()).then(|| quantile_s(histogram, quantile))
        };
        Latencies {
            mean_s: histogram.mean() / 1e9,
            p50_s: known(0.50),
            p95_s: known(0.95),
            p99_s: known(0.99),
        }
    }
}

/// One complete round.
pub(crate) struct RoundOf<'a> {
    /// Number within the sequence, those set aside counted.
    pub(crate) number: u32,
    /// Unit of replication it belongs to: its own, or its epoch.
    pub(crate) cluster: u32,
    /// Trials by slot.
    pub(crate) trials: BTreeMap<Slot, &'a Trial>,
}

/// The values of one metric in one unit of observation (a round, or several merged for a high percentile).
pub(crate) struct Observation {
    /// Unit of replication.
    pub(crate) cluster: u32,
    /// The last unit it draws on: differs from `cluster` when rounds are merged.
    pub(crate) last_cluster: u32,
    /// Value by slot; missing where it is not known.
    pub(crate) values: BTreeMap<Slot, f64>,
}

impl<'a> Rounds<'a> {
    /// Gathers the rounds of a run that count.
    pub fn of(run: &'a Run) -> Rounds<'a> {
        let sequence = run.current_sequence();
        let number = sequence.map_or(0, |record| record.sequence);
        let replication = sequence.map_or(Replication::Round, |record| record.replication);
        let complete: BTreeMap<u32, f64> = run
            .rounds
            .iter()
            .filter(|(of, _, _)| *of == number)
            .map(|(_, round, seconds)| (*round, *seconds))
            .collect();
        let mut by_round: BTreeMap<u32, RoundOf<'a>> = BTreeMap::new();
        for trial in run.trials.iter().filter(|trial| trial.sequence == number) {
            if !complete.contains_key(&trial.round) {
                continue;
            }
            let cluster = match replication {
                Replication::Round => trial.round,
                Replication::Epoch => trial.epoch,
            };
            let round = by_round.entry(trial.round).or_insert_with(|| RoundOf {
                number: trial.round,
                cluster,
                trials: BTreeMap::new(),
            });
            round.trials.insert(trial.slot, trial);
        }
        let before = by_round.len();
        let undisturbed =
            |round: &RoundOf<'_>| round.trials.values().all(|trial| trial.contaminated.is_none());
        // Where most rounds are disturbed, that is how this host is: leaving them out would leave nothing to say.
        if 2 * by_round.values().filter(|round| undisturbed(round)).count() >= before {
            by_round.retain(|_, round| undisturbed(round));
        }
        let set_aside = u32::try_from(before - by_round.len()).unwrap_or(u32::MAX);
        let horizon = run.horizon.filter(|(of, _, _)| *of == number).map(|(_, units, _)| units);
        let mut rounds = Rounds {
            rounds: by_round.into_values().collect(),
            set_aside,
            replication,
            horizon,
            round_s: median(complete.values().copied().collect()),
            baseline: run.header.plan.baseline,
            latencies: OnceCell::new(),
            services: OnceCell::new(),
        };
        rounds.drop_incomplete_epoch(run, number);
        rounds
    }

    /// An epoch counts once all its rounds are in, or the run has ended.
    fn drop_incomplete_epoch(&mut self, run: &Run, sequence: u32) {
        if self.replication == Replication::Round || run.finish.is_some() {
            return;
        }
        let Some((_, _, per_unit)) = run.horizon.filter(|(of, _, _)| *of == sequence) else { return };
        let Some(last) = self.rounds.last().map(|round| round.cluster) else { return };
        let held = run
            .trials
            .iter()
            .filter(|trial| trial.sequence == sequence && trial.epoch == last)
            .map(|trial| trial.round)
            .collect::<std::collections::BTreeSet<_>>();
        let complete = held
            .iter()
            .filter(|round| run.rounds.iter().any(|(of, number, _)| *of == sequence && number == *round))
            .count();
        if complete < per_unit as usize {
            self.rounds.retain(|round| round.cluster != last);
        }
    }

    /// Read when a metric first asks: the runner counts units after every round, and decoding every trial's
    /// histogram for that would be CPU taken from the machine that is measured.
    fn latencies(&self) -> &Distributions {
        self.latencies.get_or_init(|| self.distributions(decoded))
    }

    /// Service times of open loops.
    fn services(&self) -> &Distributions {
        self.services.get_or_init(|| self.distributions(decoded_service))
    }

    fn distributions(&self, of: impl Fn(&Trial) -> Option<Histogram<u64>>) -> Distributions {
        self.rounds
            .iter()
            .flat_map(|round| round.trials.iter().map(move |(slot, trial)| ((round.number, *slot), trial)))
            .filter_map(|(place, trial)| Some((place, Latencies::of(&of(trial)?))))
            .collect()
    }

    /// Complete rounds that count.
    pub fn len(&self) -> u32 {
        u32::try_from(self.rounds.len()).unwrap_or(u32::MAX)
    }

    /// Whether no round is complete yet.
    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    /// Units of replication that count.
    pub fn units(&self) -> u32 {
        let mut clusters: Vec<u32> = self.rounds.iter().map(|round| round.cluster).collect();
        clusters.dedup();
        u32::try_from(clusters.len()).unwrap_or(u32::MAX)
    }

    /// Number of the unit that is the `count`-th to count; everything when there are fewer.
    pub(crate) fn cluster_at(&self, count: u32) -> u32 {
        let mut clusters: Vec<u32> = self.rounds.iter().map(|round| round.cluster).collect();
        clusters.dedup();
        clusters.get((count as usize).saturating_sub(1)).copied().unwrap_or(u32::MAX)
    }

    /// The hidden copies of the baseline.
    pub(crate) fn baseline_slots(&self) -> [Slot; 2] {
        [Slot { variant: self.baseline, copy: 0 }, Slot { variant: self.baseline, copy: 1 }]
    }

    /// Trials of one variant, all its copies.
    pub(crate) fn trials_of(&self, variant: usize) -> impl Iterator<Item = &'a Trial> + '_ {
        self.rounds
            .iter()
            .flat_map(move |round| round.trials.iter().filter(move |(slot, _)| slot.variant == variant))
            .map(|(_, trial)| *trial)
    }

    /// A metric's observations. Percentiles that one trial cannot know are taken from consecutive
    /// rounds merged until every slot has ten operations above the percentile (docs/methods.md).
    pub(crate) fn observations(&self, metric: Metric) -> Vec<Observation> {
        if let Some(quantile) = quantile_of(metric)
            && !self.all_know(metric)
        {
            return self.merged_observations(metric, quantile);
        }
        self.rounds
            .iter()
            .map(|round| Observation {
                cluster: round.cluster,
                last_cluster: round.cluster,
                values: round
                    .trials
                    .iter()
                    .filter_map(|(slot, trial)| {
                        let value = self.value(metric, round.number, *slot, trial)?;
                        (value.is_finite() && value > 0.0).then_some((*slot, value))
                    })
                    .collect(),
            })
            .collect()
    }

    /// Whether every single trial knows the percentile.
    fn all_know(&self, metric: Metric) -> bool {
        self.rounds.iter().all(|round| {
            round.trials.iter().all(|(slot, trial)| self.value(metric, round.number, *slot, trial).is_some())
        })
    }

    fn value(&self, metric: Metric, round: u32, slot: Slot, trial: &Trial) -> Option<f64> {
        let latency = || self.latencies().get(&(round, slot)).copied();
        let service = || self.services().get(&(round, slot)).copied();
        figure(metric, trial, latency, service)
    }

    fn merged_observations(&self, metric: Metric, quantile: f64) -> Vec<Observation> {
        let merged = quantiles::rounds_to_merge(
            quantile,
            &self
                .rounds
                .iter()
                .map(|round| round.trials.values().map(|trial| trial.measured.ops).min().unwrap_or(0))
                .collect::<Vec<_>>(),
        );
        let Some(size) = merged else { return Vec::new() };
        let mut blocks = Vec::new();
        for block in
            self.rounds.chunk_by(|a, b| self.replication == Replication::Round || a.cluster == b.cluster)
        {
            for chunk in block.chunks(size as usize).filter(|chunk| chunk.len() == size as usize) {
                blocks.push(quantile_of_block(metric, quantile, chunk));
            }
        }
        blocks
    }
}

/// One trial by one metric. Its latencies are asked for only where the metric is about them.
pub(crate) fn figure(
    metric: Metric,
    trial: &Trial,
    latency: impl Fn() -> Option<Latencies>,
    service: impl Fn() -> Option<Latencies>,
) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
    let ops = trial.measured.ops as f64;
    match metric {
        Metric::Throughput => Some(ops / trial.measured.seconds),
        Metric::Time if trial.latency.is_none() => Some(trial.measured.seconds / ops),
        Metric::Time | Metric::LatencyMean => Some(latency()?.mean_s),
        Metric::CpuPerOp => Some(trial.whole.counters.get("server.cpu_us")? / 1e6 / whole_ops(trial)),
        Metric::LatencyP50 => latency()?.p50_s,
        Metric::LatencyP95 => latency()?.p95_s,
        Metric::LatencyP99 => latency()?.p99_s,
        Metric::ServiceP50 => service()?.p50_s,
        Metric::ServiceP95 => service()?.p95_s,
        Metric::ServiceP99 => service()?.p99_s,
    }
}

fn quantile_of_block(metric: Metric, quantile: f64, block: &[RoundOf<'_>]) -> Observation {
    let of = if is_service(metric) { decoded_service } else { decoded };
    let mut values = BTreeMap::new();
    for slot in block[0].trials.keys() {
        let mut sum: Option<Histogram<u64>> = None;
        for histogram in block.iter().filter_map(|round| of(round.trials.get(slot)?)) {
            match &mut sum {
                Some(sum) => sum.add(&histogram).unwrap_or_default(),
                None => sum = Some(histogram),
            }
        }
        if let Some(sum) = sum.filter(|sum| quantiles::is_known(quantile, sum.len())) {
            values.insert(*slot, quantile_s(&sum, quantile));
        }
    }
    Observation { cluster: block[0].cluster, last_cluster: block[block.len() - 1].cluster, values }
}

/// The latencies of a trial, if it has any that can be read.
pub(crate) fn decoded(trial: &Trial) -> Option<Histogram<u64>> {
    histogram::decode(trial.latency.as_deref()?).ok()
}

/// Its service times: open loops only.
pub(crate) fn decoded_service(trial: &Trial) -> Option<Histogram<u64>> {
    histogram::decode(trial.service.as_deref()?).ok()
}

fn is_service(metric: Metric) -> bool {
    matches!(metric, Metric::ServiceP50 | Metric::ServiceP95 | Metric::ServiceP99)
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds up to one hour are exact")]
fn quantile_s(histogram: &Histogram<u64>, quantile: f64) -> f64 {
    histogram.value_at_quantile(quantile) as f64 / 1e9
}

/// ln of a variant's value in one round; the copies of the baseline together.
pub(crate) fn log_value(observation: &Observation, variant: usize) -> Option<f64> {
    let of_variant = observation.values.iter().filter(|(slot, _)| slot.variant == variant);
    let logs: Vec<f64> = of_variant.map(|(_, value)| value.ln()).collect();
    #[expect(clippy::cast_precision_loss, reason = "there are two copies at most")]
    (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
}

/// The percentile a metric is about, as a fraction.
pub(crate) fn quantile_of(metric: Metric) -> Option<f64> {
    match metric {
        Metric::LatencyP50 | Metric::ServiceP50 => Some(0.50),
        Metric::LatencyP95 | Metric::ServiceP95 => Some(0.95),
        Metric::LatencyP99 | Metric::ServiceP99 => Some(0.99),
        _ => None,
    }
}

/// Operations over a trial's whole window, as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
pub(crate) fn whole_ops(trial: &Trial) -> f64 {
    trial.whole.ops as f64
}

/// The median of finite values.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite());
    if values.is_empty() {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    Some(if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 })
}

/// Whole 100-ms bins in that many seconds, a microsecond short of a bin counting as one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a week is six million bins")]
pub(crate) fn whole_bins(seconds: f64) -> usize {
    (seconds * 10.0 + 1e-5).max(0.0) as usize
}

/// Fits the warm-up over every switch of the current sequence: what should be discarded, if the
/// trials carry throughput over time. Blind to which variant ran.
pub fn warm_up_fit(run: &Run) -> Option<WarmupFit> {
    let sequence = run.current_sequence()?.sequence;
    let curves: Vec<Vec<f64>> = run
        .trials
        .iter()
        .filter(|trial| trial.sequence == sequence && trial.bins_100ms.len() >= 6)
        .map(|trial| {
            #[expect(clippy::cast_precision_loss, reason = "operations per 100 ms are far below 2^52")]
            trial
                .bins_100ms
                .iter()
                .take(whole_bins(trial.settle_s + trial.measured.seconds))
                .collect::<Vec<_>>()
                .chunks_exact(2)
                .map(|pair| (*pair[0] + *pair[1]) as f64)
                .collect()
        })
        .collect();
    warmup::fit(&curves, 0.2)
}
