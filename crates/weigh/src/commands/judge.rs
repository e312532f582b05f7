//! How the verdict is reached, as flags: the same for `run` and `commands`.

use clap::Args;

/// How the verdict is reached. Kept as typed: the lab checks them and names the flag in its errors.
#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    /// Time for the whole run [default: 5min]
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// The difference that matters [default: 2%]
    #[arg(long, value_name = "SHARE")]
    pub(crate) difference: Option<String>,
    /// What to judge by: throughput, latency_p50, latency_p99, cpu_per_op, time … (repeatable)
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    pub(crate) metric: Vec<String>,
    /// The variant the others are compared with [default: the first]
    #[arg(long, value_name = "VARIANT")]
    pub(crate) baseline: Option<String>,
    /// What is asked of a difference: its size, or only its sign [default: size]
    #[arg(long, value_name = "GOAL", value_parser = ["size", "sign"], hide_short_help = true)]
    pub(crate) goal: Option<String>,
    /// Measured part of a trial [default: 1s; 200ms for commands, and always one execution]
    #[arg(long, value_name = "TIME")]
    pub(crate) trial: Option<String>,
    /// Seed of every random choice [default: random, recorded]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    /// Print the plan and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the experiment as a file and start nothing
    #[arg(long)]
    pub(crate) print: bool,
}

impl JudgeArgs {
    /// The seed that was asked for, else one that nobody can foresee.
    pub(crate) fn seed(&self) -> u64 {
        use std::hash::{BuildHasher as _, RandomState};
        // JSON readers that know only doubles must be able to read it back.
        self.seed.unwrap_or_else(|| RandomState::new().hash_one(std::time::SystemTime::now()) >> 11)
    }
}
