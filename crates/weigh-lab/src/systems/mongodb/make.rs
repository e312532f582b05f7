//! Which program serves a variant.
//!
//! What the experiment says, else `mongod` where it is found, else FerretDB 1: only a look at the file system, so that a
//! plan can be made without a server.

use std::path::{Path, PathBuf};

use crate::experiment::{Experiment, SystemKey, SystemSection, combinations};
use crate::plan::ServerPlan;
use crate::systems::SystemError;
use crate::systems::private::find_program;

/// What serves a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Make {
    /// MongoDB's own server.
    Mongod,
    /// FerretDB 1.
    FerretDb(Backend),
}

/// What FerretDB keeps its data in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backend {
    /// A file per database.
    Sqlite,
    /// A private cluster of its own.
    Postgres,
}

impl Backend {
    /// As typed in `system.backend`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Backend::Sqlite => "sqlite",
            Backend::Postgres => "postgres",
        }
    }
}

impl Make {
    /// What serves a variant that is made of `plan`.
    ///
    /// # Errors
    /// When what is asked for does not go together.
    pub(super) fn of(section: &SystemSection, plan: &ServerPlan) -> Result<Make, SystemError> {
        let backend = match plan.backend.as_deref() {
            Some("postgres") => Some(Backend::Postgres),
            Some(_) => Some(Backend::Sqlite),
            None => None,
        };
        match (plan.server.as_deref(), backend) {
            (Some("mongod"), Some(backend)) => Err(SystemError::new(format!(
                "`backend` is FerretDB's, and `mongod` keeps its data in WiredTiger, not in {}",
                backend.name()
            ))
            .hint("server = \"ferretdb\"  # below [system]")),
            (Some("mongod"), None) => Ok(Make::Mongod),
            (None, None) if mongod(section.bin_dir.as_deref()).is_ok() => Ok(Make::Mongod),
            (_, backend) => Ok(Make::FerretDb(backend.unwrap_or(Backend::Sqlite))),
        }
    }

    /// What serves the variants of an experiment, each once, in their order.
    ///
    /// # Errors
    /// As [`Make::of`].
    pub(super) fn all(experiment: &Experiment) -> Result<Vec<Make>, SystemError> {
        let section = &experiment.system;
        let mut makes = Vec::new();
        for combination in combinations(experiment) {
            let text = |key: SystemKey| {
                let level = combination.levels.get(key.name()).map(|level| level.to_text());
                level.or_else(|| section.private.get(&key).cloned())
            };
            let (server, backend) = (text(SystemKey::Server), text(SystemKey::Backend));
            let make = Make::of(section, &ServerPlan { server, backend, ..ServerPlan::default() })?;
            if !makes.contains(&make) {
                makes.push(make);
            }
        }
        Ok(makes)
    }
}

/// MongoDB's own server.
///
/// # Errors
/// When there is none, with where to get it: few distributions have a package.
pub(super) fn mongod(bin_dir: Option<&Path>) -> Result<PathBuf, SystemError> {
    find_program(bin_dir, &["mongod"], "mongodb-org-server").map_err(|mut error| {
        if bin_dir.is_none() {
            error.hints = vec![
                "https://www.mongodb.com/docs/manual/installation/  # or: weigh run … --bin-dir DIR"
                    .to_owned(),
                "server = \"ferretdb\"  # below [system]: built here, and no MongoDB".to_owned(),
            ];
        }
        error
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(server: Option<&str>, backend: Option<&str>) -> Result<Make, String> {
        let plan = ServerPlan {
            server: server.map(str::to_owned),
            backend: backend.map(str::to_owned),
            ..ServerPlan::default()
        };
        // A directory without a `mongod`, whatever this host has.
        let section = SystemSection { bin_dir: Some("/usr/share".into()), ..SystemSection::default() };
        Make::of(&section, &plan).map_err(|error| error.message)
    }

    #[test]
    fn what_is_said_counts_and_else_what_is_there() {
        assert_eq!(of(Some("mongod"), None), Ok(Make::Mongod));
        assert_eq!(of(None, None), Ok(Make::FerretDb(Backend::Sqlite)));
        assert_eq!(of(None, Some("postgres")), Ok(Make::FerretDb(Backend::Postgres)));
        assert_eq!(of(Some("ferretdb"), None), Ok(Make::FerretDb(Backend::Sqlite)));
        assert!(of(Some("mongod"), Some("sqlite")).unwrap_err().starts_with("`backend` is FerretDB's"));
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mongod"), "").unwrap();
        let section = SystemSection { bin_dir: Some(dir.path().into()), ..SystemSection::default() };
        assert_eq!(Make::of(&section, &ServerPlan::default()).unwrap(), Make::Mongod);
    }
}
