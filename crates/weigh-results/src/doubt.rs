//! Doubts: reasons not to trust a result, each with its evidence and what to do about it.
//!
//! The set of [`DoubtKind`]s is closed. A doubt never changes a figure; some withhold the verdict
//! ([`DoubtKind::withholds_verdict`]). What a reader is told about each kind is its [`DoubtText`];
//! the evidence, with this run's figures, is in the [`Doubt`].

mod texts;

use serde::{Deserialize, Serialize};

/// One reason not to trust the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Doubt {
    /// What kind.
    pub kind: DoubtKind,
    /// What was seen, with figures, as a lowercase fragment.
    pub evidence: String,
    /// Variants it concerns; empty for the whole run.
    #[serde(default)]
    pub variants: Vec<usize>,
}

/// The closed set of doubts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoubtKind {
    /// The client used more than 70 % of its busiest core.
    ClientSaturated,
    /// Open loop: the client sent later than it could have: the schedule is its own fault.
    ScheduleNotKept,
    /// Open loop: the system did not take what the schedule asked for, and a backlog grew.
    RateAboveCapacity,
    /// The hypervisor gave CPU time to somebody else.
    Steal,
    /// Somebody else's processes used the CPUs.
    OtherCpu,
    /// The server waited for a CPU: latencies may be scheduling, not the system.
    RunQueueWait,
    /// Latencies cluster at multiples of the scheduler's tick.
    TickAligned,
    /// The two copies of the baseline differ.
    AaFailed,
    /// What ran before a trial shows in it.
    CarryOver,
    /// The first and the second half of trials differ: the warm-up is too short.
    UnsettledTrials,
    /// The effect changed between the first and the second half of the run.
    DriftingEffect,
    /// The typical ratio and the ratio of totals disagree: one variant stalls rarely but long.
    RareStalls,
    /// Memory is nearly full.
    MemoryLow,
    /// The disk below the work directory is nearly full.
    DiskLow,
    /// A setting is not in force as asked.
    SettingNotInForce,
    /// Too few operations for the percentile asked.
    TooFewOperations,
    /// The clock source is not one to trust.
    ClockSource,
    /// Operations failed.
    Errors,
    /// A frozen instance used CPU time.
    FrozenBusy,
    /// The work directory is in memory: durability costs nothing there.
    MemoryFileSystem,
    /// Trials were set aside by the rule on interference.
    TrialsSetAside,
    /// The run ended before it was decided or the budget spent.
    CutShort,
    /// The same work varies between restarts by more than the difference that matters.
    RestartVariation,
    /// The two runs of a comparison were not made on the same machine or at the same load.
    MachineChanged,
}

impl DoubtKind {
    /// Every kind, in the order they are listed to a reader.
    pub const ALL: [DoubtKind; 24] = [
        DoubtKind::AaFailed,
        DoubtKind::SettingNotInForce,
        DoubtKind::MachineChanged,
        DoubtKind::CarryOver,
        DoubtKind::UnsettledTrials,
        DoubtKind::DriftingEffect,
        DoubtKind::RareStalls,
        DoubtKind::RestartVariation,
        DoubtKind::Errors,
        DoubtKind::ClientSaturated,
        DoubtKind::ScheduleNotKept,
        DoubtKind::RateAboveCapacity,
        DoubtKind::RunQueueWait,
        DoubtKind::TickAligned,
        DoubtKind::Steal,
        DoubtKind::OtherCpu,
        DoubtKind::FrozenBusy,
        DoubtKind::TrialsSetAside,
        DoubtKind::TooFewOperations,
        DoubtKind::MemoryFileSystem,
        DoubtKind::MemoryLow,
        DoubtKind::DiskLow,
        DoubtKind::ClockSource,
        DoubtKind::CutShort,
    ];

    /// Whether a verdict may not be given while this doubt stands.
    pub fn withholds_verdict(self) -> bool {
        matches!(self, DoubtKind::AaFailed | DoubtKind::SettingNotInForce)
    }

    /// What a reader is told: what it is, why it matters, what to do about it.
    pub fn text(self) -> DoubtText {
        texts::of(self)
    }
}

/// The words of one kind of doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoubtText {
    /// What it is, as a lowercase fragment that the evidence completes.
    pub title: &'static str,
    /// Why it makes the result doubtful, as a sentence.
    pub cause: &'static str,
    /// What to do about it, as a sentence.
    pub advice: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_says_what_why_and_what_to_do() {
        for (place, kind) in DoubtKind::ALL.into_iter().enumerate() {
            let DoubtText { title, cause, advice } = kind.text();
            assert!(title.starts_with(char::is_lowercase) || title.starts_with("A/A"), "{kind:?}: {title}");
            assert!(!title.ends_with('.'), "{kind:?}: {title}");
            for sentence in [cause, advice] {
                assert!(sentence.starts_with(char::is_uppercase), "{kind:?}: {sentence}");
                assert!(sentence.ends_with('.'), "{kind:?}: {sentence}");
            }
            assert_eq!(DoubtKind::ALL.iter().position(|other| *other == kind), Some(place), "{kind:?} twice");
        }
    }
}
