//! What a trial is done to.

use std::time::{Duration, Instant};

use weigh_results::model::{InstanceRecord, Replication, Slot, Trial};

use crate::systems::SystemError;

/// What a trial is done to: started, ready for every slot of the run.
pub trait Subject {
    /// The unit of replication.
    fn replication(&self) -> Replication;

    /// Whether trials have a warm-up whose length can be learnt from their throughput over time.
    fn settles(&self) -> bool;

    /// Starts epoch `epoch`, counted from 0 over the whole run.
    fn start_epoch(&mut self, epoch: u32) -> Result<Vec<InstanceRecord>, SystemError>;

    /// Runs one trial. `Ok(None)` when it was cancelled.
    fn trial(&mut self, request: &TrialRequest) -> Result<Option<Trial>, SystemError>;

    /// Stops what was started.
    fn stop(&mut self) -> Result<(), SystemError>;
}

/// What one trial is to be.
#[derive(Clone, Debug)]
pub struct TrialRequest {
    /// Variant and copy.
    pub slot: Slot,
    /// Sequence, round, epoch within the sequence, position in the round.
    pub sequence: u32,
    /// Round within the sequence.
    pub round: u32,
    /// Epoch within the sequence.
    pub epoch: u32,
    /// Position within the round.
    pub position: u32,
    /// Number of the trial within the run: no generated sequence value repeats across trials.
    pub trial_number: u64,
    /// Seed of generated data: the same for every slot of a round.
    pub seed: u64,
    /// Warm-up.
    pub settle: Duration,
    /// Measured window.
    pub measure: Duration,
    /// Drain the debt afterwards.
    pub drain: bool,
    /// Start of the run, to date the trial.
    pub run_began: Instant,
}

impl TrialRequest {
    /// A trial with its place filled in and everything measured still empty.
    pub(crate) fn empty_trial(&self) -> Trial {
        Trial {
            sequence: self.sequence,
            round: self.round,
            epoch: self.epoch,
            position: self.position,
            slot: self.slot,
            started_s: self.run_began.elapsed().as_secs_f64(),
            settle_s: self.settle.as_secs_f64(),
            ..Trial::default()
        }
    }
}
