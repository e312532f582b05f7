//! Under which conditions runs differ.

use std::collections::{BTreeMap, BTreeSet};

use super::super::units;
use crate::doubt::{Doubt, DoubtKind};
use crate::model::Run;

/// Conditions named in the doubt's evidence; the rest are counted.
const NAMED: usize = 6;

/// One fact of every run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What it is about (`kernel`, `shared_buffers of on`).
    pub what: String,
    /// Its value in each run, in the order of the runs; empty where it is not known.
    pub values: Vec<String>,
}

impl Condition {
    /// Whether the runs do not agree in it.
    pub fn differs(&self) -> bool {
        self.values.windows(2).any(|pair| pair[0] != pair[1])
    }

    /// `kernel: 6.1 → 6.18`, values quoted.
    fn told(&self) -> String {
        let quoted = |value: &String| if value.is_empty() { "unknown".into() } else { format!("`{value}`") };
        format!("{}: {}", self.what, self.values.iter().map(quoted).collect::<Vec<_>>().join(" → "))
    }
}

/// Every fact that was recorded of these runs: host, system, load, and the effective settings that all of them know.
pub fn conditions(runs: &[&Run]) -> Vec<Condition> {
    let of = |what: &str, value: fn(&Run) -> String| Condition {
        what: what.to_owned(),
        values: runs.iter().map(|run| value(run)).collect(),
    };
    #[expect(clippy::cast_precision_loss, reason = "memory sizes are far below 2^52 bytes")]
    let memory = |run: &Run| units::bytes(run.header.host.memory_bytes as f64);
    let mut all = vec![
        of("host", |run| run.header.host.hostname.clone()),
        of("operating system", |run| run.header.host.os.clone()),
        of("kernel", |run| run.header.host.kernel.clone()),
        of("CPU", |run| run.header.host.cpu_model.clone()),
        of("CPUs", |run| run.header.host.cpus.to_string()),
        of("memory", memory),
        of("governor", |run| run.header.host.governor.clone().unwrap_or_default()),
        of("work directory", |run| run.header.host.work_file_system.clone()),
        of("system", |run| run.header.plan.system.clone()),
        of("version", versions),
        of("load", |run| run.header.plan.load_summary.clone()),
        of("trial", |run| units::seconds(run.header.plan.measure_s)),
        of("drain", |run| run.header.plan.drain.to_string()),
        of("weigh", |run| run.header.weigh_version.clone()),
    ];
    all.extend(settings(runs));
    all.retain(|fact| fact.values.iter().any(|value| !value.is_empty()));
    all
}

/// The doubt about any comparison of runs, with what is known to differ as its evidence.
pub fn machine_changed(runs: &[&Run]) -> Doubt {
    let found: Vec<String> =
        conditions(runs).iter().filter(|fact| fact.differs()).map(Condition::told).collect();
    let moments: Vec<&str> = runs.iter().map(|run| run.header.started_at.as_str()).collect();
    let when = format!("they ran at {}", listed(&moments));
    let evidence = if found.is_empty() {
        format!("nothing that was recorded differs, but {when}, not in turn")
    } else {
        let more = found.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
        format!("{}{rest}; {when}", found.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; "))
    };
    Doubt { kind: DoubtKind::MachineChanged, evidence, variants: Vec::new() }
}

/// `a, b and c`
fn listed(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

fn versions(run: &Run) -> String {
    let all: BTreeSet<&str> = run.instances.iter().map(|instance| instance.version.as_str()).collect();
    all.into_iter().collect::<Vec<_>>().join("/")
}

/// Effective settings, by variant name, that every run knows.
fn settings(runs: &[&Run]) -> Vec<Condition> {
    let Some((first, rest)) = runs.split_first() else { return Vec::new() };
    let others: Vec<_> = rest.iter().map(|run| effective(run)).collect();
    let known_to_all = |(key, value): ((String, String), String)| {
        let theirs: Option<Vec<String>> = others.iter().map(|known| known.get(&key).cloned()).collect();
        let (variant, setting) = key;
        Some(Condition { what: format!("{setting} of {variant}"), values: [vec![value], theirs?].concat() })
    };
    effective(first).into_iter().filter_map(known_to_all).collect()
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
