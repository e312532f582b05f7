//! What a sweep grows like: [`sentences`] for people, and the same for programs.
//!
//! An exponent is told as a power and as what a doubling does, because few people read exponents. Nothing is said beyond
//! the levels that were measured.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weigh_stats::Interval;

use super::layout::{Ink, Style};
use super::{units, words};
use crate::analysis::Analysis;
use crate::analysis::growth::{Dimension, Growth, GrowthContrast, GrowthCurve, GrowthFit, GrowthKnee};
use crate::model::{Plan, Run};

/// An exponent this small is no growth to speak of: 1.4 % per doubling.
const NEARLY_FLAT: f64 = 0.02;
/// Curves that are compared in a sentence; the rest are in the table of contrasts.
const COMPARED: usize = 6;

/// One sentence per deciding metric and curve, then how the curves of a metric compare; none without a sweep.
#[must_use]
pub fn sentences(run: &Run, analysis: &Analysis) -> Vec<String> {
    let decide = &run.header.plan.judge.decide;
    let Some(growth) = &analysis.growth else { return Vec::new() };
    let of = |metric: &crate::model::Metric| {
        let curves = growth.curves.iter().filter(|curve| curve.metric == *metric).map(sentence);
        curves.chain(compared(growth, *metric)).collect::<Vec<_>>()
    };
    decide.iter().flat_map(of).collect()
}

/// `of throughput, loose goes as rows^0.02, distinct as rows^1.01: their exponents differ by 0.99 (95 % interval 0.95–1.03).`
#[must_use]
pub fn compared(growth: &Growth, metric: crate::model::Metric) -> Option<String> {
    let contrasts: Vec<&GrowthContrast> =
        growth.contrasts.iter().filter(|contrast| growth.curves[contrast.curve].metric == metric).collect();
    let against = &growth.curves[contrasts.first()?.against];
    let told: Vec<String> =
        contrasts.iter().take(COMPARED).filter_map(|contrast| one_compared(growth, contrast)).collect();
    let more = contrasts.len().saturating_sub(COMPARED);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    let fit = against.fit.as_ref()?;
    Some(format!(
        "compared by {}: {} goes as {}^{}; {}{rest}.",
        words::noun(metric),
        one_line(&against.name()),
        against.factor,
        decimals(fit.exponent.estimate),
        told.join("; ")
    ))
}

fn one_compared(growth: &Growth, contrast: &GrowthContrast) -> Option<String> {
    let curve = &growth.curves[contrast.curve];
    let exponent = curve.fit.as_ref()?.exponent.estimate;
    let difference = &contrast.difference;
    let size = if difference.contains(0.0) {
        format!("which may be the same (difference {})", range(difference))
    } else {
        let (told, word) = if difference.estimate > 0.0 {
            (*difference, "larger")
        } else {
            (difference.negated(), "smaller")
        };
        format!("an exponent {word} by {} (95 % interval {})", decimals(told.estimate), range(&told))
    };
    Some(format!("{} as {}^{}, {size}", one_line(&curve.name()), curve.factor, decimals(exponent)))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentences for a terminal; empty without a sweep.
pub(super) fn paragraphs(run: &Run, analysis: &Analysis, style: &Style) -> String {
    let label = |place: usize| if place == 0 { "growth" } else { "" };
    let told = sentences(run, analysis);
    told.iter().enumerate().map(|(place, text)| style.paragraph(label(place), Ink::Strong, text)).collect()
}

/// `throughput grows as clients^0.71 (0.68–0.74): doubling clients multiplies it by 1.64; …`
#[must_use]
pub fn sentence(curve: &GrowthCurve) -> String {
    let name = curve.name();
    let what = if name.is_empty() {
        words::noun(curve.metric).to_owned()
    } else {
        format!("{}, {}", one_line(&name), words::noun(curve.metric))
    };
    if curve.dimension == Dimension::Share {
        return share(&what, curve);
    }
    let Some(fit) = &curve.fit else {
        return format!("{what}: too few rounds with every level of {} to say how it grows.", curve.factor);
    };
    match &fit.knee {
        Some(knee) => bent(&what, curve, fit, knee),
        None => straight(&what, curve, fit),
    }
}

fn straight(what: &str, curve: &GrowthCurve, fit: &GrowthFit) -> String {
    let flat = if fit.exponent.contains(0.0) { " It may not change at all." } else { "" };
    format!("{what} {}; {}.{flat}", law(&curve.factor, &fit.exponent), closeness(curve, fit))
}

fn bent(what: &str, curve: &GrowthCurve, fit: &GrowthFit, knee: &GrowthKnee) -> String {
    format!(
        "{what} bends at {} {}: up to there it {}, from there on it {}; {}.",
        curve.factor,
        knee.level,
        law(&curve.factor, &knee.before),
        law(&curve.factor, &knee.after),
        closeness(curve, fit)
    )
}

/// `grows as clients^0.71 (95 % interval 0.68–0.74), 1.64 times per doubling`
fn law(factor: &str, exponent: &Interval) -> String {
    let verb = if exponent.estimate.abs() < NEARLY_FLAT {
        "stays nearly the same,"
    } else if exponent.low > 0.0 {
        "grows"
    } else if exponent.high < 0.0 {
        "falls"
    } else {
        "goes"
    };
    let doubled = units::figure(exponent.estimate.exp2());
    format!(
        "{verb} as {factor}^{} (95 % interval {}), {doubled} times per doubling",
        decimals(exponent.estimate),
        range(exponent)
    )
}

fn range(exponent: &Interval) -> String {
    // A dash between negative numbers reads as another sign.
    let between = if exponent.low < 0.0 { "…" } else { "–" };
    format!("{}{between}{}", decimals(exponent.low), decimals(exponent.high))
}

fn decimals(exponent: f64) -> String {
    let text = format!("{exponent:.2}");
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

fn closeness(curve: &GrowthCurve, fit: &GrowthFit) -> String {
    // A power of 0 is 0 or nothing at all: such a level is told beside the law, not by it.
    let at_zero = curve.points.iter().find(|point| point.value <= 0.0);
    let fitted = curve.points.iter().filter(|point| point.value > 0.0).count();
    let levels = words::plural(u32::try_from(fitted).unwrap_or(u32::MAX), "level");
    let (above, beside) = match at_zero {
        Some(point) => {
            (" above 0", format!("; at {} it is {}", point.level, words::value(curve.metric, point.median)))
        }
        None => ("", String::new()),
    };
    format!("all {levels}{above} within {} of that{beside}", units::percent(fit.worst))
}

/// `throughput goes from 12,300 at 0 % write.weight to 4,100 at 100 %; the steepest step is from 0 % to 10 % (-31 %).`
fn share(what: &str, curve: &GrowthCurve) -> String {
    let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) else {
        return format!("{what}: no level was measured.");
    };
    let at = |value: f64| units::planned_percent((value * 1e6).round() / 1e6);
    let show = |value: f64| words::value(curve.metric, value);
    let change = |from: f64, to: f64| {
        let ratio = to / from;
        if units::is_factor(ratio) {
            format!("{}x", units::figure(ratio))
        } else {
            format!("{:+.1} %", 100.0 * (ratio - 1.0))
        }
    };
    let steepest = curve.points.windows(2).max_by(|a, b| {
        let step =
            |pair: &[crate::analysis::growth::GrowthPoint]| (pair[1].median / pair[0].median).ln().abs();
        step(a).total_cmp(&step(b))
    });
    let step = steepest.map_or_else(String::new, |pair| {
        let size = change(pair[0].median, pair[1].median);
        format!("; the largest step is from {} to {} ({size})", at(pair[0].value), at(pair[1].value))
    });
    format!(
        "{what} goes from {} at {} {} to {} at {} ({}){step}.",
        show(first.median),
        at(first.value),
        curve.factor.trim_end_matches(".weight"),
        show(last.median),
        at(last.value),
        change(first.median, last.median)
    )
}

/// The sweep for programs. Intervals of exponents are not logarithms and stay as they are.
pub(super) fn json(plan: &Plan, growth: &Growth) -> Value {
    let curve = |curve: &GrowthCurve| {
        json!({
            "metric": curve.metric,
            "fixed": curve.fixed.iter().cloned().collect::<BTreeMap<String, String>>(),
            "common": curve.common,
            "points": curve.points.iter().map(|point| json!({
                "variant": words::variant_name(plan, point.variant),
                "level": point.level,
                "value": point.value,
                "median": point.median,
                "low": point.low,
                "high": point.high,
            })).collect::<Vec<_>>(),
            "fit": curve.fit.as_ref().map(fit_json),
            "sentence": sentence(curve),
        })
    };
    let contrast = |contrast: &GrowthContrast| json!({ "curve": contrast.curve, "against": contrast.against, "difference": contrast.difference });
    json!({
        "factor": growth.factor,
        "curves": growth.curves.iter().map(curve).collect::<Vec<_>>(),
        "contrasts": growth.contrasts.iter().map(contrast).collect::<Vec<_>>(),
    })
}

fn fit_json(fit: &GrowthFit) -> Value {
    json!({
        "exponent": fit.exponent,
        "scale": fit.log_scale.exp(),
        "worst": fit.worst,
        "rounds": fit.rounds,
        "knee": fit.knee.as_ref().map(|knee| json!({
            "level": knee.level,
            "value": knee.value,
            "metric": knee.log_value.exp(),
            "before": knee.before,
            "after": knee.after,
        })),
    })
}
