//! Analyses of synthetic runs with a known truth.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use weigh_stats::verdict::Decision;

use super::*;
use crate::doubt::DoubtKind;
use crate::model::{
    Event, Finish, FinishReason, Goal, HostSummary, JudgeRule, Metric, Plan, Replication, RunHeader,
    SequenceRecord, Slot, Trial, VariantPlan, Window, histogram,
};

/// SplitMix64: noise that is the same on every machine.
struct Noise(u64);

impl Noise {
    /// Roughly normal with unit deviation: the sum of twelve uniforms.
    fn next(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A run of `rounds` rounds over variants with these speeds (operations per second); the second
/// baseline copy runs at `copy` times the first.
struct Synthetic {
    speeds: Vec<f64>,
    copy: f64,
    rounds: u32,
    noise: f64,
    metric: Metric,
    replication: Replication,
    seed: u64,
}

impl Default for Synthetic {
    fn default() -> Synthetic {
        Synthetic {
            speeds: vec![1_000.0, 1_000.0],
            copy: 1.0,
            rounds: 40,
            noise: 0.03,
            metric: Metric::Throughput,
            replication: Replication::Round,
            seed: 7,
        }
    }
}

impl Synthetic {
    fn plan(&self) -> Plan {
        Plan {
            experiment: "test".to_owned(),
            question: "Which is faster?".to_owned(),
            system: "postgres".to_owned(),
            seed: 1,
            variants: (0..self.speeds.len())
                .map(|index| VariantPlan { name: format!("v{index}"), levels: BTreeMap::new() })
                .collect(),
            baseline: 0,
            judge: JudgeRule {
                decide: vec![self.metric],
                difference: 0.02,
                alpha: 0.05,
                goal: Goal::Size,
                budget_s: 300.0,
                factorial: false,
            },
            measure_s: 1.0,
            settle_s: 0.2,
            operations: None,
            drain: true,
            load_summary: String::new(),
            unit: None,
            in_process: false,
            columns: Vec::new(),
            field_figures: BTreeMap::new(),
        }
    }

    fn run(&self) -> Run {
        let header = RunHeader {
            format: 1,
            weigh_version: "0".to_owned(),
            run_id: "r".to_owned(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            command_line: Vec::new(),
            experiment_toml: String::new(),
            plan: self.plan(),
            host: HostSummary::default(),
        };
        let mut run = Run::new(header);
        run.apply(Event::Sequence(SequenceRecord {
            sequence: 0,
            settle_s: 0.2,
            measure_s: 1.0,
            replication: self.replication,
        }));
        let units = match self.replication {
            Replication::Round => self.rounds,
            Replication::Epoch => self.rounds / 4,
        };
        run.apply(Event::Horizon { sequence: 0, units, rounds_per_unit: self.rounds / units });
        let mut noise = Noise(self.seed);
        for round in 0..self.rounds {
            self.round(&mut run, round, &mut noise);
            run.apply(Event::Round { sequence: 0, round, seconds: 5.0 });
        }
        run
    }

    fn finished(&self) -> Run {
        let mut run = self.run();
        run.apply(Event::Finished(Finish { reason: FinishReason::Budget, elapsed_s: 300.0 }));
        run
    }

    fn round(&self, run: &mut Run, round: u32, noise: &mut Noise) {
        let mut slots = vec![Slot { variant: 0, copy: 0 }, Slot { variant: 0, copy: 1 }];
        slots.extend((1..self.speeds.len()).map(|variant| Slot { variant, copy: 0 }));
        // A rotation is random enough for a test that does not test the order.
        let turn = (noise.uniform() * slots.len() as f64) as usize;
        slots.rotate_left(turn);
        for (position, slot) in (0_u32..).zip(slots) {
            let copy = if slot.copy == 1 { self.copy } else { 1.0 };
            let speed = self.speeds[slot.variant] * copy * (self.noise * noise.next()).exp();
            run.apply(Event::Trial(Box::new(self.trial(round, position, slot, speed))));
        }
    }

    fn trial(&self, round: u32, position: u32, slot: Slot, speed: f64) -> Trial {
        let ops = speed as u64;
        let mut latency = Histogram::<u64>::new_with_bounds(100, 3_600_000_000_000, 3).unwrap();
        for index in 0..ops {
            latency.saturating_record((1e9 / speed * (0.5 + index as f64 / ops as f64)) as u64);
        }
        let syncs = if slot.variant == 1 { 0.0 } else { ops as f64 };
        let counters = BTreeMap::from([
            ("server.cpu_us".to_owned(), 50.0 * ops as f64),
            ("postgres.wal_syncs".to_owned(), syncs),
        ]);
        Trial {
            round,
            position,
            slot,
            epoch: match self.replication {
                Replication::Round => 0,
                Replication::Epoch => round / 4,
            },
            settle_s: 0.2,
            measured: Window { seconds: 1.0, ops, counters: BTreeMap::new() },
            whole: Window { seconds: 1.3, ops, counters },
            latency: Some(histogram::encode(&latency).unwrap()),
            bins_100ms: vec![ops / 10; 12],
            debt_s: Some(0.05),
            ..Trial::default()
        }
    }
}

fn kinds(analysis: &Analysis) -> Vec<DoubtKind> {
    analysis.doubts.iter().map(|doubt| doubt.kind).collect()
}

#[test]
fn identical_variants_are_rarely_called_different() {
    let mut different = 0;
    let mut failed = 0;
    for seed in 0..100 {
        let analysis =
            analyse(&Synthetic { seed, speeds: vec![100.0; 2], ..Synthetic::default() }.finished());
        different += u32::from(analysis.comparisons[0].decision == Decision::Different);
        failed += u32::from(analysis.verdict_withheld.is_some());
    }
    // At most 5 % by design; 12 of 100 would be three standard errors above that.
    assert!(different < 12 && failed < 12, "{different} called different, {failed} withheld, of 100");
}

#[test]
fn a_difference_is_found_with_its_size() {
    let speeds = vec![1_000.0, 1_500.0, 1_000.0];
    let analysis = analyse(&Synthetic { speeds, ..Synthetic::default() }.finished());
    let found = &analysis.comparisons[0];
    assert_eq!(found.decision, Decision::Different);
    assert!(found.interval.unwrap().contains(1.5_f64.ln()), "{found:?}");
    assert!(found.is_final && found.units < 40, "decided early: {found:?}");
    assert_ne!(analysis.comparisons[1].decision, Decision::Different);
}

#[test]
fn too_little_noise_free_time_is_undecided_and_says_what_is_missing() {
    let synthetic = Synthetic { noise: 0.3, rounds: 10, ..Synthetic::default() };
    let found = analyse(&synthetic.finished()).comparisons.remove(0);
    assert_eq!(found.decision, Decision::Undecided);
    assert!(found.excluded_above.unwrap() > 0.05);
    assert!(found.units_needed.unwrap() > 100, "{found:?}");
}

#[test]
fn copies_that_differ_withhold_the_verdict() {
    let synthetic = Synthetic { copy: 1.2, speeds: vec![1_000.0, 2_000.0], ..Synthetic::default() };
    let analysis = analyse(&synthetic.finished());
    assert_eq!(analysis.aa[0].outcome, AaOutcome::Fails);
    assert_eq!(analysis.verdict_withheld, Some(DoubtKind::AaFailed));
}

#[test]
fn before_the_first_look_nothing_is_said() {
    let mut run = Synthetic { speeds: vec![1_000.0, 3_000.0], rounds: 40, ..Synthetic::default() }.run();
    run.rounds.truncate(7);
    let analysis = analyse(&run);
    assert_eq!(analysis.comparisons[0].interval, None);
    assert_eq!(analysis.aa[0].outcome, AaOutcome::Pending);
    assert_eq!(analysis.rounds, 7, "trials of the rounds that are not complete do not count");
}

#[test]
fn a_run_cut_short_is_judged_on_what_it_has() {
    let mut run = Synthetic { speeds: vec![1_000.0, 3_000.0], ..Synthetic::default() }.run();
    run.rounds.truncate(9);
    run.apply(Event::Finished(Finish { reason: FinishReason::Interrupted, elapsed_s: 30.0 }));
    let analysis = analyse(&run);
    assert_eq!(analysis.comparisons[0].decision, Decision::Different);
    assert!(kinds(&analysis).contains(&DoubtKind::CutShort));
}

#[test]
fn disturbed_rounds_are_set_aside_and_said_so() {
    let mut run = Synthetic { rounds: 30, ..Synthetic::default() }.finished();
    for trial in run.trials.iter_mut().filter(|trial| trial.round < 3 && trial.position == 1) {
        trial.contaminated = Some("steal above 5 %".to_owned());
    }
    let analysis = analyse(&run);
    assert_eq!((analysis.rounds, analysis.rounds_set_aside), (27, 3));
    assert!(kinds(&analysis).contains(&DoubtKind::TrialsSetAside));
}

#[test]
fn a_host_that_disturbs_most_rounds_is_judged_as_it_is() {
    let mut run = Synthetic { rounds: 30, speeds: vec![1_000.0, 3_000.0], ..Synthetic::default() }.finished();
    for trial in run.trials.iter_mut().filter(|trial| trial.round < 16) {
        trial.contaminated = Some("steal above 5 %".to_owned());
        trial.interference.steal = 0.08;
    }
    let analysis = analyse(&run);
    assert_eq!((analysis.rounds, analysis.rounds_set_aside), (30, 0));
    assert_eq!(analysis.comparisons[0].decision, Decision::Different);
    assert!(kinds(&analysis).contains(&DoubtKind::Steal));
}

#[test]
fn because_names_the_counter_that_differs_and_no_other() {
    let synthetic = Synthetic { speeds: vec![1_000.0, 3_000.0, 1_000.0], ..Synthetic::default() };
    let because = analyse(&synthetic.finished()).because;
    let named: Vec<(usize, &str)> =
        because.iter().map(|because| (because.variant, because.counter.as_str())).collect();
    assert_eq!(named, [(1, "postgres.wal_syncs")]);
    assert!(because[0].ratio.is_none() && because[0].size > 5.0, "{because:?}");
}

#[test]
fn epochs_are_the_unit_and_an_incomplete_one_waits() {
    let synthetic = Synthetic {
        replication: Replication::Epoch,
        rounds: 40,
        speeds: vec![1_000.0, 1_500.0],
        ..Synthetic::default()
    };
    let mut run = synthetic.run();
    assert_eq!(analyse(&run).units, 10);
    run.rounds.truncate(30);
    assert_eq!(analyse(&run).units, 7, "30 rounds are seven epochs of four and a half");
    assert_eq!(analyse(&run).comparisons[0].decision, Decision::Different);
}

#[test]
fn a_high_percentile_is_taken_from_merged_rounds() {
    let speeds = vec![400.0, 800.0];
    let synthetic = Synthetic { metric: Metric::LatencyP99, speeds, noise: 0.01, ..Synthetic::default() };
    let analysis = analyse(&synthetic.finished());
    let found = &analysis.comparisons[0];
    assert!(found.interval.unwrap().contains(0.5_f64.ln()), "{found:?}");
    let few = Synthetic { metric: Metric::LatencyP99, speeds: vec![40.0, 80.0], ..Synthetic::default() };
    let analysis = analyse(&few.finished());
    assert_eq!(analysis.comparisons[0].interval, None);
    assert!(kinds(&analysis).contains(&DoubtKind::TooFewOperations));
}

#[test]
fn errors_and_a_busy_client_are_doubts() {
    let mut run = Synthetic::default().finished();
    for trial in run.trials.iter_mut().filter(|trial| trial.slot.variant == 1) {
        trial.errors.insert("duplicate key (23505)".to_owned(), 3);
        trial.client.busiest_thread = 0.9;
    }
    let analysis = analyse(&run);
    let found = kinds(&analysis);
    assert!(found.contains(&DoubtKind::Errors) && found.contains(&DoubtKind::ClientSaturated), "{found:?}");
    assert_eq!(analysis.variants[1].errors["duplicate key (23505)"], 120);
}

#[test]
fn latencies_at_the_tick_are_the_schedulers() {
    let mut run = Synthetic { speeds: vec![250.0, 250.0], noise: 0.0, ..Synthetic::default() }.finished();
    run.header.host.extra.insert("kernel_hz".to_owned(), "250".to_owned());
    let mut latency = Histogram::<u64>::new_with_bounds(100, 3_600_000_000_000, 3).unwrap();
    for index in 0..250_u64 {
        latency.record(3_980_000 + 100 * index).unwrap();
    }
    for trial in &mut run.trials {
        trial.latency = Some(histogram::encode(&latency).unwrap());
    }
    assert!(kinds(&analyse(&run)).contains(&DoubtKind::TickAligned));
}
