//! Full factorial designs: which factor, and which two together, make the difference.
//!
//! - [`Factorial`]: the data: by round, one log value for every combination of levels (cell).
//! - [`decompose`]: [`Decomposition`]: [`Share`]s of the variation, [`MainEffect`]s and [`Interaction`]s.
//!
//! Every round holds every cell, so a round taken apart by itself is free of whatever the machine did to the round as a whole, and
//! what rounds say is then put together like every other figure: effects by [`crate::huber::clustered_huber`], with
//! rounds or epochs as units; shares with the noise's own part taken out of every sum of squares, because a sum of squares is
//! never below zero and would sell noise as an effect.
//!
//! Shares belong to the levels that were run: a factor that was varied more explains more. Nothing here decides a verdict.

mod components;

use crate::Interval;
use crate::dispersion::{self, count};
use crate::distributions::t_critical;
use crate::huber::{self, LogRatios};
use crate::multiplicity;

use components::{Shape, cleaned, members};

/// Factors at most: as many as fit in the 64 variants of a run.
pub const MOST_FACTORS: usize = 6;
/// Units below which nothing is said.
pub const MIN_UNITS: usize = 3;
/// Level of the intervals of shares.
const SHARE_P: f64 = 0.05;

/// Log values of every cell, by round.
#[derive(Clone, Debug, PartialEq)]
pub struct Factorial {
    shape: Shape,
    /// (unit of replication, one log value per cell).
    rounds: Vec<(u32, Vec<f64>)>,
}

impl Factorial {
    /// No rounds yet. `None` unless there are two to [`MOST_FACTORS`] factors of at least two levels each.
    ///
    /// Cells are numbered with the last factor fastest: of 2 × 3 levels, cell 4 is the second level of both.
    #[must_use]
    pub fn new(levels: &[usize]) -> Option<Factorial> {
        let usable = (2..=MOST_FACTORS).contains(&levels.len()) && levels.iter().all(|count| *count >= 2);
        usable.then(|| Factorial { shape: Shape(levels.to_vec()), rounds: Vec::new() })
    }

    /// Adds a round: its unit of replication and the log value of every cell. A round that lacks a cell, or has one that is not
    /// finite, is left out whole: the design would not be balanced in it. Returns whether it was taken.
    pub fn push_round(&mut self, cluster: u32, log_values: &[f64]) -> bool {
        let complete =
            log_values.len() == self.shape.cells() && log_values.iter().all(|value| value.is_finite());
        if complete {
            self.rounds.push((cluster, log_values.to_vec()));
        }
        complete
    }

    /// Rounds taken.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// Cells by unit: the mean of the unit's rounds.
    fn units(&self, rounds: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut units: Vec<(u32, f64, Vec<f64>)> = Vec::new();
        for ((cluster, _), values) in self.rounds.iter().zip(rounds) {
            match units.iter_mut().find(|(known, ..)| known == cluster) {
                Some((_, times, sums)) => {
                    *times += 1.0;
                    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
                None => units.push((*cluster, 1.0, values.clone())),
            }
        }
        let mean = |(_, times, sums): (u32, f64, Vec<f64>)| sums.into_iter().map(|sum| sum / times).collect();
        units.into_iter().map(mean).collect()
    }

    /// The interval of Σ weight·value, one per round.
    fn contrast(&self, weights: &[f64], nominal_p: f64) -> Option<Interval> {
        let mut values = LogRatios::new();
        for (cluster, round) in &self.rounds {
            values.push_round(*cluster, &[round.iter().zip(weights).map(|(a, b)| a * b).sum()]);
        }
        huber::clustered_huber(&values, nominal_p)
    }

    /// Weights of the mean over the cells whose levels of some factors are as given.
    fn mean_of(&self, fixed: &[(usize, usize)]) -> Vec<f64> {
        let belongs = |cell: usize| {
            let levels = self.shape.levels_of(cell);
            fixed.iter().all(|(factor, level)| levels[*factor] == *level)
        };
        let chosen: Vec<bool> = (0..self.shape.cells()).map(belongs).collect();
        let each = 1.0 / count(chosen.iter().filter(|chosen| **chosen).count());
        chosen.into_iter().map(|chosen| if chosen { each } else { 0.0 }).collect()
    }
}

/// What a factorial run comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Decomposition {
    /// Single factors first, then pairs.
    pub shares: Vec<Share>,
    /// What three and more factors do together beyond all pairs; 0 with two factors.
    pub higher: f64,
    /// What no setting explains: trials of one cell that differ from round to round, the rounds' own level taken out.
    pub noise: f64,
    /// Every level other than the baseline's, of every factor.
    pub effects: Vec<MainEffect>,
    /// Every pair of levels other than the baseline's, of every two factors.
    pub interactions: Vec<Interaction>,
    /// Nominal two-sided level of each effect's and each interaction's interval.
    pub nominal_p: f64,
    /// Rounds it rests on.
    pub rounds: usize,
    /// Units of replication they belong to.
    pub units: usize,
}

/// Share of the variation between the trials of a round that a factor, or two together, explain.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// One factor, or the two of an interaction.
    pub factors: Vec<usize>,
    /// Estimate and 95 % interval, each a share of one and not below 0.
    pub share: Interval,
}

/// What a level does, on average over all combinations of the other factors.
#[derive(Clone, Debug, PartialEq)]
pub struct MainEffect {
    /// The factor.
    pub factor: usize,
    /// Its level.
    pub level: usize,
    /// Log ratio to the baseline's level.
    pub effect: Interval,
}

/// How much more a level does with one level of another factor than with the baseline's.
#[derive(Clone, Debug, PartialEq)]
pub struct Interaction {
    /// The two factors.
    pub factors: [usize; 2],
    /// Their levels.
    pub levels: [usize; 2],
    /// Log of: the first level's ratio at the second's level, divided by its ratio at the baseline's level. Symmetric in the two.
    pub effect: Interval,
    /// Log ratio of the first level to the baseline's where the second factor has the baseline's level, and where it has this one;
    /// estimates, averaged over the other factors.
    pub first: [f64; 2],
    /// The same of the second level.
    pub second: [f64; 2],
}

impl Interaction {
    /// Whether the interval excludes that the two simply multiply.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        !self.effect.contains(0.0)
    }
}

/// Takes the cells apart. `baseline`: the level of every factor that others are compared with. `alpha`: the probability that any
/// interval of an effect or an interaction misses, over all of them and `families` such tables.
///
/// With `y` the log values of a round, `e_S` the component of a set S of factors ([`components`]) in one of n units and `T` the mean
/// over rounds of the squared distances of its cells from their mean:
/// `share(S) = (|Σe_S|² − Σ|e_S|²) / (n(n − 1)) / T`. That is the sum of products of *different* units: the noise of a unit meets
/// only noise it is independent of, so the expectation is the true sum of squares whatever the noise of each cell is
/// (the allocation of variation of R. Jain, *The Art of Computer Systems Performance Analysis*, 1991, chapters 17–22, with
/// the correction of ω², W. L. Hays, *Statistics for Psychologists*, 1963, free of its assumption of equal variances).
/// Its interval is a jackknife over units (J. W. Tukey, Ann. Math. Stat. 29, 1958), wider than need be where the share
/// is next to nothing. Wild single values are pulled in before ([`components::cleaned`]).
///
/// Effects and interactions are contrasts of a round's cells, located by the clustered Huber score, each at
/// `alpha / (number of both × families)` (Bonferroni). `None` below [`MIN_UNITS`] units.
#[must_use]
pub fn decompose(data: &Factorial, baseline: &[usize], alpha: f64, families: usize) -> Option<Decomposition> {
    let shape = &data.shape;
    let known = baseline.len() == shape.0.len() && baseline.iter().zip(&shape.0).all(|(at, of)| at < of);
    let rounds: Vec<Vec<f64>> = data.rounds.iter().map(|(_, values)| values.clone()).collect();
    let clean = cleaned(&rounds);
    let units = data.units(&clean);
    if !known || units.len() < MIN_UNITS {
        return None;
    }
    let total = Total::of(&clean, &units);
    let sets = shape.small_sets();
    let part =
        |set: &usize| Agreed::by(&units.iter().map(|unit| shape.component(*set, unit)).collect::<Vec<_>>());
    let parts: Vec<Agreed> = sets.iter().map(part).collect();
    let shares: Vec<Share> = sets
        .iter()
        .zip(&parts)
        .map(|(set, part)| Share { factors: members(*set), share: share(part, &total) })
        .collect();
    let (higher, noise) = rest(&units, &parts, &total);
    let (effects, interactions) = (levels(shape, baseline), pairs(shape, baseline));
    let nominal_p =
        multiplicity::bonferroni_share(alpha, (effects.len() + interactions.len()) * families.max(1));
    Some(Decomposition {
        shares,
        higher,
        noise,
        effects: effects
            .into_iter()
            .filter_map(|(factor, level)| main_effect(data, baseline, factor, level, nominal_p))
            .collect(),
        interactions: interactions
            .into_iter()
            .filter_map(|(factors, levels)| interaction(data, baseline, factors, levels, nominal_p))
            .collect(),
        nominal_p,
        rounds: data.rounds.len(),
        units: units.len(),
    })
}

/// Sum of squared distances from the mean.
fn spread(values: &[f64]) -> f64 {
    norm(&centred(values))
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

fn sum(units: &[Vec<f64>]) -> Vec<f64> {
    let mut sum = vec![0.0; units.first().map_or(0, Vec::len)];
    for unit in units {
        sum.iter_mut().zip(unit).for_each(|(sum, value)| *sum += value);
    }
    sum
}

/// Mean product of different units: the sum of squares without what noise adds to it.
fn unbiased(sum: &[f64], squares: f64, units: usize) -> f64 {
    (norm(sum) - squares) / (count(units) * count(units - 1))
}

/// The variation between the cells of a typical round: what settings explain, and noise.
struct Total {
    all: f64,
    /// The same with one unit left out, the noise as it is.
    without: Vec<f64>,
}

impl Total {
    fn of(rounds: &[Vec<f64>], units: &[Vec<f64>]) -> Total {
        let seen = dispersion::mean(&rounds.iter().map(|round| spread(round)).collect::<Vec<_>>());
        let explained = Agreed::by(&units.iter().map(|unit| centred(unit)).collect::<Vec<_>>());
        let noise = (seen - explained.all.max(0.0)).max(0.0);
        let with_noise = |explained: &f64| explained.max(0.0) + noise;
        Total { all: with_noise(&explained.all), without: explained.without.iter().map(with_noise).collect() }
    }
}

/// The sum of squares that all units agree on.
struct Agreed {
    all: f64,
    /// The same with one unit left out.
    without: Vec<f64>,
}

impl Agreed {
    fn by(units: &[Vec<f64>]) -> Agreed {
        let (n, sum) = (units.len(), sum(units));
        let squares: f64 = units.iter().map(|unit| norm(unit)).sum();
        let without = |unit: &Vec<f64>| {
            let rest: Vec<f64> = sum.iter().zip(unit).map(|(sum, own)| sum - own).collect();
            unbiased(&rest, squares - norm(unit), n - 1)
        };
        Agreed { all: unbiased(&sum, squares, n), without: units.iter().map(without).collect() }
    }
}

fn centred(values: &[f64]) -> Vec<f64> {
    let mean = dispersion::mean(values);
    values.iter().map(|value| value - mean).collect()
}

/// The share of one component with its interval.
fn share(agreed: &Agreed, total: &Total) -> Interval {
    if total.all <= 0.0 {
        return Interval::exact(0.0);
    }
    let n = agreed.without.len();
    let estimate = agreed.all / total.all;
    let left_out: Vec<f64> = agreed
        .without
        .iter()
        .zip(&total.without)
        .map(|(part, total)| part / total.max(f64::MIN_POSITIVE))
        .collect();
    let error = (spread(&left_out) * count(n - 1) / count(n)).sqrt();
    let half = t_critical(SHARE_P / 2.0, count(n - 1)) * error;
    let within = |share: f64| share.clamp(0.0, 1.0);
    Interval { estimate: within(estimate), low: within(estimate - half), high: within(estimate + half) }
}

/// What is left of the variation: (three and more factors together, noise).
fn rest(units: &[Vec<f64>], parts: &[Agreed], total: &Total) -> (f64, f64) {
    if total.all <= 0.0 {
        return (0.0, 0.0);
    }
    let all = Agreed::by(&units.iter().map(|unit| centred(unit)).collect::<Vec<_>>()).all / total.all;
    let small: f64 = parts.iter().map(|part| part.all / total.all).sum();
    let higher = if parts.len() == 3 { 0.0 } else { (all - small).clamp(0.0, 1.0) };
    (higher, (1.0 - all).clamp(0.0, 1.0))
}

/// Every level other than the baseline's: (factor, level).
fn levels(shape: &Shape, baseline: &[usize]) -> Vec<(usize, usize)> {
    let of = |(factor, count): (usize, &usize)| {
        (0..*count).filter(move |level| *level != baseline[factor]).map(move |level| (factor, level))
    };
    shape.0.iter().enumerate().flat_map(of).collect()
}

/// Every pair of them of two factors.
fn pairs(shape: &Shape, baseline: &[usize]) -> Vec<([usize; 2], [usize; 2])> {
    let levels = levels(shape, baseline);
    let later = |&(one, level): &(usize, usize)| {
        let others = levels.iter().filter(move |(other, _)| *other > one);
        others.map(move |(other, of_other)| ([one, *other], [level, *of_other])).collect::<Vec<_>>()
    };
    levels.iter().flat_map(later).collect()
}

fn minus(a: Vec<f64>, b: &[f64]) -> Vec<f64> {
    a.into_iter().zip(b).map(|(a, b)| a - b).collect()
}

fn main_effect(
    data: &Factorial,
    baseline: &[usize],
    factor: usize,
    level: usize,
    nominal_p: f64,
) -> Option<MainEffect> {
    let weights = minus(data.mean_of(&[(factor, level)]), &data.mean_of(&[(factor, baseline[factor])]));
    Some(MainEffect { factor, level, effect: data.contrast(&weights, nominal_p)? })
}

fn interaction(
    data: &Factorial,
    baseline: &[usize],
    factors: [usize; 2],
    levels: [usize; 2],
    nominal_p: f64,
) -> Option<Interaction> {
    let [f, g] = factors;
    // What `of` does while the other factor stays at a level.
    let simple = |of: (usize, usize), at: (usize, usize)| {
        minus(data.mean_of(&[of, at]), &data.mean_of(&[(of.0, baseline[of.0]), at]))
    };
    let (first, second) = ((f, levels[0]), (g, levels[1]));
    let (f_at_base, f_at_level) = (simple(first, (g, baseline[g])), simple(first, second));
    let (g_at_base, g_at_level) = (simple(second, (f, baseline[f])), simple(second, first));
    let effect = data.contrast(&minus(f_at_level.clone(), &f_at_base), nominal_p)?;
    let typical = |weights: &[f64]| data.contrast(weights, nominal_p).map(|found| found.estimate);
    Some(Interaction {
        factors,
        levels,
        effect,
        first: [typical(&f_at_base)?, typical(&f_at_level)?],
        second: [typical(&g_at_base)?, typical(&g_at_level)?],
    })
}

#[cfg(test)]
mod tests;
