//! Sweeps: a metric along an ordered numeric factor, and what it grows like.
//!
//! - [`Growth`]: the factor and its [`GrowthCurve`]s, one per metric and combination of the other factors; [`GrowthContrast`]: how
//!   the exponents of two of them differ.
//! - [`growth`]: finds the sweep of a plan. There is one when a factor has at least three levels that are numbers, with a unit or
//!   without (`8`, `0.5`, `128MB`, `10k`, `200ms`, `5%`), all of one [`Dimension`]. Of several that are crossed it is the one with
//!   most levels, then with the widest range; the others tell curves apart. Weights of operations that always add up to the
//!   same are one factor, a share.
//!
//! The method is in `docs/methods.md`, the formulas in [`weigh_stats::growth`]. A sweep decides nothing: verdicts are those of
//! [`super::judge`], and nothing is said beyond the levels that were measured.

mod level;

use std::collections::{BTreeMap, BTreeSet};

use weigh_stats::growth::{self as stats, Sweep};
use weigh_stats::huber::{self, LogRatios};
use weigh_stats::{Interval, growth::MIN_LEVELS};

use super::costs::INFORMATION_P;
use super::rounds::{Observation, Rounds, log_value};
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
    /// Every curve with a fit against the baseline's of the same metric (the first one, where the baseline is on none).
    pub contrasts: Vec<GrowthContrast>,
}

impl Growth {
    /// The end of the factor's key: `clients`.
    #[must_use]
    pub fn short_factor(&self) -> &str {
        short(&self.factor)
    }
}

/// The end of a key that a reader knows it by: `clients`, `rows`; with the operation's name where there may be several.
pub(crate) fn short(key: &str) -> &str {
    key.strip_prefix("operations.").unwrap_or_else(|| key.rsplit('.').next().unwrap_or(key))
}

/// One metric along the levels, everything else the same.
#[derive(Clone, Debug, PartialEq)]
pub struct GrowthCurve {
    /// End of the factor's key.
    pub factor: String,
    /// What its levels measure.
    pub dimension: Dimension,
    /// The metric.
    pub metric: Metric,
    /// Levels of the other factors, where they differ between curves: (key, level).
    pub fixed: Vec<(String, String)>,
    /// The name of its first variant without the level, where levels do not tell curves apart (commands).
    pub common: Option<String>,
    /// The levels, ascending.
    pub points: Vec<GrowthPoint>,
    /// The law that was fitted; `None` with too few levels above 0 or too few rounds, and for shares, which end at 1 and so
    /// follow no power.
    pub fit: Option<GrowthFit>,
}

/// How the growth of two curves differs.
#[derive(Clone, Debug, PartialEq)]
pub struct GrowthContrast {
    /// Index of the curve in [`Growth::curves`].
    pub curve: usize,
    /// Index of the curve it is compared with.
    pub against: usize,
    /// Its exponent less the other's, paired by round; 95 % for all contrasts of a metric together.
    pub difference: Interval,
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
    let (mut curves, mut contrasts) = (Vec::new(), Vec::new());
    for metric in metrics(plan) {
        let observations = rounds.observations(metric);
        let of = |group: &Group| curve(plan, (factor, dimension), metric, group, &observations, summaries);
        let first = curves.len();
        curves.extend(groups.iter().filter_map(of));
        contrasts.extend(against_one(plan, &curves, first, &observations));
    }
    (!curves.is_empty()).then(|| Growth { factor: factor.to_owned(), dimension, curves, contrasts })
}

/// The curves of a metric, from `first` on, against the baseline's.
fn against_one(
    plan: &Plan,
    curves: &[GrowthCurve],
    first: usize,
    observations: &[Observation],
) -> Vec<GrowthContrast> {
    let fitted = |place: &usize| curves[*place].fit.is_some();
    let places: Vec<usize> = (first..curves.len()).filter(fitted).collect();
    let has_baseline =
        |place: &&usize| curves[**place].points.iter().any(|point| point.variant == plan.baseline);
    let Some(&against) = places.iter().find(has_baseline).or(places.first()) else { return Vec::new() };
    #[expect(clippy::cast_precision_loss, reason = "at most 64 variants")]
    let nominal_p = INFORMATION_P / (places.len() - 1).max(1) as f64;
    let others = places.into_iter().filter(|place| *place != against);
    let of = |curve: usize| {
        let (mut one, mut other) = (sweep(&curves[curve].points)?, sweep(&curves[against].points)?);
        for observation in observations {
            let values = |curve: usize| {
                above_zero(&curves[curve].points)
                    .map(|point| log_value(observation, point.variant))
                    .collect::<Option<Vec<f64>>>()
            };
            if let (Some(of_one), Some(of_other)) = (values(curve), values(against)) {
                one.push_round(observation.cluster, &of_one);
                other.push_round(observation.cluster, &of_other);
            }
        }
        let difference = stats::difference(&one, &other, nominal_p)?;
        Some(GrowthContrast { curve, against, difference })
    };
    others.filter_map(of).collect()
}

fn above_zero(points: &[GrowthPoint]) -> impl Iterator<Item = &GrowthPoint> {
    points.iter().filter(|point| point.value > 0.0)
}

/// An empty sweep over the levels above 0.
fn sweep(points: &[GrowthPoint]) -> Option<Sweep> {
    Sweep::new(&above_zero(points).map(|point| point.value).collect::<Vec<_>>())
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

/// The factor that names versions of a system.
const VERSION: &str = "system.version";

/// A factor whose levels are numbers.
struct Candidate<'a> {
    key: &'a str,
    dimension: Dimension,
    /// Distinct levels, ascending.
    levels: Vec<f64>,
    /// The level of every variant, `None` where it has none.
    of_variant: Vec<Option<f64>>,
}

impl Candidate<'_> {
    /// ln of highest over lowest level above 0.
    fn range(&self) -> f64 {
        let mut above = self.levels.iter().filter(|level| **level > 0.0);
        let lowest = above.next();
        lowest.zip(above.next_back()).map_or(0.0, |(low, high)| (high / low).ln())
    }

    /// Whether knowing the level of one is knowing that of the other.
    fn changes_with(&self, other: &Candidate<'_>) -> bool {
        let pairs: BTreeSet<_> = self.bits().into_iter().zip(other.bits()).collect();
        pairs.len() == self.levels.len() && pairs.len() == other.levels.len()
    }

    fn bits(&self) -> Vec<Option<u64>> {
        self.of_variant.iter().map(|level| level.map(f64::to_bits)).collect()
    }

    fn is_weight(&self) -> bool {
        self.key.starts_with("operations.") && self.key.ends_with(".weight")
    }
}

/// The factor that is swept, with what its levels measure.
fn sweep_factor(plan: &Plan) -> Option<(&str, Dimension)> {
    let keys: BTreeSet<&str> =
        plan.variants.iter().flat_map(|variant| variant.levels.keys().map(String::as_str)).collect();
    let mut candidates: Vec<Candidate<'_>> =
        keys.into_iter().filter_map(|key| candidate(plan, key)).collect();
    if let Some(share) = mix(&candidates) {
        return Some(share);
    }
    // Nobody could say which of two that change together it was.
    let alone = |at: usize| {
        (0..candidates.len()).all(|other| other == at || !candidates[at].changes_with(&candidates[other]))
    };
    let keep: Vec<bool> = (0..candidates.len()).map(alone).collect();
    let mut keep = keep.into_iter();
    candidates.retain(|_| keep.next().unwrap_or(false));
    let most = |a: &Candidate<'_>, b: &Candidate<'_>| {
        (a.levels.len().cmp(&b.levels.len())).then(a.range().total_cmp(&b.range())).then(b.key.cmp(a.key))
    };
    candidates.iter().max_by(|a, b| most(a, b)).map(|found| (found.key, found.dimension))
}

fn candidate<'a>(plan: &Plan, key: &'a str) -> Option<Candidate<'a>> {
    // Version 16 is not more of something than version 14.
    if key == VERSION {
        return None;
    }
    let parsed: Vec<Option<(f64, Dimension)>> =
        plan.variants.iter().map(|variant| level::parse(variant.levels.get(key)?)).collect();
    let dimensions: BTreeSet<Dimension> = parsed.iter().flatten().map(|(_, dimension)| *dimension).collect();
    let [dimension] = dimensions.into_iter().collect::<Vec<_>>()[..] else { return None };
    let of_variant: Vec<Option<f64>> = parsed.iter().map(|level| level.map(|(value, _)| value)).collect();
    let mut levels: Vec<f64> = of_variant.iter().flatten().copied().collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    (levels.len() >= MIN_LEVELS).then_some(Candidate { key, dimension, levels, of_variant })
}

/// Weights that always add up to the same: the one that rises in the order of the plan, as a share.
fn mix<'a>(candidates: &[Candidate<'a>]) -> Option<(&'a str, Dimension)> {
    let weights: Vec<&Candidate<'_>> = candidates.iter().filter(|found| found.is_weight()).collect();
    let [first, rest @ ..] = &weights[..] else { return None };
    let together = !rest.is_empty() && rest.iter().all(|other| first.changes_with(other));
    let sums: BTreeSet<u64> = (0..first.of_variant.len())
        .filter_map(|variant| sum_of(&weights, variant))
        .map(f64::to_bits)
        .collect();
    let rises = |found: &&&Candidate<'a>| {
        let mut seen = found.of_variant.iter().flatten();
        seen.next().zip(seen.next_back()).is_some_and(|(first, last)| first < last)
    };
    let chosen = candidates.iter().filter(|found| found.is_weight()).find(|found| rises(&found))?;
    (together && sums.len() == 1).then_some((chosen.key, Dimension::Share))
}

fn sum_of(weights: &[&Candidate<'_>], variant: usize) -> Option<f64> {
    weights.iter().map(|found| found.of_variant[variant]).sum()
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
    let weights: Vec<Candidate<'_>> = weights_beside(plan, factor);
    let mut by_rest: Vec<(BTreeMap<String, String>, Members)> = Vec::new();
    for (index, variant) in plan.variants.iter().enumerate() {
        let Some((value, _)) = variant.levels.get(factor).and_then(|text| level::parse(text)) else {
            continue;
        };
        let mut rest = variant.levels.clone();
        rest.remove(factor);
        // The text of a command with its levels filled in: other levels of the same command have another.
        rest.remove(COMMAND);
        // The other weights of a mix say nothing that this one does not.
        weights.iter().for_each(|other| {
            rest.remove(other.key);
        });
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

/// The weights that change with this one.
fn weights_beside<'a>(plan: &'a Plan, factor: &str) -> Vec<Candidate<'a>> {
    let Some(own) = candidate(plan, factor).filter(Candidate::is_weight) else { return Vec::new() };
    let keys: BTreeSet<&str> =
        plan.variants.iter().flat_map(|variant| variant.levels.keys().map(String::as_str)).collect();
    let others = keys.into_iter().filter(|key| *key != factor).filter_map(|key| candidate(plan, key));
    others.filter(|other| other.is_weight() && other.changes_with(&own)).collect()
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
    (factor, dimension): (&str, Dimension),
    metric: Metric,
    group: &Group,
    observations: &[Observation],
    summaries: &[VariantSummary],
) -> Option<GrowthCurve> {
    // Weights become shares of what they always add up to.
    let beside = if dimension == Dimension::Share { weights_beside(plan, factor) } else { Vec::new() };
    let whole = match (&beside[..], group.members.first()) {
        ([], _) | (_, None) => 1.0,
        (others, Some((own, variant))) => {
            own + others.iter().filter_map(|other| other.of_variant[*variant]).sum::<f64>()
        }
    };
    let point = |&(value, variant): &(f64, usize)| {
        let median = *summaries.iter().find(|summary| summary.variant == variant)?.medians.get(&metric)?;
        let interval = typical(observations, variant).map(|found| found.ratio());
        Some(GrowthPoint {
            variant,
            level: plan.variants.get(variant)?.levels.get(factor)?.clone(),
            value: value / whole,
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
        dimension,
        metric,
        fixed: group.fixed.clone().into_iter().collect(),
        common: group.common.clone(),
        fit: (dimension != Dimension::Share)
            .then(|| fit(&points, observations, plan.judge.difference))
            .flatten(),
        points,
    })
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
    let mut sweep = sweep(points)?;
    let points: Vec<&GrowthPoint> = above_zero(points).collect();
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
