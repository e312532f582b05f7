//! One line of the event file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Plan, Replication, Slot, Trial};
use crate::doubt::Doubt;

/// What the runner tells the recorder; one JSON line each, in the order things happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Always the first line.
    Started(Box<RunHeader>),
    /// `weigh resume` picked the run up again.
    Resumed {
        /// When, RFC 3339.
        at: String,
    },
    /// A server is up and its effective settings were read back.
    Instance(InstanceRecord),
    /// A sequence of rounds begins; trials of earlier sequences no longer count for the verdict.
    Sequence(SequenceRecord),
    /// The number of rounds (or epochs) that fit in the budget, fixed after the pilot from timings only.
    Horizon {
        /// Sequence it belongs to.
        sequence: u32,
        /// Units (rounds or epochs) that fit.
        units: u32,
        /// Rounds per unit.
        rounds_per_unit: u32,
    },
    /// A trial finished.
    Trial(Box<Trial>),
    /// A round is complete: only complete rounds are judged.
    Round {
        /// Sequence it belongs to.
        sequence: u32,
        /// Round within the sequence.
        round: u32,
        /// Wall-clock time of the whole round, seconds, drain included.
        seconds: f64,
    },
    /// A variant's verdict became final; it has no trials from the next round on.
    Decided {
        /// Sequence it belongs to.
        sequence: u32,
        /// Variant index.
        variant: usize,
        /// Rounds it was decided on.
        rounds: u32,
    },
    /// A reason not to trust the result that only the runner could see.
    Doubt(Doubt),
    /// Always the last line of a run that was not cut short.
    Finished(Finish),
}

/// The first line of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Version of the format.
    pub format: u32,
    /// Version of weigh.
    pub weigh_version: String,
    /// The run's own name: `20261121-214425-postgres-durability-k3f9`.
    pub run_id: String,
    /// Start, RFC 3339, UTC.
    pub started_at: String,
    /// The command line as typed.
    pub command_line: Vec<String>,
    /// The effective experiment as TOML, from which the plan can be resolved again.
    pub experiment_toml: String,
    /// The resolved plan.
    pub plan: Plan,
    /// The host it ran on.
    pub host: HostSummary,
}

/// The host, as far as a reader needs it to judge a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSummary {
    /// Host name.
    pub hostname: String,
    /// Distribution and version.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs this process may use.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Clock source (`tsc`).
    pub clock_source: String,
    /// Frequency governor, if there is one.
    pub governor: Option<String>,
    /// Hypervisor or container technology, if any is visible.
    pub virtualisation: Option<String>,
    /// File system and device below the work directory (`ext4 on /dev/vda`).
    pub work_file_system: String,
    /// Anything else worth keeping, by name.
    pub extra: BTreeMap<String, String>,
}

/// A server that was started (or reached), with what it said about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstanceRecord {
    /// The slots it serves.
    pub slots: Vec<Slot>,
    /// Version as the server reports it (`15.18`).
    pub version: String,
    /// Effective settings read back from the server: those asked for, plus the ones the system always records.
    pub settings: BTreeMap<String, String>,
    /// How many times it has been started, from 1.
    pub start: u32,
    /// Time to readiness, seconds.
    pub ready_s: f64,
}

/// A stretch of rounds with one warm-up length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequenceRecord {
    /// 0 for the first.
    pub sequence: u32,
    /// Warm-up of its trials, seconds.
    pub settle_s: f64,
    /// Measured part of its trials, seconds.
    pub measure_s: f64,
    /// The unit of replication.
    pub replication: Replication,
}

/// Why and when a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finish {
    /// Why.
    pub reason: FinishReason,
    /// Wall-clock time of the run, seconds, start-up included, resumed stretches added.
    pub elapsed_s: f64,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// Every comparison was decided.
    Decided,
    /// The budget was spent.
    Budget,
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// Something failed; the text is the error's chain.
    Failed(String),
}
