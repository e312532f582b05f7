//! What went wrong with a system: one type for all of them, made to be read by a person.

/// What went wrong with a system.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SystemError {
    /// A lowercase fragment that names the thing in backticks.
    pub message: String,
    /// What to do next: commands one can paste.
    pub hints: Vec<String>,
    /// Last lines of the server's log, if they help.
    pub log: Vec<String>,
    /// Something is missing on the host (exit code 3) rather than broken.
    pub missing: bool,
    /// The error below.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl SystemError {
    /// A failure with nothing but its message: a lowercase fragment that names the thing in backticks.
    pub fn new(message: impl Into<String>) -> SystemError {
        SystemError {
            message: message.into(),
            hints: Vec::new(),
            log: Vec::new(),
            missing: false,
            source: None,
        }
    }

    /// Something is missing on the host; `hint` installs it.
    pub fn missing(message: impl Into<String>, hint: impl Into<String>) -> SystemError {
        SystemError { missing: true, ..SystemError::new(message) }.hint(hint)
    }

    /// The run was told to stop while a system was busy.
    pub fn interrupted() -> SystemError {
        SystemError::new("interrupted")
    }

    /// The same error, said of something: ``variant `fast`: …``.
    #[must_use]
    pub fn of(mut self, what: impl std::fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// With what to do next: a command one can paste.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> SystemError {
        self.hints.push(hint.into());
        self
    }

    /// With the error below.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> SystemError {
        self.source = Some(source.into());
        self
    }

    /// With the last lines of the server's log.
    #[must_use]
    pub fn with_log(mut self, log: Vec<String>) -> SystemError {
        self.log = log;
        self
    }
}

impl From<crate::host::HostError> for SystemError {
    /// A failed change to the host, with the tool's last lines where there are some.
    fn from(error: crate::host::HostError) -> SystemError {
        use crate::host::HostError;
        let log = match &error {
            HostError::Tool { log, .. } => log.clone(),
            _ => Vec::new(),
        };
        let hints = match &error {
            HostError::NoSpace { .. } | HostError::Unreachable { .. } => {
                vec!["weigh run --work-dir DIR …  # a directory with room, open to all users".to_owned()]
            }
            _ => Vec::new(),
        };
        SystemError { message: error.to_string(), hints, log, missing: false, source: source_of(error) }
    }
}

/// The error and everything below it, on one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(source) = below {
        text.push_str(": ");
        text.push_str(&source.to_string());
        below = source.source();
    }
    text
}

/// The message above repeats the error's own text, so the chain goes on with what is below it.
fn source_of(error: crate::host::HostError) -> Option<Box<dyn std::error::Error + Send + Sync>> {
    use crate::host::HostError;
    match error {
        HostError::Path { source, .. }
        | HostError::Spawn { source, .. }
        | HostError::System { source, .. }
        | HostError::Signals(source) => Some(source.into()),
        _ => None,
    }
}

/// A statement or a command as it can be named in an error: on one line, and not longer than a line.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
