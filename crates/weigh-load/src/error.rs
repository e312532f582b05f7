//! Why a load could not be run.

use std::io;

use crate::driver::DriverError;
use crate::generator::GeneratorError;

/// Why a load could not be started or finished.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A number of the spec is impossible.
    #[error("the load cannot run: {0}")]
    Spec(String),
    /// A generator of the spec is impossible.
    #[error("parameter {number} of operation `{operation}` cannot be generated")]
    Generator {
        /// The operation.
        operation: String,
        /// Which parameter, counted from 1.
        number: usize,
        /// What is wrong with it.
        #[source]
        source: GeneratorError,
    },
    /// Not one client could connect.
    #[error("none of {clients} clients could connect")]
    Connect {
        /// How many tried.
        clients: usize,
        /// Why the first of them failed.
        #[source]
        source: DriverError,
    },
    /// The operating system refused something the engine needs.
    #[error("{action} failed")]
    System {
        /// What was refused.
        action: &'static str,
        /// Its reason.
        #[source]
        source: io::Error,
    },
    /// A worker ended without a report: a defect of the engine or of a driver.
    #[error("worker {worker} panicked: `{message}`")]
    Panicked {
        /// Number of the worker.
        worker: usize,
        /// The panic's message.
        message: String,
    },
}

impl LoadError {
    /// For `map_err` on calls of the operating system.
    pub(crate) fn system<E: Into<io::Error>>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::System { action, source: source.into() }
    }
}
