//! A build without a network client: only what is on the host already can be used.

use std::path::PathBuf;

use crate::systems::SystemError;

/// Nothing is fetched by this build.
///
/// # Errors
/// Always.
pub(in crate::systems::postgres) fn fetch(asked: &str) -> Result<PathBuf, SystemError> {
    let text = format!("postgres {asked} is not on this host, and this weigh was built without `fetch`");
    Err(SystemError::missing(text, "weigh run … --bin-dir DIR  # where a server of that version is"))
}
