//! Sweeps: a metric along an ordered numeric factor, and what it grows like.
//!
//! - [`Growth`]: the factor and its [`GrowthCurve`]s, one per metric and combination of the other factors.
//! - [`growth`]: finds the sweep of a plan. There is one when exactly one factor has at least three levels that are
//!   numbers, with a unit or without (`8`, `0.5`, `128MB`, `10k`, `200ms`, `5%`), all of one [`Dimension`].
//!
//! The method is in `docs/methods.md`, the formulas in [`weigh_stats::growth`]. A sweep decides nothing: verdicts are those of
//! [`super::judge`], and nothing is said beyond the levels that were measured.

mod level;

use std::collections::{BTreeMap, BTreeSet};

use weigh_stats::growth::{self as stats, Sweep};
use weigh_stats::huber::{self, LogRatios};
use weigh_stats::{Interval, growth::MIN_LEVELS};

use super::costs::INFORMATION_P;
use super::rounds::{Observation, Rounds};
use super::summary::VariantSummary;
use crate::model::{Metric, Plan, Run};

pub use level::Dimension;

/// The level that holds a command's text.
const COMMAND: &str = "command";

/// A sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// The factor's key (`load.clients`).
    pub factor: String,
    /// What its levels measure.
    pub dimension: Dimension,
    /// By metric (deciding ones first), then by the levels of the other factors.
    pub curves: Vec<GrowthCurve>,
}

impl Growth {
    /// The end of the factor's key: `clients`.
    #[must_use]
    pub fn short_factor(&self) -> &str {
        short(&self.factor)
    }
}

fn short(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// One metric along the levels, everything else the same.
#[derive(Clone, Debug, PartialEq)]
pub struct GrowthCurve {
    /// End of the factor's key.
    pub factor: String,
    /// The metric.
    pub metric: Metric,
    /// Levels of the other factors, where they differ between curves: (key, level).
    pub fixed: Vec<(String, String)>,
    /// The name of its first variant without the level, where levels do not tell curves apart (commands).
    pub common: Option<String>,
    /// The levels, ascending.
    pub points: Vec<GrowthPoint>,
    /// The law that was fitted; `None` with too few levels above 0 or too few rounds.
    pub fit: Option<GrowthFit>,
}

impl GrowthCurve {
    /// What tells it from the other curves: `journal_mode=WAL`; empty for the only one.
    #[must_use]
    pub fn name(&self) -> String {
        let fixed = self.fixed.iter().map(|(key, level)| format!("{}={level}", short(key)));
        self.common.iter().cloned().chain(fixed).collect::<Vec<_>>().join(", ")
    }
}

/// One level.
#[derive(Clone, Debug, PartialEq)]
pub struct GrowthPoint {
    /// Variant index.
    pub variant: usize,
    /// As written: `128MB`.
    pub level: String,
    /// As a number, in the dimension's unit (bytes, seconds, a share of one).
    pub value: f64,
    /// Median over trials, as in every other report.
    pub median: f64,
    /// Lower end of the 95 % interval of the typical trial, if there are units enough.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// `y = exp(log_scale)·x^exponent`, and where that changes.
#[derive(Clone, Debug, PartialEq)]
pub struct GrowthFit {
    /// The exponent with its 95 % interval.
    pub exponent: Interval,
    /// ln of y at x = 1.
    pub log_scale: f64,
    /// Every level's median is within this relative difference of the law (the two lines, where there is a knee).
    pub worst: f64,
    /// Rounds in which every level was measured: what it rests on.
    pub rounds: u32,
    /// Where the exponent certainly changes.
    pub knee: Option<GrowthKnee>,
}

/// Where the exponent changes.
#[derive(Clone, Debug, PartialEq)]
pub struct GrowthKnee {
    /// The level, as written.
    pub level: String,
    /// As a number.
    pub value: f64,
    /// ln of y there, on both lines.
    pub log_value: f64,
    /// Exponent up to it.
    pub before: Interval,
    /// Exponent from it on.
    pub after: Interval,
}

impl GrowthFit {
    /// The fitted value at a level above 0.
    #[must_use]
    pub fn at(&self, level: f64) -> f64 {
        let Some(knee) = &self.knee else {
            return (self.log_scale + self.exponent.estimate * level.ln()).exp();
        };
        let slope = if level <= knee.value { knee.before } else { knee.after };
        (knee.log_value + slope.estimate * (level.ln() - knee.value.ln())).exp()
    }
}

/// The sweep of a run, if it has one.
pub(crate) fn growth(run: &Run, rounds: &Rounds<'_>, summaries: &[VariantSummary]) -> Option<Growth> {
    let plan = &run.header.plan;
    let (factor, dimension) = sweep_factor(plan)?;
    let groups = groups(plan, factor);
    let mut curves = Vec::new();
    for metric in metrics(plan) {
        let observations = rounds.observations(metric);
        let of = |group: &Group| curve(plan, factor, metric, group, &observations, summaries);
        curves.extend(groups.iter().filter_map(of));
    }
    (!curves.is_empty()).then(|| Growth { factor: factor.to_owned(), dimension, curves })
}

fn metrics(plan: &Plan) -> Vec<Metric> {
    let mut metrics = plan.judge.decide.clone();
    // A command's throughput is its time upside down.
    if plan.system != "commands" {
        let asked = [Metric::Throughput, Metric::LatencyP50, Metric::LatencyP99];
        metrics.extend(asked.into_iter().filter(|metric| !plan.judge.decide.contains(metric)));
    }
    metrics
}

/// The one factor that is swept, with what its levels measure.
fn sweep_factor(plan: &Plan) -> Option<(&str, Dimension)> {
    let keys: BTreeSet<&str> =
        plan.variants.iter().flat_map(|variant| variant.levels.keys().map(String::as_str)).collect();
    let mut swept = keys.into_iter().filter_map(|key| {
        let levels = plan.variants.iter().filter_map(|variant| level::parse(variant.levels.get(key)?));
        let mut by_dimension: BTreeMap<Dimension, BTreeSet<u64>> = BTreeMap::new();
        levels.for_each(|(value, dimension)| {
            by_dimension.entry(dimension).or_default().insert(value.to_bits());
        });
        let [(dimension, distinct)] = by_dimension.iter().collect::<Vec<_>>()[..] else { return None };
        (distinct.len() >= MIN_LEVELS).then_some((key, *dimension))
    });
    let found = swept.next()?;
    swept.next().is_none().then_some(found)
}

/// (level as a number, variant).
type Members = Vec<(f64, usize)>;

/// Variants that differ in the swept factor only, ascending by level.
struct Group {
    fixed: BTreeMap<String, String>,
    common: Option<String>,
    members: Members,
}

fn groups(plan: &Plan, factor: &str) -> Vec<Group> {
    let mut by_rest: Vec<(BTreeMap<String, String>, Members)> = Vec::new();
    for (index, variant) in plan.variants.iter().enumerate() {
        let Some((value, _)) = variant.levels.get(factor).and_then(|text| level::parse(text)) else {
            continue;
        };
        let mut rest = variant.levels.clone();
        rest.remove(factor);
        // The text of a command with its levels filled in: other levels of the same command have another.
        rest.remove(COMMAND);
        match by_rest.iter_mut().find(|(known, _)| *known == rest) {
            Some((_, members)) => members.push((value, index)),
            None => by_rest.push((rest, vec![(value, index)])),
        }
    }
    let mut groups: Vec<Group> =
        by_rest.into_iter().flat_map(|(rest, members)| split(plan, factor, rest, members)).collect();
    groups.retain(|group| group.members.len() >= MIN_LEVELS);
    let varies: BTreeSet<String> = groups
        .iter()
        .flat_map(|group| &group.fixed)
        .filter(|(key, level)| groups.iter().any(|other| other.fixed.get(*key) != Some(level)))
        .map(|(key, _)| key.clone())
        .collect();
    for group in &mut groups {
        group.fixed.retain(|key, _| varies.contains(key));
        group.members.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    groups
}

/// Two commands that take the same levels differ in nothing but their text: the second of a level belongs to the second.
fn split(
    plan: &Plan,
    factor: &str,
    fixed: BTreeMap<String, String>,
    members: Vec<(f64, usize)>,
) -> Vec<Group> {
    let mut parts: Vec<Vec<(f64, usize)>> = Vec::new();
    for member in members {
        match parts.iter_mut().find(|part| part.iter().all(|(value, _)| *value != member.0)) {
            Some(part) => part.push(member),
            None => parts.push(vec![member]),
        }
    }
    let several = parts.len() > 1;
    let of = |members: Vec<(f64, usize)>| Group {
        fixed: fixed.clone(),
        common: several.then(|| common(plan, factor, &members)).flatten(),
        members,
    };
    parts.into_iter().map(of).collect()
}

/// The first name without its level: `gzip -… <file`.
fn common(plan: &Plan, factor: &str, members: &[(f64, usize)]) -> Option<String> {
    let variant = plan.variants.get(members.first()?.1)?;
    Some(variant.name.replacen(variant.levels.get(factor)?, "…", 1))
}

fn curve(
    plan: &Plan,
    factor: &str,
    metric: Metric,
    group: &Group,
    observations: &[Observation],
    summaries: &[VariantSummary],
) -> Option<GrowthCurve> {
    let point = |&(value, variant): &(f64, usize)| {
        let median = *summaries.iter().find(|summary| summary.variant == variant)?.medians.get(&metric)?;
        let interval = typical(observations, variant).map(|found| found.ratio());
        Some(GrowthPoint {
            variant,
            level: plan.variants.get(variant)?.levels.get(factor)?.clone(),
            value,
            median,
            // The interval is that of the robust mean; where rounds are few the median can lie just outside.
            low: interval.map(|(_, low, _)| low.min(median)),
            high: interval.map(|(_, _, high)| high.max(median)),
        })
    };
    let points: Vec<GrowthPoint> = group.members.iter().filter_map(point).collect();
    if points.len() < MIN_LEVELS {
        return None;
    }
    Some(GrowthCurve {
        factor: short(factor).to_owned(),
        metric,
        fixed: group.fixed.clone().into_iter().collect(),
        common: group.common.clone(),
        fit: fit(&points, observations, plan.judge.difference),
        points,
    })
}

/// ln of a variant's value in one round; the copies of the baseline together.
fn log_value(observation: &Observation, variant: usize) -> Option<f64> {
    let of_variant = observation.values.iter().filter(|(slot, _)| slot.variant == variant);
    let logs: Vec<f64> = of_variant.map(|(_, value)| value.ln()).collect();
    #[expect(clippy::cast_precision_loss, reason = "there are two copies at most")]
    (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
}

/// Log scale: where the typical trial of a variant lies.
fn typical(observations: &[Observation], variant: usize) -> Option<Interval> {
    let mut values = LogRatios::new();
    for observation in observations {
        if let Some(value) = log_value(observation, variant) {
            values.push_round(observation.cluster, &[value]);
        }
    }
    huber::clustered_huber(&values, INFORMATION_P)
}

fn fit(points: &[GrowthPoint], observations: &[Observation], difference: f64) -> Option<GrowthFit> {
    let points: Vec<&GrowthPoint> = points.iter().filter(|point| point.value > 0.0).collect();
    let mut sweep = Sweep::new(&points.iter().map(|point| point.value).collect::<Vec<_>>())?;
    for observation in observations {
        let values: Option<Vec<f64>> =
            points.iter().map(|point| log_value(observation, point.variant)).collect();
        if let Some(values) = values {
            sweep.push_round(observation.cluster, &values);
        }
    }
    let found = stats::fit(&sweep, INFORMATION_P, difference)?;
    let knee = found.knee.map(|knee| GrowthKnee {
        level: points[knee.level].level.clone(),
        value: points[knee.level].value,
        log_value: knee.log_value,
        before: knee.before,
        after: knee.after,
    });
    Some(GrowthFit {
        exponent: found.exponent,
        log_scale: found.log_scale,
        worst: found.knee.map_or(found.worst, |knee| knee.worst),
        rounds: u32::try_from(found.rounds).unwrap_or(u32::MAX),
        knee,
    })
}

#[cfg(test)]
mod tests;
