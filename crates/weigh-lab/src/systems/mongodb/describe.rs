//! What is known before anything is started: settings, and what FerretDB cannot do.

use weigh_results::model::Column;

use super::make::{Backend, Make};
use super::{ferretdb, mongod};
use crate::experiment::Experiment;
use crate::systems::remote::columns;
use crate::systems::{Capability, Lack, SystemDescription, SystemError, remote};

/// Settings of the servers of an experiment, and what they lack. Starts nothing but `mongod --version`.
///
/// # Errors
/// When `mongod` is asked for and missing, or what is asked for does not go together.
pub fn describe(experiment: &Experiment) -> Result<SystemDescription, SystemError> {
    if experiment.system.url.is_some() {
        return remote::describe(experiment);
    }
    let makes = Make::all(experiment)?;
    let mut description = SystemDescription::default();
    for make in &makes {
        let settings = match make {
            Make::Mongod => {
                description.version = mongod::version(experiment.system.bin_dir.as_deref())?.1;
                mongod::settings()
            }
            Make::FerretDb(backend) => {
                description.version = format!("of FerretDB {}", ferretdb::VERSION);
                ferretdb::settings(*backend)
            }
        };
        // Variants with different servers: each is checked against its own again when it is started.
        for facts in settings {
            if !description.settings.iter().any(|known| known.name == facts.name) {
                description.settings.push(facts);
            }
        }
    }
    description.columns = the_columns(&makes);
    let backend = makes.iter().find_map(|make| match make {
        Make::FerretDb(backend) => Some(*backend),
        Make::Mongod => None,
    });
    description.lacks = backend.map(lacks).unwrap_or_default();
    Ok(description)
}

/// What `mongod` counts itself; of FerretDB, which counts commands only, what the kernel saw.
fn the_columns(makes: &[Make]) -> Vec<Column> {
    let of_disk: [(&str, &str); 2] = [("written", "disk.write_bytes"), ("flushes", "disk.flushes")];
    let pairs = if makes == [Make::Mongod] { columns("mongodb") } else { &of_disk };
    let column = |(heading, counter): &(&str, &str)| Column {
        heading: (*heading).to_owned(),
        counter: (*counter).to_owned(),
    };
    pairs.iter().map(column).collect()
}

/// What FerretDB 1.24 cannot do, as measured with it (`docs/experiments.md` has the figures).
fn lacks(backend: Backend) -> Vec<Lack> {
    let reads = match backend {
        Backend::Sqlite => {
            "FerretDB on SQLite scans the whole collection whatever indexes there are, also to find an `_id`; \
             `mongod` uses them"
        }
        Backend::Postgres => {
            "FerretDB on PostgreSQL scans the whole collection whatever indexes there are; \
             `mongod` uses them"
        }
    };
    let lack = |capability, why: &str| Lack { capability, why: why.to_owned() };
    vec![
        lack(
            Capability::WriteConcern,
            "FerretDB takes `w` and `j` and ignores them: every write is synced before it is acknowledged, and \
             even `w: 0` is answered; `mongod` obeys them",
        ),
        lack(Capability::IndexedReads, reads),
        lack(
            Capability::LockFigures,
            "FerretDB's `serverStatus` counts commands and says nothing about locks; that of `mongod` does",
        ),
    ]
}
