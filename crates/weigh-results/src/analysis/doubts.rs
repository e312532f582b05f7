//! Doubts that are visible in the stored data.

use weigh_stats::replication::Variances;
use weigh_stats::totals;
use weigh_stats::verdict::Decision;

use super::checks::{AaCheck, AaOutcome, SelfChecks};
use super::costs::INFORMATION_P;
use super::judge::{self, Comparison};
use super::rounds::{Rounds, decoded, median, quantile_of};
use super::schedule;
use super::summary::VariantSummary;
use crate::doubt::{Doubt, DoubtKind};
use crate::model::{FinishReason, Interference, Metric, Replication, Run, Slot, Trial};

/// A client above this share of its busiest core measures itself.
const CLIENT_BUSY: f64 = 0.70;
/// Mean share of CPU time stolen.
const STEAL: f64 = 0.02;
/// Median share of all CPUs used by neither server nor client.
const OTHER_CPU: f64 = 0.10;
/// Server's run-queue wait relative to the window, while somebody else used the CPUs.
const RUN_QUEUE_WAIT: f64 = 0.05;
/// CPU seconds a frozen instance may seem to use: one tick of the accounting.
const FROZEN_CPU_S: f64 = 0.011;
/// Share of operations whose latency is within 5 % of a multiple of the tick.
const TICK_SHARE: f64 = 0.60;

/// Every doubt that the data shows.
pub(crate) fn visible(
    run: &Run,
    rounds: &Rounds<'_>,
    comparisons: &[Comparison],
    aa: &[AaCheck],
    checks: &SelfChecks,
    variants: &[VariantSummary],
) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    client(run, variants, &mut doubts);
    schedule::doubts(rounds, variants, &mut doubts);
    interference(rounds, &mut doubts);
    self_checks(aa, checks, &mut doubts);
    errors(variants, &mut doubts);
    percentiles(run, rounds, &mut doubts);
    room(rounds, &mut doubts);
    rare_stalls(run, rounds, comparisons, &mut doubts);
    tick_aligned(run, rounds, variants, &mut doubts);
    restarts(run, rounds, &mut doubts);
    host(run, &mut doubts);
    ending(run, &mut doubts);
    doubts
}

fn doubt(kind: DoubtKind, evidence: String, variants: Vec<usize>) -> Doubt {
    Doubt { kind, evidence, variants }
}

fn client(run: &Run, variants: &[VariantSummary], doubts: &mut Vec<Doubt>) {
    if run.header.plan.in_process {
        return;
    }
    let busy: Vec<&VariantSummary> = variants
        .iter()
        .filter(|summary| summary.client_busiest.is_some_and(|use_| use_ > CLIENT_BUSY))
        .collect();
    let Some(worst) = busy.iter().filter_map(|summary| summary.client_busiest).reduce(f64::max) else {
        return;
    };
    doubts.push(doubt(
        DoubtKind::ClientSaturated,
        format!("the busiest client thread used {:.0} % of its core", worst * 100.0),
        busy.iter().map(|summary| summary.variant).collect(),
    ));
}

fn interference(rounds: &Rounds<'_>, doubts: &mut Vec<Doubt>) {
    let trials: Vec<&Trial> = rounds.rounds.iter().flat_map(|round| round.trials.values().copied()).collect();
    if rounds.set_aside > 0 {
        doubts.push(doubt(
            DoubtKind::TrialsSetAside,
            format!("{} of {} rounds were disturbed", rounds.set_aside, rounds.set_aside + rounds.len()),
            Vec::new(),
        ));
    }
    let of = |read: &dyn Fn(&Interference) -> f64| -> Vec<f64> {
        trials.iter().map(|trial| read(&trial.interference)).collect()
    };
    let steals = of(&|seen| seen.steal);
    #[expect(clippy::cast_precision_loss, reason = "a count of trials")]
    let steal = steals.iter().sum::<f64>() / steals.len().max(1) as f64;
    if steal > STEAL {
        let evidence = format!("the hypervisor took {:.1} % of CPU time during trials", steal * 100.0);
        doubts.push(doubt(DoubtKind::Steal, evidence, Vec::new()));
    }
    let other = median(of(&|seen| seen.other_cpu)).unwrap_or(0.0);
    if other > OTHER_CPU {
        let evidence =
            format!("processes that are neither server nor client used {:.0} % of the CPUs", other * 100.0);
        doubts.push(doubt(DoubtKind::OtherCpu, evidence, Vec::new()));
    }
    let wait = median(of(&|seen| seen.server_wait)).unwrap_or(0.0);
    if wait > RUN_QUEUE_WAIT && (other > OTHER_CPU || steal > STEAL) {
        let evidence = format!(
            "the server waited {:.0} % of the time for a CPU that somebody else had",
            (wait * 100.0).min(999.0)
        );
        doubts.push(doubt(DoubtKind::RunQueueWait, evidence, Vec::new()));
    }
    let frozen = of(&|seen| seen.frozen_cpu_s).into_iter().fold(0.0, f64::max);
    if frozen > FROZEN_CPU_S {
        let evidence = format!("frozen servers used {:.0} ms of CPU during one trial", frozen * 1e3);
        doubts.push(doubt(DoubtKind::FrozenBusy, evidence, Vec::new()));
    }
}

fn self_checks(aa: &[AaCheck], checks: &SelfChecks, doubts: &mut Vec<Doubt>) {
    for check in aa.iter().filter(|check| check.outcome == AaOutcome::Fails) {
        let Some(interval) = check.interval else { continue };
        let (ratio, low, high) = interval.ratio();
        let evidence = format!(
            "by {} two identical copies of the baseline differ: {ratio:.3}x ({low:.3}–{high:.3})",
            check.metric.name()
        );
        doubts.push(doubt(DoubtKind::AaFailed, evidence, Vec::new()));
    }
    if let Some((effect, true)) = checks.carry_over {
        let evidence =
            format!("a baseline trial is {:+.1} % off after another variant", effect.exp_m1() * 100.0);
        doubts.push(doubt(DoubtKind::CarryOver, evidence, Vec::new()));
    }
    for (variant, interval, _) in checks.halves.iter().filter(|(_, _, fails)| *fails) {
        let (ratio, low, high) = interval.ratio();
        let evidence =
            format!("the second half of its trials runs at {ratio:.3}x ({low:.3}–{high:.3}) of the first");
        doubts.push(doubt(DoubtKind::UnsettledTrials, evidence, vec![*variant]));
    }
    for (variant, first, second) in &checks.drifting {
        let evidence = format!(
            "{:.2}x in the first half of the run, {:.2}x in the second",
            first.ratio().0,
            second.ratio().0
        );
        doubts.push(doubt(DoubtKind::DriftingEffect, evidence, vec![*variant]));
    }
}

fn errors(variants: &[VariantSummary], doubts: &mut Vec<Doubt>) {
    for summary in variants.iter().filter(|summary| !summary.errors.is_empty()) {
        let failed: u64 = summary.errors.values().sum();
        let worst = summary.errors.iter().max_by_key(|(_, count)| **count).map_or("", |(message, _)| message);
        let evidence = format!("{failed} operations failed beside {} that succeeded: {worst}", summary.ops);
        doubts.push(doubt(DoubtKind::Errors, evidence, vec![summary.variant]));
    }
    for summary in variants.iter().filter(|summary| !summary.item_errors.is_empty()) {
        let failed: u64 = summary.item_errors.values().sum();
        let worst = summary.item_errors.iter().max_by_key(|(_, count)| **count);
        let worst = worst.map_or("", |(message, _)| message);
        let evidence = format!("{failed} items failed inside operations that were otherwise done: {worst}");
        doubts.push(doubt(DoubtKind::Errors, evidence, vec![summary.variant]));
    }
}

fn percentiles(run: &Run, rounds: &Rounds<'_>, doubts: &mut Vec<Doubt>) {
    if rounds.is_empty() {
        return;
    }
    let unknown: Vec<Metric> = run
        .header
        .plan
        .judge
        .decide
        .iter()
        .copied()
        .filter(|metric| quantile_of(*metric).is_some() && rounds.observations(*metric).len() < 5)
        .collect();
    for metric in unknown {
        let evidence = format!("too few operations to know `{}` five times over", metric.name());
        doubts.push(doubt(DoubtKind::TooFewOperations, evidence, Vec::new()));
    }
}

/// Memory and disk, from the gauges of the trials and the totals of the host.
fn room(rounds: &Rounds<'_>, doubts: &mut Vec<Doubt>) {
    let least = |key: &str| {
        rounds
            .rounds
            .iter()
            .flat_map(|round| round.trials.values())
            .filter_map(|trial| trial.gauges.get(key).copied())
            .reduce(f64::min)
    };
    for (kind, free, total, what) in [
        (DoubtKind::MemoryLow, "host.memory_available_bytes", "host.memory_total_bytes", "memory"),
        (DoubtKind::DiskLow, "host.disk_free_bytes", "host.disk_total_bytes", "disk"),
    ] {
        if let (Some(free), Some(total)) = (least(free), least(total))
            && free < 0.05 * total
        {
            let evidence = format!("only {:.1} % of the {what} was free", 100.0 * free / total);
            doubts.push(doubt(kind, evidence, Vec::new()));
        }
    }
}

/// The typical ratio against the ratio of totals: disagreement means rare, long stalls.
fn rare_stalls(run: &Run, rounds: &Rounds<'_>, comparisons: &[Comparison], doubts: &mut Vec<Doubt>) {
    for comparison in comparisons.iter().filter(|comparison| comparison.metric == Metric::Throughput) {
        let Some(typical) = comparison.interval else { continue };
        let mut sums = totals::Totals::new();
        for round in &rounds.rounds {
            let sum = |variant: usize| {
                round.trials.iter().filter(|(slot, _)| slot.variant == variant).fold(
                    (0.0, 0.0),
                    |(ops, seconds), (_, trial)| {
                        #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
                        let done = trial.measured.ops as f64;
                        (ops + done, seconds + trial.measured.seconds)
                    },
                )
            };
            let of = sum(comparison.variant);
            if of.1 > 0.0 {
                sums.push_round(round.cluster, sum(run.header.plan.baseline), of);
            }
        }
        let Some(total) = totals::ratio_of_totals(&sums, INFORMATION_P) else { continue };
        let apart = total.interval.high < typical.low || total.interval.low > typical.high;
        if apart && comparison.decision != Decision::Same {
            let evidence = format!(
                "typically {:.2}x, but {:.2}x over all trials together",
                typical.ratio().0,
                total.interval.ratio().0
            );
            doubts.push(doubt(DoubtKind::RareStalls, evidence, vec![comparison.variant]));
        }
    }
}

/// Latencies that cluster at multiples of the scheduler's tick are the scheduler's, not the system's.
fn tick_aligned(run: &Run, rounds: &Rounds<'_>, variants: &[VariantSummary], doubts: &mut Vec<Doubt>) {
    let Some(hz) = run.header.host.extra.get("kernel_hz").and_then(|text| text.parse::<f64>().ok()) else {
        return;
    };
    let tick_ns = 1e9 / hz;
    let mut aligned = Vec::new();
    for summary in variants {
        // A cheap look first: histograms are decoded only where the median itself is suspect.
        let ticks = summary.medians.get(&Metric::LatencyP50).map_or(0.0, |median_s| median_s * hz);
        if !(0.9..4.2).contains(&ticks) {
            continue;
        }
        let (mut near, mut all) = (0_u64, 0_u64);
        for histogram in rounds.trials_of(summary.variant).filter_map(decoded) {
            for bucket in histogram.iter_recorded() {
                #[expect(clippy::cast_precision_loss, reason = "nanoseconds up to one hour are exact")]
                let ticks = bucket.value_iterated_to() as f64 / tick_ns;
                let nearest = ticks.round();
                if (1.0..=4.0).contains(&nearest) && (ticks - nearest).abs() < 0.05 {
                    near += bucket.count_since_last_iteration();
                }
                all += bucket.count_since_last_iteration();
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "operation counts are far below 2^52")]
        if all > 0 && near as f64 > TICK_SHARE * all as f64 {
            aligned.push(summary.variant);
        }
    }
    if !aligned.is_empty() {
        let evidence =
            format!("most latencies lie at multiples of the {:.0} ms scheduler tick", tick_ns / 1e6);
        doubts.push(doubt(DoubtKind::TickAligned, evidence, aligned));
    }
}

/// The same variant varies between restarts by more than the difference that matters: the layout of a start is
/// then as large as what is looked for, and only many epochs average it out.
fn restarts(run: &Run, rounds: &Rounds<'_>, doubts: &mut Vec<Doubt>) {
    let Some(metric) = run.header.plan.judge.decide.first().copied() else { return };
    if rounds.replication != Replication::Epoch {
        return;
    }
    let observations = rounds.observations(metric);
    for variant in (0..run.header.plan.variants.len()).filter(|variant| *variant != rounds.baseline) {
        let slots = [Slot { variant, copy: 0 }];
        let ratios = judge::log_ratios(&observations, &slots, &rounds.baseline_slots(), u32::MAX);
        let Some(variances) = Variances::of(&ratios) else { continue };
        let deviation = variances.epoch.max(0.0).sqrt();
        if deviation > run.header.plan.judge.difference.ln_1p() {
            let evidence =
                format!("from one start to the next it varies by {:.1} %", deviation.exp_m1() * 100.0);
            doubts.push(doubt(DoubtKind::RestartVariation, evidence, vec![variant]));
        }
    }
}

fn host(run: &Run, doubts: &mut Vec<Doubt>) {
    const TRUSTED: [&str; 5] =
        ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase"];
    let host = &run.header.host;
    if !host.clock_source.is_empty() && !TRUSTED.contains(&host.clock_source.as_str()) {
        let evidence = format!("the clock source is `{}`", host.clock_source);
        doubts.push(doubt(DoubtKind::ClockSource, evidence, Vec::new()));
    }
    if run.header.plan.system != "commands"
        && ["tmpfs", "ramfs"].iter().any(|memory| host.work_file_system.starts_with(memory))
    {
        let evidence = format!("the data directory is on {}", host.work_file_system);
        doubts.push(doubt(DoubtKind::MemoryFileSystem, evidence, Vec::new()));
    }
}

fn ending(run: &Run, doubts: &mut Vec<Doubt>) {
    let evidence = match run.finish.as_ref().map(|finish| &finish.reason) {
        Some(FinishReason::Decided | FinishReason::Budget) => return,
        Some(FinishReason::Interrupted) => "it was interrupted".to_owned(),
        Some(FinishReason::Failed(error)) => format!("it failed: {error}"),
        None => "it has no end: it was killed, or is still going".to_owned(),
    };
    doubts.push(doubt(DoubtKind::CutShort, evidence, Vec::new()));
}
