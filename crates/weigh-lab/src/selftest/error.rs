//! Why a check could not be made.

use std::io;

use weigh_load::LoadError;

use crate::host::HostError;

/// A check could not be made. The check has failed then; this is what it says.
#[derive(Debug, thiserror::Error)]
pub enum SelftestError {
    /// The operating system refused something.
    #[error("{what} failed")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// A load could not be made.
    #[error("the load could not be made")]
    Load(#[from] LoadError),
    /// A server could not be started, stopped or reached.
    #[error("{0}")]
    Server(String),
    /// The host could not be changed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The figures cannot be had.
    #[error("{0}")]
    Figures(String),
    /// The self-test was told to stop.
    #[error("interrupted")]
    Cancelled,
}

impl SelftestError {
    pub(super) fn system(what: &'static str) -> impl FnOnce(io::Error) -> SelftestError {
        move |source| SelftestError::System { what, source }
    }
}
