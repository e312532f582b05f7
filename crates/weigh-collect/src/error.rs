//! What can go wrong while reading, and while understanding what was read.

use std::io;
use std::path::PathBuf;

/// A collector could not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// A file could not be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not have the form it should have.
    #[error("cannot make sense of `{}`", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is missing from it.
        source: ParseError,
    },
    /// None of the root processes of a tree was ever there.
    #[error("no process `{pid}`")]
    NoProcess {
        /// The first of the roots asked for.
        pid: u32,
    },
    /// The directory is not a control group.
    #[error("`{}` is not a control group", path.display())]
    NotACgroup {
        /// The directory.
        path: PathBuf,
    },
}

/// Bytes that are not of the format they were taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no `{missing}` in what should be `{format}`")]
pub struct ParseError {
    /// The format expected, by the name of its file (`/proc/PID/stat`).
    pub format: &'static str,
    /// The first thing that was looked for and is not there.
    pub missing: &'static str,
}

impl CollectError {
    pub(crate) fn read(path: impl Into<PathBuf>, source: io::Error) -> CollectError {
        CollectError::Read { path: path.into(), source }
    }

    pub(crate) fn parse(path: impl Into<PathBuf>, source: ParseError) -> CollectError {
        CollectError::Parse { path: path.into(), source }
    }
}
