//! Under which conditions two runs differ.

use std::collections::{BTreeMap, BTreeSet};

use super::super::units;
use crate::model::Run;

/// Everything that is known to differ, as fragments `what: first → second`.
pub(super) fn differences(first: &Run, second: &Run) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |what: &str, a: String, b: String| {
        if a != b {
            found.push(format!("{what}: {} → {}", shown(&a), shown(&b)));
        }
    };
    let (host, other) = (&first.header.host, &second.header.host);
    note("host", host.hostname.clone(), other.hostname.clone());
    note("operating system", host.os.clone(), other.os.clone());
    note("kernel", host.kernel.clone(), other.kernel.clone());
    note("CPU", host.cpu_model.clone(), other.cpu_model.clone());
    note("CPUs", host.cpus.to_string(), other.cpus.to_string());
    #[expect(clippy::cast_precision_loss, reason = "memory sizes are far below 2^52 bytes")]
    let memory = |bytes: u64| units::bytes(bytes as f64);
    note("memory", memory(host.memory_bytes), memory(other.memory_bytes));
    note("governor", host.governor.clone().unwrap_or_default(), other.governor.clone().unwrap_or_default());
    note("work directory", host.work_file_system.clone(), other.work_file_system.clone());
    let (plan, its) = (&first.header.plan, &second.header.plan);
    note("system", plan.system.clone(), its.system.clone());
    note("version", versions(first), versions(second));
    note("load", plan.load_summary.clone(), its.load_summary.clone());
    note("trial", units::seconds(plan.measure_s), units::seconds(its.measure_s));
    note("drain", plan.drain.to_string(), its.drain.to_string());
    note("weigh", first.header.weigh_version.clone(), second.header.weigh_version.clone());
    found.extend(settings(first, second));
    found
}

fn shown(value: &str) -> String {
    if value.is_empty() { "unknown".into() } else { format!("`{value}`") }
}

fn versions(run: &Run) -> String {
    let all: BTreeSet<&str> = run.instances.iter().map(|instance| instance.version.as_str()).collect();
    all.into_iter().collect::<Vec<_>>().join("/")
}

/// Effective settings, by variant name, that both runs know and that differ.
fn settings(first: &Run, second: &Run) -> Vec<String> {
    let theirs = effective(second);
    let mut found = Vec::new();
    for ((variant, setting), value) in effective(first) {
        let Some(other) = theirs.get(&(variant.clone(), setting.clone())) else { continue };
        if *other != value {
            found.push(format!("{setting} of {variant}: {} → {}", shown(&value), shown(other)));
        }
    }
    found
}

/// (variant, setting) → value, as read back from the servers. A variant with several values has none: it is
/// toggled inside one instance, and what was read back is not its own.
fn effective(run: &Run) -> BTreeMap<(String, String), String> {
    let mut values: BTreeMap<(String, String), BTreeSet<&String>> = BTreeMap::new();
    for instance in &run.instances {
        for slot in &instance.slots {
            let Some(variant) = run.header.plan.variants.get(slot.variant) else { continue };
            for (setting, value) in &instance.settings {
                values.entry((variant.name.clone(), setting.clone())).or_default().insert(value);
            }
        }
    }
    let single = |(key, values): (_, BTreeSet<&String>)| {
        let mut values = values.into_iter();
        Some((key, values.next().filter(|_| values.len() == 0)?.clone()))
    };
    values.into_iter().filter_map(single).collect()
}
