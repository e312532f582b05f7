//! Complete synthetic runs, the same bytes every time: nothing here reads a clock or a random source.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use weigh_results::model::{
    ClientCost, Column, Event, Finish, FinishReason, Goal, HostSummary, InstanceRecord, Interference,
    JudgeRule, Metric, Plan, Replication, Run, RunHeader, SequenceRecord, Slot, Trial, VariantPlan, Window,
    histogram,
};

/// One variant's nature.
#[derive(Clone)]
pub struct Nature {
    pub name: &'static str,
    /// Mean latency of one client, seconds.
    pub latency_s: f64,
    /// Counters per operation.
    pub per_op: Vec<(&'static str, f64)>,
    pub debt_s: f64,
    /// Peak memory of a command.
    pub peak_bytes: Option<f64>,
    /// Failed operations per trial.
    pub failures: u64,
}

/// What a run is built from.
#[derive(Clone)]
pub struct Recipe {
    pub run_id: &'static str,
    pub system: &'static str,
    pub natures: Vec<Nature>,
    pub metric: Metric,
    pub rounds: u32,
    pub horizon: u32,
    /// Factor on the second baseline copy: 1.0 makes the A/A check pass.
    pub aa: f64,
    /// SD of a trial, log scale.
    pub noise: f64,
    pub measure_s: f64,
    pub columns: Vec<(&'static str, &'static str)>,
    pub finish: Option<FinishReason>,
    pub hostname: &'static str,
    /// Factor on every latency: another machine.
    pub slower: f64,
}

fn nature(
    name: &'static str,
    latency_ms: f64,
    cpu_us: f64,
    wal_bytes: f64,
    syncs: f64,
    debt_s: f64,
) -> Nature {
    let per_op = vec![
        ("server.cpu_us", cpu_us),
        ("disk.write_bytes", wal_bytes),
        ("postgres.wal_bytes", 240.0),
        ("postgres.wal_syncs", syncs),
        ("server.voluntary_switches", 2.0 + syncs),
    ];
    Nature { name, latency_s: latency_ms / 1e3, per_op, debt_s, peak_bytes: None, failures: 0 }
}

/// What durability costs: one variant much faster, one the same, one a little slower.
pub fn durability() -> Recipe {
    Recipe {
        run_id: "20261121-214425-postgres-durability-k3f9",
        system: "postgres",
        natures: vec![
            nature("on", 1.21, 61.0, 8_300.0, 1.0, 0.02),
            nature("off", 0.104, 48.0, 900.0, 0.004, 0.14),
            nature("local", 1.208, 61.0, 8_290.0, 1.0, 0.02),
            nature("remote_apply", 1.27, 64.0, 8_310.0, 1.0, 0.03),
        ],
        metric: Metric::Throughput,
        rounds: 44,
        horizon: 60,
        aa: 1.0,
        noise: 0.012,
        measure_s: 2.0,
        columns: vec![
            ("written", "disk.write_bytes"),
            ("wal", "postgres.wal_bytes"),
            ("syncs", "postgres.wal_syncs"),
        ],
        finish: Some(FinishReason::Budget),
        hostname: "rack7",
        slower: 1.0,
    }
}

/// Two commands timed against each other.
pub fn commands() -> Recipe {
    let command = |name, seconds: f64, peak: f64| Nature {
        name,
        latency_s: seconds,
        per_op: vec![
            ("command.cpu_us", seconds * 0.97e6),
            ("command.minor_faults", peak / 4096.0),
            ("command.voluntary_switches", 1.0),
            ("command.involuntary_switches", 3.0),
        ],
        debt_s: 0.0,
        peak_bytes: Some(peak),
        failures: 0,
    };
    Recipe {
        run_id: "20261121-215901-commands-x7ab",
        system: "commands",
        natures: vec![command("gzip -1 <f", 0.121, 1.9e6), command("xz -1 <f", 0.432, 9.8e6)],
        metric: Metric::Time,
        rounds: 10,
        horizon: 200,
        aa: 1.0,
        noise: 0.01,
        measure_s: 0.0,
        columns: Vec::new(),
        finish: Some(FinishReason::Decided),
        hostname: "rack7",
        slower: 1.0,
    }
}

/// A small generator of the project's own, so that snapshots do not change with a library.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Near enough to normal: the sum of twelve uniforms.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

impl Recipe {
    /// The events, in order.
    pub fn events(&self) -> Vec<Event> {
        let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
        let mut events = vec![Event::Started(Box::new(self.header()))];
        events.push(Event::Instance(self.instance()));
        events.push(Event::Sequence(SequenceRecord {
            sequence: 0,
            settle_s: 0.3,
            measure_s: self.measure_s,
            replication: Replication::Round,
        }));
        let mut clock_s = 6.0;
        for round in 0..self.rounds {
            let began_s = clock_s;
            for (position, slot) in self.order(round).into_iter().enumerate() {
                let trial = self.trial(round, position as u32, slot, clock_s, &mut noise);
                clock_s += trial.whole.seconds + trial.debt_s.unwrap_or(0.0);
                events.push(Event::Trial(Box::new(trial)));
            }
            events.push(Event::Round { sequence: 0, round, seconds: clock_s - began_s });
            if round == 4 {
                events.push(Event::Horizon { sequence: 0, units: self.horizon, rounds_per_unit: 1 });
            }
        }
        let finish =
            |reason: &FinishReason| Event::Finished(Finish { reason: reason.clone(), elapsed_s: clock_s });
        events.extend(self.finish.as_ref().map(finish));
        events
    }

    /// The run.
    pub fn run(&self) -> Run {
        let mut run = Run::new(self.header());
        self.events().into_iter().for_each(|event| run.apply(event));
        run
    }

    /// The first line.
    pub fn header(&self) -> RunHeader {
        RunHeader {
            format: 1,
            weigh_version: "0.1.0".into(),
            run_id: self.run_id.into(),
            started_at: "2026-11-21T21:44:25Z".into(),
            command_line: vec!["weigh".into(), "run".into()],
            experiment_toml: String::new(),
            plan: self.plan(),
            host: HostSummary {
                hostname: self.hostname.into(),
                os: "Debian GNU/Linux 12".into(),
                kernel: "6.18.44".into(),
                cpu_model: "Xeon".into(),
                cpus: 8,
                memory_bytes: 32_000_000_000,
                clock_source: "tsc".into(),
                work_file_system: "ext4 on /dev/vda".into(),
                ..HostSummary::default()
            },
        }
    }

    fn plan(&self) -> Plan {
        let commands = self.system == "commands";
        let variant = |nature: &Nature| VariantPlan {
            name: nature.name.into(),
            levels: BTreeMap::from([("settings.synchronous_commit".to_owned(), nature.name.to_owned())]),
        };
        Plan {
            experiment: if commands { "commands".into() } else { "postgres/durability".into() },
            question: if commands { "Which is faster?".into() } else { "What does durability cost?".into() },
            system: self.system.into(),
            seed: 7,
            variants: self.natures.iter().map(variant).collect(),
            baseline: 0,
            judge: JudgeRule {
                decide: vec![self.metric],
                difference: 0.02,
                alpha: 0.05,
                goal: Goal::Size,
                budget_s: 600.0,
                factorial: false,
            },
            measure_s: self.measure_s,
            settle_s: 0.3,
            operations: None,
            drain: !commands,
            unit: None,
            load_summary: if commands {
                "2 commands · sh".into()
            } else {
                "1-row INSERT · 1 client".into()
            },
            in_process: commands,
            columns: self
                .columns
                .iter()
                .map(|(heading, counter)| Column { heading: (*heading).into(), counter: (*counter).into() })
                .collect(),
            field_figures: BTreeMap::new(),
        }
    }

    fn instance(&self) -> InstanceRecord {
        InstanceRecord {
            slots: self.slots(),
            version: if self.system == "commands" { String::new() } else { "15.18".into() },
            settings: BTreeMap::from([("shared_buffers".to_owned(), "16384".to_owned())]),
            start: 1,
            ready_s: 0.4,
        }
    }

    fn slots(&self) -> Vec<Slot> {
        let second = Slot { variant: 0, copy: 1 };
        (0..self.natures.len()).map(|variant| Slot { variant, copy: 0 }).chain([second]).collect()
    }

    /// A different order every round, without a random source.
    fn order(&self, round: u32) -> Vec<Slot> {
        let mut slots = self.slots();
        let turns = round as usize * 7 % slots.len();
        slots.rotate_left(turns);
        if round % 3 == 1 {
            slots.reverse();
        }
        slots
    }

    fn trial(&self, round: u32, position: u32, slot: Slot, clock_s: f64, noise: &mut Noise) -> Trial {
        let nature = &self.natures[slot.variant];
        let copy = if slot.copy == 1 { self.aa } else { 1.0 };
        let mean_s = nature.latency_s * self.slower * copy * (self.noise * noise.normal()).exp();
        let commands = self.system == "commands";
        let (ops, seconds) =
            if commands { (1, mean_s) } else { ((self.measure_s / mean_s) as u64, self.measure_s) };
        let per_op = |factor: f64, noise: &mut Noise| -> BTreeMap<String, f64> {
            let of = |(key, value): &(&str, f64)| {
                ((*key).to_owned(), value * factor * (0.01 * noise.normal()).exp())
            };
            nature.per_op.iter().map(of).collect()
        };
        let whole_ops = if commands { 1 } else { ops + ops / 6 };
        let errors = BTreeMap::from([(
            "23505 duplicate key value violates unique constraint".to_owned(),
            nature.failures,
        )]);
        Trial {
            round,
            position,
            slot,
            started_s: clock_s,
            settle_s: if commands { 0.0 } else { 0.3 },
            measured: Window { seconds, ops, counters: per_op(ops as f64, noise) },
            whole: Window {
                seconds: seconds + if commands { 0.0 } else { 0.3 + nature.debt_s },
                ops: whole_ops,
                counters: per_op(whole_ops as f64, noise),
            },
            errors: if nature.failures > 0 { errors } else { BTreeMap::new() },
            latency: (!commands).then(|| latencies(mean_s, ops, noise)),
            debt_s: (!commands).then_some(nature.debt_s),
            gauges: nature
                .peak_bytes
                .iter()
                .map(|peak| ("command.peak_memory_bytes".to_owned(), *peak))
                .collect(),
            interference: Interference { server_wait: 0.01, ..Interference::default() },
            client: ClientCost {
                user_s: ops as f64 * 4e-6,
                system_s: ops as f64 * 6e-6,
                busiest_thread: 0.2,
            },
            ..Trial::default()
        }
    }
}

/// `ops` latencies around a mean, right-skewed.
fn latencies(mean_s: f64, ops: u64, noise: &mut Noise) -> String {
    let mut seen = Histogram::<u64>::new_with_bounds(100, 3_600_000_000_000, 3).unwrap();
    let distinct = ops.min(200);
    for index in 0..distinct {
        let times = ops / distinct + u64::from(index < ops % distinct);
        let value_ns = (mean_s * 1e9 * (0.3 * noise.normal() - 0.045).exp()) as u64;
        seen.record_n(value_ns.max(100), times).unwrap();
    }
    histogram::encode(&seen).unwrap()
}
