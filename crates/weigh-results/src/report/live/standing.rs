//! One comparison in words.

use weigh_stats::verdict::Decision;

use super::super::{units, words};
use super::fold::Live;
use crate::analysis::{Comparison, Rounds, judge};
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
    judge::sequence(run, &rounds).iter().map(|comparison| standing(run, comparison)).collect()
}

/// How every comparison of the latest look stands.
pub(super) fn at_the_look(live: &Live) -> Vec<Standing> {
    live.comparisons().iter().map(|comparison| standing(live.run(), comparison)).collect()
}

fn standing(run: &Run, comparison: &Comparison) -> Standing {
    Standing {
        variant: words::quoted(&run.header.plan, comparison.variant),
        metric: comparison.metric,
        ratio: comparison.interval.as_ref().map(units::ratio),
        state: state(comparison.decision, comparison.is_final),
    }
}
