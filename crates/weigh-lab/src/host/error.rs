//! What can go wrong when the host is changed.

use std::io;
use std::path::PathBuf;

/// A change to the host, or its undo, failed.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A file or directory operation failed.
    #[error("cannot {action} `{}`", path.display())]
    Path {
        /// What was tried: `create`, `remove`, `read`.
        action: &'static str,
        /// What it was tried on.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// An undo points outside every work root.
    #[error("refusing to remove `{}`: it is not below a work directory of weigh", path.display())]
    NotOurs {
        /// The path.
        path: PathBuf,
    },
    /// A program could not be started.
    #[error("cannot start `{}`", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// A tool ended with a failure.
    #[error("`{}` failed with {status}", program.display())]
    Tool {
        /// The program.
        program: PathBuf,
        /// How it ended: `exit status: 1`.
        status: String,
        /// Its last lines.
        log: Vec<String>,
    },
    /// The same run is being made by another process.
    #[error("run `{run_id}` is under way in process {pid}")]
    Running {
        /// The run.
        run_id: String,
        /// Its owner.
        pid: i32,
    },
    /// Processes did not go away.
    #[error("{count} processes of `{}` did not end within {seconds} s", what.display())]
    Alive {
        /// The instance's directory or cgroup.
        what: PathBuf,
        /// How many are left.
        count: usize,
        /// How long was waited.
        seconds: u64,
    },
    /// An instance could not be frozen or thawed in time.
    #[error("cannot {action} the processes of `{}` within {seconds} s", what.display())]
    Freeze {
        /// `freeze` or `thaw`.
        action: &'static str,
        /// The instance's directory or cgroup.
        what: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// Too little room on the file system.
    #[error("`{}` has {free_bytes} bytes free, {needed_bytes} are needed", path.display())]
    NoSpace {
        /// Where.
        path: PathBuf,
        /// Bytes an unprivileged user may still write.
        free_bytes: u64,
        /// Bytes needed.
        needed_bytes: u64,
    },
    /// Memory cannot be limited here.
    #[error("cannot limit the memory of `{instance}`: {why}")]
    Memory {
        /// The instance.
        instance: String,
        /// What stands in the way.
        why: String,
    },
    /// Files stay in the page cache.
    #[error(
        "{} of {} MiB below `{}` stay in memory",
        resident_bytes.div_ceil(1 << 20), total_bytes.div_ceil(1 << 20), dir.display()
    )]
    StillCached {
        /// Whose files.
        dir: PathBuf,
        /// Bytes that stay.
        resident_bytes: u64,
        /// Bytes of all files.
        total_bytes: u64,
    },
    /// Somebody else owns the work directory.
    #[error("`{}` belongs to user {owner}, not to user {expected}", path.display())]
    Owner {
        /// The directory.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
        /// Who should.
        expected: u32,
    },
    /// The server's user cannot get to the work directory.
    #[error("user `{user}` cannot enter `{}`, so no server can run below `{}`", dir.display(), path.display())]
    Unreachable {
        /// The work directory.
        path: PathBuf,
        /// The directory that is closed.
        dir: PathBuf,
        /// The unprivileged user.
        user: String,
    },
    /// The signal handlers could not be installed.
    #[error("cannot handle signals")]
    Signals(#[source] io::Error),
    /// An undo file cannot be understood.
    #[error("cannot read `{}`: {why}", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A system call failed.
    #[error("{what} failed")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// Several undos failed; all were attempted.
    #[error("{} changes to the host could not be undone; first: {first}", others + 1)]
    Several {
        /// The first failure.
        first: Box<HostError>,
        /// How many more.
        others: usize,
    },
    /// The run was told to stop while this waited.
    #[error("interrupted")]
    Cancelled,
}

impl HostError {
    /// A failed operation on a path.
    pub(crate) fn path(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> HostError {
        HostError::Path { action, path: path.into(), source }
    }

    /// One error out of many, `Ok` when there is none.
    pub(crate) fn collect(errors: Vec<HostError>) -> Result<(), HostError> {
        let others = errors.len().saturating_sub(1);
        match errors.into_iter().next() {
            None => Ok(()),
            Some(only) if others == 0 => Err(only),
            Some(first) => Err(HostError::Several { first: Box::new(first), others }),
        }
    }
}
