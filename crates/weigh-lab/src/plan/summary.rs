//! The two lines that say what a run is about when the experiment does not: its question and its load.

use std::collections::BTreeSet;

use weigh_load::{Arrivals, Schedule};
use weigh_results::report::units;

use crate::experiment::Experiment;
use crate::plan::ResolvedVariant;

/// The question, or one made from what is varied.
pub(super) fn question(experiment: &Experiment) -> String {
    if !experiment.question.trim().is_empty() {
        return experiment.question.trim().to_owned();
    }
    if experiment.commands.is_some() {
        return "Which command is faster?".to_owned();
    }
    let factors =
        experiment.factors.iter().filter(|factor| factor.levels.len() > 1).map(|factor| &factor.key);
    let levels = experiment.variants.iter().flat_map(|variant| variant.levels.keys());
    let mut keys: Vec<&str> = Vec::new();
    for key in factors.chain(levels) {
        let short = key.strip_prefix("settings.").or(key.strip_prefix("vars.")).unwrap_or(key);
        if !keys.contains(&short) {
            keys.push(short);
        }
    }
    match keys.as_slice() {
        [] => "Is it the same twice?".to_owned(),
        [only] => format!("What does {only} cost?"),
        [most @ .., last] => format!("What do {} and {last} cost?", most.join(", ")),
    }
}

/// One line about the load: `insert · 4 clients`.
pub(super) fn load(experiment: &Experiment, variants: &[ResolvedVariant]) -> String {
    if let Some(commands) = &experiment.commands {
        let shell = if commands.shell == "none" { "without a shell" } else { commands.shell.as_str() };
        return format!("{} commands · {shell}", variants.len());
    }
    let mixes: BTreeSet<String> = variants.iter().map(mix).collect();
    let mut parts = match mixes.len() {
        1 => mixes.into_iter().collect(),
        // Variants that do different things say so in their own names.
        _ => vec![names(variants)],
    };
    parts.push(span(variants.iter().map(|variant| variant.clients), "client"));
    if variants.iter().any(|variant| variant.pipeline > 1) {
        parts.push(format!("{} in flight", range(variants.iter().map(|variant| variant.pipeline))));
    }
    parts.extend(rates(variants));
    parts.join(" · ")
}

/// `5,000/s`, `1,000–16,000/s, poisson`, where a variant is an open loop.
fn rates(variants: &[ResolvedVariant]) -> Option<String> {
    let open: Vec<(f64, Arrivals)> = variants
        .iter()
        .filter_map(|variant| match variant.schedule {
            Schedule::Open { rate_per_s, arrivals } => Some((rate_per_s, arrivals)),
            Schedule::Closed => None,
        })
        .collect();
    let least = open.iter().map(|(rate, _)| *rate).reduce(f64::min)?;
    let most = open.iter().map(|(rate, _)| *rate).reduce(f64::max)?;
    let rates = if least == most { shown(most) } else { format!("{}–{}", shown(least), shown(most)) };
    let rates = format!("{rates}/s");
    let all = |wanted: Arrivals| open.iter().all(|(_, arrivals)| *arrivals == wanted);
    let spacing = match (all(Arrivals::Constant), all(Arrivals::Poisson)) {
        (true, _) => "",
        (_, true) => ", poisson arrivals",
        _ => ", constant and poisson arrivals",
    };
    let some = if open.len() < variants.len() { ", or as fast as they go" } else { "" };
    Some(format!("{rates}{spacing}{some}"))
}

/// `5,000`, `0.250`.
fn shown(rate: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number, at most 1e8"
    )]
    if rate.fract() == 0.0 { units::count(rate as u64) } else { units::figure(rate) }
}

/// `read 90 % + update 10 %`, or the single operation's name.
fn mix(variant: &ResolvedVariant) -> String {
    let total: f64 = variant.operations.iter().map(|operation| f64::from(operation.weight)).sum();
    match variant.operations.as_slice() {
        [only] => only.name.clone(),
        several => {
            let share = |weight: u32| {
                let percent = 100.0 * f64::from(weight) / total;
                if percent < 1.0 { format!("{percent:.1}") } else { format!("{percent:.0}") }
            };
            let part = |operation: &crate::plan::ResolvedOperation| {
                format!("{} {} %", operation.name, share(operation.weight))
            };
            several.iter().map(part).collect::<Vec<_>>().join(" + ")
        }
    }
}

/// Every operation that some variant does, by name.
fn names(variants: &[ResolvedVariant]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for operation in variants.iter().flat_map(|variant| &variant.operations) {
        if !names.contains(&operation.name.as_str()) {
            names.push(&operation.name);
        }
    }
    names.join(", ")
}

fn span(numbers: impl Iterator<Item = usize> + Clone, unit: &str) -> String {
    let plural = if numbers.clone().max() == Some(1) { "" } else { "s" };
    format!("{} {unit}{plural}", range(numbers))
}

/// `8`, or `1–8`.
fn range(numbers: impl Iterator<Item = usize> + Clone) -> String {
    let (least, most) = (numbers.clone().min().unwrap_or(0), numbers.max().unwrap_or(0));
    if least == most { least.to_string() } else { format!("{least}–{most}") }
}
