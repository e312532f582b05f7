//! Sentences an engineer can paste into a ticket: verdicts, reasons, checks, what more time would bring.

use weigh_stats::Interval;
use weigh_stats::verdict::Decision;

use super::counters;
use super::units::{self, Unit};
use crate::analysis::{AaCheck, AaOutcome, Analysis, Because, Comparison};
use crate::doubt::Doubt;
use crate::model::{Direction, Metric, Plan, Run};

/// Nobody waits longer than this for a verdict, seconds.
const OUT_OF_REACH_S: f64 = 12.0 * 3_600.0;
/// Reasons told per variant; the rest are counted.
const REASONS: usize = 4;

/// A metric as a heading of a plan's table: `rows/s`, where operations count for several rows.
pub fn heading_in(plan: &Plan, metric: Metric) -> String {
    match (&plan.unit, metric) {
        (Some(unit), Metric::Throughput) => format!("{unit}s/s"),
        (Some(unit), Metric::CpuPerOp) => format!("cpu/{unit}"),
        _ => heading(metric).to_owned(),
    }
}

/// A metric as a heading.
pub fn heading(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "ops/s",
        Metric::LatencyMean => "mean",
        Metric::LatencyP50 => "p50",
        Metric::LatencyP95 => "p95",
        Metric::LatencyP99 => "p99",
        Metric::ServiceP50 => "service p50",
        Metric::ServiceP95 => "service p95",
        Metric::ServiceP99 => "service p99",
        Metric::CpuPerOp => "cpu/op",
        Metric::Time => "time",
    }
}

/// A metric in the middle of a sentence.
pub fn noun(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "throughput",
        Metric::LatencyMean => "mean latency",
        Metric::LatencyP50 => "median latency",
        Metric::LatencyP95 => "p95 latency",
        Metric::LatencyP99 => "p99 latency",
        Metric::ServiceP50 => "median service time",
        Metric::ServiceP95 => "p95 service time",
        Metric::ServiceP99 => "p99 service time",
        Metric::CpuPerOp => "CPU time per operation",
        Metric::Time => "time",
    }
}

/// A metric's value with its unit.
pub fn value(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Throughput => units::figure(value),
        _ => units::seconds(value),
    }
}

/// Whether a log ratio is an improvement; `None` at exactly zero.
pub fn is_better(metric: Metric, log_ratio: f64) -> Option<bool> {
    let up = metric.direction() == Direction::HigherIsBetter;
    (log_ratio != 0.0).then_some((log_ratio > 0.0) == up)
}

/// Whether a comparison found a difference: `Some(true)` for the better, `Some(false)` for the worse.
pub fn is_different(comparison: &Comparison) -> Option<bool> {
    let interval = comparison.interval.filter(|_| comparison.decision == Decision::Different)?;
    is_better(comparison.metric, interval.estimate)
}

/// The name of a variant.
pub fn variant_name(plan: &Plan, variant: usize) -> &str {
    plan.variants.get(variant).map_or("?", |variant| variant.name.as_str())
}

/// The name of a variant in a sentence: a command's text is quoted, because it is more than a word.
pub fn quoted(plan: &Plan, variant: usize) -> String {
    let name = variant_name(plan, variant);
    if name.contains(char::is_whitespace) { format!("`{name}`") } else { name.to_owned() }
}

/// The verdict of one comparison, as one or two sentences.
pub fn verdict(run: &Run, analysis: &Analysis, comparison: &Comparison) -> String {
    let plan = &run.header.plan;
    let name = &quoted(plan, comparison.variant);
    let baseline = &quoted(plan, plan.baseline);
    let Some(interval) = comparison.interval else {
        return format!("{name}: nothing can be said yet, {}.", too_early(run, analysis));
    };
    match comparison.decision {
        Decision::Different => {
            let size = difference(comparison.metric, name, baseline, &interval);
            let sure =
                if comparison.is_final { "" } else { " The direction is certain, the size is not yet." };
            format!("{size}{sure}")
        }
        Decision::Same => format!(
            "{name} is the same as {baseline} within {} by {} ({}).",
            units::planned_percent(plan.judge.difference),
            noun(comparison.metric),
            interval_words(plan, &interval),
        ),
        Decision::Undecided => undecided(run, analysis, comparison, &interval),
    }
}

/// `off is 11.6 times faster than on (95 % interval 11.2–12.0).`
fn difference(metric: Metric, name: &str, baseline: &str, interval: &Interval) -> String {
    let more = interval.estimate > 0.0;
    // Told as a number above one, or as a positive percentage; the word carries the direction.
    let told = if more { *interval } else { interval.negated() };
    let (size, range) = if units::is_factor(interval.estimate.exp()) {
        factor_words(&told)
    } else {
        percent_words(interval, more)
    };
    let faster = is_better(metric, interval.estimate).unwrap_or(true);
    let speed = if faster { "faster" } else { "slower" };
    let (lower, less) = if more { ("higher", "more") } else { ("lower", "less") };
    let by = match metric {
        Metric::Throughput => format!("{name} is {size} {speed} than {baseline}"),
        Metric::Time if units::is_factor(interval.estimate.exp()) => {
            format!("{name} is {size} {speed} than {baseline}")
        }
        Metric::Time => format!("{name} takes {size} {less} time than {baseline}"),
        Metric::CpuPerOp => format!("{name} uses {size} {less} CPU time per operation than {baseline}"),
        _ => format!("the {} of {name} is {size} {lower} than that of {baseline}", noun(metric)),
    };
    format!("{by} (95 % interval {range}).")
}

/// (`11.6 times`, `11.2–12.0`)
fn factor_words(interval: &Interval) -> (String, String) {
    let text = units::ratio(interval);
    let (estimate, range) = text.split_once("x (").unwrap_or((&text, ""));
    (format!("{estimate} times"), range.trim_end_matches(')').to_owned())
}

/// (`3.1 %`, `2.2–4.0 %`), positive in the direction the sentence names.
fn percent_words(interval: &Interval, more: bool) -> (String, String) {
    let (estimate, low, high) = interval.ratio();
    let sign = if more { 1.0 } else { -1.0 };
    let of = |ratio: f64| 100.0 * sign * (ratio - 1.0);
    let (near, far) = if more { (of(low), of(high)) } else { (of(high), of(low)) };
    let decimals = if (far - near).abs() < 0.4 { 2 } else { 1 };
    let range = if near < 0.0 {
        format!("{near:+.decimals$}…{far:+.decimals$} %")
    } else {
        format!("{near:.decimals$}–{far:.decimals$} %")
    };
    (format!("{:.decimals$} %", of(estimate)), range)
}

/// `95 % interval -1.1…+0.8 %`
fn interval_words(plan: &Plan, interval: &Interval) -> String {
    let level = units::significant(100.0 * (1.0 - plan.judge.alpha), 3);
    let level = level.trim_end_matches(".0");
    let (_, low, high) = interval.ratio();
    let decimals = if 100.0 * (high - low) < 0.4 { 2 } else { 1 };
    let signed = |ratio: f64| format!("{:+.decimals$}", 100.0 * (ratio - 1.0));
    format!("{level} % interval {}…{} %", signed(low), signed(high))
}

fn undecided(run: &Run, analysis: &Analysis, comparison: &Comparison, interval: &Interval) -> String {
    let plan = &run.header.plan;
    let name = &quoted(plan, comparison.variant);
    let baseline = &quoted(plan, plan.baseline);
    let mut text = format!(
        "{name} is undecided by {} after {}: {} against {baseline}",
        noun(comparison.metric),
        units_of(run, comparison.units),
        interval_words(plan, interval),
    );
    let (_, low, high) = interval.ratio();
    let above = (high - 1.0).max(1.0 - low);
    if above > 1.0 {
        text.push_str(", which excludes hardly anything");
    } else {
        text.push_str(&format!(", so differences above {} are excluded", units::percent(above)));
    }
    text.push_str(&what_it_takes(run, analysis, comparison));
    text + "."
}

/// `; about 6 minutes more would decide it (a budget of 11m in all)`, or that no time would help.
fn what_it_takes(run: &Run, analysis: &Analysis, comparison: &Comparison) -> String {
    let Some(more_s) = more_time_s(run, analysis, comparison) else {
        return "; how long it would take to decide cannot be foreseen".to_owned();
    };
    if more_s > OUT_OF_REACH_S {
        let hint = "a quieter machine or a steadier load would help more than time";
        return format!("; with this noise it would take about {} more to decide it: {hint}", about(more_s));
    }
    format!("; about {} more would decide it (a budget of {} in all)", about(more_s), budget(run, more_s))
}

/// What the run took and what is missing, in the letters of `--budget`, with a little to spare.
fn budget(run: &Run, more_s: f64) -> String {
    let spent_s = run.finish.as_ref().map_or(run.header.plan.judge.budget_s, |finish| finish.elapsed_s);
    let minutes = ((spent_s + 1.05 * more_s) / 60.0).ceil();
    if minutes < 120.0 { format!("{minutes:.0}m") } else { format!("{:.0}h", (minutes / 60.0).ceil()) }
}

/// What the budget could have shown at best, if anything is undecided.
fn least_visible(analysis: &Analysis) -> Option<String> {
    let undecided =
        analysis.comparisons.iter().filter(|comparison| comparison.decision == Decision::Undecided);
    let least = undecided.filter_map(|comparison| comparison.detectable).reduce(f64::max)?;
    Some(format!("With this noise, this budget can show differences of {} and more.", units::percent(least)))
}

/// Wall-clock seconds that would bring the comparison to the difference that matters.
pub fn more_time_s(run: &Run, analysis: &Analysis, comparison: &Comparison) -> Option<f64> {
    let more = comparison.units_needed?.checked_sub(comparison.units).filter(|units| *units > 0)?;
    Some(f64::from(more) * f64::from(rounds_per_unit(run)) * analysis.round_s?)
}

fn rounds_per_unit(run: &Run) -> u32 {
    run.horizon.map_or(1, |(_, _, rounds)| rounds.max(1))
}

/// `34 rounds`, `6 epochs`.
fn units_of(run: &Run, units: u32) -> String {
    let word = match run.current_sequence().map(|sequence| sequence.replication) {
        Some(crate::model::Replication::Epoch) => "epoch",
        _ => "round",
    };
    plural(units, word)
}

/// `1 round`, `34 rounds`.
pub fn plural(number: u32, word: &str) -> String {
    format!("{} {word}{}", units::count(number.into()), if number == 1 { "" } else { "s" })
}

/// A foreseen time, no more exact than it is known.
fn about(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round().max(1.0);
    match minutes {
        one if one < 1.5 => "a minute".into(),
        few if few < 90.0 => format!("{few:.0} minutes"),
        many if many < 72.0 * 60.0 => format!("{:.0} hours", many / 60.0),
        ages => format!("{} days", units::figure((ages / 1_440.0).round())),
    }
}

fn too_early(run: &Run, analysis: &Analysis) -> String {
    if analysis.units == 0 {
        "no round is complete".into()
    } else {
        format!("{} are not enough{}", units_of(run, analysis.units), first_verdict(run, analysis))
    }
}

/// `; 8 rounds are the fewest, about a minute more`
fn first_verdict(run: &Run, analysis: &Analysis) -> String {
    let Some(sequence) = run.current_sequence() else { return String::new() };
    let fewest = crate::analysis::judge::first_look(sequence.replication);
    let missing = fewest.saturating_sub(analysis.units);
    let Some(round_s) = analysis.round_s.filter(|_| missing > 0) else { return String::new() };
    let more_s = f64::from(missing) * f64::from(rounds_per_unit(run)) * round_s;
    format!("; {} are the fewest, about {} more", units_of(run, fewest), about(more_s))
}

/// Why a variant differs: its reasons in one sentence, `None` without any.
pub fn because(run: &Run, analysis: &Analysis, variant: usize) -> Option<String> {
    let plan = &run.header.plan;
    let reasons: Vec<&Because> =
        analysis.because.iter().filter(|because| because.variant == variant).collect();
    if reasons.is_empty() {
        return None;
    }
    let told: Vec<String> = reasons.iter().take(REASONS).map(|because| reason(plan, because)).collect();
    let more = reasons.len().saturating_sub(REASONS);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    let per = match &plan.unit {
        Some(unit) => format!("per {unit}"),
        None if plan.system == "commands" => "per execution".to_owned(),
        None => "per operation".to_owned(),
    };
    Some(format!("{}, {per}: {}{rest}.", quoted(plan, variant), told.join("; ")))
}

/// `WAL syncs 0.00412 instead of 1.00 (243 times less)`
fn reason(plan: &Plan, because: &Because) -> String {
    let unit = Unit::of_counter(&because.counter);
    let text = format!(
        "{} {} instead of {}",
        counters::words(plan, &because.counter),
        unit.show(because.variant_per_op),
        unit.show(because.baseline_per_op)
    );
    let Some(ratio) = because.ratio.map(|interval| interval.estimate.exp()).filter(|ratio| ratio.is_finite())
    else {
        return text;
    };
    let size = if units::is_factor(ratio) {
        let less = if unit == Unit::Count { "fewer" } else { "less" };
        let (factor, word) = if ratio > 1.0 { (ratio, "more") } else { (ratio.recip(), less) };
        format!("{} times {word}", units::figure(factor))
    } else {
        format!("{:+.1} %", 100.0 * (ratio - 1.0))
    };
    format!("{text} ({size})")
}

/// What the load generator itself cost, where it is apart from the system.
pub fn client(run: &Run, analysis: &Analysis) -> Option<String> {
    if run.header.plan.in_process {
        return None;
    }
    let costs: Vec<f64> =
        analysis.variants.iter().filter_map(|summary| summary.client_user_per_op_s).collect();
    let (least, most) = (costs.iter().copied().reduce(f64::min)?, costs.iter().copied().reduce(f64::max)?);
    let busiest = analysis.variants.iter().filter_map(|summary| summary.client_busiest).reduce(f64::max)?;
    Some(format!(
        "the load generator used {} to {} of user CPU per {}, at most {:.0} % of a core per thread.",
        units::seconds(least),
        units::seconds(most),
        run.header.plan.unit.as_deref().unwrap_or("operation"),
        100.0 * busiest
    ))
}

/// The A/A check of one metric in a sentence.
pub fn aa(run: &Run, check: &AaCheck) -> String {
    let baseline = quoted(&run.header.plan, run.header.plan.baseline);
    let by = noun(check.metric);
    match (check.outcome, check.interval) {
        (AaOutcome::Fails, Some(interval)) => {
            format!("FAILED: two identical copies of {baseline} differ by {by}: {}.", units::ratio(&interval))
        }
        (AaOutcome::Agrees, Some(interval)) => format!(
            "passed: two identical copies of {baseline} agree within {} by {by}.",
            units::percent(weigh_stats::verdict::excluded_above(&interval))
        ),
        (AaOutcome::AgreesWithin(size), _) => format!(
            "not failed, but not sharp: two identical copies of {baseline} agree only within {} by {by}.",
            units::percent(size)
        ),
        _ => format!("not yet: too few rounds to compare two copies of {baseline} by {by}."),
    }
}

/// A doubt: what it is with its evidence, then why it matters and what to do.
pub fn doubt(plan: &Plan, doubt: &Doubt) -> (String, String) {
    let text = doubt.kind.text();
    let names: Vec<String> = doubt.variants.iter().map(|variant| quoted(plan, *variant)).collect();
    let about = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    (
        format!("{}{about}: {}.", text.title, doubt.evidence.trim_end_matches('.')),
        format!("{} {}", text.cause, text.advice),
    )
}

/// Every verdict of a run, in plan order; the one line that replaces them if they are withheld.
pub fn verdicts(run: &Run, analysis: &Analysis) -> Vec<String> {
    if let Some(kind) = analysis.verdict_withheld {
        return vec![format!(
            "withheld, because {}. The figures above are for information only.",
            kind.text().title
        )];
    }
    if analysis.comparisons.iter().all(|comparison| comparison.interval.is_none()) {
        return vec![format!("nothing can be said yet: {}.", too_early(run, analysis))];
    }
    let plan = &run.header.plan;
    let mut told: Vec<&Comparison> = analysis.comparisons.iter().collect();
    told.sort_by_key(|comparison| {
        let place = plan.judge.decide.iter().position(|metric| *metric == comparison.metric);
        (comparison.variant, place)
    });
    told.into_iter()
        .map(|comparison| verdict(run, analysis, comparison))
        .chain(least_visible(analysis))
        .collect()
}
