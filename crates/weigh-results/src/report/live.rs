//! How it stands after a round, for a screen while the run goes on.
//!
//! The same judgement as in the report, without the parts that are only read at the end. It is meant to be
//! asked between trials: during one, every bit of CPU time belongs to what is being measured.

use weigh_stats::verdict::Decision;

use super::{units, words};
use crate::analysis::{Rounds, judge};
use crate::model::{Metric, Run};

/// How one comparison stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The variant, quoted if it is a command.
    pub variant: String,
    /// The metric it is judged by.
    pub metric: Metric,
    /// `11.6x (11.2–12.0)`; `None` before the first look.
    pub ratio: Option<String>,
    /// `different`, `same`, `different so far`, or nothing yet.
    pub state: &'static str,
}

impl Standing {
    /// `off 11.6x (11.2–12.0) different`
    pub fn line(&self) -> String {
        let ratio = self.ratio.as_deref().unwrap_or("not looked at yet");
        let by = if self.metric == Metric::Throughput { "" } else { words::heading(self.metric) };
        [&self.variant, by, ratio, self.state]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn state(decision: Decision, is_final: bool) -> &'static str {
    match (decision, is_final) {
        (Decision::Different, true) => "different",
        (Decision::Different, false) => "different, its size not certain yet",
        (Decision::Same, true) => "same",
        (Decision::Same, false) => "same so far",
        (Decision::Undecided, _) => "",
    }
}

/// How every comparison stands.
pub fn standings(run: &Run) -> Vec<Standing> {
    let rounds = Rounds::of(run);
    judge::sequence(run, &rounds)
        .into_iter()
        .map(|comparison| Standing {
            variant: words::quoted(&run.header.plan, comparison.variant),
            metric: comparison.metric,
            ratio: comparison.interval.as_ref().map(units::ratio),
            state: state(comparison.decision, comparison.is_final),
        })
        .collect()
}
