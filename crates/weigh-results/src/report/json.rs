//! The report of a run as JSON, for programs. Described field by field in `docs/formats.md`.
//!
//! Everything the terminal shows is in it, without rounding, and everything the analysis knows besides.
//! Ratios are ratios, not logarithms. Fields may be added; none is renamed or removed without raising
//! [`REPORT_VERSION`].

use serde_json::{Map, Value, json};
use weigh_stats::Interval;
use weigh_stats::verdict::Decision;

use super::words;
use crate::analysis::{AaCheck, AaOutcome, Analysis, Because, Comparison, CostPerOp, VariantSummary};
use crate::doubt::Doubt;
use crate::model::{Plan, Run};

/// Version of the JSON reports.
pub const REPORT_VERSION: u32 = 1;

/// The report of a run.
pub fn render(run: &Run, analysis: &Analysis) -> Value {
    let plan = &run.header.plan;
    let names = |index: usize| words::variant_name(plan, index);
    json!({
        "report": "run",
        "report_version": REPORT_VERSION,
        "run_id": run.header.run_id,
        "weigh_version": run.header.weigh_version,
        "started_at": run.header.started_at,
        "command_line": run.header.command_line,
        "finish": run.finish,
        "question": plan.question,
        "experiment": plan.experiment,
        "plan": plan,
        "host": run.header.host,
        "instances": run.instances,
        "sequences": run.sequences,
        "rounds": analysis.rounds,
        "rounds_set_aside": analysis.rounds_set_aside,
        "round_s": analysis.round_s,
        "units": analysis.units,
        "horizon_units": analysis.horizon,
        "baseline": names(plan.baseline),
        "verdict_withheld": analysis.verdict_withheld,
        "comparisons": analysis.comparisons.iter().map(|found| comparison(run, analysis, found)).collect::<Vec<_>>(),
        "aa": analysis.aa.iter().map(|check| aa(run, check)).collect::<Vec<_>>(),
        "self_checks": self_checks(plan, analysis),
        "variants": analysis.variants.iter().map(|summary| variant(plan, summary)).collect::<Vec<_>>(),
        "because": analysis.because.iter().map(|reason| because(plan, reason)).collect::<Vec<_>>(),
        "factors": analysis.factors.as_ref().map(|factors| super::factors::json(run, analysis, factors)),
        "growth": analysis.growth.as_ref().map(|growth| super::growth::json(plan, growth)),
        "doubts": doubts(plan, &analysis.doubts),
    })
}

/// Doubts with their words.
pub(super) fn doubts(plan: &Plan, doubts: &[Doubt]) -> Vec<Value> {
    let of = |doubt: &Doubt| {
        let text = doubt.kind.text();
        let variants: Vec<&str> =
            doubt.variants.iter().map(|index| words::variant_name(plan, *index)).collect();
        json!({
            "kind": doubt.kind,
            "title": text.title,
            "evidence": doubt.evidence,
            "cause": text.cause,
            "advice": text.advice,
            "variants": variants,
            "withholds_verdict": doubt.kind.withholds_verdict(),
        })
    };
    doubts.iter().map(of).collect()
}

/// A log-scale interval as ratios.
pub(super) fn ratio(interval: &Interval) -> Value {
    let (estimate, low, high) = interval.ratio();
    json!({ "estimate": estimate, "low": low, "high": high })
}

/// The word of a decision.
pub(super) fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Different => "different",
        Decision::Same => "same",
        Decision::Undecided => "undecided",
    }
}

fn comparison(run: &Run, analysis: &Analysis, found: &Comparison) -> Value {
    let better = found.interval.and_then(|interval| words::is_better(found.metric, interval.estimate));
    json!({
        "variant": words::variant_name(&run.header.plan, found.variant),
        "metric": found.metric,
        "decision": decision(found.decision),
        "final": found.is_final,
        "withheld": analysis.verdict_withheld.is_some(),
        "better": better.filter(|_| found.decision == Decision::Different),
        "ratio": found.interval.as_ref().map(ratio),
        "nominal_p": found.nominal_p,
        "units": found.units,
        "excluded_above": found.excluded_above,
        "detectable": found.detectable,
        "units_needed": found.units_needed,
        "more_time_s": words::more_time_s(run, analysis, found),
        "sentence": words::verdict(run, analysis, found),
    })
}

fn aa(run: &Run, check: &AaCheck) -> Value {
    let (outcome, within) = match check.outcome {
        AaOutcome::Pending => ("pending", None),
        AaOutcome::Agrees => {
            ("agrees", check.interval.map(|found| weigh_stats::verdict::excluded_above(&found)))
        }
        AaOutcome::AgreesWithin(size) => ("agrees_within", Some(size)),
        AaOutcome::Fails => ("fails", None),
    };
    json!({
        "metric": check.metric,
        "outcome": outcome,
        "within": within,
        "ratio": check.interval.as_ref().map(ratio),
        "units": check.units,
        "sentence": words::aa(run, check),
    })
}

fn self_checks(plan: &Plan, analysis: &Analysis) -> Value {
    let checks = &analysis.self_checks;
    let halves = checks.halves.iter().map(|(index, interval, fails)| {
        json!({ "variant": words::variant_name(plan, *index), "ratio": ratio(interval), "fails": fails })
    });
    let drifting = checks.drifting.iter().map(|(index, first, second)| {
        json!({ "variant": words::variant_name(plan, *index), "first": ratio(first), "second": ratio(second) })
    });
    json!({
        "carry_over": checks.carry_over.map(|(effect, fails)| json!({ "ratio": effect.exp(), "fails": fails })),
        "halves": halves.collect::<Vec<_>>(),
        "drifting": drifting.collect::<Vec<_>>(),
    })
}

fn variant(plan: &Plan, summary: &VariantSummary) -> Value {
    let medians: Map<String, Value> =
        summary.medians.iter().map(|(metric, value)| (metric.name().to_owned(), json!(value))).collect();
    let information = summary.information.iter().map(|found| {
        let mut value = ratio(&found.interval);
        value["metric"] = json!(found.metric);
        value
    });
    json!({
        "name": words::variant_name(plan, summary.variant),
        "levels": plan.variants.get(summary.variant).map(|variant| &variant.levels),
        "baseline": summary.variant == plan.baseline,
        "trials": summary.trials,
        "ops": summary.ops,
        "medians": medians,
        "information": information.collect::<Vec<_>>(),
        "costs": summary.costs.iter().map(cost).collect::<Vec<_>>(),
        "debt_s": summary.debt_s,
        "errors": summary.errors,
        "reported": super::reported::json(summary),
        "misses": summary.misses.unwrap_or(0.0),
        "item_errors": summary.item_errors,
        "versions": summary.versions,
        "first_calls": summary.first_calls.as_ref().map(super::first_calls::json),
        "gauges": summary.gauges,
        "client_user_per_op_s": summary.client_user_per_op_s,
        "client_busiest": summary.client_busiest,
        "seen_elsewhere": plan.variants.get(summary.variant).and_then(|of| plan.field_figures.get(&of.name)),
    })
}

fn cost(cost: &CostPerOp) -> Value {
    let compared = cost.against_baseline.as_ref();
    json!({
        "counter": cost.counter,
        "per_op": cost.per_op,
        "baseline_per_op": Some(cost.baseline_per_op).filter(|value| value.is_finite()),
        "ratio": compared.and_then(|found| found.ratio.as_ref()).map(ratio),
        "p_value": compared.map(|found| found.p_value),
    })
}

fn because(plan: &Plan, reason: &Because) -> Value {
    json!({
        "variant": words::variant_name(plan, reason.variant),
        "counter": reason.counter,
        "words": super::counters::words(plan, &reason.counter),
        "per_op": reason.variant_per_op,
        "baseline_per_op": reason.baseline_per_op,
        "ratio": reason.ratio.as_ref().map(ratio),
    })
}
