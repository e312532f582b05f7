//! What `weigh selftest` found out about the engine on one machine, as plain data.
//!
//! - [`SelftestRecord`]: the machine and every check; [`CheckRecord`]: one check; [`Figure`]: one thing measured,
//!   beside what a right answer is ([`Right`]) and why that much is allowed.
//! - [`Disturbance`]: how long the threads of a check waited for a CPU. The rule is fixed before anything is
//!   measured: a timed figure of a disturbed check is [`Outcome::NotJudged`], whether it looks right or not.
//!
//! Outcomes are functions of the figures: nothing in here can say *passed* where a figure is off.

use serde::{Deserialize, Serialize};

/// A whole self-test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelftestRecord {
    /// Version of weigh.
    pub weigh_version: String,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// The machine.
    pub host: SelftestHost,
    /// The checks, in the order they were made.
    pub checks: Vec<CheckRecord>,
    /// How long it all took, seconds.
    pub elapsed_s: f64,
}

/// The machine, as far as it bears on clocks and clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SelftestHost {
    /// Host name.
    pub hostname: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs this process may use.
    pub cpus: u32,
    /// Clock source (`tsc`).
    pub clock_source: String,
    /// Hypervisor or container technology, if any is visible.
    pub virtualisation: Option<String>,
}

/// The closed set of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// The clock that everything is timed with.
    Clock,
    /// From samples to percentiles.
    Percentiles,
    /// A server whose service times are known.
    KnownDelays,
    /// The times at which an open loop sends.
    Arrivals,
    /// A server that stands still in an open loop.
    FrozenServer,
    /// Operations against the server's own count.
    Counts,
    /// What the client itself takes.
    ClientCost,
}

impl CheckKind {
    /// Every check, in the order they are made.
    pub const ALL: [CheckKind; 7] = [
        CheckKind::Clock,
        CheckKind::Percentiles,
        CheckKind::KnownDelays,
        CheckKind::Arrivals,
        CheckKind::FrozenServer,
        CheckKind::Counts,
        CheckKind::ClientCost,
    ];

    /// As it is written in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            CheckKind::Clock => "clock",
            CheckKind::Percentiles => "percentiles",
            CheckKind::KnownDelays => "known_delays",
            CheckKind::Arrivals => "arrivals",
            CheckKind::FrozenServer => "frozen_server",
            CheckKind::Counts => "counts",
            CheckKind::ClientCost => "client_cost",
        }
    }
}

/// How a figure, a check or the whole ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As it should be.
    Passed,
    /// Off: figures of this machine are not to be trusted until it is known why.
    Failed,
    /// The machine was too busy to say.
    NotJudged,
}

impl Outcome {
    /// Of several: one failure fails all, and what could not be judged is never a pass.
    pub fn worst(outcomes: impl IntoIterator<Item = Outcome>) -> Outcome {
        outcomes.into_iter().fold(Outcome::Passed, |worst, outcome| match (worst, outcome) {
            (Outcome::Failed, _) | (_, Outcome::Failed) => Outcome::Failed,
            (Outcome::NotJudged, _) | (_, Outcome::NotJudged) => Outcome::NotJudged,
            _ => Outcome::Passed,
        })
    }
}

/// What a figure is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureUnit {
    /// Seconds.
    Seconds,
    /// A count.
    Count,
    /// Per second.
    PerSecond,
    /// A share of one.
    Share,
    /// A bare number.
    Number,
}

/// What a right answer is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Exactly this.
    Exactly(f64),
    /// This, give or take.
    Near {
        /// The truth.
        truth: f64,
        /// How far off it may be, in the figure's unit.
        tolerance: f64,
    },
    /// Anything from `low` to `high`, ends included.
    Between {
        /// Lowest right answer.
        low: f64,
        /// Highest right answer.
        high: f64,
    },
    /// At most this.
    AtMost(f64),
    /// There is no wrong answer: shown so that others can be understood.
    Shown,
}

impl Right {
    /// Whether the value is a right answer. What is no number never is, unless anything goes.
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        match self {
            Right::Exactly(truth) => value == truth,
            Right::Near { truth, tolerance } => (value - truth).abs() <= tolerance,
            Right::Between { low, high } => (low..=high).contains(&value),
            Right::AtMost(limit) => value <= limit,
            Right::Shown => true,
        }
    }
}

/// One thing that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is, a lowercase fragment.
    pub what: String,
    /// What was measured.
    pub value: f64,
    /// Its unit.
    pub unit: FigureUnit,
    /// What a right answer is.
    pub right: Right,
    /// Where the right answer comes from and why that much is allowed, a fragment; empty for what is only shown.
    pub why: String,
    /// Whether a busy machine can make it wrong. An untimed figure is judged in every case.
    pub timed: bool,
}

impl Figure {
    /// A figure that a busy machine can make wrong.
    pub fn timed(
        what: impl Into<String>,
        value: f64,
        unit: FigureUnit,
        right: Right,
        why: impl Into<String>,
    ) -> Figure {
        Figure { what: what.into(), value, unit, right, why: why.into(), timed: true }
    }

    /// A figure that holds however busy the machine is.
    pub fn always(
        what: impl Into<String>,
        value: f64,
        unit: FigureUnit,
        right: Right,
        why: impl Into<String>,
    ) -> Figure {
        Figure { timed: false, ..Figure::timed(what, value, unit, right, why) }
    }

    /// A figure that is only shown.
    pub fn shown(what: impl Into<String>, value: f64, unit: FigureUnit) -> Figure {
        Figure::always(what, value, unit, Right::Shown, "")
    }

    /// How it ended; `None` for a figure that is only shown.
    #[must_use]
    pub fn outcome(&self, disturbed: bool) -> Option<Outcome> {
        match self.right {
            Right::Shown => None,
            _ if self.timed && disturbed => Some(Outcome::NotJudged),
            right if right.holds(self.value) => Some(Outcome::Passed),
            _ => Some(Outcome::Failed),
        }
    }
}

/// How long the threads of a check stood ready without a CPU while they were watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// How long they were watched, seconds.
    pub window_s: f64,
    /// Longest wait of any of them (`/proc/thread-self/schedstat`), as a share of the window.
    pub wait_share: f64,
    /// CPU time the hypervisor gave to somebody else, as a share of all CPUs' time.
    pub steal_share: f64,
    /// Share of the moments at which a thread due then would have waited more than 500 µs to run, by witnesses that
    /// only want to be on time: what a hypervisor takes without saying so. Zero where there was no witness.
    #[serde(default)]
    pub stall_share: f64,
    /// Whether the kernel keeps such figures at all. Where it does not, nothing can be excused.
    pub known: bool,
}

impl Disturbance {
    /// A check is disturbed above this share of waiting, of steal or of stalls. One per cent of the time is what a percentile
    /// of 99 leaves out; figures above it are not judged by a time at all.
    pub const LIMIT: f64 = 0.01;

    /// The largest of the three shares.
    #[must_use]
    pub fn worst_share(&self) -> f64 {
        self.wait_share.max(self.steal_share).max(self.stall_share)
    }

    /// Whether timed figures of the check are to be left unjudged.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        self.known && (self.worst_share() > Self::LIMIT)
    }

    /// The worse of two stretches of the same check.
    #[must_use]
    pub fn worse(self, other: Disturbance) -> Disturbance {
        Disturbance {
            window_s: self.window_s + other.window_s,
            wait_share: self.wait_share.max(other.wait_share),
            steal_share: self.steal_share.max(other.steal_share),
            stall_share: self.stall_share.max(other.stall_share),
            known: self.known || other.known,
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// Which.
    pub check: CheckKind,
    /// What was set up, with its size: `redis-server, 1,000/s for 5 s, stopped for 1 s`.
    pub setup: String,
    /// What was measured.
    pub figures: Vec<Figure>,
    /// What kept it from being made, with its cause; it has failed then.
    pub error: Option<String>,
    /// Of the attempt that is shown.
    pub disturbance: Disturbance,
    /// Attempts made: a further one only when the one before was disturbed, whatever its figures were.
    pub attempts: u32,
    /// How long it took, all attempts, seconds.
    pub elapsed_s: f64,
}

impl CheckRecord {
    /// How it ended.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if self.error.is_some() {
            return Outcome::Failed;
        }
        let disturbed = self.disturbance.is_disturbed();
        let outcomes: Vec<Outcome> =
            self.figures.iter().filter_map(|figure| figure.outcome(disturbed)).collect();
        // A check that judged nothing has shown nothing.
        if outcomes.is_empty() { Outcome::Failed } else { Outcome::worst(outcomes) }
    }
}

impl SelftestRecord {
    /// How the whole ended.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::worst(self.checks.iter().map(CheckRecord::outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, right: Right, timed: bool) -> Figure {
        Figure { what: "x".into(), value, unit: FigureUnit::Seconds, right, why: String::new(), timed }
    }

    fn check(figures: Vec<Figure>, wait_share: f64) -> CheckRecord {
        CheckRecord {
            check: CheckKind::Clock,
            setup: String::new(),
            figures,
            error: None,
            disturbance: Disturbance { window_s: 1.0, wait_share, known: true, ..Disturbance::default() },
            attempts: 1,
            elapsed_s: 1.0,
        }
    }

    #[test]
    fn right_answers() {
        assert!(Right::Exactly(3.0).holds(3.0) && !Right::Exactly(3.0).holds(3.1));
        let near = Right::Near { truth: 1.0, tolerance: 0.5 };
        assert!(near.holds(0.5) && near.holds(1.5) && !near.holds(1.6));
        assert!(Right::Between { low: 1.0, high: 2.0 }.holds(2.0));
        assert!(Right::AtMost(1.0).holds(-5.0) && !Right::AtMost(1.0).holds(1.1));
        for right in [Right::Exactly(0.0), near, Right::Between { low: 0.0, high: 9.0 }, Right::AtMost(9.0)] {
            assert!(!right.holds(f64::NAN), "{right:?}");
        }
    }

    #[test]
    fn a_busy_machine_excuses_timed_figures_and_never_passes_them() {
        let (good, bad) = (figure(1.0, Right::AtMost(2.0), true), figure(3.0, Right::AtMost(2.0), true));
        let (busy, quiet) = (0.02, 0.001);
        assert_eq!(check(vec![good.clone()], quiet).outcome(), Outcome::Passed);
        assert_eq!(check(vec![good.clone()], busy).outcome(), Outcome::NotJudged);
        assert_eq!(check(vec![bad.clone()], quiet).outcome(), Outcome::Failed);
        assert_eq!(check(vec![bad.clone()], busy).outcome(), Outcome::NotJudged);
        let untimed = Figure { timed: false, ..bad };
        assert_eq!(check(vec![good.clone(), untimed], busy).outcome(), Outcome::Failed);
        let unknown = CheckRecord { disturbance: Disturbance::default(), ..check(vec![good.clone()], quiet) };
        assert_eq!(unknown.outcome(), Outcome::Passed);
        let broken = CheckRecord { error: Some("no port".into()), ..check(vec![good], quiet) };
        assert_eq!(broken.outcome(), Outcome::Failed);
        let nothing = check(vec![figure(1.0, Right::Shown, false)], quiet);
        assert_eq!(nothing.outcome(), Outcome::Failed);
    }

    #[test]
    fn keys_are_those_of_the_json() {
        for kind in CheckKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.key());
        }
    }
}
