//! Which settings make the difference: [`sentences`] for people, rows for tables, and the same for programs.
//!
//! Shares are told before effects, effects before what two settings do together. What is not certain is told by no sentence; it
//! stands in the tables.

use serde_json::{Value, json};
use weigh_stats::Interval;
use weigh_stats::factorial::{Interaction, MainEffect, Share};

use super::layout::{Ink, Style, cut};
use super::{units, words};
use crate::analysis::Analysis;
use crate::analysis::factors::{Factor, FactorTable, Factors};
use crate::model::{Direction, Metric, Run};

/// Effects told in a sentence.
const EFFECTS: usize = 4;
/// Interactions told.
const INTERACTIONS: usize = 3;
/// A second setting explains at least this much to be named beside the first.
const LEADING: f64 = 0.05;
/// A share below this is not worth a word.
const SHARE_WORTH: f64 = 0.01;
/// Letters of a level: it may be a statement.
const LETTERS: usize = 32;

/// Sentences per deciding metric: what explains how much, what levels do, what two do together.
#[must_use]
pub fn sentences(run: &Run, analysis: &Analysis) -> Vec<String> {
    let Some(factors) = &analysis.factors else { return Vec::new() };
    if factors.tables.is_empty() {
        return vec![too_few(factors)];
    }
    let difference = run.header.plan.judge.difference;
    factors.tables.iter().flat_map(|table| of_table(factors, table, difference)).collect()
}

fn too_few(factors: &Factors) -> String {
    let names: Vec<&str> = factors.factors.iter().map(Factor::name).collect();
    let have = if factors.rounds == 1 { "has" } else { "have" };
    format!(
        "{} {have} every combination of {}: too few to say which of them makes the difference. \
         `factorial = true` under `[judge]` keeps decided variants in.",
        words::plural(factors.rounds, "round"),
        listed(&names)
    )
}

fn of_table(factors: &Factors, table: &FactorTable, difference: f64) -> Vec<String> {
    let mut told = vec![shares(factors, table)];
    told.extend(effects(factors, table));
    let mut together: Vec<&Interaction> = table
        .found
        .interactions
        .iter()
        .filter(|found| found.is_certain() && found.effect.estimate.abs() >= difference.ln_1p())
        .collect();
    together.sort_by(|a, b| b.effect.estimate.abs().total_cmp(&a.effect.estimate.abs()));
    told.extend(
        together.into_iter().take(INTERACTIONS).map(|found| interaction(factors, table.metric, found)),
    );
    told
}

/// `synchronous_commit and batch explain most of how throughput differs between variants: 71 % (66–76 %) and 24 % (20–28 %); …`
fn shares(factors: &Factors, table: &FactorTable) -> String {
    let noun = words::noun(table.metric);
    let found = &table.found;
    let mut ranked: Vec<&Share> = found
        .shares
        .iter()
        .filter(|share| share.share.estimate >= SHARE_WORTH && share.share.low > 0.0)
        .collect();
    ranked.sort_by(|a, b| b.share.estimate.total_cmp(&a.share.estimate));
    let rounds = words::plural(u32::try_from(found.rounds).unwrap_or(u32::MAX), "round");
    let noise = format!("noise {}", units::percent(found.noise));
    let (single, pairs): (Vec<&Share>, Vec<&Share>) =
        ranked.into_iter().partition(|share| share.factors.len() == 1);
    if single.is_empty() && pairs.is_empty() {
        return format!(
            "no setting explains how {noun} differs from trial to trial, over {rounds}; {noise}."
        );
    }
    let worth_leading = |place: usize, share: &Share| place == 0 || share.share.estimate >= LEADING;
    let leading =
        single.iter().enumerate().take(2).filter(|(place, share)| worth_leading(*place, share)).count();
    let rest = single[leading..].iter().map(|share| (named(factors, &share.factors), *share));
    let together = pairs.iter().map(|share| (format!("{} together", named(factors, &share.factors)), *share));
    let mut told: Vec<String> = rest
        .chain(together)
        .take(EFFECTS)
        .map(|(name, share)| format!("{name} another {}", with_range(&share.share)))
        .collect();
    if found.higher >= SHARE_WORTH {
        told.push(format!("three and more together {}", units::percent(found.higher)));
    }
    told.push(noise);
    format!("{}; {}.", lead(factors, &single[..leading], noun, &rounds), told.join("; "))
}

/// The one or two settings that explain most by themselves.
fn lead(factors: &Factors, leading: &[&Share], noun: &str, rounds: &str) -> String {
    let names: Vec<String> = leading.iter().map(|share| named(factors, &share.factors)).collect();
    let sizes: Vec<String> = leading.iter().map(|share| with_range(&share.share)).collect();
    let sum: f64 = leading.iter().map(|share| share.share.estimate).sum();
    let most = if sum > 0.5 { "most" } else { "part" };
    match (&names[..], &sizes[..]) {
        ([one], [size]) => {
            format!("{one} explains {most} of how {noun} differs between variants, over {rounds}: {size}")
        }
        ([one, other], [first, second]) => format!(
            "{one} and {other} explain {most} of how {noun} differs between variants, over {rounds}: {first} and {second}"
        ),
        _ => format!("no setting by itself explains how {noun} differs between variants, over {rounds}"),
    }
}

/// `71 % (66–76 %)`
fn with_range(share: &Interval) -> String {
    let decimals = if share.high - share.low < 0.03 { 1 } else { 0 };
    let percent = |value: f64| format!("{:.decimals$}", 100.0 * value);
    format!("{} % ({}–{} %)", percent(share.estimate), percent(share.low), percent(share.high))
}

/// `on average over the other settings: synchronous_commit=off 11.6x (11.2–12.0) of on; …`
fn effects(factors: &Factors, table: &FactorTable) -> Option<String> {
    let mut certain: Vec<&MainEffect> =
        table.found.effects.iter().filter(|found| !found.effect.contains(0.0)).collect();
    certain.sort_by(|a, b| b.effect.estimate.abs().total_cmp(&a.effect.estimate.abs()));
    let told: Vec<String> = certain
        .iter()
        .take(EFFECTS)
        .map(|found| format!("{} {}", level(factors, found.factor, found.level), units::ratio(&found.effect)))
        .collect();
    let more = certain.len().saturating_sub(EFFECTS);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!told.is_empty()).then(|| {
        format!(
            "{} against the baseline's level, on average over the other settings: {}{rest}.",
            words::noun(table.metric),
            told.join("; ")
        )
    })
}

/// `the gain of batch=1000 is 3.0 times smaller with synchronous_commit=off (95 % interval 2.9–3.1): 9.1x instead of 27.2x.`
fn interaction(factors: &Factors, metric: Metric, found: &Interaction) -> String {
    // The level that does more is the one whose effect is told.
    let size = |effects: [f64; 2]| effects[0].abs().max(effects[1].abs());
    let (who, beside, [base, here]) =
        if size(found.first) >= size(found.second) { (0, 1, found.first) } else { (1, 0, found.second) };
    let name = level(factors, found.factors[who], found.levels[who]);
    let with = level(factors, found.factors[beside], found.levels[beside]);
    let factor = |log: f64| format!("{}x", units::figure(log.exp()));
    let figures = format!("{} instead of {}", factor(here), factor(base));
    let better = if metric.direction() == Direction::HigherIsBetter { 1.0 } else { -1.0 };
    let what = if better * base >= 0.0 { "gain" } else { "loss" };
    if base * here < 0.0 {
        let other = if what == "gain" { "loss" } else { "gain" };
        return format!("{name} turns from a {what} into a {other} with {with}: {figures}.");
    }
    let word = if here.abs() < base.abs() { "smaller" } else { "larger" };
    let effect = if found.effect.estimate >= 0.0 { found.effect } else { found.effect.negated() };
    format!("the {what} of {name} is {} {word} with {with}: {figures}.", by(&effect))
}

/// `3.0 times (95 % interval 2.9–3.1)`, `12 % (95 % interval 9.1–15.2 %)`
fn by(effect: &Interval) -> String {
    let (estimate, low, high) = effect.ratio();
    if units::is_factor(estimate) {
        let text = units::ratio(effect);
        let (factor, range) = text.split_once("x (").unwrap_or((&text, ""));
        return format!("{factor} times (95 % interval {}", range.trim_end_matches(')').to_owned() + ")");
    }
    let percent = |ratio: f64| format!("{:.1}", 100.0 * (ratio - 1.0));
    format!("{} % (95 % interval {}–{} %)", percent(estimate), percent(low), percent(high))
}

/// `synchronous_commit=off`
pub(super) fn level(factors: &Factors, factor: usize, level: usize) -> String {
    let Some(of) = factors.factors.get(factor) else { return "?".to_owned() };
    let text = of.levels.get(level).map_or("?", String::as_str);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}={}", of.name(), cut(&text, LETTERS))
}

/// `synchronous_commit`, `synchronous_commit with batch`
pub(super) fn named(factors: &Factors, of: &[usize]) -> String {
    let names: Vec<&str> =
        of.iter().filter_map(|factor| factors.factors.get(*factor)).map(Factor::name).collect();
    names.join(" with ")
}

fn listed(names: &[&str]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => names.concat(),
    }
}

/// For a terminal; empty without factors.
pub(super) fn paragraphs(run: &Run, analysis: &Analysis, style: &Style) -> String {
    let label = |place: usize| if place == 0 { "factors" } else { "" };
    let told = sentences(run, analysis);
    told.iter().enumerate().map(|(place, text)| style.paragraph(label(place), Ink::Strong, text)).collect()
}

/// Rows of a table of shares: name, share, interval.
pub(super) fn share_rows(factors: &Factors, table: &FactorTable) -> Vec<[String; 3]> {
    let mut ranked: Vec<&Share> = table.found.shares.iter().collect();
    ranked.sort_by(|a, b| b.share.estimate.total_cmp(&a.share.estimate));
    let percent = |value: f64| units::percent(value);
    let mut rows: Vec<[String; 3]> = ranked
        .into_iter()
        .map(|share| {
            let range = format!("{}–{}", percent(share.share.low), percent(share.share.high));
            [named(factors, &share.factors), percent(share.share.estimate), range]
        })
        .collect();
    if factors.factors.len() > 2 {
        rows.push(["three and more together".to_owned(), percent(table.found.higher), String::new()]);
    }
    rows.push(["noise".to_owned(), percent(table.found.noise), String::new()]);
    rows
}

/// Rows of a table of effects: level, the baseline's level, ratio.
pub(super) fn effect_rows(factors: &Factors, table: &FactorTable) -> Vec<[String; 3]> {
    let row = |found: &MainEffect| {
        let base = factors.factors.get(found.factor).map_or(0, |factor| factor.baseline);
        [
            level(factors, found.factor, found.level),
            level(factors, found.factor, base),
            units::ratio(&found.effect),
        ]
    };
    table.found.effects.iter().map(row).collect()
}

/// Rows of a table of interactions: the two levels, what the first does alone and beside the second, how much more.
pub(super) fn interaction_rows(factors: &Factors, table: &FactorTable) -> Vec<[String; 5]> {
    let factor = |log: f64| format!("{}x", units::figure(log.exp()));
    let row = |found: &Interaction| {
        [
            level(factors, found.factors[0], found.levels[0]),
            level(factors, found.factors[1], found.levels[1]),
            factor(found.first[0]),
            factor(found.first[1]),
            units::ratio(&found.effect),
        ]
    };
    table.found.interactions.iter().map(row).collect()
}

/// For programs. Ratios are ratios, not logarithms.
pub(super) fn json(run: &Run, analysis: &Analysis, factors: &Factors) -> Value {
    let name = |factor: &usize| factors.factors.get(*factor).map(|of| of.key.clone());
    let text = |factor: usize, level: usize| {
        factors.factors.get(factor).and_then(|of| of.levels.get(level).cloned())
    };
    let table = |table: &FactorTable| {
        let found = &table.found;
        json!({
            "metric": table.metric,
            "rounds": found.rounds,
            "units": found.units,
            "nominal_p": found.nominal_p,
            "shares": found.shares.iter().map(|share| json!({
                "factors": share.factors.iter().map(name).collect::<Vec<_>>(),
                "share": share.share,
            })).collect::<Vec<_>>(),
            "higher": found.higher,
            "noise": found.noise,
            "effects": found.effects.iter().map(|effect| json!({
                "factor": name(&effect.factor),
                "level": text(effect.factor, effect.level),
                "ratio": super::json::ratio(&effect.effect),
            })).collect::<Vec<_>>(),
            "interactions": found.interactions.iter().map(|both| json!({
                "factors": both.factors.iter().map(name).collect::<Vec<_>>(),
                "levels": both.factors.iter().zip(&both.levels).map(|(of, at)| text(*of, *at)).collect::<Vec<_>>(),
                "ratio": super::json::ratio(&both.effect),
                "first_at_baseline": both.first[0].exp(),
                "first_at_level": both.first[1].exp(),
                "second_at_baseline": both.second[0].exp(),
                "second_at_level": both.second[1].exp(),
            })).collect::<Vec<_>>(),
        })
    };
    json!({
        "factors": factors.factors.iter().map(|factor| json!({
            "key": factor.key,
            "with": factor.with,
            "levels": factor.levels,
            "baseline": factor.levels.get(factor.baseline),
        })).collect::<Vec<_>>(),
        "rounds": factors.rounds,
        "metrics": factors.tables.iter().map(table).collect::<Vec<_>>(),
        "sentences": sentences(run, analysis),
    })
}
