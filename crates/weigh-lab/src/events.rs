//! The one stream from the runner: what is recorded, and what is only for the screen.

use weigh_results::model::{Event, Slot};

/// Something happened.
#[derive(Clone, Debug)]
pub enum LabEvent {
    /// Goes to the recorder and to the screen.
    Recorded(Event),
    /// Goes to the screen only.
    Progress(Progress),
}

/// What the runner is doing now.
#[derive(Clone, Debug)]
pub enum Progress {
    /// A step that takes a while: `starting postgres 15.18 (3 instances)`.
    Step(String),
    /// A trial begins.
    Trial {
        /// Round, from 0.
        round: u32,
        /// What runs.
        slot: Slot,
        /// Time since the run began, seconds.
        elapsed_s: f64,
        /// Budget, seconds.
        budget_s: f64,
    },
}
