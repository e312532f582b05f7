//! What can end a run before its verdict.

use crate::systems::SystemError;

/// Why a run could not go on. What was measured before it is kept.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A system failed.
    #[error(transparent)]
    System(Box<SystemError>),
    /// The events could not be recorded.
    #[error("cannot record the run: {0}")]
    Record(String),
    /// The stored run does not fit what is asked of it.
    #[error("{0}")]
    Resume(String),
}

impl From<SystemError> for RunError {
    fn from(error: SystemError) -> RunError {
        RunError::System(Box::new(error))
    }
}
