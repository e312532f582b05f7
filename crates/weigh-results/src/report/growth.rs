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
use crate::analysis::growth::{Growth, GrowthCurve, GrowthFit, GrowthKnee};
use crate::model::{Plan, Run};

/// One sentence per deciding metric and curve; none without a sweep.
#[must_use]
pub fn sentences(run: &Run, analysis: &Analysis) -> Vec<String> {
    let decide = &run.header.plan.judge.decide;
    let curves = analysis.growth.iter().flat_map(|growth| &growth.curves);
    curves.filter(|curve| decide.contains(&curve.metric)).map(sentence).collect()
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
        format!("{}, {}", name.split_whitespace().collect::<Vec<_>>().join(" "), words::noun(curve.metric))
    };
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
    let verb = if exponent.low > 0.0 {
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
    let levels = u32::try_from(curve.points.len()).unwrap_or(u32::MAX);
    format!("all {} within {} of that", words::plural(levels, "level"), units::percent(fit.worst))
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
    json!({ "factor": growth.factor, "curves": growth.curves.iter().map(curve).collect::<Vec<_>>() })
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
