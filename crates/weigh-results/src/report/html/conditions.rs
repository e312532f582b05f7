//! Under which conditions a run was made: levels, effective settings, versions, host.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::super::units;
use super::scope::Scope;
use crate::model::{HostSummary, Plan, Run};

/// Name to one value per variant; `None` where it is not known.
type ByVariant<'a> = BTreeMap<&'a str, Vec<Option<String>>>;

/// What differs between variants, then what is equal, then the host.
pub(super) fn conditions(scope: &Scope, run: &Run) -> Markup {
    let plan = &run.header.plan;
    let levels = levels(plan);
    let settings = effective(run);
    let (differ, equal): (ByVariant<'_>, ByVariant<'_>) =
        settings.into_iter().partition(|(_, values)| values.iter().collect::<BTreeSet<_>>().len() > 1);
    html! {
        @if !levels.is_empty() { (scope.heading(1, None, &html! { "Levels" })) (by_variant(plan, "factor", &levels)) }
        @if !differ.is_empty() {
            (scope.heading(1, None, &html! { "Effective settings that differ" }))
            p.note { "As the servers themselves said after they were started." }
            (by_variant(plan, "setting", &differ))
        }
        @if !equal.is_empty() {
            details {
                summary { "Effective settings that are equal (" (equal.len()) ")" }
                (pairs(equal.iter().map(|(name, values)| (*name, values.iter().flatten().next().cloned().unwrap_or_default()))))
            }
        }
        (scope.heading(1, None, &html! { "Host and versions" }))
        (pairs(host(run).iter().map(|(name, value)| (name.as_str(), value.clone()))))
    }
}

/// Levels by factor; a factor is shown even where all variants agree in it.
fn levels(plan: &Plan) -> ByVariant<'_> {
    let factors: BTreeSet<&str> =
        plan.variants.iter().flat_map(|variant| variant.levels.keys().map(String::as_str)).collect();
    let of = |factor: &str| plan.variants.iter().map(|variant| variant.levels.get(factor).cloned()).collect();
    factors.into_iter().map(|factor| (factor, of(factor))).collect()
}

/// What was read back, by setting. Several values of one variant (it was started again) stand side by side.
fn effective(run: &Run) -> ByVariant<'_> {
    let variants = run.header.plan.variants.len();
    let mut seen: BTreeMap<&str, Vec<BTreeSet<&str>>> = BTreeMap::new();
    for instance in &run.instances {
        for (setting, value) in &instance.settings {
            let by_variant = seen.entry(setting).or_insert_with(|| vec![BTreeSet::new(); variants]);
            for slot in instance.slots.iter().filter(|slot| slot.variant < variants) {
                by_variant[slot.variant].insert(value);
            }
        }
    }
    let told = |values: BTreeSet<&str>| {
        (!values.is_empty()).then(|| values.into_iter().collect::<Vec<_>>().join(" / "))
    };
    seen.into_iter().map(|(setting, values)| (setting, values.into_iter().map(told).collect())).collect()
}

fn by_variant(plan: &Plan, what: &str, rows: &ByVariant<'_>) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label={ (what) " by variant" } {
            table {
                thead { tr { th scope="col" { (what) } @for variant in &plan.variants { th scope="col" { (variant.name) } } } }
                tbody { @for (name, values) in rows {
                    tr {
                        th scope="row" { code { (name) } }
                        @for value in values { td { @match value { Some(value) => code { (value) }, None => "–" } } }
                    }
                } }
            }
        }
    }
}

fn pairs<'a>(rows: impl Iterator<Item = (&'a str, String)>) -> Markup {
    html! { dl.pairs { @for (name, value) in rows { div { dt { (name) } dd { (value) } } } } }
}

fn host(run: &Run) -> Vec<(String, String)> {
    let host: &HostSummary = &run.header.host;
    let versions: BTreeSet<&str> = run.instances.iter().map(|instance| instance.version.as_str()).collect();
    let versions = versions.into_iter().filter(|version| !version.is_empty()).collect::<Vec<_>>().join(", ");
    #[expect(clippy::cast_precision_loss, reason = "memory sizes are far below 2^52 bytes")]
    let memory = units::bytes(host.memory_bytes as f64);
    let cpus = format!("{} × {}", host.cpus, host.cpu_model);
    let mut rows: Vec<(String, String)> = [
        (run.header.plan.system.as_str(), versions),
        ("host", host.hostname.clone()),
        ("operating system", host.os.clone()),
        ("kernel", host.kernel.clone()),
        ("CPUs", cpus.trim_end_matches([' ', '×']).to_owned()),
        ("memory", memory),
        ("governor", host.governor.clone().unwrap_or_default()),
        ("virtualisation", host.virtualisation.clone().unwrap_or_default()),
        ("clock source", host.clock_source.clone()),
        ("work directory", host.work_file_system.clone()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    rows.extend(host.extra.iter().map(|(name, value)| (name.replace('_', " "), value.clone())));
    rows.push(("weigh".into(), run.header.weigh_version.clone()));
    rows.retain(|(_, value)| !value.is_empty());
    rows
}
