//! The load's connections: from a variant to the driver of `weigh-drivers`.

use std::path::Path;
use std::time::Duration;

use weigh_drivers::sqlite::{DEFAULT_BUSY_TIMEOUT, SqliteConfig};
use weigh_load::Driver;

use crate::plan::ResolvedVariant;
use crate::systems::{SystemError, operations};

/// The driver for a database file with the pragmas of its connections.
///
/// # Errors
/// When an operation makes no sense as it is written.
pub(super) fn driver(
    path: &Path,
    pragmas: Vec<(String, String)>,
    variant: &ResolvedVariant,
) -> Result<Box<dyn Driver>, SystemError> {
    // The driver sets this one itself.
    let asked = pragmas.iter().find(|(name, _)| name == "busy_timeout");
    let busy_timeout = asked.and_then(|(_, millis)| millis.parse().ok()).map(Duration::from_millis);
    let config = SqliteConfig {
        path: path.to_owned(),
        pragmas,
        busy_timeout: busy_timeout.unwrap_or(DEFAULT_BUSY_TIMEOUT),
        operations: operations::of(variant),
    };
    let driver =
        config.build().map_err(|error| SystemError::new(format!("variant `{}`: {error}", variant.name)))?;
    Ok(Box::new(driver))
}
