//! A stored run, folded from its events.

use super::{Event, Finish, InstanceRecord, RunHeader, SequenceRecord, Trial};
use crate::doubt::Doubt;

/// A run as read from its events, complete or cut short.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The first line.
    pub header: RunHeader,
    /// Every instance that was started, in order.
    pub instances: Vec<InstanceRecord>,
    /// Every sequence; only the last counts for the verdict.
    pub sequences: Vec<SequenceRecord>,
    /// (sequence, units, rounds per unit) once known.
    pub horizon: Option<(u32, u32, u32)>,
    /// Every finished trial, in order.
    pub trials: Vec<Trial>,
    /// Complete rounds: (sequence, round, seconds).
    pub rounds: Vec<(u32, u32, f64)>,
    /// Verdicts that became final: (sequence, variant, rounds).
    pub decided: Vec<(u32, usize, u32)>,
    /// Doubts the runner recorded.
    pub doubts: Vec<Doubt>,
    /// How it ended; `None` for a run that was killed or is still going.
    pub finish: Option<Finish>,
}

impl Run {
    /// A run that has only begun.
    pub fn new(header: RunHeader) -> Run {
        Run {
            header,
            instances: Vec::new(),
            sequences: Vec::new(),
            horizon: None,
            trials: Vec::new(),
            rounds: Vec::new(),
            decided: Vec::new(),
            doubts: Vec::new(),
            finish: None,
        }
    }

    /// Adds what an event says. The runner folds its own events the same way a reader does,
    /// so that both judge the same data.
    pub fn apply(&mut self, event: Event) {
        match event {
            Event::Started(header) => self.header = *header,
            Event::Resumed { .. } => self.finish = None,
            Event::Instance(record) => self.instances.push(record),
            Event::Sequence(record) => {
                self.sequences.push(record);
                self.horizon = None;
            }
            Event::Horizon { sequence, units, rounds_per_unit } => {
                self.horizon = Some((sequence, units, rounds_per_unit));
            }
            Event::Trial(trial) => self.trials.push(*trial),
            Event::Round { sequence, round, seconds } => self.rounds.push((sequence, round, seconds)),
            Event::Decided { sequence, variant, rounds } => self.decided.push((sequence, variant, rounds)),
            Event::Doubt(doubt) => self.doubts.push(doubt),
            Event::Finished(finish) => self.finish = Some(finish),
        }
    }

    /// The sequence that counts.
    pub fn current_sequence(&self) -> Option<&SequenceRecord> {
        self.sequences.last()
    }
}
